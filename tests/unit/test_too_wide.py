"""Sums of so many numbers that only a few runs fit: exact evidence reads these in all entries, and clears nobody."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer, HonestButCurious
from secmix.auditing import proof
from secmix.auditing.cells.audit_cell import audit_cell
from secmix.auditing.engine import run_cell
from secmix.auditing.engine.run_cell import estimate
from secmix.auditing.engine.run_cells import clearing_nobody
from secmix.auditing.observation import observe as module
from secmix.auditing.observation.memory import planned_runs, too_wide
from secmix.auditing.observation.observe import observe, seeds_of
from secmix.auditing.report import Cell
from secmix.auditing.setup import SumSetup, build_setup
from secmix.errors import SecmixError
from secmix.estimators.exact.leakage import LeakedSubspace
from secmix.network import Network
from secmix.protocols import PDMM, SecureAggregation, SecureSum, SumProtocol
from secmix.scenario import Scenario, from_dict
from secmix.transcript import SERVER, Channel, Transcript

WHY = "100 runs do not fit"
SETTINGS: dict[str, Any] = {
    "network": {"kind": "complete", "nodes": 4},
    "runs": 100,
    "data": {"name": "wine", "features": 3},
    "model": {"iterations": 2},
    "measure": {"evidence": ["structure", "gaussian"]},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.6},
    "protocol": {"name": "p", "label": "p"},
    "adversary": {"name": "a", "label": "a"},
}


def parts(protocol: SumProtocol, adversary: Adversary, why: str = WHY) -> tuple[Scenario, SumSetup]:
    cell = from_dict(SETTINGS)
    setup = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): adversary})
    assert isinstance(setup, SumSetup)
    return cell.model_copy(update={"runs": 2 if why else 100}), replace(setup, too_wide=why)


def audited(protocol: SumProtocol, adversary: Adversary, why: str = WHY) -> Cell:
    cell, setup = parts(protocol, adversary, why)
    return audit_cell(cell, setup, seeds_of(cell), "")[0]


@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (SecureSum(), HonestButCurious({1, 3})),
        (SecureSum(), HonestButCurious({0})),
        pytest.param(SecureAggregation(), CuriousServer(), marks=pytest.mark.build),
    ],
)
def test_two_runs_show_what_many_show_but_clear_nobody(protocol: SumProtocol, adversary: Adversary) -> None:
    few, many = (audited(protocol, adversary, why) for why in (WHY, ""))
    assert few.leaked == many.leaked
    revealed = [[node.node for node in cell.nodes if node.standing == "revealed"] for cell in (few, many)]
    assert revealed[0] == revealed[1]
    assert few.verdict == ("violated" if many.verdict == "violated" else "inconclusive")
    assert few.proof.startswith("Not proved: a proof follows every number that is sent")
    assert all(WHY in str(node) for node in few.nodes if node.verdict == "inconclusive")


@dataclass(frozen=True)
class FarEntry(SecureSum):
    """Sends beside its own messages the vector of node 2, of which one entry is another function."""

    entry: int = 0
    times: float = 1.0

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average, as it does, and say more."""
        channel = channel or Channel()
        vector = np.asarray(inputs)[:, 2].copy()
        vector[:, self.entry] = self.times * (vector[:, self.entry] + 1) - 1  # an entry may be 0 in all runs
        channel.send(9, 2, SERVER, "beside", vector[None])
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def read_as_linear(protocol: SumProtocol) -> bool:
    cell, setup = parts(protocol, HonestButCurious({0}))
    cell = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    return not any("not linear" in doubt for doubt in observe(cell, setup, seeds_of(cell)).unread)


def test_what_is_read_off_is_checked_in_every_entry() -> None:
    """The columns of a view are read off different entries; a protocol that treats one of them otherwise is noticed."""
    assert read_as_linear(FarEntry(entry=7))
    assert not read_as_linear(FarEntry(entry=7, times=1 + 1e-6))


@pytest.mark.build
@settings(max_examples=20, deadline=None)
@given(entry=st.integers(0, 19), times=st.sampled_from([0.0, -1.0, 1 + 1e-6, 1e6]))
def test_whichever_entry_it_is(entry: int, times: float) -> None:
    assert not read_as_linear(FarEntry(entry=entry, times=times))


def test_only_exact_evidence_of_what_does_not_fit_makes_few_runs() -> None:
    wide = from_dict(
        {
            **SETTINGS,
            "protocol": {"name": "secure_sum"},
            "adversary": {"name": "curious_server"},
            "data": {"name": "gaussian", "features": 300, "rows": 20},
            "memory_limit": 1024,
        }
    )
    setup = build_setup(wide)
    assert isinstance(setup, SumSetup)
    why = too_wide(wide, setup)
    assert "2 runs were made" in why
    assert "set features to at most" in why
    assert planned_runs(wide, replace(setup, too_wide=why)) == (2, "")
    (ahead,) = clearing_nobody([estimate(wide, replace(setup, too_wide=why), 0.0)])
    assert re.search(r"which clear nobody: with 300 columns .* memory_limit = 1024 leaves .*; set features to", ahead)
    narrow = wide.model_copy(update={"memory_limit": 8192})
    assert too_wide(narrow, setup) == ""


@pytest.mark.build
@pytest.mark.parametrize("limit", [6, 10])  # for probes of one iteration, and of all
def test_where_probes_fill_the_memory_the_proof_answers(limit: int) -> None:
    """Default evidence needs more of them: there it stays an error, which says what would do."""
    long = from_dict(
        {
            **SETTINGS,
            "network": {"kind": "cycle", "nodes": 10},
            "protocol": {"name": "pdmm", "sigma": 100.0},
            "adversary": {"name": "honest_but_curious", "corrupt": [1, 3]},
            "memory_limit": limit,
        }
    )
    setup = build_setup(long)
    found, _ = run_cell._audited(long, setup, "", lambda word: None, math.inf)
    assert found.verdict == "violated"
    assert [node.node for node in found.nodes if node.standing == "revealed"] == [2]
    assert not clearing_nobody([run_cell.try_out(long, None)])
    default = from_dict({**long.to_dict(), "measure": {"evidence": ["structure", "reconstruction"]}})
    with pytest.raises(SecmixError, match=r"of a single run.*raise"):
        run_cell.try_out(default, None)


def test_exact_evidence_makes_no_more_blocks_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "block_size", lambda cell, setup: 20)
    cell, setup = parts(SecureSum(), HonestButCurious({1, 3}), "")
    cell = cell.model_copy(update={"runs": 500})
    few, many = (observe(cell, setup, seeds_of(cell), exact=exact) for exact in (True, False))
    assert (few.runs, many.runs) == (160, 500)
    assert [reading.subspace.describe() for reading in few.readings.values()] == [
        reading.subspace.describe() for reading in many.readings.values()
    ]
    case = audit_cell(cell, setup, seeds_of(cell), "")[0]
    assert any("100 were made" in note for note in case.notes)  # a proof says what the others send


class Unpicklable(SecureSum):
    """Holds what no proof can be filed under."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "note", lambda: None)


def test_a_protocol_is_traced_once_however_many_blocks_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "block_size", lambda cell, setup: 20)
    proofs: list[Any] = []

    def prove(*given: Any, **more: Any) -> Any:
        proofs.append(own(*given, **more))
        return proofs[-1]

    own = proof.prove
    monkeypatch.setattr(proof, "prove", prove)
    audited(Unpicklable(), HonestButCurious({1, 3}), "")
    assert [each.open for each in proofs] == [""]


def test_iterations_with_the_same_coefficients_share_what_follows_from_them() -> None:
    """Equal coefficients have equal subspaces and views; of a schedule with coins every iteration has its own."""
    shared, own = (_subspaces(PDMM(sigma=100.0, schedule=schedule)) for schedule in ("coloured", "asynchronous"))
    assert len({id(each) for each in shared}) == 1
    assert len({id(each) for each in own}) == len(own)
    assert [each.describe() for each in shared] == [each.describe() for each in own]


def _subspaces(protocol: PDMM) -> list[LeakedSubspace]:
    cell, setup = parts(protocol, HonestButCurious({1, 3}))
    return [reading.subspace for reading in observe(cell, setup, seeds_of(cell)).readings.values()]
