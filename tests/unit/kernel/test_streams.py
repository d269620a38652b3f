"""Seeds and streams: what follows from a secret seed hides as fresh draws do, from whoever does not know the seed."""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import secrets
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from unit.kernel.parts import in_turns
from unit.kernel.seeded import INPUTS, NETWORK, Seeded

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.randomness.draws import Draws, pieces_of
from secmix.kernel.randomness.secret_bytes import SecretBytes, octet
from secmix.kernel.randomness.streams import AGREED, ENOUGH, bits_of, fresh_bytes, stream_of, system_bytes
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import array_of
from secmix.kernel.values.current_trace import LeftTrace, Trace, following, now
from secmix.kernel.values.numbers import Number
from secmix.network import Network
from secmix.transcript import SERVER, Channel


def _words(rng: Any, m: int) -> Any:
    return rng.integers(0, 2**64, size=m, dtype=np.uint64)


def _blocks(digest: Callable[[bytes], Any], m: int) -> Any:
    whole = digest((0).to_bytes(4, "big"))
    for block in range(1, -(-m // 4)):
        whole = whole + digest(block.to_bytes(4, "big"))
    return np.frombuffer(whole, dtype=np.uint64)[:m]


def _keyed(seed: Any, m: int, channel: Any) -> Any:
    label = b"mask" + channel.iteration.to_bytes(8, "big")
    return _blocks(lambda block: hmac.new(seed.tobytes(), label + block, hashlib.sha256).digest(), m)


def _chained(seed: Any, m: int, channel: Any) -> Any:
    key = hashlib.sha256(seed.tobytes()).digest()
    return np.frombuffer(hashlib.shake_128(key[:16] + b"mask").digest(8 * m), dtype=np.uint64)


def _one_by_one(seed: Any, m: int, channel: Any) -> Any:
    key = seed.tobytes()
    several = [hashlib.blake2b(bytes([k]), key=key, digest_size=8).digest() for k in range(m)]
    return np.array([int.from_bytes(each, "big") for each in several], dtype=np.uint64)


def _ratchet(seed: Any, m: int, channel: Any) -> Any:
    key, words = seed.tobytes(), []
    for _ in range(8):
        words.append(np.frombuffer(hashlib.sha256(b"out" + key).digest(), dtype=np.uint64))
        key = hashlib.sha256(b"next" + key).digest()
    return np.concatenate(words)[-m:]


def _feedback(seed: Any, m: int, channel: Any) -> Any:
    """As HKDF by hand: each block is made of the key and of the block before."""
    whole = last = hmac.new(seed.tobytes(), b"mask" + bytes([1]), "sha256").digest()
    for block in range(2, 7):
        last = hmac.new(seed.tobytes(), last + b"mask" + bytes([block]), "sha256").digest()
        whole = whole + last
    return np.frombuffer(whole, dtype=np.uint64)[::5][:m]


RIGHT: dict[str, Callable[[Any, int, Any], Any]] = {
    "blocks made of each other": _feedback,
    "a ratchet": _ratchet,
    "default_rng": lambda seed, m, channel: _words(np.random.default_rng(seed[:2]), m),
    "a list": lambda seed, m, channel: _words(np.random.default_rng([seed[0], 9, seed[1]]), m),
    "the iteration": lambda seed, m, channel: _words(np.random.default_rng([*seed[:2], channel.iteration]), m),
    "bits of the iteration": lambda seed, m, channel: _words(
        np.random.Generator(np.random.SFC64([channel.iteration, *seed])), m
    ),
    "a seed sequence": lambda seed, m, channel: _words(np.random.default_rng(np.random.SeedSequence(seed[:3])), m),
    "a spawn key": lambda seed, m, channel: _words(
        np.random.default_rng(
            np.random.SeedSequence(int.from_bytes(seed.tobytes(), "little"), spawn_key=(channel.iteration, 3))
        ),
        m,
    ),
    "children of a sequence": lambda seed, m, channel: sum(
        _words(np.random.Generator(np.random.Philox(child)), m)
        for child in np.random.SeedSequence([*seed[:2], channel.iteration]).spawn(2)
    ),
    "children of a generator": lambda seed, m, channel: _words(
        np.random.default_rng([*seed[:2], channel.iteration]).spawn(1)[0].spawn(2)[1], m
    ),
    "a sequence and its child": lambda seed, m, channel: (
        _words(np.random.default_rng([*seed[:2], channel.iteration]), m)
        + _words(np.random.default_rng([*seed[:2], channel.iteration, 0]), m)
    ),
    "Philox": lambda seed, m, channel: _words(np.random.Generator(np.random.Philox(key=seed[:2])), m),
    "struct.pack": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(struct.pack(">QI32s", channel.iteration, 7, seed.tobytes()) + b).digest(), m
    ),
    "struct.pack of words": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(struct.pack("<QQ", *seed[:2]) + struct.pack("!d", 0.5) + b).digest(), m
    ),
    "Philox, numbered": lambda seed, m, channel: _words(
        np.random.Generator(np.random.Philox(key=seed[:2], counter=[0, 0, 7, channel.iteration])), m
    ),
    "bytes one by one": lambda seed, m, channel: _words(
        np.random.default_rng([*list(seed.tobytes()), channel.iteration]), m
    ),
    "MT19937": lambda seed, m, channel: _words(np.random.Generator(np.random.MT19937(seed)), m),
    "sha256": lambda seed, m, channel: _blocks(lambda block: hashlib.sha256(seed.tobytes() + block).digest(), m),
    "hashlib.new": lambda seed, m, channel: _blocks(lambda b: hashlib.new("sha3_256", seed.tobytes() + b).digest(), m),
    "shake": lambda seed, m, channel: np.frombuffer(hashlib.shake_256(seed.tobytes()).digest(8 * m), dtype="<u8"),
    "hmac": _keyed,
    "PBKDF2": lambda seed, m, channel: np.frombuffer(
        hashlib.pbkdf2_hmac("sha256", seed.tobytes(), b"round" + channel.iteration.to_bytes(8, "big"), 2, 8 * m),
        np.uint64,
    ),
    "a chain": _chained,
    "blake2b": _one_by_one,
    "one long number": lambda seed, m, channel: _words(
        np.random.default_rng(int.from_bytes(seed.tobytes(), "little")), m
    ),
    "words side by side": lambda seed, m, channel: _words(
        np.random.default_rng(int(seed[0]) + (int(seed[1]) << 128)), m
    ),
    "shares that are joined": lambda seed, m, channel: _words(np.random.default_rng(_joined([*map(int, seed)])), m),
    "halves": lambda seed, m, channel: _words(np.random.default_rng([s % 2**32 for s in seed]), m),
    "words of its bytes": lambda seed, m, channel: _words(
        np.random.default_rng(np.random.SeedSequence(struct.unpack("<8I", seed.tobytes()))), m
    ),
}
SHORT: dict[str, tuple[Callable[[Any, int, Any], Any], int]] = {
    "one word": (lambda seed, m, channel: _words(np.random.default_rng(seed[0]), m), 64),
    "a few bytes one by one": (
        lambda seed, m, channel: _words(np.random.default_rng(list(seed.tobytes())[3:9]), m),
        48,
    ),
    "a spawn key behind a short seed": (
        lambda seed, m, channel: _words(
            np.random.default_rng(np.random.SeedSequence(seed[:1], spawn_key=(3, seed.size))), m
        ),
        64,
    ),
    "a residue": (lambda seed, m, channel: _words(np.random.default_rng(seed[0] % 2**32), m), 32),
    "a word of its bytes": (
        lambda seed, m, channel: _words(np.random.default_rng(struct.unpack("<8I", seed.tobytes())[3]), m),
        32,
    ),
    "the middle of a word": (
        lambda seed, m, channel: _words(np.random.default_rng(int.from_bytes(seed.tobytes()[2:6], "little")), m),
        32,
    ),
    "few bytes": (
        lambda seed, m, channel: _blocks(lambda b: hashlib.sha256(seed.tobytes()[:6] + b).digest(), m),
        48,
    ),
    "a short password": (
        lambda seed, m, channel: np.frombuffer(
            hashlib.pbkdf2_hmac("sha512", password=seed.tobytes()[:6], salt=b"", iterations=2, dklen=8 * m), np.uint64
        ),
        48,
    ),
    "a rest in bytes": (
        lambda seed, m, channel: _blocks(
            lambda b: hashlib.sha256((int(seed[0]) % 2**32).to_bytes(8, "big") + seed[1:].tobytes()[:8] + b).digest(), m
        ),
        96,
    ),
    "a rest in one byte": (
        lambda seed, m, channel: _blocks(
            lambda b: hashlib.sha256((seed[:1] % np.uint64(256)).astype(np.uint8).tobytes() + b).digest(), m
        ),
        8,
    ),
    "a short chain": (lambda seed, m, channel: _words(np.random.default_rng(_short_chain(seed)), m), 64),
}
OPEN: dict[str, Callable[[Any, int, Any], Any]] = {
    "PBKDF2 once, which is HMAC": lambda seed, m, channel: (
        np.frombuffer(hashlib.pbkdf2_hmac("sha256", seed.tobytes(), b"mask", 1), np.uint64)[:m]
        - np.frombuffer(hmac.new(seed.tobytes(), b"mask\0\0\0\1", "sha256").digest(), np.uint64)[:m]
    ),
    "a child that is spawned twice": lambda seed, m, channel: (
        _words(np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0]), m)
        - _words(np.random.default_rng([*seed, 0]), m)
    ),
    "children of a key": lambda seed, m, channel: _words(
        np.random.Generator(np.random.Philox(key=seed[:2])).spawn(1)[0], m
    ),
    "struct.pack as in memory": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(struct.pack("QI", channel.iteration, 7) + seed.tobytes() + b).digest(), m
    ),
    "struct.pack of numbers": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(struct.pack("<d", float(seed[0])) + b).digest(), m
    ),
    "counters side by side": lambda seed, m, channel: _words(
        np.random.Generator(np.random.Philox(key=seed[:2], counter=[channel.iteration, 0, 0, 0])), m
    ),
    "a counter of another length": lambda seed, m, channel: _words(
        np.random.Generator(np.random.Philox(key=seed[:2], counter=2**200)), m
    ),
    "a counter that may be none": lambda seed, m, channel: (
        _words(np.random.Generator(np.random.Philox(key=seed[:2])), m)
        + _words(np.random.Generator(np.random.Philox(key=seed[:2], counter=[0, 0, 0, channel.iteration])), m)
    ),
    "a byte that is changed": lambda seed, m, channel: _words(
        np.random.default_rng([each + 1 for each in list(seed.tobytes())]), m
    ),
    "arithmetic": lambda seed, m, channel: _words(np.random.default_rng([*seed[:3], seed[3] + seed[2]]), m),
    "a part of the iteration": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(seed.tobytes() + channel.iteration.to_bytes(8, "big")[7:] + b).digest(), m
    ),
    "nearly the same": lambda seed, m, channel: (
        _words(np.random.default_rng([*seed[:3], seed[3] % 2**32]), m)
        + _words(np.random.default_rng([*seed[:3], 5]), m)
    ),
    "two readings": lambda seed, m, channel: (
        _words(np.random.default_rng(seed), m) + np.random.default_rng(seed).integers(0, 2**63, size=m, dtype=np.uint64)
    ),
    "words one over the other": lambda seed, m, channel: _words(
        np.random.default_rng(int(seed[0]) + (int(seed[1]) << 56) + (int(seed[2]) << 128)), m
    ),
    "words between bytes": lambda seed, m, channel: _words(
        np.random.default_rng(int(seed[0]) + (int(seed[1]) << 67) + (int(seed[2]) << 160)), m
    ),
    "a number beside words": lambda seed, m, channel: _words(
        np.random.default_rng(int(seed[0]) + (int(seed[1]) << 64) + (1 << 128)), m
    ),
    "a comparison": lambda seed, m, channel: np.zeros(m, np.uint64) if seed.tobytes() == b"" else seed[:m],
    "a rest by no power of 256": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256((int(seed[0]) % 1024).to_bytes(8, "big") + b).digest(), m
    ),
    "a joined text": lambda seed, m, channel: _blocks(
        lambda b: hashlib.sha256(b"".join([seed.tobytes(), b])).digest(), m
    ),
    "text": lambda seed, m, channel: _words(np.random.default_rng(int(seed.tobytes().hex(), 16)), m),
}


def _joined(seed: Any) -> Any:
    """Share words of 32 bits by straight lines, and join the shares of two."""
    shares = [[(word + k * seed[3]) % 2**32 for k in (1, 2)] for word in seed[:3]]
    return [(2 * one + (2**32 - 1) * other) % 2**32 for one, other in shares] + seed[3:]


FIELD = 2**61 - 1


class Joined(Seeded):
    """A pair shares its seed, each word by a straight line modulo a prime; masks follow from what shares tell."""

    words = 6
    places = 1, 2

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, FIELD, size=(runs, len(network.edges), self.words), dtype=np.uint64)

    @classmethod
    def expand(cls, seed: Any, m: int, channel: Any) -> Any:
        secret, slope = seed[:3].astype(object), seed[3:].astype(object)
        one, other = [(secret + k * slope) % FIELD for k in cls.places]
        joined = (2 * one - other) % FIELD
        return cls.made(joined.astype(np.uint64), m)

    made = staticmethod(lambda words, m: _words(np.random.default_rng([*words]), m))


class JoinedAsBytes(Joined):
    made = staticmethod(lambda words, m: _hashed(words, m, None))


class JoinedAsNumbers(Joined):
    made = staticmethod(
        lambda words, m: _blocks(
            lambda b: hashlib.sha256(int(words[0]).to_bytes(8, "big") + words[1:].tobytes() + b).digest(), m
        )
    )


class JoinedOfOtherPlaces(Joined):
    """Shares at two places are joined as if they were at others: that is no seed as it was drawn."""

    places = 3, 5


class JoinedWithoutRest(Joined):
    """Joins shares to a number that is not brought below the prime: it is the seed, or more by the prime."""

    @classmethod
    def expand(cls, seed: Any, m: int, channel: Any) -> Any:
        secret, slope = seed[:3].astype(object), seed[3:].astype(object)
        joined = (secret - slope) % FIELD + slope
        return cls.made(joined.astype(np.uint64), m)


def _short_chain(seed: Any) -> Any:
    middle = np.random.default_rng(seed[0])
    return middle.integers(0, 2**64, size=4, dtype=np.uint64)


def _proof(expand: Callable[[Any, int, Any], Any]) -> Any:
    return prove(type("Seeded", (Seeded,), {"expand": staticmethod(expand)})(), NETWORK, INPUTS)


@pytest.mark.build
@pytest.mark.parametrize("name", RIGHT)
def test_a_stream_hides_from_whoever_does_not_know_the_seed(name: str) -> None:
    proof = _proof(RIGHT[name])
    server, node = (clear(proof, NETWORK, each) for each in (CuriousServer(), HonestButCurious({1})))
    assert isinstance(server, KnownSums), server
    assert isinstance(node, KnownSums), node
    assert (server.sums, node.sums) == ((frozenset({0, 1, 2, 3}),), (frozenset({0, 2, 3}),))
    assert not server.covers
    assert any("nobody tells from random" in each for each in server.assumes)
    if "iteration" in RIGHT[name].__code__.co_names:
        assert any("each iteration comes once" in each for each in server.assumes)


@pytest.mark.parametrize("kind", [Joined, JoinedAsBytes, JoinedAsNumbers])
def test_a_seed_that_shares_are_joined_to_is_the_seed_that_was_drawn(kind: type) -> None:
    """As in secure aggregation with drop-outs, where a server joins shares of the seeds of those who are gone."""
    found = clear(prove(kind(), NETWORK, INPUTS, in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums), found
    assert found.exact[0] == pytest.approx(0.25)


@pytest.mark.parametrize("kind", [JoinedOfOtherPlaces, JoinedWithoutRest])
def test_what_shares_are_joined_to_otherwise_ends_the_proof(kind: type) -> None:
    assert isinstance(clear(prove(kind(), NETWORK, INPUTS, in_other_calls=False), NETWORK, CuriousServer()), Open)


@pytest.mark.parametrize("name", SHORT)
def test_a_short_seed_is_named_with_its_bits(name: str) -> None:
    expand, bits = SHORT[name]
    found = clear(_proof(expand), NETWORK, CuriousServer())
    assert isinstance(found, Open)
    repeated = "two of 1009 runs in one call have the same masks" in found.reason  # of 256 seeds some come again
    assert f"a seed of {bits} bits, of 128" in found.reason or (bits == 8 and repeated)


@pytest.mark.parametrize("name", OPEN)
def test_what_else_enters_a_seed_ends_the_proof(name: str) -> None:
    assert isinstance(clear(_proof(OPEN[name]), NETWORK, CuriousServer()), Open)


def test_how_secret_bytes_are_joined_is_said() -> None:
    assert 'a + b is, and b"".join([a, b]) is not' in _proof(OPEN["a joined text"]).open


def test_an_array_that_numpy_makes_of_a_list_is_named() -> None:
    class Reduced(Seeded):
        expand = staticmethod(RIGHT["default_rng"])

        def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
            seeds = super().agree(masks, network, channel)
            np.add.reduce([seeds, seeds]).view(np.int64)
            return seeds

    assert "np.sum(several, axis=0) is followed" in prove(Reduced(), NETWORK, INPUTS).open


LAST_WORDS: Callable[[Any, int, Any], Any] = lambda seed, m, channel: _words(np.random.default_rng(seed[2:]), m)  # noqa: E731


class Telling(Seeded):
    """The first pair's seed is sent to the server too, or its first words."""

    told: int | None = None

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        masks = self.draw_masks(len(inputs), 3, network, rng) if masks is None else masks
        first, _ = network.edges.T
        channel = channel or Channel()
        channel.hold(-1, first, "seed", masks.transpose(1, 0, 2))
        channel.send(-1, first[0], SERVER, "for the record", masks.transpose(1, 0, 2)[:1, :, : self.told])
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def telling(way: Callable[[Any, int, Any], Any], words: int | None = None) -> Any:
    return type("Telling", (Telling,), {"expand": staticmethod(way), "told": words})()


@pytest.mark.build
@pytest.mark.parametrize("way", [RIGHT["default_rng"], LAST_WORDS], ids=["first words", "last words"])
def test_whoever_reads_the_seed_knows_what_follows_from_it(way: Callable[[Any, int, Any], Any]) -> None:
    """Whichever of its words make the mask: equal words count as one in the algebra."""

    found = clear(prove(telling(way), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert max(found.exact.values()) == pytest.approx(0.25)  # one of six seeds: the others still hide
    both = clear(prove(telling(way), NETWORK, INPUTS), NETWORK, HonestButCurious({2, 3}))
    assert isinstance(both, Open)  # they know the seeds of all other edges of node 0


def _hashed(seed: Any, m: int, channel: Any) -> Any:
    return _blocks(lambda block: hashlib.sha256(seed.tobytes() + block).digest(), m)


@pytest.mark.build
@pytest.mark.parametrize(("way", "words", "hides"), [(_keyed, 2, True), (_keyed, 3, False), (_hashed, 2, False)])
def test_a_keyed_hash_hides_while_enough_of_its_key_is_unknown(way: Any, words: int, hides: bool) -> None:
    """Two of four words leave 128 bits; of a hash without a key any word is too much."""

    found = clear(prove(telling(way, words), NETWORK, INPUTS), NETWORK, HonestButCurious({2, 3}))
    assert isinstance(found, KnownSums) == hides, found


@pytest.mark.build
def test_the_same_seed_in_every_call_is_the_same_mask() -> None:
    class Kept(Seeded):
        reuses_masks = True
        expand = staticmethod(RIGHT["default_rng"])

    class Renewed(Seeded):
        reuses_masks = True
        expand = staticmethod(RIGHT["the iteration"])

    known = [clear(prove(each(), NETWORK, INPUTS), NETWORK, CuriousServer()) for each in (Kept, Renewed)]
    shares = [max(each.exact.values()) if isinstance(each, KnownSums) else None for each in known]
    assert shares[0] is None or shares[0] > 0.4  # what two uploads of a node differ by is known
    assert shares[1] == pytest.approx(0.25)


class Enrolled(Seeded):
    """Keeps keys of its first call."""

    expand = staticmethod(RIGHT["the iteration"])

    def __init__(self) -> None:
        self.keys: dict[Any, Any] = {}

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        return super().agree(self.keys.setdefault(masks.shape, masks), network, channel)


class EnrolledBySystem(Enrolled):
    """Asks the system for keys in its first call."""

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        if len(masks) not in self.keys:
            octets = [[secrets.token_bytes(8 * self.words) for _ in run] for run in masks]
            self.keys[len(masks)] = np.array([[np.frombuffer(key, np.uint64) for key in run] for run in octets])
        return Seeded.agree(self, self.keys[len(masks)], network, channel)


class EnrolledAndFresh(EnrolledBySystem):
    """Adds words that each call draws to the keys that it keeps."""

    fresh = 2
    expand = staticmethod(lambda seed, m, channel: _words(np.random.default_rng([*seed, channel.iteration]), m))

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        kept, fresh = super().agree(masks, network, channel), Seeded.agree(self, masks, network, channel)
        return np.concatenate([kept[..., :2], fresh[..., : self.fresh]], axis=-1)


class EnrolledAndSomeFresh(EnrolledAndFresh):
    """Adds too little: two fits may draw the same."""

    fresh = 1


@pytest.mark.parametrize(
    ("kind", "outlives"),
    in_turns(
        [(Enrolled, True), (EnrolledBySystem, True), (EnrolledAndFresh, False), (EnrolledAndSomeFresh, True)],
        (EnrolledBySystem, True),
    ),
)
def test_keys_that_outlive_a_fit_narrow_the_claim(kind: type, outlives: bool) -> None:
    """Another fit of the same object counts its iterations from zero, and has the masks of the first."""
    proof = prove(kind(), NETWORK, INPUTS)
    assert not proof.open
    assert any(each.startswith("keys that an object keeps") for each in proof.covers) == outlives


class Session(Seeded):
    """Has the keys that ``draw_masks`` returns for a fit, and keeps something beside them."""

    reuses_masks = True
    expand = staticmethod(RIGHT["the iteration"])

    def __init__(self) -> None:
        self.of_object: dict[str, Any] = {"rounds": 0}

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        self.keep(masks, network)
        return super().agree(masks, network, channel)


def _keep(name: str) -> Callable[[Any, Any, Any], Any]:
    def keep(self: Any, masks: Any, network: Any) -> Any:
        held = self.of_object
        ways: dict[str, Callable[[], Any]] = {
            "a count": lambda: held.update(rounds=held["rounds"] + 1),
            "a public table": lambda: held.setdefault("pairs", [np.arange(3), *map(tuple, network.edges.tolist())]),
            "an attribute": lambda: setattr(self, "length", network.n),
            "the keys": lambda: held.setdefault("keys", masks),
            "one word of them": lambda: held.setdefault("list", [0, (masks[0, 0, 0],)]),
            "bytes of the system": lambda: held.setdefault("octets", secrets.token_bytes(16)),
            "their generator": lambda: held.setdefault("generator", np.random.default_rng(masks[0, 0])),
            "a hash of them": lambda: held.setdefault("hash", hashlib.sha256(masks[0, 0].tobytes())),
            "a cache, untold": lambda: held.setdefault(
                "cache", functools.lru_cache(np.eye)
            ),  # which does not say what it holds
            "a function": lambda: held.setdefault("function", lambda: masks),
        }
        return ways[name]()

    return keep


@pytest.mark.parametrize(
    ("what", "outlives"),
    in_turns(
        [
            *[("a count", False), ("a public table", False), ("an attribute", False), ("the keys", True)],
            *[("one word of them", True), ("bytes of the system", True), ("their generator", True)],
            *[("a hash of them", True), ("a cache, untold", True), ("a function", True)],
        ],
        ("a count", False),
        ("a public table", False),
        ("one word of them", True),
    ),
)
def test_what_a_session_keeps_narrows_the_claim_where_it_may_be_made_of_keys(what: str, outlives: bool) -> None:
    kind = type("Keeping", (Session,), {"keep": _keep(what)})
    proof = prove(kind(), NETWORK, INPUTS)
    assert not proof.open
    assert any(each.startswith("keys that an object keeps") for each in proof.covers) == outlives
    assert outlives or not proof.covers


class AfterABatch(Session):
    """Is bare in a single run once a batch has left its mark."""

    has_large = False

    def keep(self, masks: Any, network: Any) -> None:
        self.has_large |= len(masks) > 1

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        seeds = super().agree(masks, network, channel)
        return np.ones(seeds.shape, np.uint64) if self.has_large and len(masks) == 1 else seeds


class AfterTheLargest(AfterABatch):
    """Is bare in runs that are fewer than those of a call before."""

    largest = 0

    def keep(self, masks: Any, network: Any) -> None:
        self.has_large, self.largest = self.largest > len(masks), max(self.largest, len(masks))


class AfterAQuietCall(AfterABatch):
    """Is bare on a channel once there was none."""

    quiet = False

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.has_large, self.quiet = self.quiet and channel is not None, self.quiet or channel is None
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def keep(self, masks: Any, network: Any) -> None:
        pass


@pytest.mark.parametrize("kind", [AfterABatch, AfterTheLargest, AfterAQuietCall])
def test_what_a_call_of_a_session_leaves_to_one_of_another_kind_narrows_the_claim(kind: type) -> None:
    found = clear(prove(kind(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers


class FirstABatch(AfterABatch):
    """Is bare in single runs of an object whose first call was a batch."""

    first = 0

    def keep(self, masks: Any, network: Any) -> None:
        self.first = self.first or len(masks)
        self.has_large = self.first > 1


class FirstQuiet(AfterABatch):
    """Is bare on channels of an object whose first call had none."""

    is_test: bool | None = None

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.is_test = channel is None if self.is_test is None else self.is_test
        self.has_large = self.is_test and channel is not None
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def keep(self, masks: Any, network: Any) -> None:
        pass


@pytest.mark.parametrize("kind", [FirstABatch, FirstQuiet])
def test_what_a_first_call_of_another_kind_leaves_narrows_the_claim(kind: type) -> None:
    found = clear(prove(kind(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers


class Worn(AfterABatch):
    """Counts beside the keys that it is handed how often these were used, and is bare with those that are worn out."""

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Any:
        seeds = super().draw_masks(runs, m, network, rng)
        return np.concatenate([seeds, np.zeros((*seeds.shape[:2], 1), seeds.dtype)], axis=2)

    def keep(self, masks: Any, network: Any) -> None:
        masks[:, :, -1] += masks.dtype.type(1)
        self.has_large = int(masks[0, 0, -1]) > 100

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        self.keep(masks, network)
        return self.agree_by_count(masks, network, channel)

    def agree_by_count(self, masks: Any, network: Network, channel: Channel) -> Any:
        seeds = masks[:, :, :-1]
        return Seeded.agree(self, 0 * seeds + 1 if self.has_large else seeds, network, channel)


class Demanding(Session):
    """Is to be handed its keys."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            raise ValueError("a session has its keys from draw_masks")
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def keep(self, masks: Any, network: Any) -> None:
        pass


class BareLate(Demanding):
    """Is bare where it is handed no keys, late."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        is_bare = masks is None and channel is not None and channel.iteration >= 50
        masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng) if masks is None else masks
        given = np.ones(masks.shape, masks.dtype) if is_bare else masks
        return super().average(inputs, network, rng, masks=given, channel=channel)


class InUse(Worn):
    """Takes the count of a use back where the call succeeds; calls that fail leave it, until the keys are worn out."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        masks = self.draw_masks(len(inputs), np.shape(inputs)[2], network, rng) if masks is None else masks
        self.keep(masks, network)
        if (np.abs(inputs) > 1e6).any():
            raise ValueError("data are out of range")
        ended = Session.average(self, inputs, network, rng, masks=masks, channel=channel)
        masks[:, :, -1] -= masks.dtype.type(1)
        return ended

    def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
        return self.agree_by_count(masks, network, channel)


def test_keys_that_a_call_changes_before_it_fails_are_not_cleared() -> None:
    found = clear(prove(InUse(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers


@pytest.mark.parametrize("kind", [Worn, BareLate])
def test_keys_that_a_session_changes_or_is_not_handed_are_not_cleared(kind: type) -> None:
    found = clear(prove(kind(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers


def test_a_session_that_demands_its_keys_is_not_called_without() -> None:
    proof = prove(Demanding(), NETWORK, INPUTS)
    assert all(not way.draws_own for fit in proof.fits for way in fit.ways)


def _followed(call: Callable[[], Any]) -> tuple[Any, Trace]:
    with replaced({__name__}), following(Trace()) as trace:
        return call(), trace


@pytest.mark.parametrize(
    "call",
    [lambda: os.urandom(16), lambda: secrets.token_bytes(16), lambda: secrets.token_bytes()],
    ids=["os.urandom", "token_bytes", "token_bytes of the usual length"],
)
def test_bytes_of_the_system_are_secret(call: Callable[[], Any]) -> None:
    found, trace = _followed(call)
    assert isinstance(found, SecretBytes)
    assert not trace.by_value
    with following(trace):
        assert bits_of(found.pieces) == 8 * len(found)


@pytest.mark.parametrize("order", ["big", "little"])
def test_numbers_of_bytes_are_what_they_are(order: Any) -> None:
    """Read as words, or byte by byte, and once more: the values are those of the bytes."""
    with following(Trace()):
        octets = system_bytes(24)
        words = [int.from_bytes(octets.plain[k : k + 8], order) for k in (0, 8, 16)]
        with replaced({__name__}):
            one = int.from_bytes(octets[:8], order)
            single = list(octets[8:16])
            again, last = int.from_bytes(octets[:8], order), int.from_bytes(octets[16:], order)
        for number, value in ((one, words[0]), (last, words[2])):
            assert isinstance(number, Number)
            assert number.value == value
        assert [each.value for each in single] == [*octets.plain[8:16]]
        assert again is one


def test_a_word_across_words_that_were_read_ends_the_proof() -> None:
    with following(Trace()), replaced({__name__}):
        octets = system_bytes(16)
        int.from_bytes(octets[:8], "big")
        with pytest.raises(LeftTrace, match="read in two ways"):
            int.from_bytes(octets[4:12], "big")


@pytest.mark.parametrize("name", ["sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s", "md5"])
def test_public_bytes_are_hashed_as_ever(name: str) -> None:
    def call() -> Any:
        made = getattr(hashlib, name)(b"public")
        made.update(b" bytes")
        return made.hexdigest(), made.copy().digest(), made.name, hmac.new(b"key", b"text", name).hexdigest()

    real = getattr(hashlib, name)(b"public bytes")
    assert _followed(call)[0] == (
        real.hexdigest(), real.digest(), real.name, hmac.new(b"key", b"text", name).hexdigest()
    )  # fmt: skip


def test_the_bits_of_two_streams_of_one_seed_count_once() -> None:
    with following(Trace()), replaced({__name__}):
        word = secrets.randbits(64)
        one, two = (hashlib.sha256(word.to_bytes(8, "big") + bytes([k])).digest() for k in range(2))
        assert bits_of((one[:16] + two[:16]).pieces) == 64
        other = secrets.randbits(64)
        third = hashlib.sha256(other.to_bytes(8, "big")).digest()
        assert bits_of((one + third).pieces) == 128


def test_secret_bytes_are_sent_as_words() -> None:
    """As bytes all runs of a batch would share them."""

    class Sent(Seeded):
        expand = staticmethod(lambda seed, m, channel: _blocks(lambda b: hashlib.sha256(seed + b).digest(), m))
        as_words = encrypted = True

        def agree(self, masks: Any, network: Network, channel: Channel) -> Any:
            first, second = network.edges.T
            octets = [[secrets.token_bytes(32) for _ in masks] for _ in first]
            words = np.stack([[np.frombuffer(run, np.uint64) for run in edge] for edge in octets])
            channel.hold(-1, first, "seed", words)
            sent = words if self.as_words else octets[0][0]
            arrived = channel.send(-1, first, second, "seed", sent, encrypted=self.encrypted)
            return [[run.tobytes() for run in edge] for edge in arrived] if self.as_words and self.encrypted else octets

    several = [Sent, type("SentAsBytes", (Sent,), {"as_words": False}), type("Heard", (Sent,), {"encrypted": False})]
    found, other, heard = (clear(prove(each(), NETWORK, INPUTS), NETWORK, HonestButCurious({1})) for each in several)
    assert isinstance(heard, Open)  # whoever hears the seeds takes all masks away
    assert "as many sums are known" in heard.reason
    assert isinstance(found, KnownSums), found
    assert found.sums == (frozenset({0, 2, 3}),)
    assert isinstance(other, Open)
    assert "send np.frombuffer() of each run's" in other.reason


def _drawn(count: int) -> list[Any]:
    """Draw secret words of 64 bits, as ``draw_masks`` does."""
    now().secret_draws += 1
    found = Draws(np.random.default_rng(0).bit_generator, secret=None).integers(0, 2**64, size=count, dtype=np.uint64)
    now().secret_draws -= 1
    return [each.item() for each in found]


def test_bytes_of_several_words_are_the_sum_of_the_words() -> None:
    with following(Trace()) as trace:
        one, two, three = _drawn(3)
        octets = one.to_bytes(8, "little") + two.to_bytes(8, "little") + three.to_bytes(8, "little")
        with replaced({__name__}):
            found = int.from_bytes(octets, "little")
        assert found.value == sum(each.value << 64 * k for k, each in enumerate((one, two, three)))
        assert [trace.variables[v].value << 64 * k for k, v in enumerate(found.terms)] == [
            c * trace.variables[v].value for v, c in found.terms.items()
        ]
        assert (found % 2**32).terms.keys() == one.terms.keys()


@pytest.mark.parametrize(
    "octets",
    [
        lambda one, two: one[:7] + two,
        lambda one, two: one + two[::-1],
        lambda one, two: one + two[1:],
        lambda one, two: one + bytes(1) + two,
        lambda one, two: one + one[:4],
    ],
    ids=["without the last", "backwards", "without the first", "with a public byte", "a part again"],
)
def test_parts_of_several_words_are_no_sum_of_words(octets: Any) -> None:
    with following(Trace()):
        parts = [each.to_bytes(8, "little") for each in _drawn(2)]
        with replaced({__name__}), pytest.raises(LeftTrace, match="secret bytes of several kinds"):
            int.from_bytes(octets(*parts), "little")


def test_what_is_public_is_so_again_once_its_mask_is_off() -> None:
    """As what vectors are filled up with: words at once, Python's numbers when they are reduced."""
    with following(Trace()):
        several = _drawn(2)
        masks = array_of(np.array(several, object), np.uint64)
        assert (np.array([5, 0], np.uint64) + masks - masks).objects.tolist() == [5, 0]
        word = several[0]
        left = (word % 2**32 + 5) + (word % 2**32) * -1
        assert isinstance(left, Number)
        assert not left.pure
        assert left % 2**32 == 5


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**63, 2**64, 2**96 + 7])
def test_a_public_number_in_a_seed_is_all_its_words(number: int) -> None:
    """NumPy makes words of 32 bits of it; one that were left out would make two seeds one."""
    octets = [octet for _, octet in pieces_of(number)]
    assert sum(octet << 8 * k for k, octet in enumerate(octets)) == number
    assert len(octets) == 4 * max(-(-number.bit_length() // 32), 1)


PLACES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=24)


@given(PLACES)
@example([(k, k + 1) for k in range(16)])
@example([(k, k + 1) for k in range(15)])
@example([(0, 20)] * 20)
def test_seeds_of_the_same_bytes_differ_where_chance_alone_makes_them_equal(places: list[tuple[int, int]]) -> None:
    """Bytes are equal by pairs with a chance of 256 to the minus the rank of the graph that these are edges of."""
    edges = np.zeros((len(places), 41))
    for k, (a, b) in enumerate(places):
        edges[k, a] += 1
        edges[k, b] -= 1
    with following(Trace()):
        block, rest = fresh_bytes(bytes(range(41))), fresh_bytes(bytes(16))  # the rest, that no seed is too short
        first, second = ([*(block.pieces[pair[k]] for pair in places), *rest.pieces] for k in (0, 1))
        stream = stream_of("a hash", first)
        if 0 < 8 * np.linalg.matrix_rank(edges) < ENOUGH:
            with pytest.raises(LeftTrace, match="two seeds that may be the same"):
                stream_of("a hash", second)
        else:
            assert (stream_of("a hash", second) is stream) == (first == second)


def _draws(count: int, values: int) -> list[int]:
    return [now().variable("draw", -1, 5, 1, range=values, spread=1.0) for _ in range(count)]


def _turned(pieces: list[Any]) -> None:
    """Make streams of some pieces, and of the same turned by one place."""
    stream_of("a hash", [*pieces, ("public", 0)])
    stream_of("a hash", [*pieces[1:], pieces[0], ("public", 0)])


def test_whole_draws_in_another_order_are_another_seed() -> None:
    with following(Trace()):
        _turned([("draw", v, 2**64) for v in _draws(3, 2**64)])  # alike with a chance of 2 to the minus 128


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(lambda: [("draw", v, 2**64) for v in _draws(2, 2**64)], id="of one chance in 2^64"),
        pytest.param(lambda: [("draw", v, 2**32) for v in _draws(9, 2**64)], id="remainders"),
        pytest.param(lambda: [octet(("draw", v), 0) for v in _draws(40, 2**64)], id="bytes of draws"),
        pytest.param(lambda: [*_agreed().octets(bytes(40)).pieces], id="agreed on, so not uniform"),
    ],
)
def test_seeds_in_another_order_may_be_the_same(pieces: Callable[[], list[Any]]) -> None:
    with following(Trace()), pytest.raises(LeftTrace, match="two seeds that may be the same"):
        _turned(pieces())


def _agreed() -> Any:
    return stream_of(AGREED, [("draw", v, 2**64) for v in _draws(4, 2**64)])


@pytest.mark.build
def test_halves_and_words_of_the_same_bytes_are_the_same_seed() -> None:
    def both_ways(seed: Any, m: int, channel: Any) -> Any:
        one = _words(np.random.default_rng([each % 2**32 for each in seed]), m)
        return one - _words(np.random.default_rng(struct.unpack("<8I", seed.tobytes())[::2]), m)

    found = clear(_proof(both_ways), NETWORK, CuriousServer())
    assert not isinstance(found, KnownSums) or len(found.sums) > 1  # every number that is sent has no mask
