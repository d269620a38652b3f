"""Protocols whose probes do not fit into memory: a proof says what is known, and nothing is said without one."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

import secmix
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.auditing.cells import observed
from secmix.auditing.observation import memory
from secmix.auditing.observation.memory import too_large_to_probe
from secmix.auditing.setup import SumSetup, build_setup
from secmix.errors import SecmixError
from secmix.kernel.tracing.trace import Way, follow
from secmix.protocols import PDMM, SecureAggregation, SumProtocol
from secmix.scenario import from_dict
from secmix.transcript import SERVER, Channel

SCENARIO: dict[str, Any] = {
    "network": {"kind": "complete", "nodes": 4},
    "runs": 100,
    "data": {"name": "wine", "features": 2},
    "model": {"iterations": 1},
    "measure": {"evidence": ["structure", "gaussian"], "target": "input"},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.6},
}
ADVERSARY = {"name": "honest_but_curious", "corrupt": [1]}
WHY = "the probes of one run do not fit"


def audited(protocol: SumProtocol, monkeypatch: pytest.MonkeyPatch, why: str = WHY) -> Any:
    monkeypatch.setattr(observed, "too_large_to_probe", lambda cell, setup, *, exact: "" if setup.too_wide else why)
    adversary = HonestButCurious({1}) if isinstance(protocol, PDMM) else CuriousServer()
    changes = {"network": {"kind": "cycle", "nodes": 8}, "data": {"name": "gaussian", "rows": 80, "features": 1}}
    scenario = SCENARIO | (changes if isinstance(protocol, PDMM) else {})
    return secmix.audit(scenario, protocols={"p": protocol}, adversaries={"a": adversary}, workers=1)


class Bare(SecureAggregation):
    """Sends the first entry of node 2 beside the masked vectors."""

    def average(self, inputs: ArrayLike, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        """Average, as it does, and say more."""
        channel = channel or Channel()
        channel.send(9, 2, SERVER, "first entry", np.asarray(inputs)[:, 2, :1])
        return super().average(inputs, network, rng, masks=masks, channel=channel)


@pytest.mark.build
def test_without_probes_the_proof_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    probed, unprobed = (audited(SecureAggregation(), monkeypatch, why).cells[0] for why in ("", WHY))
    assert unprobed.leaked == probed.leaked == ["x0 + x1 + x2 + x3"]
    assert {node.standing for node in unprobed.nodes} == {node.standing for node in probed.nodes}
    assert "revealed" not in {node.standing for node in unprobed.nodes}


@pytest.mark.build
def test_without_probes_and_proof_nobody_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audited(Bare(), monkeypatch).cells[0]
    assert "holds" not in {found.verdict, *(node.verdict for node in found.nodes)}
    assert any(WHY in node.why for node in found.nodes)


@pytest.mark.parametrize(("limit", "fits"), [(500, True), (50, False)])
def test_probes_are_weighed(limit: int, fits: bool) -> None:
    assert (_weighed(SecureAggregation(), limit) == "") == fits


class Counting(SecureAggregation):
    """Keeps what it has done."""

    calls: ClassVar[list[str]] = []

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "calls", [])

    def average(self, *args: Any, **named: Any) -> Any:
        """Average, as it does."""
        self.calls.append("average")
        return super().average(*args, **named)


def test_a_protocol_is_weighed_by_a_copy() -> None:
    """Keys that are made in a first call would otherwise be those of all calls that are audited."""
    protocol = Counting()
    assert _weighed(protocol, 500) == ""
    assert not protocol.calls


@pytest.mark.build
@pytest.mark.parametrize("sigma", [3.0, 30.0, 1e4])
def test_of_real_masks_the_proof_bounds_what_their_size_leaves_visible(
    sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    probed, unprobed = (audited(PDMM(sigma=sigma), monkeypatch, why) for why in ("", WHY))
    assert unprobed.verdict in ("holds", "inconclusive")
    (curve, note), (no_curve, said) = ((each.cells[0].sigma_curve, each.cells[0].notes) for each in (probed, unprobed))
    assert bool(curve) > bool(no_curve)
    assert [f"other sizes of masks are not tried: {WHY}" in notes for notes in (note, said)] == [False, True]
    assert probed.verdict == "holds" or unprobed.verdict == "inconclusive"
    most = _most_of_masks(unprobed)
    assert all(share <= most[node] + 1e-9 for node, share in _most_of_masks(probed).items())
    if sigma == 1e4:
        assert unprobed.verdict == "holds"
        assert max(most.values()) < 0.6


def _most_of_masks(report: Any) -> dict[int, float]:
    """Return the upper end of the share that is visible behind masks, by node."""
    findings = [each for each in report.findings if each.evidence == "gaussian" and each.view == "cumulative"]
    return {each.node: float(each.normalised_high) for each in findings}


class NotTraced(PDMM):
    """Asks secrets for their text."""

    def average(self, inputs: ArrayLike, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        """Average, after a look at the data."""
        str(np.asarray(inputs))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def test_real_masks_of_which_nothing_is_proved_are_probed_in_a_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audited(NotTraced(), monkeypatch)
    assert found.verdict == "inconclusive"
    assert "the text of a secret" in str(found.cells[0].nodes)
    assert "2 runs were made" in str(found.cells[0].nodes)


def test_real_masks_are_probed_or_not_audited_by_evidence_that_reads_probes() -> None:
    assert "are not read as linear functions of masks" in _weighed(PDMM(), 20)
    with pytest.raises(SecmixError, match=r"take \d+ MiB, .* leaves \d+; set it to at least \d+, or use fewer"):
        _weighed(PDMM(), 20, exact=False)


def test_what_no_proof_can_follow_is_refused_with_the_keys_that_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_TERMS", 10**4)
    words = "a proof would add up .* terms, of 1e.04 at most; change c or tol so that there are fewer rounds"
    with pytest.raises(SecmixError, match=words):
        _weighed(PDMM(), 20)
    assert "are not read as linear functions" in _weighed(SecureAggregation(), 50)  # of words a proof keeps no tables


def test_the_terms_of_a_proof_are_estimated_from_below() -> None:
    cell = from_dict({**SCENARIO, "protocol": {"name": "pdmm"}, "adversary": ADVERSARY})
    setup = build_setup(cell)
    assert isinstance(setup, SumSetup)
    inputs = np.random.default_rng(1).normal(size=(1, 4, 2))
    setup.protocol.average(inputs, setup.network, np.random.default_rng(0))  # how many rounds there are is kept
    fit = follow(setup.protocol, setup.network, [inputs], ways=Way(masks_seed=0))
    assert not fit.error
    kept = sum(2 * message.rows.table.coefficients.size for message in fit.messages if message.rows.table is not None)
    estimated = memory._terms_of_proof(setup, np.random.default_rng(0))
    assert 0.5 * kept <= estimated <= 2.0 * kept
    assert kept <= fit.trace.terms


def _weighed(protocol: SumProtocol, limit: int, *, exact: bool = True) -> str:
    named = {"protocol": {"name": "p"}, "adversary": {"name": "a"}, "network": {"kind": "complete", "nodes": 12}}
    cell = from_dict({**SCENARIO, **named, "memory_limit": limit})
    setup = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): HonestButCurious({1})})
    assert isinstance(setup, SumSetup)
    return too_large_to_probe(cell, setup, exact=exact)
