"""Seeds of generators: which stream of draws a secret seed makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix.kernel.arrays import Followed
from secmix.kernel.numbers import Number
from secmix.kernel.state import now
from secmix.kernel.streams import Piece, Stream, bytes_of, is_iteration, residue, spelt, stream_of

_POOL = 128  # bits into which NumPy's SeedSequence makes whatever it is given
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


@dataclass
class SecretBits:
    """A bit generator with a secret seed: of one generator, which goes on where it stands."""

    concrete: Any  # NumPy's, of this run
    stream: Stream
    is_taken: bool = False

    def taken(self) -> Stream:
        """Return its stream, to the first generator that asks."""
        if self.is_taken:
            now().leave("two generators of one secret seed's bits")
        self.is_taken = True
        return self.stream

    def __reduce__(self) -> Any:
        now().leave("a copy of a generator")


@dataclass
class SecretSeedSequence:
    """A SeedSequence of a secret seed."""

    entropy: Any


def is_seed(seed: Any) -> bool:
    """Say whether anything in a seed is secret."""
    return isinstance(seed, SecretSeedSequence) or any(isinstance(each, Number) for each in _numbers(seed))


def seeded_bits(kind: Any, seed: Any) -> SecretBits:
    """Return NumPy's bit generator of this kind, as the stream that follows from a secret seed.

    Two kinds make two streams of one seed; default_rng is PCG64.
    """
    seed = seed.entropy if isinstance(seed, SecretSeedSequence) else seed
    several = list(_numbers(seed))
    pieces = [piece for each in several for piece in _pieces(each)]
    while pieces[-1] == ("public", 0):  # NumPy fills up with zeros; some piece is secret
        pieces.pop()
    stream = stream_of(f"{kind.__name__} of a SeedSequence", pieces, most_bits=_POOL)
    return SecretBits(kind([int(getattr(each, "value", each)) for each in several]), stream)


def keyed_bits(kind: Any, key: Any) -> SecretBits:
    """Return a bit generator that works with the key itself, two words of 64 bits or one of 128."""
    several = list(_numbers(key))
    words = [bytes_of(each, 16 // len(several), "little") for each in several] if len(several) in (1, 2) else []
    if not words:
        now().leave("a key of another length than 128 bits")
    stream = stream_of(f"{kind.__name__} with a key", as_pieces(words))
    return SecretBits(
        with_key(kind, sum(int.from_bytes(w.plain, "little") << 64 * k for k, w in enumerate(words))), stream
    )


def with_key(kind: Any, key: Any, **more: Any) -> Any:
    """Return a bit generator of a key: NumPy asks the system for a seed, and makes no use of it."""
    trace = now()
    before = dict(trace.by_value)
    made = kind(key=key, **more)
    trace.by_value = before
    return made


def as_pieces(several: Iterable[Any]) -> list[Piece]:
    """Return the pieces of bytes, with numbers for those that are public."""
    return [piece or ("public", each.plain[k]) for each in several for k, piece in enumerate(each.pieces)]


def _numbers(seed: Any) -> Iterator[Any]:
    if isinstance(seed, np.ndarray):
        yield from (seed.objects if isinstance(seed, Followed) else seed).ravel().tolist()
    elif isinstance(seed, (list, tuple)):
        for each in seed:
            yield from _numbers(each)
    else:
        yield seed


def _pieces(number: Any) -> list[Piece]:
    """Return what one number of a seed is made of; words of 32 bits where it is public, as NumPy takes it."""
    if isinstance(number, Number):
        octets = spelt(number)
        piece = residue(number) if octets is None else None
        if octets is None and piece is None:
            now().leave("a seed computed from secrets")
        return octets or [piece or ()]
    if is_iteration(number):
        return [("iteration", 0, 1, now().call)]
    number = int(number)
    words = [("public", number >> 32 * k & 0xFFFFFFFF) for k in range(max(-(-number.bit_length() // 32), 1))]
    return list(words)
