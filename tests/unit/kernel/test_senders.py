"""Try that what is sent is a combination of what its sender made, held or was sent: a sum is not its parts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from soundness.heldback.sixteenth import right, untold
from soundness.right.fresh import TwoInAWord
from unit.kernel.examples import RingSum
from unit.kernel.seeded import INPUTS as OF_FOUR
from unit.kernel.seeded import Seeded

from secmix.kernel import prove
from secmix.kernel.tracing import senders
from secmix.kernel.tracing.trace import follow
from secmix.kernel.values.current_trace import Trace
from secmix.network import Network

INPUTS = [np.random.default_rng([7, call]).normal(size=(1, 5, 3)) for call in range(3)]
APART = "takes a sum apart of which nobody told it a part"
_numbers = st.integers(-3, 3)


@pytest.mark.build
@pytest.mark.parametrize(
    "kind", [untold.WSelfMasksAlone, untold.WSeedsAtServer, untold.WAggregatorUnmasks, untold.WHelperUnmasks]
)
def test_masks_that_nobody_told_are_not_taken_off(kind: type) -> None:
    protocol: Any = kind()
    nodes = protocol.audited["n"]
    assert APART in prove(protocol, Network.complete(nodes), [each[:, :nodes] for each in INPUTS]).open


def test_a_mask_that_is_taken_away_is_no_multiple_of_the_ring() -> None:
    """As a word it is multiplied by one less than the ring has words, which no float tells from all of them."""
    told = senders._Combination(0b11, ((1, 2**64 - 1),), Fraction(2**64))
    assert (told.within(Fraction(2**64)), told.within(Fraction(1))) == (0b11, 0b01)


class TakesOffFloats(RingSum):
    """Has the server take real masks off, of which it was told nothing."""

    def decode(self, total: Any) -> Any:
        return total

    def add(self, sent: list[Any]) -> Any:
        return sum(word - self.drawn[:, node] for node, word in enumerate(sent))

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word + own

    def hand_over(self, masks: Any, n: int, channel: Any) -> list[Any]:
        self.drawn = masks
        channel.hold(-1, np.arange(n), "mask", masks.transpose(1, 0, 2))
        return [masks[:, node] for node in range(n)]


def test_real_masks_that_nobody_told_are_not_taken_off() -> None:
    fit = follow(TakesOffFloats(), Network.complete(4), [INPUTS[0][:, :4]])
    assert APART in senders.not_computed(fit)
    assert not senders.not_computed(follow(RingSum(), Network.complete(4), [INPUTS[0][:, :4]]))


def test_of_more_numbers_it_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = follow(TakesOffFloats(), Network.complete(4), [INPUTS[0][:, :4]])
    monkeypatch.setattr(senders, "_MOST", 10)
    assert not senders.not_computed(fit)


def test_who_has_the_seeds_takes_their_masks_off() -> None:
    """Both ends of a line expand a seed that is sent once."""

    def expand(seed: Any, m: int, channel: Any) -> Any:
        return np.random.default_rng(list(seed)).integers(0, 2**64, size=m, dtype=np.uint64)

    seeded = type("Protocol", (Seeded,), {"expand": staticmethod(expand)})()
    assert not senders.not_computed(follow(seeded, Network.complete(4), [OF_FOUR[0]]))
    assert not senders.not_computed(follow(right.RSelfAndPair(), Network.complete(5), [INPUTS[0]]))


def test_of_two_numbers_in_one_word_the_lower_can_be_told() -> None:
    """Modulo what the upper one is multiplied by there is only the lower one."""
    assert not senders.not_computed(follow(TwoInAWord(), Network.complete(4), [INPUTS[0][:, :4]]))


@given(st.lists(st.lists(_numbers, min_size=6, max_size=6), min_size=1, max_size=6), st.lists(_numbers, min_size=6))
def test_a_combination_of_what_is_held_can_be_made(rows: list[list[int]], weights: list[int]) -> None:
    held = np.array(rows)
    target = np.array(weights[: len(rows)]) @ held
    assert _held(held).makes(senders._Combination(_bits(target)))


@given(st.lists(st.lists(_numbers, min_size=6, max_size=6), min_size=1, max_size=6), st.lists(_numbers, min_size=6))
def test_what_cannot_be_made_is_no_combination(rows: list[list[int]], target: list[int]) -> None:
    held, told = np.array(rows), np.array(target[:6])
    if not _held(held).makes(senders._Combination(_bits(told))):
        assert np.linalg.matrix_rank(np.vstack([held, told])) > np.linalg.matrix_rank(held)


def _bits(row: Any) -> int:
    return sum(1 << k for k in np.flatnonzero(row).tolist())


def _held(rows: Any) -> senders._Held:
    trace = Trace()
    for _ in range(rows.shape[1]):
        trace.variable("draw", -1, 0, 1, spread=1.0, law="", range=0, place=None, stream=-1)
    held = senders._Held(-1, min(trace.variables), trace)
    held.add(map(senders._Combination, filter(None, map(_bits, rows))), 0)
    return held
