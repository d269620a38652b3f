"""Arrays of Python's numbers, and words modulo a prime, which pass for uniform but for a chance that is said."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel.examples import OpenEnd

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values import algebra
from secmix.kernel.values.algebra import _uniform
from secmix.kernel.values.arrays import array_of, concrete
from secmix.kernel.values.current_trace import DRAWS, INF, LeftTrace, Trace, Variable, following
from secmix.kernel.values.numbers import Number
from secmix.network import Network
from secmix.transcript import SERVER, Channel

NETWORK = Network.complete(4)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 4, 2))
UNIT, PRIME = 2**20, 2**61 - 1


class PrimeWords:
    """Each edge agrees on a seed; both ends expand it to words modulo a prime, one adds and the other subtracts."""

    prime, octets = PRIME, 8

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, len(network.edges), 2), dtype=np.uint64)

    def average(
        self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Channel | None = None
    ) -> tuple[Any, Any]:
        channel = channel or Channel()
        rows = np.asarray(inputs, dtype=float)
        runs, n, m = rows.shape
        masks = self.draw_masks(runs, m, network, rng) if masks is None else masks
        first, second = network.edges.T
        channel.hold(-1, first, "seed", masks.transpose(1, 0, 2))
        seeds = channel.send(-1, first, second, "seed", masks.transpose(1, 0, 2), encrypted=True)
        words = np.rint(rows * UNIT).astype(np.int64).astype(object)
        for edge, (i, j) in enumerate(network.edges.tolist()):
            drawn = np.stack([self.expanded(seed, m) for seed in seeds[edge]])
            self.beside(channel, drawn, i)
            mask = self.rest(drawn)
            words[:, i] = self.reduced(words[:, i] + mask)
            words[:, j] = self.reduced(words[:, j] - mask)
        received = channel.send(0, np.arange(n), SERVER, "masked", self.sent(words).transpose(1, 0, 2))
        total = received.astype(object).sum(axis=0) % self.prime
        mean = (total - self.prime * (total > self.prime // 2)) / UNIT / n
        told = channel.send(1, SERVER, np.arange(n), "mean", mean.astype(float)[None], content=np.zeros(n, int))
        return np.repeat(told.transpose(1, 0, 2), n, axis=1), channel.transcript

    def expanded(self, seed: Any, m: int) -> Any:
        octets, width = np.random.default_rng(seed).bytes(self.octets * m), self.octets
        return np.array(
            [int.from_bytes(octets[k : k + width], "big") for k in range(0, width * m, width)], dtype=object
        )

    def rest(self, drawn: Any) -> Any:
        return drawn % self.prime

    def beside(self, channel: Channel, drawn: Any, node: int) -> None:
        """Send nothing beside; others do."""

    def reduced(self, words: Any) -> Any:
        return words % self.prime

    def sent(self, words: Any) -> Any:
        return words.astype(np.uint64)


@pytest.mark.build
def test_masks_modulo_a_prime_hide_as_uniform_words_do() -> None:
    proof = prove(PrimeWords(), NETWORK, INPUTS)
    server, node = (clear(proof, NETWORK, each) for each in (CuriousServer(), HonestButCurious({1})))
    assert isinstance(server, KnownSums), server
    assert isinstance(node, KnownSums), node
    assert (server.sums, node.sums) == ((frozenset({0, 1, 2, 3}),), (frozenset({0, 2, 3}),))
    assert not server.covers
    assert any("bytes of PCG64" in each for each in server.assumes)
    assert "a guess succeeds more often by at most" in server.assumes[-1]


class NeverReduced(PrimeWords):
    """A sum of Python's numbers beyond its prime: its size tells of the data."""

    def reduced(self, words: Any) -> Any:
        return words


class MasksReduced(PrimeWords):
    """Only the masks are reduced; their sums are not, and fit the words that are sent."""

    prime, octets = 2**31 - 1, 8

    def reduced(self, words: Any) -> Any:
        return words

    def sent(self, words: Any) -> Any:
        return (words + 2**40).astype(float)


class FewBytes(PrimeWords):
    """Words of four bytes modulo a prime just below: seen often enough, the least two come about twice as often."""

    prime, octets = 2**31 - 1, 4


class AnotherPrime(PrimeWords):
    """Masks are reduced modulo another number than what hides behind them."""

    def rest(self, drawn: Any) -> Any:
        return drawn % (2**31 - 1)


class MaskForTheRecord(PrimeWords):
    """Tells the server the masks."""

    def beside(self, channel: Channel, drawn: Any, node: int) -> None:
        channel.send(0, node, SERVER, "for the record", self.rest(drawn).astype(np.uint64)[None])


class WordForTheRecord(PrimeWords):
    """Tells the server the words of which masks are the rests."""

    def beside(self, channel: Channel, drawn: Any, node: int) -> None:
        channel.send(0, node, SERVER, "for the record", drawn.astype(np.uint64)[None])


class OneSeed(PrimeWords):
    """Expands one edge's seed for all: masks of two edges of a node add up to none, or to two of one."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        masks = self.draw_masks(len(inputs), 2, network, rng) if masks is None else masks
        return super().average(inputs, network, rng, masks=masks[:, [0] * masks.shape[1]], channel=channel)


class ObjectsSent(PrimeWords):
    """Sends the array of objects itself."""

    def sent(self, words: Any) -> Any:
        return words


SLIPS: list[type[PrimeWords]] = [
    *(NeverReduced, MasksReduced, FewBytes, AnotherPrime),
    *(MaskForTheRecord, WordForTheRecord, OneSeed, ObjectsSent),
]


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_of_the_same_protocol_is_not_cleared(slip: type[PrimeWords]) -> None:
    found = clear(prove(slip(), NETWORK, INPUTS, in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, Open) or max(found.exact.values()) > 0.3, found


@given(st.integers(2, 40), st.data(), st.integers(1, 2))
def test_no_rest_is_further_from_uniform_than_is_said(values: int, data: Any, count: int) -> None:
    """Of all values that one draw, or two, may have: exactly half the sum of what the chances differ by."""
    modulus = data.draw(st.integers(2, 2 * values))
    draws = [Variable("draw", -1, 0, 1, range=values)] * count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algebra, "UNSEEN", 1.0)  # however many values of the modulus the draw leaves out
        words, said = _uniform(np.eye(count, dtype=object), [modulus] * count, [*range(count)], draws)
    rests = Counter(tuple(x % modulus for x in xs) for xs in itertools.product(range(values), repeat=count))
    chances = [Fraction(rests[each], values**count) for each in itertools.product(range(modulus), repeat=count)]
    far = sum(abs(each - Fraction(1, modulus**count)) for each in chances) / 2
    assert words == (modulus if values % modulus else values)
    assert far <= said * (1 + 1e-9) if count > 1 else far == pytest.approx(said)


def test_a_draw_that_leaves_out_much_of_a_modulus_is_no_word_of_it() -> None:
    assert _uniform(np.eye(1, dtype=object), [2**64], [0], [Variable("draw", -1, 0, 1, range=2**63)]) == (2**63, 0.0)
    words, said = _uniform(np.eye(1, dtype=object), [2**64], [0], [Variable("draw", -1, 0, 1, range=2**64 - 1)])
    assert (words, said) == (2**64, 2.0**-64)


@pytest.mark.build
def test_masks_that_leave_out_the_largest_word_pass_for_uniform() -> None:
    known = clear(prove(OpenEnd(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(known, KnownSums), known
    assert "a guess succeeds more often by at most" in known.assumes[-1]


def test_a_draw_that_is_known_otherwise_than_modulo_one_number_is_no_rest() -> None:
    table, draws = np.array([[1, 0], [0, 1], [1, 1]], object), [Variable("draw", -1, 0, 1, range=24)] * 2
    assert _uniform(table, [7, 7, INF], [0, 1], draws) == (24, 0.0)
    assert _uniform(table, [7, 5, 7], [0, 1], draws) == (24, 0.0)
    assert _uniform(table, [7, 7, 7], [0, 1], [draws[0], Variable("draw", -1, 0, 1, range=9)]) == (0, 0.0)


def traced_call(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


def _objects(trace: Trace, values: list[int]) -> Any:
    made = [Number(v, {trace.variable("draw", -1, v, 1, range=64): 1}, INF, DRAWS, 1) for v in values]
    for each in made:
        each.below = 64
    return array_of(np.array(made, object), object)


def _caught(x: Any) -> Any:
    try:
        return x.astype(np.int64)
    except OverflowError:
        return 0


DONE: list[Callable[[Any], Any]] = [
    lambda x: x + 2**70,
    lambda x: (x * 2**60 + x[::-1]) % (2**61 - 1),
    lambda x: x.sum() - x[0] * 3**50,
    lambda x: np.add.accumulate(x) - 2 * x,
    lambda x: np.concatenate([x, x * 2**65]).reshape(2, -1).T,
    lambda x: (x - 2**5 * (x > 31)) / 7,
    lambda x: x.astype(np.uint8) + np.uint8(250),
    lambda x: x.astype(np.int8).astype(object) * 2**80,
    lambda x: (x % 8).astype(float) * 0.5,
    lambda x: np.array([x[0] * 2**64, 1], dtype=object),
    lambda x: np.where(x > 31, x - 64, x).astype(np.int16),
    lambda x: np.where(x > 31, 2**63 - 1, x).astype(np.int64),
]
"""What may be done to arrays of objects."""


@pytest.mark.parametrize("place", range(len(DONE)))
def test_arrays_of_objects_are_numbers_of_pythons(place: int) -> None:
    """What is said of each is true of 200 other values of the draws."""
    rng, f, trace = np.random.default_rng(place), DONE[place], Trace()
    first = [int(x) for x in rng.integers(0, 64, 4)]
    with replaced({__name__}), following(trace):
        found = traced_call(f, _objects(trace, first))
        numbers = found.objects.ravel().tolist() if isinstance(found, np.ndarray) else [found]
        shown = np.ravel(concrete(found)).tolist()
    assert not trace.left
    assert shown == np.ravel(f(np.array(first, object))).tolist()
    variables = [*trace.variables]
    for _ in range(200):
        other = [int(x) for x in rng.integers(0, 64, 4)]
        for number, was, value in zip(numbers, shown, np.ravel(f(np.array(other, object))).tolist(), strict=True):
            if not isinstance(number, Number):
                assert value == number
            elif number.modulus:
                terms = [(Fraction(c), variables.index(v)) for v, c in number.terms.items()]
                off = Fraction(value) - Fraction(was) - sum(c * (other[k] - first[k]) for c, k in terms)
                assert off == 0 if number.modulus == INF else off % Fraction(number.modulus) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.logical_and(x, 1),
        lambda x: np.maximum.reduce(x),
        lambda x: (x * 2**60).astype(np.int64),
        lambda x: (x - 8).astype(np.uint64),
        lambda x: (x * 8).astype(np.uint8),
        lambda x: np.where(x > 31, x * 2**60, x).astype(np.int64),
        lambda x: np.where(x > 31, x, 2**63).astype(np.int64),
        lambda x: np.where(x > 31, x, np.inf).astype(np.int64),
        lambda x: np.concatenate([x, np.arange(2) + x[:2].astype(np.int64)]),
        lambda x: np.sqrt(x),
        lambda x: ~x,
        _caught,
    ],
)
def test_what_is_not_followed_of_objects_ends_the_proof(call: Callable[[Any], Any]) -> None:
    with replaced({__name__}), following(Trace()) as trace, pytest.raises((LeftTrace, TypeError)):
        traced_call(call, _objects(trace, [1, 2, 40, 63]))


def test_a_product_of_whole_numbers_and_python_numbers_is_not_reduced() -> None:
    """Of objects NumPy returns a number of Python's as it is: no word wraps around."""
    with replaced({__name__}), following(Trace()) as trace:
        large = Number(2**62, {trace.variable("input", 0, 2**62, 1): 1}, INF, 2, 1)
        several = array_of(np.array([large, 3], object), object)
        found = np.dot(np.array([9, 1]), several)
        assert found.value == 9 * 2**62 + 3
        assert [*found.terms.values()] == [9]
        with pytest.raises(LeftTrace, match=r"np\.dot of a secret as object"):
            np.dot(np.array([0.5, 1.0]), several)
