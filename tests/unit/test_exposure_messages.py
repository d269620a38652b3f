"""What an exposure says of itself: the worst node first, how far it is, and why no repair is proposed."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import secmix
from secmix.auditing.exposure import cell_exposure, repair
from secmix.auditing.exposure.exposures import Judged, exposures
from secmix.errors import SecmixError
from secmix.protocols import SecureSum
from secmix.reporting.formats import exposure_tables

# A node of one neighbour beside a complete network.
PENDANT = {"nodes": 5, "edges": [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3], [3, 4]]}
RING = {"kind": "cycle", "nodes": 6}


def searched(network: dict[str, Any], **asked: Any) -> Judged:
    scenario = {"network": network, "data": {"name": "wine", "features": 2}, "protocol": {"name": "pdmm"}}
    return exposures(scenario, taps=False, **asked)[0]


def printed(found: Judged) -> str:
    out = io.StringIO()
    exposure_tables.print_exposures([found], Console(file=out, width=300))
    return out.getvalue()


def test_the_worst_node_stands_first_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposure_tables, "_ROWS", 2)
    lines = printed(searched(PENDANT)).splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("Node")) + 1
    assert [line.split()[:2] for line in lines[first : first + 2]] == [["4", "3"], ["0", "1,"]]
    assert "and 3 more nodes, none of them worse" in lines[first + 2]


def test_how_far_it_is_is_told_node_by_node() -> None:
    told: list[tuple[int, int, str]] = []
    searched(PENDANT, progress=lambda *now: told.append(now))
    assert told[0] == (0, 5, "recording what the protocol sends")
    assert [now for now in told if "node" in now[2]] == [(i, 5, f"searching who exposes node {i}") for i in range(5)]


def test_who_exposes_whom_is_searched_once_before_repairs(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []

    def exposure_of(cell: Any, *given: Any, **more: Any) -> Any:
        searches.append(f"{cell.protocol.name} {cell.network.kind}")
        return cell_exposure.exposure_of(cell, *given, **more)

    for module in (repair, sys.modules[exposures.__module__]):
        monkeypatch.setattr(module, "exposure_of", exposure_of)
    assert searched(RING, min_colluders=3, repair=True).repairs
    assert searches.count("pdmm cycle") == 1


@pytest.mark.parametrize(
    ("need", "says"),
    [
        (None, "No repair was looked for: nothing says how many colluders it must take; give --min-colluders"),
        (2, "No repair was looked for: the policy is not violated (holds)."),
        (6, "No repair was found: of the changes that were tried"),
    ],
)
def test_where_no_repair_is_proposed_it_says_why(need: int | None, says: str) -> None:
    found = searched(RING, min_colluders=need, repair=True)
    assert found.repairs == ()
    assert found.unrepaired.startswith(says)
    assert says in printed(found)
    assert found.to_dict()["unrepaired"] == found.unrepaired
    assert searched(RING, min_colluders=need).unrepaired == ""


def test_what_is_proved_and_cannot_be_audited_again_is_no_proposal_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: Any) -> None:
        raise SecmixError("the messages of a single run take 353 MiB, the limit is 300; raise memory_limit")

    monkeypatch.setattr(repair, "_audited", too_large)
    found = searched(RING, min_colluders=3, repair=True)
    assert found.repairs == ()
    assert found.unrepaired.startswith("No repair is proposed, since none could be audited again. Add the lines ")
    assert "proved to take 3, but it could not be audited again (the messages of a single run" in found.unrepaired


@pytest.mark.build
def test_on_a_large_network_lines_are_found_by_a_heuristic_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "_MOST_NODES", 5)
    (mended,) = searched(RING, min_colluders=3, repair=True).repairs
    assert mended.words.endswith("(found by a heuristic: fewer lines may do)")
    assert (mended.before, mended.after) == (2.0, 3.0)
    assert mended.audited > 0
    assert searched(mended.change["network"], min_colluders=3).verdict == "holds"


class Seeded(SecureSum):
    """Each mask is expanded from a seed of four words."""

    def draw_masks(self, runs, m, network, rng):  # type: ignore[no-untyped-def]
        return rng.integers(0, 2**32, size=(runs, 1, 4), dtype=np.uint32)

    def average(self, inputs, network, rng, *, masks=None, channel=None):  # type: ignore[no-untyped-def]
        runs, _, m = np.shape(inputs)
        seeds = self.draw_masks(runs, m, network, rng) if masks is None else masks
        expanded = [[np.random.default_rng(seed).normal(scale=1e6, size=m) for seed in run] for run in seeds]
        return super().average(inputs, network, rng, masks=np.array(expanded), channel=channel)


def test_who_exposes_is_undecided_where_masks_are_made_of_seeds() -> None:
    found = secmix.exposure({"network": RING, "data": {"name": "wine", "features": 2}}, protocol=Seeded())
    assert {node.status for node in found.nodes} == {"inconclusive"}
    assert "makes masks of seeds" in found.notes[0]
