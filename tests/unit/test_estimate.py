"""What an audit takes is told before it starts, from the sizes of its cells, where that is long or large."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import secmix
from secmix.auditing.engine import run_cells
from secmix.auditing.engine.run_cell import CostEstimate, estimate, try_out
from secmix.auditing.engine.run_cells import warning
from secmix.auditing.observation.memory import check_memory, planned_runs
from secmix.auditing.setup import build_setup
from secmix.errors import DataError
from secmix.scenario import from_dict

RING: dict[str, Any] = {"network": {"kind": "cycle", "nodes": 4}, "runs": 100, "protocol": {"name": "secure_sum"}}


def estimated(trial: float = 0.0, **changes: Any) -> CostEstimate:
    cell = from_dict({**RING, "data": {"name": "wine", "features": 2}, **changes})
    return estimate(cell, build_setup(cell), trial)


def test_what_grows_with_the_audit_grows_in_the_estimate() -> None:
    least = estimated()
    wide = estimated(data={"name": "wine", "features": 12})
    assert wide.seconds > 5 * least.seconds
    assert wide.mebibytes > least.mebibytes
    assert estimated(runs=10_000).mebibytes > least.mebibytes
    assert estimated(memory_limit=8192).mebibytes == pytest.approx(least.mebibytes + 600)  # two blocks of 300 more
    assert estimated(trial=1.0).seconds > least.seconds
    only = estimated(data={"name": "wine", "features": 12}, measure={"evidence": ["structure"]})
    assert only.seconds < wide.seconds / 2
    runs = {"protocol": {"name": "federated_pca", "r": 1}}
    assert estimated(trial=1.0, **runs).seconds == pytest.approx(estimated(**runs).seconds + 100)


def test_what_is_sent_over_and_over_takes_its_time() -> None:
    def ahead(nodes: int) -> float:
        network, protocol = {"kind": "cycle", "nodes": nodes}, {"name": "pdmm", "sigma": 1e4}
        more = {"measure": {"evidence": ["structure"]}, "model": {"iterations": 3}}
        data = {"name": "wine", "features": 2}
        return try_out(
            from_dict({**RING, **more, "network": network, "protocol": protocol, "data": data}), None
        ).seconds

    assert ahead(24) > 2 * ahead(10)  # six times the rounds, and more messages in each


@pytest.mark.parametrize(
    ("changes", "made", "why"),
    [
        ({"runs": 10**7, "measure": {"evidence": ["structure", "gaussian"]}}, 500, "does not depend on their number"),
        ({"runs": 300, "measure": {"evidence": ["structure", "gaussian"]}}, 300, ""),
        ({"runs": 10**4}, 10**4, ""),  # default evidence reads more from more runs
        ({"runs": 10**4, "measure": {"evidence": ["structure", "reconstruction"]}}, 10**4, ""),
        ({"runs": 10**6}, 159_106, "memory_limit = 4096 MiB allows no more"),
    ],
)
def test_no_more_runs_are_made_than_tell_anything(changes: dict[str, Any], made: int, why: str) -> None:
    cell = from_dict({**RING, "data": {"name": "wine", "features": 2}, **changes})
    runs, note = planned_runs(cell, build_setup(cell))
    assert runs == made
    assert note == (
        f"{runs} of {cell.runs} runs were made: {'what exact evidence says ' * (made == 500)}{why}" * bool(why)
    )


def test_what_cannot_fit_is_refused_before_it_runs_with_the_keys_that_make_it_fit() -> None:
    def scenario(features: int, memory_limit: int) -> Any:
        data = {"name": "gaussian", "features": features, "rows": 20}
        return from_dict({**RING, "data": data, "memory_limit": memory_limit})

    wide = scenario(300, 1024)
    with pytest.raises(DataError, match="with 300 columns each of 4 nodes sums 90,902 numbers in an iteration") as info:
        check_memory(wide, build_setup(wide))
    fewer, limit = map(
        int, re.findall(r"features to at most (\d+), .*memory_limit to at least (\d+)", str(info.value))[0]
    )
    names = re.findall(r"\[measure\] evidence to \[(.*)\] alone", str(info.value))[0]
    exact = from_dict({**wide.to_dict(), "measure": {"evidence": re.findall(r"'(\w+)'", names)}})
    check_memory(exact, build_setup(exact))
    for fits in (scenario(fewer, 1024), scenario(300, limit)):
        check_memory(fits, build_setup(fits))
    for does_not in (scenario(fewer + 1, 1024), scenario(300, limit - 1)):
        with pytest.raises(DataError):
            check_memory(does_not, build_setup(does_not))


def test_of_unequal_nodes_all_runs_are_made() -> None:
    """What is known of them is measured, whatever evidence is asked for."""
    changes = {"runs": 5000, "measure": {"evidence": ["structure"]}}
    data = {"name": "wine", "features": 2, "rows_per_node": [1, 2, 3, 4]}
    cell = from_dict({**RING, "data": data, **changes})
    assert planned_runs(cell, build_setup(cell)) == (5000, "")


def test_only_what_is_long_or_large_is_told_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    short = CostEstimate(10.0, 300.0)
    assert warning([], 1) == warning([short] * 2, 1) == warning([short] * 5, 2) == ""
    assert warning([short] * 5, 1).startswith("estimate: 5 combinations, roughly 50 s on one processor")
    assert "up to 9.8 GiB of memory" in warning([replace(short, mebibytes=1e4)], 1)
    assert "roughly 2 h" in warning([CostEstimate(7200.0, 300.0), short], 8)

    told: list[str] = []
    trial = run_cells.try_out
    monkeypatch.setattr(run_cells, "try_out", lambda *given: replace(trial(*given), seconds=7200.0))
    few = {**RING, "data": {"name": "wine", "features": 2}, "measure": {"evidence": ["structure"]}}
    secmix.audit(few, progress=lambda done, total, what: told.append(what))
    assert told[1].startswith("estimate: 1 combination, roughly 2 h on one processor and up to 8")
    assert told[2] == "running"
