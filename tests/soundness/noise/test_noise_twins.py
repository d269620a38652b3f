"""The promise for claims: no wrong twin is cleared, each is refuted or refused; every right twin is cleared.

At the right limit: a right twin's claim holds, and one of a thousandth less does not. ``REFUSED`` has the wrong twins
that are not refuted, with the words that say where their proof ends.
"""

from __future__ import annotations

import re

import pytest

from soundness.noise.bases import Twins
from soundness.noise.corpus import TWINS, claimed

pytestmark = pytest.mark.build

REFUSED = {
    "a seed that a neighbour sends": r"the noise of release 1 \(bases.py, line \d+\) comes from a generator",
    "the same lot in every round": r"amplification by sampling is not credited",
}
NEAR = {
    "the classic formula beyond ε = 1",
    "one draw for all rounds",
    "a generator that is copied each round",
    "a sample credited that messages show",
}
"""Claims that are little off, or faults that show seldom: they take as many calls as an audit makes."""


def by_name(twins: Twins) -> str:
    return twins.fault.replace(" ", "_")


def distinct() -> list[Twins]:
    """Return pairs of which no earlier one has the same right twin and claim."""
    return list({(repr(each.right()), repr(each.claim), repr(each.adversary)): each for each in TWINS[::-1]}.values())


@pytest.fixture(autouse=True)
def few_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay few calls where many are not needed."""
    twins = request.node.callspec.params.get("twins") if hasattr(request.node, "callspec") else None
    if twins is None or twins.fault not in NEAR:  # few calls are enough for what is far from its claim
        monkeypatch.setattr("secmix.auditing.noise.privacy_loss._CALLS", (60, 60))
        monkeypatch.setattr("secmix.auditing.noise.privacy_loss._SHORT", 15)
        monkeypatch.setattr("secmix.auditing.noise.told_apart._SHORT", 40)
        monkeypatch.setattr("secmix.auditing.noise.privacy_claims._RUNS", 600)


@pytest.mark.parametrize("twins", TWINS, ids=by_name)
def test_a_wrong_twin_is_refuted_or_refused_with_what_gives_it_away(twins: Twins) -> None:
    claim = claimed(twins, "wrong")
    node = claim.nodes[0]
    assert claim.verdict == ("inconclusive" if twins.fault in REFUSED else "violated"), node
    if twins.fault in REFUSED:
        assert re.search(REFUSED[twins.fault], node.follows), node.follows
    else:
        assert node.fails


@pytest.mark.parametrize("seed", range(10))
def test_what_a_median_keeps_of_rows_is_refuted_whatever_is_drawn(seed: int) -> None:
    """One row moves what is kept as far as there is where half of the others are far out, and little elsewhere."""
    (twins,) = (each for each in TWINS if each.fault == "divided by how many rows are kept")
    claim = claimed(twins, "wrong", seed=seed)
    assert claim.verdict == "violated"
    assert (claim.nodes[0].seen or 0.0) > 2 * twins.claim["epsilon"]


@pytest.mark.parametrize("twins", distinct(), ids=by_name)
def test_a_right_twin_is_cleared_at_its_limit_and_never_accused(twins: Twins) -> None:
    claim = claimed(twins, "right")
    assert claim.verdict == "holds", claim.nodes[0]
    assert claim.nodes[0].proved == pytest.approx(twins.claim["epsilon"], rel=1e-6)


def test_there_are_twins_of_every_fault_that_the_corpus_names() -> None:
    assert len({twins.fault for twins in TWINS}) == len(TWINS) >= 30
    assert {*REFUSED, *NEAR} <= {twins.fault for twins in TWINS}
