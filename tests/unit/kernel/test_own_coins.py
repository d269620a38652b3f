"""A node may round by lot, or add noise, before it hides: its coins are its own, or the proof ends."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.kernel.examples import LongWordSum, RingSum

from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, prove
from secmix.kernel.tracing.checks import shared_coins
from secmix.kernel.tracing.trace import follow
from secmix.network import Network
from secmix.transcript import SERVER

NETWORK = Network.complete(4)
INPUTS = [np.random.default_rng([4, call]).normal(size=(1, 4, 2)) for call in range(3)]


def noise(row: Any, scale: float = 1.0) -> Any:
    return np.random.default_rng().normal(scale=scale, size=row.shape)


def by_lot(row: Any) -> Any:
    low = np.floor(row)
    return low + (np.random.default_rng().random(row.shape) < row - low)


def rounded_noise(row: Any) -> Any:
    return np.rint(row) + np.rint(noise(row, 3.0))


def noise_in_the_end(row: Any) -> Any:
    return np.rint(np.clip(row, -3.0, 3.0)) * 2.0 + np.rint(noise(row)) + np.rint(noise(row))


def skellam(row: Any) -> Any:
    rng = np.random.default_rng()
    return np.rint(row * 8) + (rng.poisson(40.0, row.shape) - rng.poisson(40.0, row.shape))


def of_integers(row: Any) -> Any:
    """Words that get binomial noise when they are words already."""
    words = np.rint(row * 8).astype(np.int64)
    return words + np.random.default_rng().binomial(20, 0.5, row.shape) - 10


def by_a_table(row: Any) -> Any:
    """A discrete law by its distribution function."""
    noise = np.searchsorted(np.cumsum([0.1, 0.2, 0.4, 0.2]), np.random.default_rng().random(row.shape)) - 2
    return np.rint(row) + noise


class Encoding(LongWordSum):
    """Encodes by a function of a node's row (runs, m), and of which node it is."""

    encoding: Callable[..., Any]

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.turn = 0

    def encode(self, row: Any) -> Any:
        self.turn += 1
        return super().encode(type(self).encoding(row, self.turn - 1))


def of(encoding: Callable[..., Any]) -> Any:
    return type("Encoding", (Encoding,), {"encoding": staticmethod(encoding)})()


def known(encoding: Callable[..., Any]) -> KnownSums:
    found = clear(prove(of(encoding), NETWORK, INPUTS, in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums), found
    return found


@pytest.mark.build
@pytest.mark.parametrize(
    "encoding",
    [by_lot, rounded_noise, noise_in_the_end, lambda row: row + noise(row), skellam, of_integers, by_a_table],
)
def test_coins_of_a_nodes_own_are_part_of_what_it_encodes(encoding: Callable[[Any], Any]) -> None:
    found = known(lambda row, node: encoding(row))
    assert found.sums == (frozenset(range(4)),)
    assert not found.covers
    assert "coins that go into what a node encodes stay with that node" in found.assumes
    assert found.symmetric
    assert found.exact == pytest.approx(dict.fromkeys(range(4), 0.25))


LAWS = {
    "another spread": lambda row, node: row + noise(row, 1.0 + (node == 1)),
    "another place": lambda row, node: row + np.random.default_rng().normal(1e6 * (node == 1), size=row.shape),
    "another least": lambda row, node: row + np.random.default_rng().integers(9 * (node == 1), 99, size=row.shape),
    "another law": lambda row, node: row + np.random.default_rng().poisson(3.0 + (node == 1), size=row.shape),
    "laws of a table": lambda row, node: row + np.random.default_rng().poisson([[3.0 + (node == 1)] * 2]),
    "other coins": lambda row, node: (
        row + [0, (x := np.rint(noise(row))) - (x if node == 1 else np.rint(noise(row)))][1]
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_nodes_of_which_one_uses_other_coins_are_not_alike(name: str) -> None:
    assert not known(LAWS[name]).symmetric


@pytest.mark.parametrize("encoding", [np.log, lambda x: 1.0 / x])
def test_what_may_be_infinite_is_said_where_coins_are_in_it(encoding: Callable[[Any], Any]) -> None:
    assert "may be infinite" in str(known(lambda row, node: encoding(9.0 + row + noise(row))).covers)
    assert "may be infinite" in str(known(lambda row, node: row * encoding(9.0 + noise(row))).covers)
    assert not known(lambda row, node: [row, encoding(9.0 + row + noise(row))][0]).covers


@pytest.mark.parametrize("scale", [lambda x: np.where(x < 1e-3, 1e12, 1.0), lambda x: np.exp(x)])
def test_how_large_coins_make_an_encoding_is_open_behind_real_masks(scale: Callable[[Any], Any]) -> None:
    """Another coin may carry it beyond them; uniform words hide any size."""

    def encode(row: Any) -> Any:
        return row * scale(np.random.default_rng().random(row.shape))

    real = type("Real", (RingSum,), {"encode": lambda self, row: encode(row)})()
    found = clear(prove(real, NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert "how large coins make what a node encodes" in str(found.covers)
    assert not known(lambda row, node: encode(row)).covers


class Handed(LongWordSum):
    """Adds coins to each row before it is rounded, which ``coins`` draws for all nodes."""

    coins: Callable[..., list[Any]]

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.drawn = iter(type(self).coins(channel, rows))

    def encode(self, row: Any) -> Any:
        return super().encode(row + next(self.drawn))


def one_each(channel: Any, rows: Any) -> list[Any]:
    return [noise(rows[:, 0]) for _ in range(4)]


def the_same(channel: Any, rows: Any) -> list[Any]:
    return [noise(rows[:, 0])] * 4


def told(channel: Any, rows: Any) -> list[Any]:
    drawn = one_each(channel, rows)
    channel.hold(-1, 2, "noise", drawn[2][None])
    channel.send(0, 2, SERVER, "noise", drawn[2][None])
    return drawn


def of_a_seed(channel: Any, rows: Any) -> list[Any]:
    rng = np.random.default_rng(int.from_bytes(secrets.token_bytes(32), "big"))
    return [rng.normal(size=rows[:, 0].shape) for _ in range(4)]


@pytest.mark.parametrize(("coins", "ends"), [(one_each, False), (the_same, True), (told, True), (of_a_seed, True)])
def test_coins_that_others_have_end_the_proof(coins: Callable[..., Any], ends: bool) -> None:
    fit = follow(type("Handed", (Handed,), {"coins": staticmethod(coins)})(), NETWORK, INPUTS)
    assert not fit.error
    assert ("draws that it does not have for itself alone" in shared_coins(fit)) == ends


class Squares(RingSum):
    """Sums squares behind normal masks."""

    def encode(self, row: Any) -> Any:
        return row**2


@pytest.mark.build
def test_how_large_encodings_are_is_assumed_behind_masks_that_have_a_size() -> None:
    found = clear(prove(Squares(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    largest = max(float((each**2).max()) for each in INPUTS)
    assert (
        f"what nodes encode is at most the {largest:.3g} seen, beside which masks of a size are large" in found.assumes
    )
    for of_any_size in (
        known(lambda row, node: row**2),
        clear(prove(RingSum(), NETWORK, INPUTS), NETWORK, CuriousServer()),
    ):
        assert isinstance(of_any_size, KnownSums)
        assert not any("is at most the" in each for each in of_any_size.assumes)
