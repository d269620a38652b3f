"""Reading a view: what the adversary can make of the messages it holds.

A view is read as well as a linear adversary can (``GaussianView.estimates``): an estimate of every node's summed vector
in every iteration. These estimates, and the ratios in them that give a mean of rows, are the features that the
estimators get.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness.mixed import factor_of
from secmix.estimators.exact.gaussian import GaussianView
from secmix.estimators.exact.linear import KAPPA, LinearView, read_off, unmodular, without_rounding
from secmix.estimators.exact.structure import LeakedSubspace, mask_range, subspace_of
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Origin, View

Averaging = tuple[Array, Array]
"""Inputs (runs, n, m) and masks (runs, k, m) of one averaging."""

_CHUNK = 256  # messages compared at once
_SHORTER = 2  # lengths of an iteration other than the longest that are kept worked out
_UNIT = float(np.finfo(float).eps) / 2
_LARGEST = 1e100  # of a feature: squares of it are finite
_ROWS = 20  # messages of an iteration kept as they are, where they are not linear and nothing better is known


@dataclass(frozen=True)
class Reading:
    """What the adversary can read of one iteration (or of all, jointly)."""

    linear: LinearView
    gaussian: GaussianView
    subspace: LeakedSubspace


@dataclass
class ProbeCache:
    """What probes found about the messages of an iteration, for runs that take the same course without probes.

    Attributes
    ----------
    reading : Reading
        Of all ``origins``. Who holds the first few of these messages knows no more.
    """

    origins: tuple[Origin, ...]
    reading: Reading
    _shorter: dict[int, GaussianView] = field(default_factory=dict)

    def of(self, view: View, seen: Averaging, grid: float) -> tuple[Reading, Array]:
        """What can be read of ``view`` and the values it is read from, (F, runs, m).

        Raises
        ------
        ProbeMismatch
            Unless these are the same messages in the same order, some at the end perhaps not sent, and every one of
            them is on the real data what the probes said; a schedule drawn anew shows there.
        """
        runs, _, m = seen[0].shape
        count = len(view.origins)
        if view.origins != self.origins[:count] or bool(count) != bool(self.origins):
            raise ProbeMismatch
        if not count:
            return self.reading, np.empty((0, runs, m))
        if any(row.shape != (runs, m) for row in view.rows):
            raise ProbeMismatch
        part = self.reading.linear.first(count)
        values = part.normalised(np.stack(view.rows).astype(float, copy=False))
        if (_linear_error(part, values, seen, grid, coarsest(view)) > 1.0).any():
            raise ProbeMismatch
        if count == len(self.origins):
            return self.reading, values
        if count not in self._shorter:
            if len(self._shorter) == _SHORTER:  # each may take as much memory as the messages of a run
                del self._shorter[next(iter(self._shorter))]
            self._shorter[count] = GaussianView.of(unmodular(part, values[:, :0])[0])
        return replace(self.reading, linear=part, gaussian=self._shorter[count]), values


class ProbeMismatch(Exception):
    """Messages that probes in earlier runs do not explain."""


def reading_of(sums: Iterable[Iterable[int]], n: int, corrupt: frozenset[int]) -> Reading:
    """Return the reading of whoever knows these sums over nodes, and the data of ``corrupt``."""
    rows = np.zeros((0, n))
    for nodes in [*sums, *({node} for node in corrupt)]:
        rows = np.concatenate([rows, np.isin(np.arange(n), list(nodes))[None].astype(float)])
    return _reading(LinearView(rows, np.zeros((len(rows), 0)), n), corrupt)


def read(
    view: View, iterations: list[int], seen: Averaging, setup: SumSetup, *, shared: bool = False
) -> tuple[Reading, Array]:
    """What can be read of ``iterations``, and the rows of the real runs it is read from, (F, runs, m)."""
    linear, values = _linear(view, iterations, seen, setup, shared=shared)
    return _reading(linear, setup.corrupt), values


def _linear(
    view: View, iterations: list[int], seen: Averaging, setup: SumSetup, *, shared: bool = False
) -> tuple[LinearView, Array]:
    inputs, masks = seen
    runs = len(inputs)
    linear = read_off(
        view,
        iterations,
        runs=runs,
        masks=masks.shape[1],
        network=setup.network,
        protocol=setup.protocol,
        shared=shared,
        factor=factor_of(setup.protocol),
    ).equilibrated()
    rows = [row[:runs] for t in iterations for row in view.at(t).rows]
    values = np.stack(rows).astype(float, copy=False) if rows else np.empty((0, runs, inputs.shape[2]))
    return linear, linear.normalised(values)


def _reading(linear: LinearView, corrupt: frozenset[int]) -> Reading:
    plain, _ = unmodular(linear, np.empty((len(linear.A), 0, 1)))
    reach = mask_range(plain)
    same = reach if plain is linear else None
    return Reading(linear, GaussianView.of(plain, reach), subspace_of(linear, corrupt, same))


def linear_part(view: View, t: int, seen: Averaging, setup: SumSetup) -> tuple[Reading, Array, Array, View]:
    """What can be read of the rows of iteration ``t`` that are c + A s + M r on the real data too.

    Beside the reading stand the values it is read from, (F, runs, m), the other rows as features (runs, p), and the
    rows that were read.

    A row may fail because the protocol is not linear there, because it draws randomness elsewhere than in draw_masks,
    or because it is no vector of finite numbers; either way the exact evidence must not use it.
    """
    runs, m = len(seen[0]), seen[0].shape[2]
    fits = np.array([_is_vector(row, m) for row in view.rows], dtype=bool)
    part = _some(view, fits)
    linear, values = _linear(part, [t], seen, setup)
    if len(values):
        unit = coarsest(part)
        good = _linear_error(linear, values, seen, SumTraits.of(setup.protocol).grid, unit) <= 1.0
        if not good.all():
            linear, values, part = linear.rows(good), values[good], _some(part, good)
            fits[fits] = good
        linear = without_rounding(linear, values, *seen, unit=unit)
    rest = [
        row[:runs] for row, fine in zip(view.rows, fits, strict=True) if not fine and not _is_constant(row, runs, m)
    ]
    return _reading(linear, setup.corrupt), values, _features(rest, runs), part


def nothing_read(view: View, seen: Averaging, setup: SumSetup) -> tuple[Reading, Array, Array, View]:
    """As :func:`linear_part`, where no probe says what is linear: all rows are features."""
    runs, n, m = seen[0].shape
    nothing = LinearView(np.zeros((0, n)), np.zeros((0, 0)), n)
    return _reading(nothing, setup.corrupt), np.empty((0, runs, m)), _features(list(view.rows), runs), View((), ())


def _features(rest: list[Array], runs: int) -> Array:
    each = [np.broadcast_to(row, (runs, row.shape[1])) for row in rest[:_ROWS]]  # one row may be that of all runs
    features = np.concatenate(each, axis=1) if each else np.empty((runs, 0))
    return np.asarray(np.clip(np.nan_to_num(np.real(features).astype(float)), -_LARGEST, _LARGEST))


def _is_vector(row: Array, m: int) -> bool:
    """Whether a message is a vector of m finite real numbers."""
    return row.shape[1] == m and row.dtype.kind in "fiub" and bool(np.isfinite(row).all())


def _is_constant(row: Array, runs: int, m: int) -> bool:
    """Whether a message of another length holds the same in all ``runs`` and in all probes behind them."""
    return row.shape[1] != m and len(row) > runs and bool((row == row[:1]).all())


def _some(view: View, which: NDArray[np.bool_]) -> View:
    kept = np.flatnonzero(which)
    return View(tuple(view.origins[r] for r in kept), tuple(view.rows[r] for r in kept))


def coarsest(view: View) -> float:
    """Unit roundoff of the coarsest floating-point numbers in ``view``."""
    return max((float(np.finfo(row.dtype).eps) / 2 for row in view.rows if row.dtype.kind == "f"), default=_UNIT)


def _linear_error(linear: LinearView, values: Array, seen: Averaging, grid: float, unit: float) -> Array:
    """Largest |V − c − A s − M r| of each row (F,), in units of what rounding allows: KAPPA · e_f.

    e_f is the unit roundoff times the largest number sent so far, by run and entry, or times |A||s| + |M||r|. Where
    that of what nodes hold to begin with is enough for every row, the error is in units of the least of it.
    """
    inputs, masks = (np.ascontiguousarray(part.transpose(1, 0, 2)) for part in seen)
    scale = np.ones(len(values)) if linear.scale is None else linear.scale
    if ((error := _least_error(linear, values, (inputs, masks), grid, scale * unit)) <= 1.0).all():
        return error
    top = np.maximum(*(np.abs(part).max(axis=0, initial=0.0) for part in (inputs, masks)))  # what nodes hold to begin
    errors = []
    for begin in range(0, len(values), _CHUNK):  # a view may take as much memory as there is, and this as much again
        some = slice(begin, begin + _CHUNK)
        part = linear.rows(some)
        off = _off(part, values[some], inputs, masks)
        sizes = np.abs(values[some])
        sizes /= scale[some, None, None]
        if part.c is not None and part.c.any():
            sizes += np.abs(part.c)[:, None, None]
        sizes[0] = np.maximum(sizes[0], top)
        np.maximum.accumulate(sizes, axis=0, out=sizes)
        top = sizes[-1].copy()
        sizes *= scale[some, None, None]
        steps = 0.5 * grid * np.abs(part.A).sum(axis=1)  # in fixed-point arithmetic an input is off by half a step
        error = _worst(off, KAPPA * unit * sizes, 1.001 * steps)
        # Where large terms cancel, rounding is that of the terms: looked at only where it matters.
        for row in np.flatnonzero(~(error <= 1.0)):
            one = part.rows(slice(row, row + 1))
            terms = np.tensordot(np.abs(one.A), np.abs(inputs), axes=1)
            terms += np.tensordot(np.abs(one.M), np.abs(masks), axes=1)
            allowed = KAPPA * unit * np.maximum(sizes[row], terms)
            error[row] = _worst(off[row : row + 1], allowed, 1.001 * steps[row : row + 1])[0]
        errors.append(error)
    error = np.concatenate(errors)
    return np.where(np.isfinite(error), error, np.inf)  # NaN compares as small


def _least_error(linear: LinearView, values: Array, held: Averaging, grid: float, units: Array) -> Array:
    """A bound of :func:`_linear_error`, in units of the least that is ``held``: (n, runs, m) and (k, runs, m)."""
    least = float(np.maximum(*(np.abs(part).max(axis=0, initial=0.0) for part in held)).min(initial=np.inf))
    error = np.empty(len(values))
    for begin in range(0, len(values), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        part = linear.rows(some)
        allowed = KAPPA * units[some] * least + 1.001 * 0.5 * grid * np.abs(part.A).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            error[some] = _off(part, values[some], *held).max(axis=(1, 2), initial=0.0) / allowed
    return error


def _off(linear: LinearView, values: Array, inputs: Array, masks: Array) -> Array:
    """|V − A s − M r| of rows (F, runs, m), for inputs (n, runs, m) and masks (k, runs, m)."""
    off = np.tensordot(linear.A, inputs, axes=1)
    off += np.tensordot(linear.M, masks, axes=1)
    np.subtract(values, off, out=off)
    if linear.modulus is not None:
        off -= linear.modulus * np.round(off / linear.modulus)
    return np.asarray(np.abs(off, out=off))


def _worst(off: Array, allowed: Array, steps: Array) -> Array:
    """Largest off / (allowed + steps) of each row; 0 where nothing is off."""
    allowed = allowed + steps[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(off == 0, 0.0, off / allowed)
    return np.asarray(share.reshape(len(off), -1).max(axis=1, initial=0.0))


def estimates_of(reading: Reading, values: Array, seen: list[Averaging]) -> list[Array]:
    """The adversary's estimates of all inputs, one (n, runs, m) an iteration."""
    inputs, masks = seen[0]
    _, plain = unmodular(reading.linear, values)
    spread = np.maximum(inputs.std(axis=(0, 1)), 1e-12)
    size = float(masks.std()) if masks.size else 1.0
    both = reading.gaussian.estimates(plain, size / spread)
    return np.split(both, len(seen))


def features_of(
    estimates: dict[int, Array], components: int, d: int, *, differences: bool = False
) -> tuple[dict[int, Array], Array]:
    """The estimates (runs, m) of a node's vector with the ratios that give the row behind it, and the last such row.

    Where only ``differences`` between iterations are known (reused masks), the same ratios hold between those.
    """
    out: dict[int, Array] = {}
    before: Array | None = None
    above, below, row = np.zeros(1), np.zeros(1), np.empty((0, d))
    for t in sorted(estimates):
        mine = estimates[t]
        row = _quotient(*_row_from(mine, components, d))
        found = [mine, row]
        if differences and before is not None:
            # Differences may be small in any one iteration; together they weigh more.
            more = _row_from(mine - before, components, d)
            above, below = above + more[0], below + more[1]
            row = _quotient(above, below)
            found.append(row)
        out[t] = np.concatenate(found, axis=1)
        before = mine
    return out, row


def _row_from(vector: Array, components: int, d: int) -> tuple[Array, Array]:
    """Σ_j a_j b_j and Σ a_j²: their quotient is the row x of a node with one row, since b_j = a_j x."""
    width = vector.shape[1]
    setup = components if width % components == 0 else 1
    table = vector.reshape(len(vector), setup, -1)
    a, b = table[..., :1], table[..., 1 : 1 + d]
    return (a * b).sum(axis=1), (a**2).sum(axis=1)


def _quotient(above: Array, below: Array) -> Array:
    usable = below > 1e-12
    return np.where(usable, above / np.where(usable, below, 1.0), 0.0)
