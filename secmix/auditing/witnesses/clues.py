"""What a place says when it is read as other than a number: its bits, its rest, its frame.

A clue is a number for each run, or one for each entry of each run. None of them knows the data: they are the ways in
which machine words and message frames can carry a number at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.soundness.holding import Place
from secmix.auditing.soundness.sight import Frame, numbers
from secmix.auditing.witnesses.usage import Use

_ROWS = 40  # places that are read
_PAIRED = 12  # of these, two by two
_CANCELLED = 0.01  # of a message's size is left of it
_FRAMES = 60  # messages whose frames are read
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_CODES = {"plain": 0.0, "encrypted": 1.0, "held": 2.0}


@dataclass(frozen=True)
class Clue:
    """One reading.

    Attributes
    ----------
    where, how : str
        The message, and as what it is read.
    values : (runs, m) or (runs, 1)
        NaN where a call has nothing there.
    """

    where: str
    how: str
    values: Array


def clues_in_numbers(
    uses: Sequence[Use], first: Sequence[str], steps: Sequence[float], zeros: Mapping[Place, NDArray[Any]]
) -> list[Clue]:
    """All readings of the numbers; places whose words are in ``first`` come first.

    Parameters
    ----------
    uses : sequence of Use
    first : sequence of str
        What the failed checks said.
    steps : sequence of float
        Modulo which masks may vanish.
    zeros : dict of Place -> (calls, m)
        What is read there when all inputs are zero.
    """
    runs = [len(use.truth) for use in uses]
    count: dict[Place, int] = {}
    for use in uses:
        for place in use.rows:
            count[place] = count.get(place, 0) + 1
    often = [place for place in count if 2 * count[place] >= len(uses) or len(uses) == 1]
    often.sort(key=lambda place: not any(f"'{place[0].kind}'" in words for words in first))
    m = uses[0].truth.shape[2]
    out: list[Clue] = []
    for place in often[:_ROWS]:
        parts = [use.rows.get(place) for use in uses]
        given = next(part for part in parts if part is not None)
        fits = [
            part is not None and part.shape == (n, given.shape[1]) and part.dtype == given.dtype
            for part, n in zip(parts, runs, strict=True)
        ]
        where = np.repeat(fits, runs)
        words = np.concatenate([part for part, fit in zip(parts, fits, strict=True) if fit and part is not None])
        readings = dict(_readings(words, steps))
        if place in zeros and words.dtype == np.float64 and words.shape[1] == zeros[place].shape[1]:
            readings["rest after the nearest number sent for zeros"] = _after_nearest(words, zeros[place])
        for how, values in readings.items():
            table = np.full((len(where), given.shape[1]), np.nan)
            table[where] = values
            if table.shape[1] == m:
                out.append(Clue(str(place[0]), how, table))
            else:
                out += [Clue(f"{place[0]}, entry {j}", how, table[:, [j]]) for j in range(min(table.shape[1], m))]
    out = [clue for clue in out if _varies(clue.values)]
    return [*out, *_differences([clue for clue in out if clue.how == "number" and clue.values.shape[1] == m])]


def _differences(clues: Sequence[Clue]) -> Iterator[Clue]:
    """Differences and sums of two messages in which most of both cancels."""
    for place, one in enumerate(clues[:_PAIRED]):
        for other in clues[place + 1 : _PAIRED]:
            for sign, what in ((-1.0, "difference from"), (1.0, "sum with")):
                both = one.values + sign * other.values
                if np.nanmedian(np.abs(both)) < _CANCELLED * np.nanmedian(np.abs(one.values)) and _varies(both):
                    yield Clue(one.where, f"{what} {other.where}", both)


def _readings(row: NDArray[Any], steps: Sequence[float]) -> Iterator[tuple[str, Array]]:
    if row.dtype.kind == "c":
        yield "real part", np.asarray(row.real, dtype=float)
        yield "imaginary part", np.asarray(row.imag, dtype=float)
        return
    plain = numbers(row)
    yield "number", np.where(np.isfinite(plain), plain, np.nan)
    for step in steps:
        yield f"rest modulo {step:g}", np.asarray(plain - step * np.round(plain / step))
    if row.dtype == np.float64:
        words = np.ascontiguousarray(row).view(np.uint64)
        yield "sign", np.signbit(row).astype(float)
        yield "whole word", words.astype(float)
        lower = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        yield "lower half as a short number", np.asarray(lower, dtype=float)
        for bits in (16, 8):
            yield f"last {bits} bits", (words & np.uint64(2**bits - 1)).astype(float)


def _after_nearest(words: Array, zeros: Array) -> Array:
    """Each number less the nearest of those that stand in its place when inputs are zero: masks that come again."""
    out = np.full(words.shape, np.nan)
    for entry in range(words.shape[1]):
        known = np.sort(zeros[np.isfinite(zeros[:, entry]), entry])
        if len(known):
            right = np.clip(np.searchsorted(known, words[:, entry]), 1, len(known) - 1) if len(known) > 1 else 0
            sides = known[right], known[np.maximum(right - 1, 0)]
            off = words[:, entry] - np.stack(sides)
            out[:, entry] = np.take_along_axis(off, np.abs(off).argmin(axis=0)[None], axis=0)[0]
    return out


def clues_in_frames(uses: Sequence[Use]) -> list[Clue]:
    """How many messages there are and of what, who says when what to whom, and numbers in their names."""
    tables = [_of_frames(use.frames) for use in uses]
    out = []
    for how in dict.fromkeys(name for table in tables for name in table):
        values = np.array([[table.get(how, np.nan)] for table in tables])
        if _varies(values):
            out.append(Clue("the messages that are noticed", how, values))
    return out


def _of_frames(frames: Sequence[Frame]) -> dict[str, float]:
    found: dict[str, float] = {"how many": float(len(frames))}
    said = 0
    for place, frame in enumerate(frames):
        sender, receiver, iteration, turn, kind, line, *size = frame
        plain = _NUMBER.sub("", str(kind)).strip()
        for name in (f"how many '{plain}'", f"how many from {sender}", f"how many to {receiver}", f"how many {line}"):
            found[name] = found.get(name, 0.0) + 1
        found.setdefault(f"when {sender} speaks first", float(place))
        for number in _NUMBER.findall(str(kind)):
            found[f"number {said} in their names"] = float(number)
            said += 1
        if place < _FRAMES:
            spelt = np.dtype(str(size[1])).itemsize if len(size) == 3 else 1
            fields = (sender, receiver, iteration, turn, _CODES.get(str(line), 3.0), size[0], spelt)
            names = ("sender", "receiver", "iteration", "round", "line", "length", "type")
            for name, value in zip(names, fields, strict=True):
                found[f"{name} of message {place}"] = float(value)  # type: ignore[arg-type]
    return found


def _varies(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known) and np.ptp(known) > 0)
