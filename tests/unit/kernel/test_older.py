"""NumPy's RandomState and Python's Random: of a secret seed a stream, of a public one what they are."""

from __future__ import annotations

import copy
import hashlib
import random
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.kernel.seeded import INPUTS, NETWORK, Seeded

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.randomness.streams import bits_of
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.current_trace import LeftTrace, Trace, following
from secmix.kernel.values.numbers import Number

Expand = Callable[[Any, int, Any], Any]


def halves(seed: Any) -> list[Any]:
    """Words of 32 bits."""
    return [int(each) % 2**32 for each in seed]


def by_state(state: Any, m: int) -> Any:
    return state.randint(0, 2**64, size=m, dtype=np.uint64)


def one_by_one(generator: Any, m: int) -> Any:
    return np.array([generator.getrandbits(64) for _ in range(m)], dtype=np.uint64)


def number(seed: Any) -> Any:
    return int.from_bytes(digest(seed), "big")


def digest(seed: Any) -> Any:
    return hashlib.sha256(seed.tobytes()).digest()


RIGHT: dict[str, Expand] = {
    "RandomState": lambda seed, m, channel: by_state(np.random.RandomState(halves(seed)), m),
    "RandomState, the iteration": lambda s, m, channel: by_state(
        np.random.RandomState([*halves(s), channel.iteration]), m
    ),
    "Random": lambda seed, m, channel: one_by_one(random.Random(number(seed)), m),
    "Random of bytes": lambda seed, m, channel: one_by_one(random.Random(seed.tobytes()), m),
    "Random of a label": lambda seed, m, channel: one_by_one(
        random.Random(seed.tobytes() + channel.iteration.to_bytes(8, "big")), m
    ),
}
SHORT: dict[str, tuple[Expand, int]] = {
    "RandomState of one word": (lambda seed, m, channel: by_state(np.random.RandomState(halves(seed)[0]), m), 32),
    "RandomState of few bytes": (
        lambda seed, m, channel: by_state(np.random.RandomState(int.from_bytes(digest(seed)[:2], "big")), m),
        16,
    ),
    "RandomState of one in an array": (
        lambda seed, m, channel: by_state(np.random.RandomState(seed[:1] % np.uint64(2**32)), m),
        32,
    ),
    "RandomState of three words": (lambda seed, m, channel: by_state(np.random.RandomState(halves(seed)[:3]), m), 96),
    "Random of a word": (lambda seed, m, channel: one_by_one(random.Random(int(seed[0])), m), 64),
    "Random of a rest": (lambda seed, m, channel: one_by_one(random.Random(int(seed[0]) % 2**32), m), 32),
    "Random of few bytes": (lambda seed, m, channel: one_by_one(random.Random(seed.tobytes()[:6]), m), 48),
}
OPEN: dict[str, Expand] = {
    "another seed": lambda seed, m, channel: by_state(seeded_again(np.random.RandomState(halves(seed))), m),
    "a sum": lambda seed, m, channel: one_by_one(random.Random(int(seed[0]) + int(seed[1])), m),
    "choices": lambda seed, m, channel: np.array(random.Random(number(seed)).choices(range(2**60), k=m), np.uint64),
    "steps": lambda seed, m, channel: np.array(
        [random.Random(number(seed)).randrange(0, 2**64, 2) for _ in range(m)], np.uint64
    ),
    "permutations": lambda seed, m, channel: np.random.RandomState(halves(seed)).permutation(m).astype(np.uint64),
    "a copy": lambda seed, m, channel: one_by_one(copy.copy(random.Random(number(seed))), m),
    "the iteration alone": lambda s, m, channel: one_by_one(random.Random(channel.iteration.to_bytes(8, "big")), m),
}


def seeded_again(state: Any) -> Any:
    state.seed(5)
    return state


def proof(expand: Expand) -> Any:
    return prove(type("Seeded", (Seeded,), {"expand": staticmethod(expand)})(), NETWORK, INPUTS)


@pytest.mark.build
@pytest.mark.parametrize("name", RIGHT)
def test_a_stream_hides_from_whoever_does_not_know_the_seed(name: str) -> None:
    proved = proof(RIGHT[name])
    server, node = (clear(proved, NETWORK, each) for each in (CuriousServer(), HonestButCurious({1})))
    assert isinstance(server, KnownSums), server
    assert isinstance(node, KnownSums), node
    assert (server.sums, node.sums) == ((frozenset({0, 1, 2, 3}),), (frozenset({0, 2, 3}),))
    assert not server.covers
    assert any("MT19937" in each and "(no cryptographic generators)" in each for each in server.assumes)


@pytest.mark.build
@pytest.mark.parametrize("name", SHORT)
def test_a_short_seed_is_named_with_its_bits(name: str) -> None:
    expand, bits = SHORT[name]
    found = clear(proof(expand), NETWORK, CuriousServer())
    assert isinstance(found, Open)
    assert f"a seed of {bits} bits, of 128" in found.reason


@pytest.mark.parametrize("name", OPEN)
def test_what_else_is_done_with_it_ends_the_proof(name: str) -> None:
    found = clear(proof(OPEN[name]), NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers or max(found.exact.values()) == 1.0


def test_one_seed_for_all_pairs_cancels() -> None:
    """The same key makes the same masks, whichever way it is written down: node 1 adds as many as it takes off."""

    class OneForAll(Seeded):
        expand = staticmethod(RIGHT["Random of bytes"])

        def agree(self, masks: Any, network: Any, channel: Any) -> Any:
            return [super().agree(masks, network, channel)[0]] * len(network.edges)

    found = clear(prove(OneForAll(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert not isinstance(found, KnownSums) or max(found.exact.values()) > 0.5


DRAWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    name: (kind, draw)
    for kind, several in (
        (
            lambda key: random.Random(key),
            {
                "random": lambda g: g.random(),
                "randrange": lambda g: g.randrange(1000),
                "randrange from": lambda g: g.randrange(-5, 10**30),
                "randint": lambda g: g.randint(1, 6),
                "uniform": lambda g: g.uniform(-2, 5.5),
                "gauss": lambda g: g.gauss(0, 1e6),
                "normalvariate": lambda g: g.normalvariate(3.0, 2.0),
            },
        ),
        (
            lambda key: np.random.RandomState([int.from_bytes(key[k : k + 4], "big") for k in range(0, 32, 4)]),
            {
                "random_sample": lambda g: g.random_sample(4),
                "rand": lambda g: g.rand(2, 3),
                "randn": lambda g: g.randn(5),
                "randint of numpy": lambda g: g.randint(7, size=(2, 2)),
                "normal": lambda g: g.normal(scale=1e6, size=3),
                "laplace": lambda g: g.laplace(1.0, 2.0),
                "standard_t": lambda g: g.standard_t(3, size=2),
            },
        ),
    )
    for name, draw in several.items()
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_those_of_the_generator_itself(name: str) -> None:
    made, draw = DRAWS[name]
    with following(Trace()) as trace, replaced({__name__}):
        key = secrets.token_bytes(32)
        generator = made(key)
        found = [draw(generator), draw(generator)]
    real = made(key.plain)
    for several in found:
        cells = several.objects.ravel().tolist() if hasattr(several, "objects") else [several]
        assert all(isinstance(each, Number) for each in cells)
        assert [each.value for each in cells] == np.ravel(draw(real)).tolist()
        for each in cells:
            own = trace.variables[next(iter(each.form))]
            assert own.spread > 0
            assert not own.range or own.spread == pytest.approx(own.range / 12**0.5)


def test_bytes_that_are_drawn_are_of_the_stream() -> None:
    with following(Trace()), replaced({__name__}):
        key = secrets.token_bytes(32)
        found = random.Random(key).randbytes(8)
        assert found.plain == random.Random(key.plain).randbytes(8)
        assert bits_of(found.pieces) == 64


def test_seeded_by_a_public_number_they_are_themselves() -> None:
    with following(Trace()) as trace, replaced({__name__}):
        state, generator = np.random.RandomState(5), random.Random(5)
        assert isinstance(state, np.random.RandomState)
        assert isinstance(generator, random.Random)
        drawn = state.rand(), generator.random()
        assert not trace.by_value
        random.Random()
        assert [*trace.by_value] == ["coins of the system"]
    assert drawn == (np.random.RandomState(5).rand(), random.Random(5).random())


def test_outside_of_a_trace_they_are_themselves() -> None:
    """Another thread may run the protocol's modules meanwhile."""
    with replaced({__name__}):
        drawn = np.random.RandomState(5).rand(), random.Random(5).random()
        assert 0 <= random.Random().random() < 1
    assert drawn == (np.random.RandomState(5).rand(), random.Random(5).random())


def test_a_secret_generator_is_one() -> None:
    with following(Trace()), replaced({__name__}):
        assert isinstance(random.Random(secrets.randbits(128)), random.Random)
        assert not isinstance(random.Random(secrets.randbits(128)), np.random.RandomState)


def test_a_seed_that_may_be_negative_ends_the_proof() -> None:
    """Of -3 and of 3 Random draws the same."""
    with following(Trace()), replaced({__name__}):
        signed = np.random.RandomState(halves([secrets.randbits(64) for _ in range(4)])).randint(-5, 5)
        with pytest.raises(LeftTrace, match="may be negative"):
            random.Random(signed)


def test_both_kinds_in_one_trace_end_the_proof() -> None:
    """A long number seeds Random as its words seed RandomState: both draw the same."""
    words = [5, 7]
    pythons, numpys = random.Random(5 + (7 << 32)), np.random.RandomState(words)
    assert [pythons.getrandbits(32) for _ in range(4)] == numpys.randint(0, 2**32, size=4, dtype=np.uint32).tolist()
    with following(Trace()), replaced({__name__}):
        random.Random(secrets.randbits(128))
        np.random.RandomState(secrets.randbits(32))
        with pytest.raises(LeftTrace, match="which of the same words draw the same"):
            np.random.RandomState(halves([secrets.randbits(64) for _ in range(4)]))
