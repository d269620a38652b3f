"""Secret bytes are Python's bytes in all that is followed, know what they are made of, and end the proof elsewhere."""

from __future__ import annotations

import copy
import hashlib
import hmac
import operator
import pickle
import secrets
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secmix.kernel.randomness.coins import Public, coin_among
from secmix.kernel.randomness.draws import Draws
from secmix.kernel.randomness.secret_bytes import WORD, SecretBytes, byte_of_stream
from secmix.kernel.randomness.streams import bits_of, fresh_bytes
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.arrays import concrete, followed, secrets_in
from secmix.kernel.values.current_trace import LeftTrace, Trace, following, now
from secmix.kernel.values.numbers import traced_back

PLAIN = bytes(range(200, 232))


def traced_call(call: Callable[[], Any]) -> Any:
    """Call as a trace calls a protocol: what lies above is not searched for its ``with``."""
    return call()


def _followed(call: Callable[[], Any]) -> tuple[Any, Trace]:
    with replaced({__name__}), following(Trace()) as trace:
        return traced_call(call), trace


def _word(k: int = 0) -> Any:
    """Return a secret word of 64 bits, read as a protocol reads it."""
    return int.from_bytes(fresh_bytes(PLAIN)[8 * k : 8 * k + 8], "little")


def _iteration() -> Public:
    return Public(258, "the iteration", of=operator.pos)


ALIKE: dict[str, Callable[[Any], Any]] = {
    "as they are": lambda octets: octets,
    "public bytes before": lambda octets: b"x" + octets,
    "public bytes behind": lambda octets: octets + b"x",
    "a part": lambda octets: octets[3:11],
    "backwards": lambda octets: octets[::-1],
    "as bytes": lambda octets: bytes(octets),
    "copied": lambda octets: copy.deepcopy(octets),
    "a number in more bytes": lambda octets: int.from_bytes(octets[:3], "little").to_bytes(5, "little"),
    "words and back": lambda octets: np.frombuffer(octets, np.uint64).tobytes(),
    "some of the words": lambda octets: np.frombuffer(octets, np.uint8, count=3, offset=2).tobytes(),
    "public words": lambda octets: np.frombuffer(b"12345678", np.uint32).tobytes() + octets,
    "packed": lambda octets: struct.pack("<4sI?", octets[:4], int.from_bytes(octets[4:8], "little"), True),
    "packed beside": lambda octets: octets + struct.pack(">2IH", 1, 2, 3),
    "nothing but public bytes": lambda octets: (b"x" + octets)[:1],
}

OF_OTHER_BITS = {"nothing but public bytes", "a number in more bytes"}
"""None; those of the shorter number."""


@pytest.mark.parametrize("name", ALIKE)
def test_secret_bytes_are_what_bytes_are(name: str) -> None:
    found, _ = _followed(lambda: ALIKE[name](fresh_bytes(PLAIN)))
    assert getattr(found, "plain", found) == ALIKE[name](PLAIN)


@pytest.mark.parametrize("name", [n for n in ALIKE if n not in OF_OTHER_BITS])
def test_bytes_that_are_followed_are_worth_their_bits_in_a_seed(name: str) -> None:
    """Eight of each that is secret, however they came there."""
    with replaced({__name__}), following(Trace()):
        found = ALIKE[name](fresh_bytes(PLAIN))
        secret = [piece for piece in found.pieces if piece is not None]
        assert bits_of(secret) == 8 * len(secret) > 0


@pytest.mark.parametrize("order", ["big", "little"])
def test_bytes_of_a_draw_are_the_draw_again(order: Any) -> None:
    with replaced({__name__}), following(Trace()):
        drawn = _draw()
        for length in (8, 9):
            again = int.from_bytes(drawn.to_bytes(length, order), order)
            assert (again.terms, again.value, again.below) == (drawn.terms, drawn.value, 2**64)


def test_secret_bytes_are_empty_where_python_says_so() -> None:
    found, trace = _followed(lambda: (bool(fresh_bytes(PLAIN)[:0]), bool(fresh_bytes(PLAIN))))
    assert found == (False, True)
    assert not trace.left


def _sums() -> Any:
    """Return two words that were computed."""
    words = np.frombuffer(fresh_bytes(PLAIN), np.uint64)
    return words[:2] + words[2:]


def _halves() -> Any:
    """Return floats that were computed."""
    return _sums() * 0.5


PASSED: dict[str, Callable[[], Any]] = {
    "words": lambda: [_sums(), np.frombuffer(_sums().tobytes(), np.uint64)],
    "words with a sign": lambda: [_sums().view(np.int64), np.frombuffer(_sums().view(np.int64).tobytes(), np.int64)],
    "words without it": lambda: [_sums(), np.frombuffer(_sums().view(np.int64).tobytes(), np.uint64)],
    "floats": lambda: [_halves(), np.frombuffer(_halves().tobytes())],
    "by bytes": lambda: [_sums(), np.frombuffer(np.frombuffer(_sums().tobytes(), np.uint8).tobytes(), np.uint64)],
    "floats by bytes": lambda: [_halves(), np.frombuffer(np.frombuffer(_halves().tobytes(), np.uint8).tobytes())],
    "behind a header": lambda: [_sums(), np.frombuffer(b"head" + _sums().tobytes(), np.uint64, offset=4)],
    "unpacked": lambda: [_sums(), np.array(struct.unpack("<2s2Q", b"of" + _sums().tobytes())[1:], np.uint64)],
    "unpacked with a sign": lambda: [
        _sums().view(np.int64),
        np.array(struct.unpack("<2q", _sums().tobytes()), np.int64),
    ],
    "unpacked floats": lambda: [_halves(), np.array(struct.unpack("<2d", _halves().tobytes()))],
    "floats behind a public one": lambda: [
        np.concatenate([np.array([1.5]), _halves()]),
        np.frombuffer(np.array([1.5]).tobytes() + _halves().tobytes()),
    ],
    "a rest": lambda: [
        np.array([int(_word() + 1) % 251]),
        np.array([int.from_bytes((int(_word() + 1) % 251).to_bytes(4, "big"), "big")]),
    ],
}


@pytest.mark.parametrize("name", PASSED)
def test_what_passes_as_bytes_is_what_it_was(name: str) -> None:
    def described(words: Any) -> tuple[Any, ...]:
        secret = list(secrets_in(followed(words)))
        draws = [{*now().variables.keys()} & {*each.terms} for each in traced_back(secret)[0]]
        return concrete(followed(words)).tolist(), len(secret), [*map(len, draws)]

    def compared() -> Any:
        return [described(each) for each in PASSED[name]()]

    before, after = _followed(compared)[0]
    assert before == after
    assert before[1]


def test_a_byte_of_a_word_is_of_no_stream() -> None:
    assert byte_of_stream((WORD, 0, 3, "u8")) == (-1, 0)


def test_unpacking_public_bytes_is_pythons() -> None:
    octets = struct.pack("<2sH", b"of", 7)
    assert _followed(lambda: struct.unpack("<2sH", octets))[0] == (b"of", 7)
    assert _followed(lambda: struct.unpack("<2s2Q", b"of" + _sums().tobytes())[0])[0] == b"of"
    with pytest.raises(struct.error):
        _followed(lambda: struct.unpack("<Q", _sums().tobytes()))
    assert isinstance(_followed(lambda: struct.unpack("<4s", fresh_bytes(b"seed"))[0])[0], SecretBytes)


EXITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "words, the other way": (
        lambda octets: np.frombuffer(octets, ">u8").tobytes(),
        "the bytes of secrets as >u8",
    ),
    "a digest of words that may be negative": (
        lambda octets: hashlib.sha256(np.frombuffer(octets, np.int32).tobytes()).digest(),
        "the bytes of a secret that was computed or cut",
    ),
    "a digest of floats": (
        lambda octets: hashlib.sha256((np.frombuffer(octets, np.uint64) * 0.5).tobytes()).digest(),
        "the bytes of a secret that was computed or cut",
    ),
    "floats read as words": (lambda octets: np.frombuffer(_halves().tobytes(), np.uint64), "the bits of a secret"),
    "words read as floats": (lambda octets: np.frombuffer(_sums().tobytes()), "secret bytes as float64"),
    "words read from another place": (
        lambda octets: np.frombuffer(_sums().tobytes(), np.uint64, count=1, offset=1),
        "the bytes of a secret that was computed or cut",
    ),
    "words read as others": (
        lambda octets: np.frombuffer(_sums().tobytes(), np.uint16),
        "the bytes of a secret that was computed or cut",
    ),
    "floats of four bytes": (lambda octets: _halves().astype(np.float32).tobytes(), "the bytes of secrets as float32"),
    "a seed of bytes of words": (
        lambda octets: np.random.default_rng(np.frombuffer(_sums().tobytes(), np.uint8)),
        "a seed computed from secrets",
    ),
    "packed without one of several": (lambda octets: struct.pack("<QI", _word()), "struct.pack of secrets"),
    "unpacked by another letter": (
        lambda octets: struct.unpack("<4e", _sums()[:1].tobytes()),
        "struct.unpack of secrets by another letter",
    ),
    "unpacked as in memory": (lambda octets: struct.unpack("2Q", _sums().tobytes()), "struct.pack of secrets"),
    "bytes that overlap": (
        lambda octets: [int.from_bytes(octets[:8], "big"), int.from_bytes(octets[7:9], "big")],
        "one stream of secret bytes, read in two ways",
    ),
    "bytes in both orders": (
        lambda octets: [int.from_bytes(octets[:8], "big"), int.from_bytes(octets[:8], "little")],
        "one stream of secret bytes, read in two ways",
    ),
    "a comparison": (lambda octets: octets == PLAIN, "a comparison of secret bytes"),
    "text": (lambda octets: f"{octets}", "the text of secret bytes"),
    "a pickle": (lambda octets: pickle.loads(pickle.dumps(octets)), "a pickle of secret bytes"),
    "hex": (lambda octets: octets.hex(), ".hex of secret bytes"),
    "a digest as text": (lambda octets: hashlib.sha256(octets).hexdigest(), ".hex of secret bytes"),
    "bytes of two streams as a number": (
        lambda octets: int.from_bytes(octets[:2] + fresh_bytes(PLAIN)[:2], "big"),
        "secret bytes of several kinds",
    ),
    "public bytes and secret ones as a number": (
        lambda octets: int.from_bytes(b"x" + octets[:3], "big"),
        "secret bytes of several kinds",
    ),
    "bytes of a draw in another order as a number": (
        lambda octets: int.from_bytes(_draw().to_bytes(8, "big")[::-1], "big"),
        "secret bytes of several kinds",
    ),
    "a part of a draw as a number": (
        lambda octets: int.from_bytes(_draw().to_bytes(8, "big")[:4], "big"),
        "secret bytes of several kinds",
    ),
    "floats": (lambda octets: np.frombuffer(octets, np.float64), "secret bytes as float64"),
    "a signed number": (lambda octets: int.from_bytes(octets, "big", signed=True), "secret bytes as a signed number"),
    "signed bytes": (lambda octets: _word().to_bytes(8, "big", signed=True), "the signed bytes of a secret"),
    "bytes in another order": (
        lambda octets: np.frombuffer(octets, np.uint64).reshape(2, 2).tobytes("F"),
        "the bytes of secrets in another order",
    ),
    "bytes of a sum": (
        lambda octets: (_word() + _word(1)).to_bytes(16, "big"),
        "the bytes of a secret that was computed or cut",
    ),
    "bytes of a product": (
        lambda octets: (_word() * _word(1)).to_bytes(16, "big"),
        "the bytes of a secret that was computed or cut",
    ),
    "bytes put together with a gap": (
        lambda octets: (octets[0] + (octets[1] << 16)).to_bytes(3, "big"),
        "the bytes of a secret that was computed or cut",
    ),
    "bytes put together and a number": (
        lambda octets: (octets[0] + (octets[1] << 8) + 1).to_bytes(3, "big"),
        "the bytes of a secret that was computed or cut",
    ),
    "a draw in too few bytes": (
        lambda octets: _draw().to_bytes(7, "big"),
        "the bytes of a secret that was computed or cut",
    ),
    "a key of three words": (
        lambda octets: np.random.Philox(key=[_word(), _word(1), 1]),
        "a key of another length than 128 bits",
    ),
    "a seed sequence with more": (
        lambda octets: np.random.SeedSequence(_word(), pool_size=8),
        r"SeedSequence\(\) of a secret",
    ),
    "a generator with more": (
        lambda octets: np.random.Philox(_word(), counter=1),
        "Philox with more than a secret seed or key",
    ),
    "packed as in memory": (
        lambda octets: struct.pack("QI", _word(), 7),
        "struct.pack of secrets, or of the iteration",
    ),
    "packed as a float": (lambda octets: struct.pack("<d", _word() * 1.0), r"struct.pack\(\) of a secret"),
    "children of a generator": (
        lambda octets: np.random.Generator(np.random.Philox(key=[_word(), _word(1)])).spawn(2),
        "generators spawned from one with a secret key",
    ),
}


def _draw() -> Any:
    """Return a secret number below 2**64 of the system's."""
    return secrets.randbits(64)


@pytest.mark.parametrize("name", EXITS)
def test_what_secret_bytes_cannot_be_followed_through_ends_the_proof(name: str) -> None:
    call, reason = EXITS[name]
    with pytest.raises(LeftTrace, match=reason):
        _followed(lambda: call(fresh_bytes(PLAIN)))


@pytest.mark.parametrize("name", ["a comparison", "text", "a pickle", "hex", "a part of a draw as a number"])
def test_secret_bytes_answer_once_a_guard_is_taken(name: str) -> None:
    """The call must then end in the error, with the text that it has without a trace."""
    with replaced({__name__}), following(Trace(answering=True)):
        found = EXITS[name][0](fresh_bytes(PLAIN))
    assert name == "a part of a draw as a number" or found == EXITS[name][0](PLAIN)


def _below_nought() -> Any:
    """Return a secret draw that may be negative."""
    drawn = Draws(np.random.default_rng(0).bit_generator, secret=None)
    drawn.secret = True
    return drawn.integers(-5, 2**60)


MAY_FAIL: dict[str, Callable[[], Any]] = {
    "a signed field": lambda: struct.pack("<q", _word()),
    "bytes of what may be negative": lambda: int(_below_nought()).to_bytes(8, "big"),
    "a seed that may be negative": lambda: np.random.default_rng(_below_nought()),
    "a seed of more than 32 bits": lambda: np.random.RandomState(
        [int.from_bytes(fresh_bytes(bytes([1, 0, 0, 0, 0])), "little")]
    ),
}


@pytest.mark.parametrize("name", MAY_FAIL)
def test_what_may_not_fit_may_end_the_call(name: str) -> None:
    assert _followed(MAY_FAIL[name])[1].stops
    assert not _followed(lambda: struct.pack("<Q", _word()))[1].stops


def _later(key: Any) -> Any:
    made = hmac.new(key, digestmod="sha256")
    made.update(b"x")
    return made


SAME: dict[str, Callable[[Any, Any], list[Any]]] = {
    "hmac and hmac.new": lambda key, word: [hmac.digest(key, b"", "sha256"), hmac.new(key, b"", "sha256").digest()],
    "a text that comes later": lambda key, word: [hmac.digest(key, b"x", "sha256"), _later(key).digest()],
    "a key filled up": lambda key, word: [hmac.digest(each, b"", "sha256") for each in (key, key + b"\0\0")],
    "a seed filled up": lambda key, word: [np.random.default_rng(each) for each in ([word, 1], [word, 1, 0])],
    "a seed sequence": lambda key, word: [
        np.random.default_rng(each) for each in ([word, 1], np.random.SeedSequence([word, 1]))
    ],
}
OTHER: dict[str, Callable[[Any, Any], list[Any]]] = {
    "a key and a text": lambda key, word: [hmac.digest(key, b"x", "sha256"), hmac.digest(key + b"x", b"", "sha256")],
    "another hash": lambda key, word: [hmac.digest(key, b"", each) for each in ("sha256", "sha512")],
    "zeros before": lambda key, word: [np.random.default_rng(each) for each in ([word, 1], [0, word, 1])],
    "another kind": lambda key, word: [
        np.random.Generator(kind(word)) for kind in (np.random.PCG64, np.random.PCG64DXSM)
    ],
    "of another length": lambda key, word: [hashlib.shake_128(each).digest(9) for each in (key, key + b"\0")],
}


@pytest.mark.parametrize(("table", "count"), [(SAME, 1), (OTHER, 2)])
def test_streams_are_the_same_where_python_makes_the_same_of_them(table: dict[str, Any], count: int) -> None:
    for name, make in table.items():
        with replaced({__name__}), following(Trace()):
            several = make(fresh_bytes(PLAIN), _word())
        numbers = {each.pieces[0][1] if isinstance(each, SecretBytes) else each.stream.number for each in several}
        plain = make(PLAIN, int.from_bytes(PLAIN[:8], "little"))
        drawn = {each if isinstance(each, bytes) else each.bytes(9) for each in plain}
        assert (name, len(numbers), len(drawn)) == (name, count, count)


def test_public_bytes_of_what_may_be_another_are_noted() -> None:
    """A coin's bytes are traced for every coin; a hash of the iteration covers the iterations that were traced."""
    found, trace = _followed(lambda: coin_among([258, 7], 258, "a coin").to_bytes(2, "big"))
    assert (bytes(found.plain), len(trace.turns), found.pieces) == (b"\x01\x02", 1, (None, None))
    found, trace = _followed(lambda: hashlib.sha256(_iteration().to_bytes(8, "big")).digest())
    assert found == hashlib.sha256((258).to_bytes(8, "big")).digest()
    assert [*trace.by_value] == ["the iteration"]


def test_keys_that_are_partly_public_count_what_is_secret() -> None:
    with replaced({__name__}), following(Trace()) as trace:
        bits = [np.random.Philox(key=each) for each in ([_word(), 7], np.array([_word(), _word(1)]))]
        assert [trace.streams[each.stream.number].bits for each in bits] == [64, 128]
    words = np.frombuffer(PLAIN, np.uint64)
    for each, key in zip(bits, ([words[0], 7], words[:2]), strict=True):
        assert np.array_equal(each.concrete.random_raw(2), np.random.Philox(key=np.array(key, np.uint64)).random_raw(2))


def test_a_key_is_one_number_or_two() -> None:
    with replaced({__name__}), following(Trace()) as trace:
        key = secrets.randbits(128)
        bits = np.random.Philox(key=key)
        assert trace.streams[bits.stream.number].bits == 128
    assert np.array_equal(bits.concrete.random_raw(2), np.random.Philox(key=key.value).random_raw(2))


def test_generators_that_are_spawned_draw_as_numpys_do() -> None:
    def call() -> Any:
        parent = np.random.default_rng([_draw(), _draw(), 7])
        first, (second, third) = parent.spawn(1), parent.spawn(2)
        return [each.integers(0, 2**64, size=2, dtype=np.uint64) for each in (*first, second, *third.spawn(1))]

    found, trace = _followed(call)
    drawn = [each.value for each in trace.variables.values()][:2]
    parent = np.random.default_rng([*drawn, 7])
    first, (second, third) = parent.spawn(1), parent.spawn(2)
    for one, other in zip(found, (*first, second, *third.spawn(1)), strict=True):
        assert np.array_equal(concrete(one), other.integers(0, 2**64, size=2, dtype=np.uint64))
    assert len(trace.streams) == 7  # each draw of the system's is of one, too


def test_generators_of_public_keys_and_sequences_are_numpys() -> None:
    def call() -> Any:
        sequence = np.random.SeedSequence(5, spawn_key=(1,))
        bits = [np.random.Philox(key=7), np.random.PCG64(sequence), np.random.Philox(1, counter=2)]
        return [each.random_raw(2).tolist() for each in bits]

    found, trace = _followed(call)
    assert found == call()
    assert not trace.streams


def test_bytes_and_single_words_of_masks_are_secret() -> None:
    with following(Trace(secret_draws=1)) as trace:
        rng = Draws(np.random.PCG64(1), secret=None)
        octets, word, size = rng.bytes(16), rng.integers(0, 2**64, dtype=np.uint64), rng.normal()
        assert bits_of(octets.pieces) == 128
        assert [trace.variables[next(iter(each.form))].range for each in (word.item(), size)] == [2**64, 0]
    plain = np.random.default_rng(1)
    assert (octets.plain, concrete(word)) == (plain.bytes(16), plain.integers(0, 2**64, dtype=np.uint64))


def _some_words() -> Any:
    return np.array([_word(), 5, _word(1)], dtype=np.uint64)


def test_an_array_of_some_secret_words_is_known_word_by_word() -> None:
    with replaced({__name__}), following(Trace()):
        words = traced_call(_some_words)
        octets = words.tobytes()
        assert octets.plain == PLAIN[:8] + (5).to_bytes(8, "little") + PLAIN[8:16]
        assert [piece is None for piece in octets.pieces] == [False] * 8 + [True] * 8 + [False] * 8
        assert followed(np.arange(3)).tobytes() == np.arange(3).tobytes()
        assert int.from_bytes(followed(np.arange(3, dtype=np.uint8)), "big") == 258
        assert int.from_bytes(b"\xff", "big", signed=True) == -1


def test_words_of_all_their_bits_are_combined_as_numpy_does() -> None:
    """Those above the largest number with a sign ended the call by an OverflowError."""
    before, after = _followed(lambda: [concrete(each) for each in (_sums(), _sums() ^ np.uint64(2**64 - 1))])[0]
    assert after.tolist() == (before ^ np.uint64(2**64 - 1)).tolist()
    assert max(after.tolist()) >= 2**63 or max(before.tolist()) >= 2**63
