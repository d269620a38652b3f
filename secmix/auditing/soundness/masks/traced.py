"""Which draws masks are: a generator that logs what it draws, and the search of its log for each mask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.soundness.result import Witness

NORMAL, UNIFORM = "normal", "uniform"
_CLOSE = 8 * float(np.finfo(float).eps)


@dataclass
class Log:
    """What was drawn: standard values of a distribution, or whole numbers with how many there were to choose from."""

    normal: list[Array] = field(default_factory=list)
    others: dict[str, list[Array]] = field(default_factory=dict)  # by distribution, in units of their scale
    integers: list[tuple[Array, float]] = field(default_factory=list)


class Logged(np.random.Generator):
    """A generator that writes down its normal draws in units of their standard deviation, and its whole numbers."""

    log: Log

    def __init__(self, bit_generator: Any, log: Log | None = None) -> None:
        super().__init__(bit_generator)
        self.log = Log() if log is None else log

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Children that write into the same log."""
        return [Logged(child.bit_generator, self.log) for child in super().spawn(n_children)]

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As numpy's; only draws about zero are logged, by their standard part."""
        values = super().normal(loc, scale, size)
        if np.all(np.asarray(loc) == 0) and np.all(np.asarray(scale) > 0):
            self.log.normal.append(np.asarray(values / np.asarray(scale), dtype=float))
        return values

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As numpy's."""
        values = super().standard_normal(size, dtype, out)
        if np.dtype(dtype) == np.float64:
            self.log.normal.append(np.array(values, dtype=float))
        return values

    def _noted(self, name: str, values: Any) -> None:
        self.log.others.setdefault(name, []).append(np.array(values, dtype=float))

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As numpy's; a draw may be used as it is, or less its mean."""
        values = super().random(size, dtype, out)
        if np.dtype(dtype) == np.float64:
            self._noted(UNIFORM, np.asarray(values) - 0.5)
            self._noted(f"{UNIFORM} from one end", values)
        return values

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """As numpy's, likewise."""
        values = super().uniform(low, high, size)
        if np.ndim(low) == np.ndim(high) == 0 and high > low:
            self._noted(UNIFORM, (np.asarray(values) - (low + high) / 2) / (high - low))
            self._noted(f"{UNIFORM} from one end", np.asarray(values) / (high - low))
        return values

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As numpy's; only draws about zero are logged, as of the normal."""
        values = super().laplace(loc, scale, size)
        if np.all(np.asarray(loc) == 0) and np.all(np.asarray(scale) > 0):
            self._noted("Laplace", values / np.asarray(scale))
        return values

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As numpy's, likewise."""
        values = super().logistic(loc, scale, size)
        if np.all(np.asarray(loc) == 0) and np.all(np.asarray(scale) > 0):
            self._noted("logistic", values / np.asarray(scale))
        return values

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """As numpy's; a range that starts at zero is logged."""
        values = super().integers(low, high, size, dtype, endpoint)
        begin, end = (0, low) if high is None else (low, high)
        if np.ndim(begin) == 0 and np.ndim(end) == 0 and begin == 0:
            self.log.integers.append((np.array(values, dtype=float), float(end) + bool(endpoint)))
        return values


@dataclass(frozen=True)
class Traced:
    """Where masks (runs, k, m) come from.

    Attributes
    ----------
    witness : Witness or None
        The first mask that could not be traced.
    scales : (k,)
        The standard deviation of each mask, where they are normal; the scale of their distribution otherwise.
    family : str
        Of which distribution they are.
    """

    witness: Witness | None
    scales: Array
    family: str = NORMAL


def trace(masks: Array, log: Log, modulus: float | None, grid: float) -> Traced:
    """Find each mask (runs, k, m) in the log.

    Examples
    --------
    >>> generator = Logged(np.random.PCG64(0))
    >>> trace(generator.normal(scale=3.0, size=(4, 2, 3)), generator.log, None, 0.0).scales.round(9).tolist()
    [3.0, 3.0]
    """
    k = masks.shape[1]
    if modulus is not None:
        return Traced(residues_of(masks, log, modulus, grid), np.ones(k))
    first = _traced(masks, log.normal, NORMAL)
    for family, values in log.others.items() if first.witness is not None else ():
        traced = _traced(masks, values, family)
        if traced.witness is None:
            return traced
    return first


def _traced(masks: Array, values: list[Array], family: str) -> Traced:
    k = masks.shape[1]
    drawn = np.concatenate([each.ravel() for each in values]) if values else np.empty(0)
    order = np.argsort(np.abs(drawn))
    sizes = np.abs(drawn)[order]
    taken = np.zeros(len(drawn), dtype=bool)
    scales = np.ones(k)
    for j in range(k):
        column = masks[:, j].ravel()
        factor = _factor(column, sizes, float(scales[j - 1]))
        if factor is None:
            return Traced(Witness(f"mask {j}", "it is no constant times normal draws about zero"), scales)
        found, where = _find(column / factor, sizes)
        source = order[where]
        if not found.all() or len(set(np.sign(column / drawn[source]).tolist())) != 1:
            return Traced(Witness(f"mask {j}", "some runs or entries are no constant times a draw"), scales)
        if taken[source].any() or len(np.unique(source)) != len(source):
            return Traced(Witness(f"mask {j}", "a draw serves twice"), scales)
        taken[source] = True
        scales[j] = abs(factor)
    return Traced(None, scales, family)


def _factor(values: Array, sizes: Array, guess: float) -> float | None:
    """|c| such that |values| / c are among ``sizes``, from the first few values."""
    if not len(sizes) or not np.isfinite(values).all() or (values == 0).any():
        return None
    few = np.abs(values[:4])
    # One value alone is any draw times something; the factors expected are asked first.
    for expected in (abs(guess), 1.0):
        if _find(few / expected, sizes)[0].all():
            return float(expected)
    candidates = few[0] / sizes[sizes > 0]
    for value in few:
        candidates = candidates[_find(value / candidates, sizes)[0]]
    return float(candidates[0]) if len(candidates) else None


def _find(values: Array, sizes: Array) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Whether each |value| is among the sorted ``sizes`` to a few units in the last place, and where."""
    wanted = np.abs(values)
    right = np.clip(np.searchsorted(sizes, wanted), 0, len(sizes) - 1)
    left = np.maximum(right - 1, 0)
    nearer = np.where(np.abs(sizes[left] - wanted) < np.abs(sizes[right] - wanted), left, right)
    return np.abs(sizes[nearer] - wanted) <= _CLOSE * wanted, nearer


def residues_of(masks: Array, log: Log, modulus: float, grid: float) -> Witness | None:
    """The first mask that is no whole draw over the modulus times the grid; None where all are."""
    step = grid or 1.0
    drawn = [values.ravel() for values, count in log.integers if count * step == modulus]
    words = masks / step
    if (words != np.round(words)).any() or masks.min() < 0 or masks.max() >= modulus:
        return Witness("the masks", "they are no residues on the grid of the words")
    everything = np.concatenate(drawn) if drawn else np.empty(0)
    there, unused = np.unique(everything, return_counts=True)
    wanted, times = np.unique(words, return_counts=True)
    place = np.minimum(np.searchsorted(there, wanted), max(len(there) - 1, 0))
    enough = times <= np.where(there[place] == wanted, unused[place], 0) if len(there) else np.zeros(len(wanted), bool)
    if enough.all():
        return None
    first = int(np.isin(words, wanted[~enough]).any(axis=(0, 2)).argmax())
    return Witness(f"mask {first}", f"it is no whole draw from 0 to {modulus / step:g} of its own")
