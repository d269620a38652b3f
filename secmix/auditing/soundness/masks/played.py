"""A generator whose draws are written down in units of their distribution, and can be played back with other values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array

WHOLE = "whole numbers"
_LOCATED = ("normal", "laplace", "logistic", "gumbel")
_FAMILY = {
    "normal": "normal", "standard_normal": "normal", "random": "uniform", "uniform": "uniform", "laplace": "Laplace",
    "logistic": "logistic", "gumbel": "Gumbel", "standard_cauchy": "Cauchy", "integers": WHOLE,
}  # fmt: skip
_HARMLESS = ("bit_generator", "spawn", "multivariate_normal")  # the last draws standard normals by that name


@dataclass
class Score:
    """Draws in order: each by its distribution, and its values in units of that.

    Attributes
    ----------
    drawn : list of (family, values)
    values : array, optional
        What is played in place of the draws, all in a row; None where they are written down.
    place : int
        How many of the values were played.
    strange : bool
        Whether anything was drawn that is none of these.
    """

    drawn: list[tuple[str, Array]] = field(default_factory=list)
    values: Array | None = None
    place: int = 0
    strange: bool = False

    @property
    def kind(self) -> tuple[tuple[str, int], ...]:
        """Which draws, of how many numbers each."""
        return tuple((family, values.size) for family, values in self.drawn)

    @property
    def all(self) -> Array:
        """The values in a row."""
        return np.concatenate([values.ravel() for _, values in self.drawn]) if self.drawn else np.empty(0)


class Played(np.random.Generator):
    """A generator that writes its draws down, or plays those of its score.

    Examples
    --------
    >>> score = Score()
    >>> drawn = Played(np.random.PCG64(0), score).normal(5.0, 2.0, size=2)
    >>> again = Played(np.random.PCG64(1), Score(values=score.all)).normal(5.0, 2.0, size=2)
    >>> bool(np.allclose(drawn, again)), Played(np.random.PCG64(1), Score(values=np.zeros(2))).normal(5.0, 2.0, size=2)
    (True, array([5., 5.]))
    """

    score: Score

    def __init__(self, bit_generator: Any, score: Score | None = None) -> None:
        super().__init__(bit_generator)
        self.score = Score() if score is None else score

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Children of the same score."""
        return [Played(child.bit_generator, self.score) for child in super().spawn(n_children)]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in _HARMLESS or not callable(found):
            return found
        if name not in _FAMILY:
            self.score.strange = True
            return found

        def draw(*arguments: Any, **more: Any) -> Any:
            return _drawn(self.score, name, found, arguments, more)

        return draw


def _drawn(score: Score, name: str, genuine: Any, arguments: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """The genuine draw, or what it would be for the values that are played: loc + scale × value."""
    values = genuine(*arguments, **more)
    found = _located(name, arguments, more)
    if found is None:
        score.strange = True
        return values
    loc, scale = found
    if score.values is not None:
        shape, size = np.shape(values), np.size(values)
        part = score.values[score.place : score.place + size]
        score.place += size
        if len(part) < size:
            score.strange = True
            return values
        played = loc + scale * part.reshape(shape)
        if name == "integers":
            played = np.asarray(played).astype(np.int64)
        values = played if shape else played.item()
    score.drawn.append((_FAMILY[name], np.asarray((values - loc) / scale, dtype=float)))
    return values


def _located(name: str, arguments: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, Any] | None:
    """Where the distribution lies and how wide it is; None where it is none of those that can be played."""
    if "out" in more or np.dtype(more.get("dtype", float)) not in (np.float64, np.int64):
        return None
    if name in ("standard_normal", "standard_cauchy", "random"):
        return None if len(arguments) > 1 else (0.5 * (name == "random"), 1.0)
    if name == "integers":
        high = arguments[1] if len(arguments) > 1 else more.get("high")
        low = arguments[0] if arguments else more.get("low", 0)
        plain = len(arguments) < 4 and np.ndim(low) == 0 and np.ndim(high if high is not None else 0) == 0
        return (0, 1) if plain and (high is None or low == 0) else None
    first, second = (
        np.asarray(arguments[place] if len(arguments) > place else more.get(key, default), dtype=float)
        for place, (key, default) in enumerate(
            (("loc", 0.0), ("scale", 1.0)) if name in _LOCATED else (("low", 0.0), ("high", 1.0))
        )
    )
    loc, scale = (first, second) if name in _LOCATED else ((first + second) / 2, second - first)
    return (loc, scale) if np.isfinite(loc).all() and np.isfinite(scale).all() and (scale > 0).all() else None
