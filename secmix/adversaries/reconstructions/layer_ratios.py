"""The only row behind a linear layer that was trained on it: x = (W' − κW) : (b' − κb), in every unit and every round.

One row x moves the weights of a unit along x, and its bias by the same factor (Phong et al. 2018, section 3). After any
number of steps of gradient descent the sum of all moves is along x still, so κ = 1 gives the row. Weight decay leaves
the share κ of the weights before, and adds up the moves with other factors, the same for W and b: κ is then the only
number at which all units and rounds give the same row. If biases do not decay, this holds for a single step.

Nothing is presumed of κ, of the loss or of the steps. A row is certified where more equations hold than there are
numbers to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array

_TRIED = 24  # values of κ
_SPARE = 2  # equations that must hold beyond those that give x and κ
_ALIKE = 1e-3


@dataclass(frozen=True)
class Unit:
    """One unit in one round: weights (d,) and bias before and after, and how far rounding may put each off."""

    weights: Array
    trained: Array
    bias: float
    trained_bias: float
    size: float

    @property
    def moved(self) -> bool:
        """True where the bias moved by more than rounding."""
        return abs(self.trained_bias - self.bias) > self.size


@dataclass(frozen=True)
class Ratio:
    """x, how far it may be off, and by how much the bias moved that it is taken from."""

    x: Array
    error: float
    moved: float


def ratio(unit: Unit, share: float = 1.0, margin: float = 0.0, bias_share: float | None = None) -> Ratio:
    """Compute x of one unit, if ``share`` of the weights, give or take ``margin``, is what was there before.

    The same share of the bias was there before, or ``bias_share``.
    """
    of_bias, unsure = (share, margin) if bias_share is None else (bias_share, 0.0)
    moved = unit.trained_bias - of_bias * unit.bias
    x = (unit.trained - share * unit.weights) / moved
    off = unit.size * (1 + float(np.abs(x).max()))
    off += float(np.abs(margin * unit.weights - unsure * x * unit.bias).max())
    return Ratio(x, off / abs(moved), moved)


def agreed(ratios: Sequence[Ratio], firm: float = 0.01) -> Ratio | None:
    """Return the most exact of the ratios, if all are the same row as far as rounding can tell."""
    best = min(ratios, key=lambda each: each.error)
    all_agree = all(len(y.x) == len(best.x) and np.abs(best.x - y.x).max() <= best.error + y.error for y in ratios)
    # Where rounding leaves nothing, anything agrees.
    definite = sorted(each.error for each in ratios)[1] < firm * np.abs(best.x).max()
    return best if all_agree and definite and not _of_one_size(best.x, ratios) else None


def _of_one_size(x: Array, ratios: Sequence[Ratio]) -> bool:
    """Check for the moves of signs that some optimisers make: each number moves by as much, or not at all."""
    size = np.abs(x)
    steps = [abs(each.moved) for each in ratios]
    return bool(np.all((np.abs(size - 1) < _ALIKE) | (size < _ALIKE)) and min(steps) > (1 - _ALIKE) * max(steps))


def with_decay(units: Sequence[Unit]) -> Ratio | None:
    """Find the row at which all units agree for one share κ in (0, 1); None where none is, or too few confirm it.

    >>> rng, x = np.random.default_rng(0), np.array([0.5, -2.0, 1.5])
    >>> starts, moves = rng.normal(size=(4, 4)), rng.normal(size=4)
    >>> units = [Unit(s[:3], 0.9 * s[:3] + m * x, s[3], 0.9 * s[3] + m, 1e-15) for s, m in zip(starts, moves)]
    >>> with_decay(units).x.round(9).tolist()
    [0.5, -2.0, 1.5]
    """
    if len(units) < 2:
        return None
    for decaying in (True, False):
        for share, margin in _shares(units, decaying):
            row = _at(units, share, margin, decaying)
            if row is not None:
                return row
    return None


def _at(units: Sequence[Unit], share: float, margin: float, decaying: bool) -> Ratio | None:
    moving: list[Unit] = []
    still: list[Unit] = []
    for unit in units:
        moved = unit.trained_bias - (share if decaying else 1.0) * unit.bias
        off = unit.size + margin * abs(unit.bias) * decaying
        (moving if abs(moved) > 4 * off else still).append(unit)
    if len(moving) < 2:
        return None
    row = agreed([ratio(unit, share, margin, None if decaying else 1.0) for unit in moving], firm=_ALIKE)
    d = len(moving[0].weights)
    if row is None or (len(moving) - 1) * d + len(still) * d - 1 < _SPARE:
        return None
    # One row that does not move a bias does not move the weights.
    most = 4 * (1 + float(np.abs(row.x).max()))
    calm = all(
        np.abs(unit.trained - share * unit.weights).max()
        <= most * (unit.size + margin * max(float(np.abs(unit.weights).max()), abs(unit.bias)))
        for unit in still
    )
    return row if calm else None


def _shares(units: Sequence[Unit], decaying: bool) -> list[tuple[float, float]]:
    """List candidates of κ and their margins, the surest first: (W₁' − κW₁)(b₂' − κb₂) = (W₂' − κW₂)(b₁' − κb₁)."""
    w, v = (np.array([getattr(unit, name) for unit in units]) for name in ("weights", "trained"))
    b, c = (np.array([getattr(unit, name) for unit in units])[:, None] for name in ("bias", "trained_bias"))
    if not decaying:
        b, c = np.zeros_like(b), c - b
    size = max(unit.size for unit in units)
    at = int(np.argmax(np.abs(c - b)[:, 0]))
    square = w[at] * b - w * b[at]
    slope = v * b[at] + w * c[at] - v[at] * b - w[at] * c
    level = v[at] * c - v * c[at]
    scale = size * 2 * sum(np.abs(each) + np.abs(each[at]) for each in (w, v, b, c))
    with np.errstate(all="ignore"):
        root = np.sqrt(slope**2 - 4 * square * level)
        half = -(slope + np.where(slope < 0, -1.0, 1.0) * root) / 2
        shares = np.stack([half / square, level / half])
        margins = scale / np.abs(2 * square * shares + slope)
        good = np.isfinite(shares) & np.isfinite(margins) & (shares > 0) & (shares < 1)
    pairs = sorted(zip(margins[good].tolist(), shares[good].tolist(), strict=True))
    return [(share, margin) for margin, share in pairs[:_TRIED]]
