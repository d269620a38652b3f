"""A proof of the iterations that are traced, and of no others: all, in order, with what each leaves to the next."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from soundness.heldback.twentieth import right
from unit.kernel.examples import GrowingList, Late, RingSum, bare

from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.transcript import SERVER, Channel

NETWORK = Network.complete(3)
ITERATIONS = (-1, 0, 1, 2, 3)
MODULE: Any = types.SimpleNamespace(past=[])


def inputs_of(calls: int = len(ITERATIONS)) -> list[Any]:
    return [np.random.default_rng([3, call]).normal(size=(1, 3, 3)) for call in range(2 * calls)]


def outcome(protocol: Any, *, traced: bool = True) -> KnownSums | Open:
    iterations = ITERATIONS if traced else ()
    proof = prove(protocol, NETWORK, inputs_of(), iterations=iterations)
    return clear(proof, NETWORK, CuriousServer(), calls=len(ITERATIONS))


def clears(found: KnownSums | Open) -> bool:
    return isinstance(found, KnownSums) and not found.covers and max(found.exact.values()) < 0.5


class WarmsUp(RingSum):
    """The scale of masks follows a table of the iterations."""

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word + self.scale * (own - other)

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.scale = {-1: 1.0, 0: 2.0, 1: 4.0}.get(channel.iteration, 8.0)


class Remembers(RingSum):
    """The server sends again the sums that it had before, which nodes keep in a list."""

    def __init__(self) -> None:
        self.past: list[Any] = []

    def decode(self, total: Any) -> Any:
        self.past.append(total)
        return total

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        for sums in self.past:
            channel.send(0, SERVER, 0, "earlier", sums, encrypted=True)


@pytest.mark.parametrize("protocol", [WarmsUp, Remembers])
def test_what_is_keyed_by_the_iteration_is_proved_for_what_was_traced_alone(protocol: Any) -> None:
    found = outcome(protocol())
    assert clears(found)
    assert found.iterations == ITERATIONS
    everywhere = outcome(protocol(), traced=False)
    assert everywhere.covers
    assert not everywhere.iterations


class BareInLast(RingSum):
    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if channel.iteration == 3:
            bare(channel, rows[:, 0])


class BareOnceLong(GrowingList):
    """Forget the mask once the list has its fifth entry, in the last call."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.past.append(0)
        if len(self.past) == 5:
            bare(channel, rows[:, 0])


class BareInABatch(RingSum):
    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word if self.last and len(word) == 2 else word + own - other

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        self.last = channel.iteration == 3


class BareInABatchOf16(BareInABatch):
    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word if self.last and len(word) == 16 else word + own - other


class BareByACoin(RingSum):
    """One of four coins, in the last iteration alone."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if channel.iteration == 3 and rng.integers(4) == 3:
            bare(channel, rows[:, 0])


class BareWithMasksThatAreHanded(RingSum):
    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is not None and channel is not None and channel.iteration == 3:
            bare(channel, np.asarray(inputs, dtype=float)[:, 0])
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class BareOnAnError(RingSum):
    """A guard that stops the call, after it has told why in the last iteration."""

    def why(self, channel: Channel, rows: Any) -> str:
        if channel.iteration == 3:
            bare(channel, rows[:, 0])
        return "the inputs are too large"

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        if np.abs(rows).max() > 1e9:
            raise ValueError(self.why(channel, rows))


class DrawsByACoin(RingSum):
    """A coin is no iteration: used by its value it narrows the claim."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        channel.send(1, 0, SERVER, "round", np.ones((1, 1)) * float(str(rng.random())), encrypted=True)


class CountsElsewhere(RingSum):
    """A list that no copy of the object begins anew."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        MODULE.past.append(0)
        if len(MODULE.past) == 10**6:
            bare(channel, rows[:, 0])


class ReusedInLast(GrowingList):
    """The last call has the masks of the first: their difference has none."""

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None: ...

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        drawn = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng) if masks is None else masks
        self.past.append(drawn)
        used = self.past[0] if len(self.past) == 5 else drawn
        return super().average(inputs, network, rng, masks=used, channel=channel)


class CountsNotAlways(right.R06CounterOfAllUses):
    """Iteration 1 is not counted, and has the pads of the one before."""

    def begin(self, line: Any, keys: Any, runs: int, given: Any) -> None:
        if line.iteration != 1:
            super().begin(line, keys, runs, given)


WRONG = [
    BareInLast,
    BareOnceLong,
    BareInABatch,
    BareInABatchOf16,
    BareByACoin,
    BareWithMasksThatAreHanded,
    BareOnAnError,
    ReusedInLast,
    DrawsByACoin,
    CountsElsewhere,
    CountsNotAlways,
]


@pytest.mark.parametrize("protocol", [right.R05Ratchet(), right.R06CounterOfAllUses()])
def test_keys_that_each_call_changes_in_place_are_proved_for_what_was_traced(protocol: Any) -> None:
    found = outcome(protocol)
    assert isinstance(found, KnownSums)
    assert clears(found), found


@pytest.mark.build
@pytest.mark.parametrize("protocol", WRONG)
def test_a_slip_in_an_iteration_that_is_traced_is_not_cleared(protocol: Any) -> None:
    assert not clears(outcome(protocol()))


@pytest.mark.build
@pytest.mark.parametrize("protocol", [Late, GrowingList])
def test_a_slip_in_later_iterations_is_outside_what_is_claimed(protocol: Any) -> None:
    found = outcome(protocol())
    assert clears(found)
    assert found.iterations == ITERATIONS
    assert any("in this order" in assumed for assumed in found.assumes)
    assert not clears(outcome(protocol(), traced=False))


@pytest.mark.build
def test_the_calls_of_another_kind_are_told_by_what_they_send() -> None:
    assert isinstance(outcome(BareOnAnError()), Open)
    assert "after a guard" in outcome(BareOnAnError()).reason
    assert "among" in outcome(BareInABatchOf16()).reason
    assert outcome(BareInLast()).exact[0] == pytest.approx(1.0)
    assert outcome(ReusedInLast()).exact[0] == pytest.approx(1.0)
