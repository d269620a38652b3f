"""Traces are compared with plain calls of their kind: protocols of a fifteenth hand that a proof cleared once."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from soundness.heldback.fifteenth import aliases, casts, folds, fresh, journal, lengths, more, pinned, right, sizes
from soundness.heldback.sixteenth import seeded

from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, proving
from secmix.kernel.randomness.coins import Coin
from secmix.kernel.tracing.checks import otherwise_in_plain_calls
from secmix.kernel.tracing.trace import Fit, Way, follow
from secmix.kernel.values.current_trace import LeftTrace, Trace, following

INPUTS = [np.random.default_rng([7, call]).normal(size=(1, 5, 6)) for call in range(3)]


def is_cleared(protocol: Any, nodes: int = 5) -> bool:
    network = Network.complete(nodes)
    proof = proving.prove(protocol, network, [each[:, :nodes] for each in INPUTS])
    known = clear(proof, network, CuriousServer())
    return isinstance(known, KnownSums) and not known.covers and max(known.behind_masks.values()) < 0.9


_NOT_AS_NUMPY = [
    *(aliases.WResidualView, aliases.WFlatLate, aliases.WGivenView, aliases.WWipedEarly, aliases.WZerosLike),
    *(aliases.WContiguous, aliases.WRavelByLot, sizes.WTinyBlocks, sizes.WByItemsize, sizes.WGeneralPath, sizes.WOwned),
    *(sizes.WStrided, casts.WSignedPlusUnsigned, casts.WAddOutRefused, casts.WSafeCast, casts.WDividedInPlace),
    *(more.WOrderC, more.WFortran, more.WNoCopy, more.WBaseOfView, journal.WJournal, journal.WJournalGiven),
]
_OF_OTHER_KINDS = [
    *(folds.WFoldsWithoutRound, folds.WPairsLate, folds.WReplay, folds.WPrecomputedFolds, folds.WFoursLate),
    *(folds.WHalvesLate, folds.WGrouperByLot, folds.WFoldsOfPads, folds.WReplayAfterCrash, fresh.WFreshPairs),
    *(fresh.WFreshRows, fresh.WFreshGenerator, more.WReplayedBatch, more.WGivenOdd),
]


@pytest.mark.build
@pytest.mark.parametrize("kind", _NOT_AS_NUMPY)
def test_what_a_trace_takes_for_something_else_is_not_cleared(kind: type) -> None:
    assert not is_cleared(kind())


@pytest.mark.build
@pytest.mark.parametrize("kind", _OF_OTHER_KINDS)
def test_what_goes_wrong_in_calls_of_one_kind_is_not_cleared(kind: type) -> None:
    assert not is_cleared(kind())


@pytest.mark.parametrize("kind", [each for name, each in vars(seeded).items() if name[0] == "W"])
def test_floats_beside_seeds_differ_by_no_more_than_floats_do(kind: type) -> None:
    """Words of seeds are large: a mask that is lost beside them is not to be taken for rounding."""
    assert not is_cleared(kind(), nodes=3)


@pytest.mark.build
@pytest.mark.parametrize("kind", [pinned.WPinnedSeeds, pinned.WPinnedKeys, pinned.WPinnedByVersion])
def test_bits_with_a_public_seed_draw_what_is_public(kind: type) -> None:
    assert not is_cleared(kind(), nodes=4)


@pytest.mark.build
def test_masks_of_a_long_vector_that_are_handed_over_are_those_that_a_call_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proving, "_LONG", 10)
    network, wide = Network.complete(5), [np.tile(each, (1, 1, 7)) for each in INPUTS]
    assert "where masks are handed over" in proving.prove(lengths.WTailGiven(), network, wide).open
    assert not proving.prove(lengths.PairSum(), network, wide).open


@pytest.mark.build
@pytest.mark.parametrize(
    "kind", [right.RGroupsByLot, right.ROddFolds, right.RContiguousCopy, right.RSystemWords, right.RBatchesAndRounds]
)
def test_what_is_right_is_cleared(kind: type) -> None:
    assert is_cleared(kind())


class ByIteration(lengths.PairSum):
    """Draws lots, and asks which iteration it is in many ways, to no purpose."""

    def hidden(self, s: Any, r: Any, other: Any, network: Network, channel: Any, given: bool) -> Any:
        late, turn = channel.iteration >= 1000, (2 * channel.iteration + 1) % 3
        order = np.random.default_rng(5).permutation(2) if late else [0, 1]
        hidden = s + self.pads(r, other, network)
        return hidden[[*range(len(hidden))]] if turn == 2 and order[0] else hidden


@pytest.mark.parametrize("script", list(itertools.product((0, 1), (0, 1))))
def test_a_plain_call_takes_the_turns_of_its_trace(script: tuple[int, ...]) -> None:
    network = Network.complete(5)
    fit: Fit = follow(ByIteration(), network, INPUTS[:1], script=script, ways=Way(is_heard=False))
    assert not fit.error
    assert tuple(outcome for outcome, *_ in fit.trace.turns[:2]) == script
    assert otherwise_in_plain_calls(ByIteration(), network, fit, seed=0) == ""
    assert "other numbers untraced" in otherwise_in_plain_calls(ByIteration(), network, fit, seed=1)


class KeepsCount(lengths.PairSum):
    """Counts its calls, to no purpose."""

    def __init__(self) -> None:
        self.calls = 0

    def hidden(self, *args: Any) -> Any:
        self.calls += 1
        return super().hidden(*args) if self.calls < 50 else super().hidden(*args) * 1.0


def test_numbers_that_are_kept_may_vary_in_plain_calls_too() -> None:
    network = Network.complete(5)
    fit: Fit = follow(KeepsCount(), network, INPUTS)
    varied: Fit = follow(KeepsCount(), network, INPUTS, varying=fit.varying)
    assert varied.trace.turns
    assert otherwise_in_plain_calls(KeepsCount(), network, varied, seed=0) == ""


def test_other_coins_in_a_plain_call_end_it() -> None:
    with following(Trace()) as trace:
        trace.met(Coin(2, 0, "a public coin"))
    with following(Trace(outcomes=iter(trace.coins))) as plain:
        with pytest.raises(LeftTrace):
            plain.met(Coin(2, 0, "another"))
        with pytest.raises(LeftTrace):
            plain.met(Coin(2, 0, "a public coin"))
        plain.leave("a branch on a secret")  # nothing is secret here
        assert not plain.left


class Failing(lengths.PairSum):
    """Fails in every call after the first."""

    calls = 0

    def hidden(self, *args: Any) -> Any:
        Failing.calls += 1
        if Failing.calls > 1:
            raise ValueError("no more")
        return super().hidden(*args)


def test_a_plain_call_that_fails_is_another() -> None:
    network = Network.complete(5)
    fit: Fit = follow(Failing(), network, INPUTS[:1])
    assert not fit.error
    assert otherwise_in_plain_calls(Failing(), network, fit, seed=0) == "a plain call ends in ValueError: no more"
