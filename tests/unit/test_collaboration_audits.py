"""Audits of collaborations: protocols that are no sums, judged by what real runs show."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from example_protocols import Averaging

from secmix._base.checks import Array
from secmix.adversaries import Attack, Colluders
from secmix.api import audit
from secmix.auditing.report import Report
from secmix.auditing.robustness import collaborations
from secmix.errors import ScenarioError, SecmixError
from secmix.network import Network
from secmix.protocols import Collaboration
from secmix.transcript import SERVER, Channel


def _report(adversary: object, protocol: object = None, **changes: object) -> Report:
    scenario = {
        "runs": 300,
        "network": {"kind": "complete", "nodes": 5},
        "data": {"name": "gaussian", "rows_per_node": 4, "features": 2},
        "protocol": {"name": "mine"},
        "adversary": {"name": "theirs"},
        **changes,
    }
    return audit(scenario, protocols={"mine": protocol or Averaging()}, adversaries={"theirs": adversary})


def _curious() -> object:
    from secmix.adversaries import CuriousServer

    return CuriousServer()


def _outsider() -> object:
    from secmix.adversaries import Eavesdropper

    return Eavesdropper()


def test_the_interface_is_recognised() -> None:
    assert isinstance(Averaging(), Collaboration)


def test_a_row_sent_as_it_is_is_revealed() -> None:
    report = _report(_curious(), Averaging("first"))
    assert report.verdict == "violated"
    assert {node.standing for node in report.cells[0].nodes} == {"revealed"}


def test_a_mean_leaks_partly_and_is_never_cleared() -> None:
    """A mean of four rows explains a quarter of one: an estimate may say less, but not nothing, and not "safe"."""
    report = _report(_curious())
    assert report.verdict == "inconclusive"
    for node in report.cells[0].nodes:
        assert node.standing in ("partly leaked", "inconclusive")
        assert 0.1 < node.worst < 0.4
        assert node.verdict == "inconclusive"


def test_measured_evidence_about_a_collaboration_is_a_lower_bound() -> None:
    report = _report(_curious())
    assert {f.kind for f in report.findings} <= {"lower bound", "exact", "upper bound"}
    assert all(f.normalised_high == 1.0 for f in report.findings)


def test_messages_that_tell_nothing_are_not_cleared_either() -> None:
    """That decoders find nothing in messages proves nothing about them."""
    assert _report(_curious(), Averaging("nothing")).verdict == "inconclusive"


def test_who_holds_no_message_knows_nothing() -> None:
    report = _report(_outsider(), Averaging(encrypted=True))
    assert report.verdict == "holds"
    assert {node.standing for node in report.cells[0].nodes} == {"no more than the output itself reveals"}


def _far() -> Attack:
    return Attack(["mean"], lambda said: said.own + 10.0 * said.scale)


def test_a_mean_is_pushed_without_bound_by_one() -> None:
    report = _report(Colluders([1], _far()), policy={"min_breakdown": 0.2})
    pushed = report.cells[0].robustness
    assert pushed is not None
    assert pushed.breakdown == 0.0
    assert report.verdict == "violated"


def test_a_median_is_not_and_yet_nothing_is_proven() -> None:
    report = _report(Colluders([1], _far()), Averaging(rule="median"), policy={"min_breakdown": 0.2})
    pushed = report.cells[0].robustness
    assert pushed is not None
    assert pushed.breakdown == pytest.approx(2 / 5)
    assert pushed.breakdown_proven == 0.0
    assert report.verdict == "inconclusive"
    assert all(point.found is not None and 0 < point.found < 20 for point in pushed.points)


@pytest.mark.parametrize(("ours", "proven", "verdict"), [(True, 2 / 5, "holds"), (False, 0.0, "inconclusive")])
def test_a_bound_clears_where_it_is_a_theorem_of_ours(
    ours: bool, proven: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Proven(Averaging):
        def bound(self, transcript: object, reference: Array, colluders: int) -> float | None:
            return 50.0 if colluders <= 2 else None

    monkeypatch.setattr(collaborations, "proven_protocol", lambda protocol: ours)
    report = _report(Colluders([1], _far()), Proven(rule="median"), policy={"min_breakdown": 0.2})
    pushed = report.cells[0].robustness
    assert pushed is not None
    assert pushed.breakdown_proven == pytest.approx(proven)
    assert report.verdict == verdict


@pytest.mark.parametrize(("worthless", "verdict"), [(1.5, "violated"), (1e-3, "inconclusive"), (1e3, "inconclusive")])
def test_the_error_named_worthless_counts_as_broken(worthless: float, verdict: str) -> None:
    """Unless chance alone makes one as large. A shift of one node by ten moves the mean of five by two."""

    class Strict(Averaging):
        broken = worthless

    shift = Attack(["mean"], lambda said: said.own + 10.0)
    report = _report(Colluders([1], shift), Strict(), policy={"min_breakdown": 0.2})
    assert report.verdict == verdict


def test_poison_changes_what_colluders_learn_from() -> None:
    poison = Attack(["mean"], poison=lambda rows, scale, rng: rows + scale)
    report = _report(Colluders([0], poison), policy={"max_error_ratio": 0.5})
    assert report.verdict == "violated"


def test_a_forgery_of_other_messages_is_refused() -> None:
    with pytest.raises(SecmixError, match=r"forges .*basis.* messages are .*mean"):
        _report(Colluders([0], Attack(["basis"], lambda said: said.own)))


def test_a_forged_message_of_the_wrong_shape_is_named() -> None:
    report = _report(Colluders([0], Attack(["mean"], lambda said: said.own[:, :1])))
    assert report.verdict == "inconclusive"
    assert "messages of shape (1, 1); expected (1, 2)" in report.cells[0].sentence


def test_sums_and_collaborations_take_their_own_adversaries_and_settings() -> None:
    with pytest.raises(SecmixError, match=r"the protocol's messages are .*mean"):
        _report(Colluders([1], "sign_flip"))
    with pytest.raises(ScenarioError, match="under \\[protocol\\]"):
        _report(_curious(), model={"components": 3})
    with pytest.raises(ScenarioError, match="sums no inputs"):
        _report(_curious(), measure={"target": "input"})


def test_the_same_seed_gives_the_same_report() -> None:
    first, second = (_report(Colluders([1], _far())).to_dict() for _ in range(2))
    assert first == second


def test_a_wrong_shape_of_the_outcome_is_named() -> None:
    class Odd(Averaging):
        def collaborate(self, *args: object, **kwargs: object) -> Array:  # type: ignore[override]
            return super().collaborate(*args, **kwargs)[:, 0]  # type: ignore[arg-type]

    with pytest.raises(SecmixError, match="runs, n, p"):
        _report(_curious(), Odd())


@dataclass(frozen=True)
class Wordy(Averaging):
    """Says everything a thousand times."""

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        said = np.stack([np.tile(part[:, 0], 1000) for part in parts])
        channel.send(2, np.arange(network.n), SERVER, "words", said)
        return super().collaborate(parts, network, rng, channel=channel)


def test_the_messages_of_one_block_are_all_that_is_in_memory() -> None:
    """Less than the 76 MiB of all messages, which go in blocks of at most 8, of 110 in all."""
    tracemalloc.start()
    try:
        _report(_curious(), Wordy(), runs=1000, memory_limit=110, measure={"evidence": ["reconstruction"]})
        peak = tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
    assert peak < 76


def test_what_passes_outside_the_channel_clears_nobody() -> None:
    """Were the transcript believed, an eavesdropper before encrypted lines would know nothing."""

    class Whisper(Averaging):
        def result(self, ends: Array, parts: Sequence[Array]) -> Array:
            ends[:, 0] += parts[1][:, 0]
            return ends

    report = _report(_outsider(), Whisper(encrypted=True))
    assert report.verdict == "inconclusive"
    assert "the result of node 0 changes with the data of node 1" in report.cells[0].nodes[0].why
