"""Features of messages besides their numbers: bits, residues, frames.

A feature is a number for each run, or one for each entry of each run. No feature depends on the data: they are the ways
in which machine words and message frames can carry a number at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.counterexamples.instance import InstanceCall
from secmix.auditing.soundness.adversary_observer import Frame, numbers
from secmix.auditing.soundness.numbers_read import Place

_ROWS = 40  # messages that are read
_PAIRED = 12  # messages that are read in pairs
_CANCELLED = 0.01  # largest size of a difference, as a share of the message's size
_FRAMES = 60  # messages whose frames are read
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_CODES = {"plain": 0.0, "encrypted": 1.0, "held": 2.0}


@dataclass(frozen=True)
class Feature:
    """One feature of the messages."""

    # where, how: the message, and how it is read
    where: str
    how: str
    values: Array  # (runs, m) or (runs, 1): NaN if a call does not send it


def number_features(
    calls: Sequence[InstanceCall], first: Sequence[str], steps: Sequence[float], zeros: Mapping[Place, NDArray[Any]]
) -> list[Feature]:
    """Compute all readings of the numbers; messages whose kind is in ``first`` come first.

    ``first``: sentences of the failed checks; ``steps``: moduli in which masks may vanish; ``zeros``, dict of Place ->
    (calls, m): numbers read there when all inputs are zero.
    """
    runs = [len(call.truth) for call in calls]
    count: dict[Place, int] = {}
    for call in calls:
        for place in call.rows:
            count[place] = count.get(place, 0) + 1
    often = [place for place in count if 2 * count[place] >= len(calls) or len(calls) == 1]
    often.sort(key=lambda place: not any(f"'{place[0].kind}'" in words for words in first))
    m = calls[0].truth.shape[2]
    out: list[Feature] = []
    for place in often[:_ROWS]:
        parts = [call.rows.get(place) for call in calls]
        sample = next(part for part in parts if part is not None)
        fits = [
            part is not None and part.shape == (n, sample.shape[1]) and part.dtype == sample.dtype
            for part, n in zip(parts, runs, strict=True)
        ]
        where = np.repeat(fits, runs)
        words = np.concatenate([part for part, fit in zip(parts, fits, strict=True) if fit and part is not None])
        readings = dict(_readings(words, steps))
        if place in zeros and words.dtype == np.float64 and words.shape[1] == zeros[place].shape[1]:
            readings["rest after the nearest number sent for zeros"] = _after_nearest(words, zeros[place])
        for how, values in readings.items():
            table = np.full((len(where), sample.shape[1]), np.nan)
            table[where] = values
            if table.shape[1] == m:
                out.append(Feature(str(place[0]), how, table))
            else:
                out += [Feature(f"{place[0]}, entry {j}", how, table[:, [j]]) for j in range(min(table.shape[1], m))]
    out = [feature for feature in out if _varies(feature.values)]
    return [
        *out,
        *_differences([feature for feature in out if feature.how == "number" and feature.values.shape[1] == m]),
    ]


def _differences(features: Sequence[Feature]) -> Iterator[Feature]:
    """Yield differences and sums of two messages in which most of both cancels."""
    for k, first in enumerate(features[:_PAIRED]):
        for second in features[k + 1 : _PAIRED]:
            for sign, what in ((-1.0, "difference from"), (1.0, "sum with")):
                both = first.values + sign * second.values
                if np.nanmedian(np.abs(both)) < _CANCELLED * np.nanmedian(np.abs(first.values)) and _varies(both):
                    yield Feature(first.where, f"{what} {second.where}", both)


def _readings(row: NDArray[Any], steps: Sequence[float]) -> Iterator[tuple[str, Array]]:
    if row.dtype.kind == "c":
        yield "real part", np.asarray(row.real, dtype=float)
        yield "imaginary part", np.asarray(row.imag, dtype=float)
        return
    plain = numbers(row)
    yield "number", np.where(np.isfinite(plain), plain, np.nan)
    for step in steps:
        yield f"rest modulo {step:g}", _rest(row, plain, step)
    if row.dtype == np.float64:
        words = np.ascontiguousarray(row).view(np.uint64)
        yield "sign", np.signbit(row).astype(float)
        yield "integer word", words.astype(float)
        lower = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        yield "lower half as a short number", np.asarray(lower, dtype=float)
        for bits in (16, 8):
            yield f"last {bits} bits", (words & np.uint64(2**bits - 1)).astype(float)


def _rest(row: NDArray[Any], plain: Array, step: float) -> Array:
    """Compute the least rest modulo ``step``; of words exactly, since floats lack their last digits."""
    if row.dtype.kind not in "iu" or not 1 < step < 2.0 ** (8 * row.dtype.itemsize - 1) or step != int(step):
        return np.asarray(plain - step * np.round(plain / step))
    rest = np.mod(row, row.dtype.type(int(step))).astype(float)
    return np.asarray(np.where(rest > step / 2, rest - step, rest))


def _after_nearest(words: Array, zeros: Array) -> Array:
    """Subtract from each number the nearest one in its place when inputs are zero, since masks may come again."""
    out = np.full(words.shape, np.nan)
    for entry in range(words.shape[1]):
        known = np.sort(zeros[np.isfinite(zeros[:, entry]), entry])
        if len(known):
            right = np.clip(np.searchsorted(known, words[:, entry]), 1, len(known) - 1) if len(known) > 1 else 0
            sides = known[right], known[np.maximum(right - 1, 0)]
            off = words[:, entry] - np.stack(sides)
            out[:, entry] = np.take_along_axis(off, np.abs(off).argmin(axis=0)[None], axis=0)[0]
    return out


def metadata_features(calls: Sequence[InstanceCall]) -> list[Feature]:
    """Compute features of the frames: counts of messages, senders, receivers, order, and numbers in kinds."""
    tables = [_of_frames(call.frames) for call in calls]
    out = []
    for how in dict.fromkeys(name for table in tables for name in table):
        values = np.array([[table.get(how, np.nan)] for table in tables])
        if _varies(values):
            out.append(Feature("the metadata of the messages", how, values))
    return out


def _of_frames(frames: Sequence[Frame]) -> dict[str, float]:
    features: dict[str, float] = {"how many": float(len(frames))}
    numbers_in_kinds = 0
    for place, frame in enumerate(frames):
        sender, receiver, iteration, round_number, kind, line, *size = frame
        plain = _NUMBER.sub("", str(kind)).strip()
        for name in (f"how many '{plain}'", f"how many from {sender}", f"how many to {receiver}", f"how many {line}"):
            features[name] = features.get(name, 0.0) + 1
        features.setdefault(f"when {sender} sends first", float(place))
        for number in _NUMBER.findall(str(kind)):
            features[f"number {numbers_in_kinds} in their kinds"] = float(number)
            numbers_in_kinds += 1
        if place < _FRAMES:
            itemsize = np.dtype(str(size[1])).itemsize if len(size) == 3 else 1
            fields = (sender, receiver, iteration, round_number, _CODES.get(str(line), 3.0), size[0], itemsize)
            names = ("sender", "receiver", "iteration", "round", "line", "length", "type")
            for name, value in zip(names, fields, strict=True):
                features[f"{name} of message {place}"] = float(value)  # type: ignore[arg-type]
    return features


def _varies(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known) and np.ptp(known) > 0)
