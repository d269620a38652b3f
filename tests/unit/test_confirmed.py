"""What is measured accuses only where fresh runs confirm it, at the level of the whole audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

import secmix
from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.auditing.cells import confirm
from secmix.auditing.evidence.interface import is_counted, is_estimated
from secmix.auditing.report import Cell, Finding, Report
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Channel


class Blurred:
    """Every node sends its first row, blurred; noise alone where that is infinite."""

    def __init__(self, noise: float) -> None:
        self.noise = noise

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        sent = np.stack([part[:, 0] for part in parts])
        if np.isinf(self.noise):
            sent = rng.standard_normal(sent.shape)
        else:
            sent = sent + self.noise * rng.standard_normal(sent.shape)
        channel.send(0, np.arange(network.n), SERVER, "row", sent)
        return np.zeros((sent.shape[1], network.n, 1))

    def error(self, results: Array, reference: Array) -> Array:
        return np.zeros(len(results))


def audited(noise: float, seed: int, limit: float | None = 0.02) -> Report:
    policy = {"max_revealed_nodes": 0} if limit is None else {"max_normalised_leakage": limit}
    return secmix.audit(
        {
            "network": {"kind": "cycle", "nodes": 4},
            "data": {"name": "wine", "features": 2},
            "runs": 100,
            "seed": seed,
            "measure": {"evidence": ["decoders", "ksg"]},
            "policy": policy,
        },
        protocols={"blurred": Blurred(noise)},
        adversaries={"server": CuriousServer()},
    )


def standings(cell: Cell) -> set[str]:
    return {node.standing for node in cell.nodes}


@pytest.mark.parametrize("seed", [16, 18, 28])
@pytest.mark.parametrize("limit", [0.02, None])
def test_noise_that_looked_like_a_leak_is_not_accused(seed: int, limit: float | None) -> None:
    report = audited(np.inf, seed, limit)
    (cell,) = report.cells
    assert report.verdict == "inconclusive"
    assert standings(cell) == {"inconclusive"}
    # These seeds are those in which it did look like one.
    assert any("a first look found at least" in note for f in report.findings for note in f.notes)


def test_a_leak_is_accused_with_the_level_that_is_kept() -> None:
    report = audited(0.5, 0)
    (cell,) = report.cells
    assert report.verdict == "violated"
    assert standings(cell) == {"partly leaked"}
    (accusing, *_) = [f for f in report.findings if f.verdict == "violated"]
    assert accusing.confidence == 1 - 0.05 / 2 / 16  # findings about four nodes
    assert any("100 fresh runs" in note for note in accusing.notes)
    assert all(f.confidence > 0.998 for f in report.findings if f.verdict == "violated")
    assert all("(99.8" in node.why and "confidence)" in node.why for node in cell.nodes)


def test_runs_that_cannot_be_repeated_confirm_nothing_and_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise SecmixError("no more runs")

    monkeypatch.setattr(confirm, "again", failing)
    report = audited(0.5, 0)
    assert report.verdict == "inconclusive"
    assert any("no more runs" in note for note in report.cells[0].notes)


def finding(**changes: object) -> Finding:
    return Finding.model_validate(
        {
            "protocol": "p", "adversary": "a", "node": 0, "evidence": "ksg", "view": "single", "target": "row",
            "method": "a test", "value": 0.1, "unit": "nats", "low": 0.05, "high": None, "kind": "lower bound",
            "status": "resolved", "normalised_leakage": 0.1, "normalised_low": 0.05, "normalised_high": 1.0, **changes,
        }
    )  # fmt: skip


def test_what_is_estimated_and_what_is_counted() -> None:
    assert is_estimated(finding())
    assert not is_estimated(finding(status="determined"))
    assert not is_estimated(finding(evidence="structure", kind="exact"))
    assert not is_estimated(finding(evidence="gaussian", kind="estimate", normalised_low=0.1))
    assert is_estimated(finding(evidence="gaussian", kind="estimate"))
    counted = finding(evidence="direct reading", runs=40, hits=4)
    assert is_counted(counted)
    assert not is_estimated(counted)


@pytest.mark.parametrize(("hits", "runs", "level"), [(5, 5, 0.01), (4, 40, 0.001), (1, 100, 0.05)])
def test_a_count_is_as_rare_as_its_level_at_its_lower_end(hits: int, runs: int, level: float) -> None:
    moved = confirm._recounted(finding(hits=hits, runs=runs, normalised_leakage=hits / runs), level)
    assert binom.sf(hits - 1, runs, moved.normalised_low) == pytest.approx(level)
    assert moved.confidence == 1 - level


def test_a_lower_end_is_moved_further_down_the_surer_it_is_to_be() -> None:
    lows = [confirm._lowered(finding(), level)["normalised_low"] for level in (0.025, 0.01, 0.001)]
    assert lows[0] == pytest.approx(0.05)
    assert sorted(lows, reverse=True) == lows  # type: ignore[type-var]


def test_the_combinations_of_a_sweep_share_the_level() -> None:
    scenario = from_dict(
        {
            "network": {"kind": "cycle", "nodes": 4},
            "data": {"name": "wine", "features": 2},
            "protocol": {"name": "plain"},
            "adversary": {"name": "eavesdropper"},
            "sweep": {"runs": [100, 200, 300, 400, 500]},
        }
    )
    assert [cell.measure.level for cell in scenario.cells()] == pytest.approx([0.01] * 5)
    assert [each.measure.level for cell in scenario.cells() for each in cell.cells()] == pytest.approx([0.01] * 5)
