"""Expand seeds that the adversary knows or guesses: compute the draws of a stream from the pieces of its seed.

A stream is used only if its computed draws equal those of the trace.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from secmix.kernel.randomness.secret_bytes import Piece, SecretBytes, bare
from secmix.kernel.randomness.streams import END_OF_KEY, OF_SEQUENCE, Stream
from secmix.kernel.values.current_trace import INF, Trace

Seed = int | tuple[Piece, ...]
"""Source of a seed: a draw, or bytes of a stream that nobody read as numbers, the least significant first."""
Values = dict[Any, Any]
"""The values of draws, by variable, and of such bytes, by piece."""


def unknown(stream: Stream, trace: Trace, known: Mapping[Any, Any]) -> list[tuple[Seed, int]]:
    """List what is unknown of a seed, and how many values that has: draws, and bytes of streams with longer seeds."""
    counts: dict[Seed, int] = {}
    unread: dict[int, dict[Piece, None]] = {}
    for piece in stream.pieces:
        variable, count = _behind(piece, trace)
        if variable is None:
            unread.setdefault(piece[1], {})[piece] = None
        elif variable not in known:
            counts[variable] = max(counts.get(variable, 0), count)
    for number, pieces in unread.items():
        parent = trace.streams[number]
        octets = tuple(piece for piece in pieces if piece not in known)
        above = unknown(parent, trace, known) if parent.pieces else []
        longer = not parent.pieces or math.prod(count for _, count in above) > 256 ** len(octets)
        for seed, count in [(octets, 256 ** len(octets))] * bool(octets) if longer else above:
            counts[seed] = max(counts.get(seed, 0), count)
    return list(counts.items())


def assigned(seed: Seed, value: int) -> Values:
    """Return the values of what a seed depends on, for one of its values."""
    return {seed: value} if isinstance(seed, int) else {piece: value >> 8 * k & 255 for k, piece in enumerate(seed)}


def value_of(seed: Seed, trace: Trace, known: Mapping[Any, Any]) -> int:
    """Compute the value of a seed; raise KeyError if known numbers do not determine it."""
    if isinstance(seed, int):
        return int(known[seed])
    return sum(_value(piece, trace, known) << 8 * k for k, piece in enumerate(seed))


def _behind(piece: Piece, trace: Trace) -> tuple[int | None, int]:
    if piece[0] == "draw":
        return piece[1], piece[2]
    if isinstance(piece[1], tuple):  # a byte of a draw: number of values of the bytes up to this one
        variable = piece[1][1]
        return variable, min(256 ** (piece[2] + 1), trace.variables[variable].range)
    return _read(piece, trace)[0], 256


def _read(piece: Piece, trace: Trace) -> tuple[int | None, int, int, str]:
    """Find the draw that a byte of a stream was read into, and where and how it was read."""
    for (first, width, order), number in trace.streams[piece[1]].reads.items():
        if first <= piece[2] < first + width and bare(number) is not None:
            return bare(number), first, width, order
    return None, 0, 0, ""


def _value(piece: Piece, trace: Trace, known: Mapping[Any, Any]) -> int:
    if piece[0] == "iteration":
        return int(piece[3] >> 8 * piece[1]) & 255 if piece[2] > 1 else int(piece[3])
    if piece[0] == "public":
        return int(piece[1])
    if piece[0] == "draw":
        return int(known[piece[1]]) % int(piece[2])
    if isinstance(piece[1], tuple):
        return int(known[piece[1][1]] >> 8 * int(piece[2])) & 255
    variable, first, width, order = _read(piece, trace)
    if variable is None:
        return (
            int(known[piece])
            if piece in known
            else _octets(trace.streams[piece[1]], trace, known, [(piece[2], 1)])[0][0]
        )
    octets = int(known[variable]).to_bytes(width, "little" if order == "little" else "big")
    return int(octets[piece[2] - first])


def expanded(stream: Stream, trace: Trace, known: Mapping[Any, Any]) -> Values:
    """Compute the draws of a stream with a known seed; empty if the way they are made is not supported."""
    return dict(zip(variables(stream), sequence(stream, trace, known), strict=False))


def variables(stream: Stream) -> list[int]:
    """List the draws of a stream in the order of :func:`sequence`; -1 for a number that is not one draw."""
    if stream.draws:
        several: list[Any] = [None if isinstance(rows, SecretBytes) else rows for _, rows in stream.draws]
        drawn = [rows.objects if hasattr(rows, "objects") else np.array([rows], object) for rows in several]
        return [_only(number) for cells in drawn for number in cells.ravel().tolist()]
    return [_only(number) for number in stream.reads.values()]


def _only(number: Any) -> int:
    form = getattr(number, "form", None) or {}
    return next(iter(form)) if len(form) == 1 and number.modulus == INF else -1


def sequence(stream: Stream, trace: Trace, known: Mapping[Any, Any]) -> list[Any]:
    """Compute the numbers of a stream with a known seed, in order; empty if the stream is not supported."""
    try:
        generator = _generator(stream, trace, known)
        if generator is not None:
            drawn = [np.asarray(getattr(generator, name)(*args, **kw)) for (name, args, kw), _ in stream.draws]
            return [value for values in drawn for value in values.ravel().tolist()]
        octets = _octets(stream, trace, known, [(at, width) for at, width, _ in stream.reads])
        return [_number(each, order) for each, (*_, order) in zip(octets, stream.reads, strict=True)]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return []


def _generator(stream: Stream, trace: Trace, known: Mapping[Any, Any]) -> Any:
    """Make the generator of a known seed; None for a stream of bytes."""
    function = stream.key[0]
    if function.endswith((OF_SEQUENCE, "with a key")):
        return np.random.Generator(_bits(stream, trace, known, getattr(np.random, function.split()[0])))
    if not function.startswith("MT19937"):
        return None
    if "bytes" in function:
        return random.Random(bytes(_value(piece, trace, known) for piece in stream.key[1:]))
    words = _words(stream, trace, known)
    if "RandomState" in function:
        return np.random.RandomState(words if "several" in function else words[0])
    return random.Random(_joined(words))


def _octets(stream: Stream, trace: Trace, known: Mapping[Any, Any], places: Sequence[tuple[int, int]]) -> list[bytes]:
    """Compute bytes of a stream of a hash or a cipher with a known seed, at places (first, how many)."""
    if stream.key[0].endswith("with a counter"):
        octets = bytes(_value(piece, trace, known) for piece in stream.key[1:])
        return [_encrypted_zeros(stream, octets, at, width) for at, width in places]
    digest = _digest(stream, trace, known, max((at + width for at, width in places), default=0))
    return [digest[at : at + width] for at, width in places]


def _encrypted_zeros(stream: Stream, octets: bytes, at: int, width: int) -> bytes:
    """Compute bytes of a cipher's stream: ``octets`` are the key and the nonce without its counter."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key, label, is_aes = octets[:-12], octets[-12:], stream.key[0].startswith("AES")
    counter, first = divmod(at, 16 if is_aes else 64)
    if is_aes:
        cipher = Cipher(algorithms.AES(key), modes.CTR(label + counter.to_bytes(4, "big")))
    else:
        cipher = Cipher(algorithms.ChaCha20(key, counter.to_bytes(4, "little") + label), mode=None)
    return bytes(cipher.encryptor().update(bytes(first + width))[first:])


def _number(octets: bytes, order: str) -> int:
    return int.from_bytes(octets, "little" if order == "little" else "big")


def _bits(stream: Stream, trace: Trace, known: Mapping[Any, Any], kind: Any) -> Any:
    words = _words(stream, trace, known)
    return kind(key=_joined(words)) if stream.key[0].endswith("with a key") else kind(words)


def _words(stream: Stream, trace: Trace, known: Mapping[Any, Any]) -> list[int]:
    """Return a seed as numbers: its bytes in words of 32 bits, and each rest of a draw by itself."""
    words: list[int] = []
    octets: list[int] = []
    for piece in (*stream.key[1:], None):
        if piece is None or piece[0] == "draw":
            words += [_number(bytes(octets[k : k + 4]), "little") for k in range(0, len(octets), 4)]
            octets = []
        if piece is not None:
            (words if piece[0] == "draw" else octets).append(_value(piece, trace, known))
    return words


def _joined(words: Sequence[int]) -> int:
    return sum(word << 32 * k for k, word in enumerate(words))


def _digest(stream: Stream, trace: Trace, known: Mapping[Any, Any], length: int) -> bytes:
    name, _, digestmod = stream.key[0].partition(" ")
    begin = 1 if digestmod else 2  # the key of a plain hash begins with its digest of nothing
    end = stream.key.index(END_OF_KEY) if END_OF_KEY in stream.key else begin - 1
    first, last = stream.key[begin:end], stream.key[max(end + 1, begin) :]
    key, data = (bytes(_value(piece, trace, known) for piece in pieces) for pieces in (first, last))
    if digestmod:
        return hmac.new(key, data, digestmod).digest()
    settings: dict[str, Any] = {"digest_size": len(stream.key[1][1])} if name.startswith("blake2") else {}
    digest = getattr(hashlib, name)(data, **settings, **({"key": key} if key else {}))
    return bytes(digest.digest(length) if name.startswith("shake") else digest.digest())


def reproducible_streams(trace: Trace) -> dict[int, Stream]:
    """Return, by number, the streams whose computed draws equal those of the trace."""
    values = {v: variable.value for v, variable in trace.variables.items()}
    streams = (stream for stream in trace.streams if stream.pieces and stream.numbers)
    return {stream.number: stream for stream in streams if _is_reproduced(stream, trace, values)}


def _is_reproduced(stream: Stream, trace: Trace, values: Values) -> bool:
    draws = expanded(stream, trace, values)
    return bool(draws) and all(math.isclose(draws[v], values[v], rel_tol=1e-12) for v in draws if v >= 0)
