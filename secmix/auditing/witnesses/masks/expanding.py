"""Expand seeds as the adversary does, who knows or guesses them: the draws of a stream, worked out from its pieces.

Whatever does not come out as the trace found it is not claimed.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from secmix.kernel.state import INF, Trace
from secmix.kernel.streams import Piece, Stream, bare

Values = dict[int, Any]
"""The values of draws, by variable."""

_END: Piece = ("public", "end of key")


def unknown(stream: Stream, trace: Trace, known: Mapping[int, Any]) -> list[tuple[int, int]]:
    """Return what is not known of a seed: draws, and modulo what they matter; [(-1, 0)] where it is made otherwise."""
    found: dict[int, int] = {}
    for piece in stream.pieces:
        variable, modulus = _behind(piece, trace)
        if variable is None:
            return [(-1, 0)]
        if variable not in known:
            found[variable] = max(found.get(variable, 0), modulus)
    return list(found.items())


def _behind(piece: Piece, trace: Trace) -> tuple[int | None, int]:
    if piece[0] == "draw":
        return piece[1], piece[2]
    if isinstance(piece[1], tuple):  # a byte of a draw: so many values do the bytes up to this have
        variable = piece[1][1]
        return variable, min(256 ** (piece[2] + 1), trace.variables[variable].range)
    return _read(piece, trace)[0], 256


def _read(piece: Piece, trace: Trace) -> tuple[int | None, int, int, str]:
    """Return the draw that a byte of a stream was read in, and where and how it was read."""
    for (first, width, order), number in trace.streams[piece[1]].reads.items():
        if first <= piece[2] < first + width and bare(number) is not None:
            return bare(number), first, width, order
    return None, 0, 0, ""


def _value(piece: Piece, trace: Trace, known: Mapping[int, Any]) -> int:
    if piece[0] == "iteration":
        return int(piece[3] >> 8 * piece[1]) & 255 if piece[2] > 1 else int(piece[3])
    if piece[0] == "public":
        return int(piece[1])
    if piece[0] == "draw":
        return int(known[piece[1]]) % int(piece[2])
    if isinstance(piece[1], tuple):
        return int(known[piece[1][1]] >> 8 * int(piece[2])) & 255
    variable, first, width, order = _read(piece, trace)
    octets = int(known[variable or 0]).to_bytes(width, "little" if order == "little" else "big")
    return int(octets[piece[2] - first])


def expanded(stream: Stream, trace: Trace, known: Mapping[int, Any]) -> Values:
    """Return the draws of a stream whose seed is known; none of those that it is not understood how they are made."""
    return dict(zip(variables(stream), sequence(stream, trace, known), strict=False))


def variables(stream: Stream) -> list[int]:
    """Return the draws of a stream in the order of :func:`sequence`; -1 stands for what is no draw alone."""
    if stream.draws:
        found = [each.objects if hasattr(each, "objects") else np.array([each], object) for _, each in stream.draws]
        return [_only(number) for cells in found for number in cells.ravel().tolist()]
    return [_only(number) for number in stream.reads.values()]


def _only(number: Any) -> int:
    form = getattr(number, "form", None) or {}
    return next(iter(form)) if len(form) == 1 and number.modulus == INF else -1


def sequence(stream: Stream, trace: Trace, known: Mapping[int, Any]) -> list[Any]:
    """Return what a stream whose seed is known gives, one number after the other; empty: it is not understood."""
    function, name = stream.key[0], stream.key[0].split()[0]
    try:
        if function.endswith("of a SeedSequence") or function.endswith("with a key"):
            generator = np.random.Generator(_bits(stream, trace, known, getattr(np.random, name)))
            made = [np.asarray(getattr(generator, name)(*args, **kw)) for (name, args, kw), _ in stream.draws]
            return [value for each in made for value in each.ravel().tolist()]
        digest = _digest(stream, trace, known)
        return [_number(digest[at : at + width], order) for at, width, order in stream.reads]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return []


def _number(octets: bytes, order: str) -> int:
    return int.from_bytes(octets, "little" if order == "little" else "big")


def _bits(stream: Stream, trace: Trace, known: Mapping[int, Any], kind: Any) -> Any:
    entropy: list[int] = []
    octets: list[int] = []
    for piece in stream.key[1:]:
        value = _value(piece, trace, known)
        if piece[0] == "byte":
            octets.append(value)
        else:
            entropy += [int.from_bytes(bytes(octets), "little")] * bool(octets) + [value]
            octets = []
    entropy += [int.from_bytes(bytes(octets), "little")] * bool(octets)
    if stream.key[0].endswith("with a key"):
        return kind(key=sum(each << 64 * k for k, each in enumerate(entropy)))
    return kind(entropy)


def _digest(stream: Stream, trace: Trace, known: Mapping[int, Any]) -> bytes:
    name, _, digestmod = stream.key[0].partition(" ")
    begin = 1 if digestmod else 2  # a plain hash is told by what it makes of nothing, then its key
    end = stream.key.index(_END) if _END in stream.key else begin - 1
    first, last = stream.key[begin:end], stream.key[max(end + 1, begin) :]
    key, data = (bytes(_value(piece, trace, known) for piece in some) for some in (first, last))
    if digestmod:
        return hmac.new(key, data, digestmod).digest()
    settings: dict[str, Any] = {"digest_size": len(stream.key[1][1])} if name.startswith("blake2") else {}
    length = max((at + width for at, width, _ in stream.reads), default=0)
    made = getattr(hashlib, name)(data, **settings, **({"key": key} if key else {}))
    return bytes(made.digest(length) if name.startswith("shake") else made.digest())


def understood(trace: Trace) -> dict[int, Stream]:
    """Return the streams of which the draws come out as they are in the trace, by number."""
    values = {v: each.value for v, each in trace.variables.items()}
    streams = (each for each in trace.streams if each.pieces and each.numbers)
    return {each.number: each for each in streams if _comes_out(each, trace, values)}


def _comes_out(stream: Stream, trace: Trace, values: Values) -> bool:
    made = expanded(stream, trace, values)
    return bool(made) and all(math.isclose(made[v], values[v], rel_tol=1e-12) for v in made if v >= 0)
