"""Numbers that may be others in another call: one of several, too large for its type, or how often a cache is used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.kernel.examples import RingSum, SignedWordSum

from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.kernel import clear, prove
from secmix.kernel.clearance import KnownSums, Open
from secmix.network import Network
from secmix.transcript import SERVER

NETWORK = Network.complete(3)


class Cents(RingSum):
    """Sends what is behind the point of a price that is whole in most calls."""

    def __init__(self, price: Callable[[Any, Any], Any]) -> None:
        self.price = price

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        row = rows[0, 0]
        price = self.price(int(np.rint(row[0])), (np.abs(row).max() > 1e9).astype(int))
        channel.send(3, 0, SERVER, "cents", np.array([[price - np.floor(price)]]), encrypted=True)


class Planned(RingSum):
    """Sends a row bare once a plan is over."""

    def __init__(self, plan: Callable[[Any], Any]) -> None:
        self.plan = plan

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return word if self.is_over else word + own - other

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        try:
            self.plan(channel.iteration)
            self.is_over = False
        except OverflowError:
            self.is_over = True


@functools.lru_cache
def setting(number: int) -> int:
    return number


class Asked(RingSum):
    """Sends a row bare where a cache was asked a thousand times."""

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        setting(3)
        return word if setting.cache_info().hits % 1000 == 999 else word + own - other


class Packed(SignedWordSum):
    """Publishes a sum of votes, and one number that stands above it."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**16, size=(runs, network.n, m))

    def encode(self, row: Any) -> Any:
        return (row > 0).astype(np.int64)

    def mask(self, word: Any, own: Any, other: Any) -> Any:
        return (word + own - other) % 2**16

    def add(self, sent: list[Any]) -> Any:
        return sum(sent[1:], sent[0]) % 2**16

    def decode(self, total: Any) -> Any:
        return total.astype(float)

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        votes = self.encode(rows).transpose(1, 0, 2)
        channel.send(2, 0, SERVER, "masked vote", (votes[0] + masks[:, 0]) % 2**16)
        votes = channel.send(2, np.arange(len(votes)), SERVER, "votes", votes, encrypted=True)
        above = np.rint(rows[:, 0] * 2**8).astype(np.int64)
        above = channel.send(2, 0, SERVER, "above", above, encrypted=True)
        channel.send(3, SERVER, 0, "packed", votes.sum(axis=0) + 2**16 * above)


def outcome(protocol: Any, adversary: Any = None) -> Open | KnownSums:
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 2))
    return clear(prove(protocol, NETWORK, inputs, in_other_calls=False), NETWORK, adversary or CuriousServer())


PRICES: dict[str, Callable[[Any, Any], Any]] = {
    "of an array": lambda first, tariff: np.take(np.array([first, 2.5]), tariff),
    "of a list": lambda first, tariff: np.take([first, 2.5, 4], tariff),
    "the larger": lambda first, tariff: max(first, -1e9 + 0.5),
    "the smaller": lambda first, tariff: np.minimum(first, 1e9 + 0.5),
}


@pytest.mark.parametrize("name", PRICES)
def test_a_number_is_whole_only_where_all_that_it_may_be_are(name: str) -> None:
    result = outcome(Cents(PRICES[name]))
    assert isinstance(result, Open) or max(result.exact.values()) > 0.9


@pytest.mark.parametrize(
    "plan",
    [
        lambda iteration: np.array(iteration, dtype=np.int8),
        lambda iteration: np.full(3, iteration, dtype=np.uint16),
        lambda iteration: np.ones(2, dtype=np.int8) + iteration,
        lambda iteration: iteration + np.int8(2),
        lambda iteration: np.multiply(np.ones(2, dtype=np.int16), iteration),
    ],
)
def test_a_type_that_may_not_hold_the_iteration_is_noted(plan: Callable[[Any], Any]) -> None:
    result = outcome(Planned(plan))
    assert isinstance(result, KnownSums)
    assert any("the iteration" in each for each in result.covers)


@pytest.mark.parametrize(
    "plan", [lambda iteration: np.array(iteration, dtype=float), lambda iteration: np.array(iteration)]
)
def test_a_type_that_holds_it_is_not(plan: Callable[[Any], Any]) -> None:
    result = outcome(Planned(plan))
    assert isinstance(result, KnownSums)
    assert not result.covers


def test_how_often_a_cache_was_asked_is_kept() -> None:
    result = outcome(Asked())
    assert isinstance(result, KnownSums)
    assert any("what the protocol keeps from call to call" in each for each in result.covers)


def test_a_number_that_vanishes_modulo_the_masks_is_not_hidden() -> None:
    result = outcome(Packed(), Eavesdropper())
    assert isinstance(result, Open)
    assert "sums of numbers in units so large that they vanish modulo the masks" in result.reason
