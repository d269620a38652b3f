"""Ledger of releases: what each is, for an audit that plays them back.

Outside :func:`noting` nothing is noted and :func:`~secmix.privacy.clip` returns plain arrays. Inside, what was clipped
knows its clip until it is changed in any way but a sum or mean of its vectors: a release is credited with a clip only
where the very array that gets the noise is such a result. What is changed, reshaped or copied in between is credited
with nothing, so that a mistake here reads as less privacy, never as more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array

Noise = Literal["gaussian", "laplace"]
Reduction = Literal["alone", "sum", "mean"]

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Clip:
    """Vectors that were clipped, and what was made of them.

    Attributes
    ----------
    norm : float
        The most that each vector's norm is.
    order : int
        1 or 2: of the norm.
    vectors : ndarray, (k, d)
        As clipped.
    reduction : str
        "alone" where the vectors themselves get the noise; else their sum or mean.
    """

    norm: float
    order: int
    vectors: Array
    reduction: Reduction = "alone"

    def moves_by(self, order: int, vectors: int) -> float:
        """Bound how far the result moves, in the norm of ``order``, if so many of the vectors are exchanged."""
        if order == 1 and self.order == 2:
            return np.inf  # true is √d times the norm: noise in proportion hides nothing
        if self.reduction == "mean":
            return 2 * self.norm * vectors / len(self.vectors)
        together = vectors**0.5 if self.reduction == "alone" and order == 2 else vectors
        return 2 * self.norm * together

    @property
    def words(self) -> str:
        """The clip in words, without its numbers."""
        made = {"alone": "clip", "sum": "sum of clipped vectors", "mean": "mean of clipped vectors"}[self.reduction]
        return f"{made} in L{self.order} norm"


@dataclass(frozen=True)
class Release:
    """One release: a value with noise on it.

    Attributes
    ----------
    noise : {"gaussian", "laplace"}
    scale : float
        Standard deviation, or scale of the Laplace distribution.
    value, draws, output : ndarray
        What was released, its noise over the scale, and what the code got.
    clip : Clip or None
        The clip whose result ``value`` is, if it is the very array.
    seed : tuple
        Entropy and spawn key of the generator, empty where it has none.
    place : str
        File and line of the call.
    """

    noise: Noise
    scale: float
    value: Array
    draws: Array
    output: Array
    clip: Clip | None
    seed: tuple[Any, ...]
    place: str


@dataclass
class Ledger:
    """The releases of one call of a protocol, in order.

    Attributes
    ----------
    played : sequence of Release or None
        Releases of an earlier call, whose outputs are returned in place of new ones; None returns new ones.
    releases : list of Release
    clips : int
        How many arrays were clipped.
    bend : callable or None
        ``bend(place, noise, draws)``: noise that is added in place of what was drawn, over its scale; an audit draws
        what is rare more often so, and knows how much more.
    """

    played: Sequence[Release] | None = None
    releases: list[Release] = field(default_factory=list)
    clips: int = 0
    bend: Callable[[int, Noise, Array], Array] | None = None

    def note(self, noise: Noise, x: Any, value: Array, scale: float, draws: Array, rng: np.random.Generator) -> Array:
        """Note a release and return its output: a new one, or that of the earlier call where it fits."""
        place = len(self.releases)
        draws = draws if self.bend is None else self.bend(place, noise, draws)
        output = np.asarray(value + scale * draws)
        if self.played is not None and place < len(self.played) and self.played[place].output.shape == value.shape:
            output = self.played[place].output.copy()
        clip = x.credit if type(x) is Clipped else None
        self.releases.append(Release(noise, scale, value.copy(), draws, output.copy(), clip, seed_of(rng), _caller()))
        return output


class Clipped(np.ndarray):
    """An array that knows its clip; whatever is computed of it does not, but for the sum or mean of its vectors."""

    credit: Clip | None
    along: tuple[int, ...]  # axes of a vector

    def __array_finalize__(self, obj: Any) -> None:
        self.credit, self.along = None, ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute with plain arrays: the result knows no clip."""
        plain = [x.view(np.ndarray) if isinstance(x, Clipped) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, Clipped) else x for x in options["out"])
        return getattr(ufunc, method)(*plain, **options)

    def sum(self, axis: Any = None, *others: Any, **options: Any) -> Any:
        """Sum like an array; the sum of all vectors knows their clip."""
        return self._reduced("sum", axis, others, options)

    def mean(self, axis: Any = None, *others: Any, **options: Any) -> Any:
        """Average like an array; the mean of all vectors knows their clip."""
        return self._reduced("mean", axis, others, options)

    def _reduced(self, how: Reduction, axis: Any, others: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = getattr(self.view(np.ndarray), how)(axis, *others, **options)
        clip = self.credit
        # Of the options only those that leave the vectors as they are: no mask, no start, no other type, no buffer.
        usual = all(name == "keepdims" or value is None for name, value in options.items())
        if clip is None or clip.reduction != "alone" or not usual or any(each is not None for each in others):
            return result
        axes = {a % self.ndim for a in (range(self.ndim) if axis is None else np.atleast_1d(axis).tolist())}
        if axes & set(self.along) or np.size(result) != clip.vectors.shape[1]:
            return result
        return clipped(result, Clip(clip.norm, clip.order, clip.vectors, how), ())


def clipped(values: Array, clip: Clip, along: tuple[int, ...]) -> Array:
    """Return ``values`` as an array that knows its clip and cannot be written to."""
    result = np.array(values, dtype=np.float64).view(Clipped)
    result.credit, result.along = clip, along
    result.flags.writeable = False  # what is written to after the clip would keep its credit
    return result


def seed_of(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return entropy and spawn key of a generator's seed; nothing where it was not made from one."""
    sequence: Any = getattr(rng.bit_generator, "seed_seq", None)
    entropy = getattr(sequence, "entropy", None)
    if entropy is None:
        return ()
    words = (entropy,) if isinstance(entropy, int | np.integer) else tuple(entropy)
    return (words, tuple(sequence.spawn_key))


_NOTING: ContextVar[Ledger | None] = ContextVar("ledger of releases", default=None)


@contextmanager
def noting(ledger: Ledger) -> Iterator[Ledger]:
    """Note all releases of this thread in ``ledger`` meanwhile."""
    token = _NOTING.set(ledger)
    try:
        yield ledger
    finally:
        _NOTING.reset(token)


def current() -> Ledger | None:
    """Return the ledger that notes releases now, if any."""
    return _NOTING.get()


def _caller() -> str:
    """Return file and line of the code outside this package that asked for a release."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_of_this_package(frame.f_code.co_filename):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"


@cache  # paths of code are few, and a call asks about hundreds of releases
def _is_of_this_package(path: str) -> bool:
    return os.path.dirname(os.path.abspath(path)) == _PACKAGE
