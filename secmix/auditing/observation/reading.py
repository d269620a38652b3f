"""Read a view: what the adversary can compute from its messages.

A view is read as by the best linear adversary (``GaussianView.estimates``): an estimate of every node's summed vector
in every iteration. These estimates, and the ratios in them that give a mean of rows, are the features of the
estimators.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.setup import SumSetup
from secmix.auditing.soundness.linear_masks import factor_of
from secmix.estimators.exact.leakage import GaussianView, LeakedSubspace, mask_range, subspace_of
from secmix.estimators.exact.linear import LinearView, read_off, rounding_units, unmodular, without_rounding
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Origin, View

Averaging = tuple[Array, Array]
"""Inputs (runs, n, m) and masks (runs, k, m) of one averaging."""

_CHUNK = 256  # messages that are compared at once
_SHORTER = 2  # shorter lengths of an iteration that are cached
_UNIT = float(np.finfo(float).eps) / 2
_LARGEST = 1e100  # largest feature: its square is finite
_ROWS = 20  # most messages of an iteration that become features because they are not linear


@dataclass(frozen=True)
class Reading:
    """Readable messages of one iteration (or of all, jointly); ``origins`` name those of the linear view's rows."""

    linear: LinearView
    gaussian: GaussianView
    subspace: LeakedSubspace
    origins: tuple[Origin, ...] = ()


@dataclass
class ProbeCache:
    """Results of probes for the messages of an iteration, for runs with the same message schedule without probes."""

    origins: tuple[Origin, ...]
    reading: Reading  # reading of all ``origins``; the first few of these messages reveal no more
    _shorter: dict[int, GaussianView] = field(default_factory=dict)

    def of(self, view: View, averaging: Averaging, grid: float) -> tuple[Reading, Array]:
        """Read ``view`` by the cached probes; return the reading, and the values it is read from, (F, runs, m).

        Raises ProbeMismatch: unless these are the same messages in the same order, possibly without some at the end,
        and each equals on the real data what the probes predict; a different random schedule fails here.
        """
        runs, _, m = averaging[0].shape
        count = len(view.origins)
        if view.origins != self.origins[:count] or bool(count) != bool(self.origins):
            raise ProbeMismatch
        if not count:
            return self.reading, np.empty((0, runs, m))
        if any(row.shape != (runs, m) for row in view.rows):
            raise ProbeMismatch
        part = self.reading.linear.first(count)
        values = part.normalised(np.stack(view.rows).astype(float, copy=False))
        if (_linear_error(part, values, averaging, grid, coarsest(view)) > 1.0).any():
            raise ProbeMismatch
        if count == len(self.origins):
            return self.reading, values
        if count not in self._shorter:
            if len(self._shorter) == _SHORTER:  # each may need as much memory as the messages of a run
                del self._shorter[next(iter(self._shorter))]
            self._shorter[count] = GaussianView.of(unmodular(part, values[:, :0])[0])
        return replace(self.reading, linear=part, gaussian=self._shorter[count]), values


class ProbeMismatch(Exception):
    """Messages that the probes of earlier runs do not explain."""


def reading_of(sums: Iterable[Iterable[int]], n: int, corrupt: frozenset[int]) -> Reading:
    """Make the reading of an adversary that knows these sums over nodes, and the data of ``corrupt``."""
    rows = np.zeros((0, n))
    for nodes in [*sums, *({node} for node in corrupt)]:
        rows = np.concatenate([rows, np.isin(np.arange(n), list(nodes))[None].astype(float)])
    return _reading(LinearView(rows, np.zeros((len(rows), 0)), n), corrupt)


def read(
    view: View, iterations: list[int], averaging: Averaging, setup: SumSetup, *, shared: bool = False
) -> tuple[Reading, Array]:
    """Read ``iterations``; return the reading, and the rows of the real runs it is read from, (F, runs, m)."""
    linear, values = _linear(view, iterations, averaging, setup, shared=shared)
    origins = tuple(origin for t in iterations for origin in view.at(t).origins)
    return replace(_reading(linear, setup.corrupt), origins=origins), values


def _linear(
    view: View, iterations: list[int], averaging: Averaging, setup: SumSetup, *, shared: bool = False
) -> tuple[LinearView, Array]:
    inputs, masks = averaging
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


def _reading(linear: LinearView, corrupt: frozenset[int], before: Reading | None = None) -> Reading:
    """Make the reading of a view; where another has the same coefficients to the last bit, from that one."""
    if before is not None and _same_coefficients(linear, before.linear) and before.subspace.corrupt == corrupt:
        return replace(before, linear=linear)
    plain, _ = unmodular(linear, np.empty((len(linear.A), 0, 1)))
    reach = mask_range(plain)
    same = reach if plain is linear else None
    return Reading(linear, GaussianView.of(plain, reach), subspace_of(linear, corrupt, same))


def _same_coefficients(left: LinearView, right: LinearView) -> bool:
    pairs = ((left.A, right.A), (left.M, right.M), (left.factor, right.factor))
    alike = all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
    return alike and (left.n, left.modulus) == (right.n, right.modulus)


def linear_part(
    view: View, t: int, averaging: Averaging, setup: SumSetup, before: Reading | None = None
) -> tuple[Reading, Array, Array, View]:
    """Read the rows of iteration ``t`` that are c + A s + M r also on the real data; ``before`` is another's reading.

    Returns the reading, the values it is read from (F, runs, m), the other rows as features (runs, p), and the rows
    that were read.

    A row may fail because the protocol is not linear there, because it draws randomness outside draw_masks, or because
    it is not a vector of finite numbers; in each case the exact evidence must not use it.
    """
    runs, m = len(averaging[0]), averaging[0].shape[2]
    fits = np.array([_is_vector(row, m) for row in view.rows], dtype=bool)
    part = _selected(view, fits)
    linear, values = _linear(part, [t], averaging, setup)
    if len(values):
        unit = coarsest(part)
        good = _linear_error(linear, values, averaging, SumTraits.of(setup.protocol).grid, unit) <= 1.0
        if not good.all():
            linear, values, part = linear.rows(good), values[good], _selected(part, good)
            fits[fits] = good
        linear = without_rounding(linear, values, *averaging, unit=unit)
    rest = [
        row[:runs] for row, fine in zip(view.rows, fits, strict=True) if not fine and not _is_constant(row, runs, m)
    ]
    reading = replace(_reading(linear, setup.corrupt, before), origins=part.origins)
    return reading, values, _features(rest, runs), part


def nothing_read(view: View, averaging: Averaging, setup: SumSetup) -> tuple[Reading, Array, Array, View]:
    """Return what :func:`linear_part` does, but with all rows as features, since no probe shows linear ones."""
    runs, n, m = averaging[0].shape
    nothing = LinearView(np.zeros((0, n)), np.zeros((0, 0)), n)
    return _reading(nothing, setup.corrupt), np.empty((0, runs, m)), _features(list(view.rows), runs), View((), ())


def _features(rest: list[Array], runs: int) -> Array:
    blocks = [np.broadcast_to(row, (runs, row.shape[1])) for row in rest[:_ROWS]]  # one row may be for all runs
    features = np.concatenate(blocks, axis=1) if blocks else np.empty((runs, 0))
    return np.asarray(np.clip(np.nan_to_num(np.real(features).astype(float)), -_LARGEST, _LARGEST))


def _is_vector(row: Array, m: int) -> bool:
    """Check that a message is a vector of m finite real numbers."""
    return row.shape[1] == m and row.dtype.kind in "fiub" and bool(np.isfinite(row).all())


def _is_constant(row: Array, runs: int, m: int) -> bool:
    """Check that a message of another length is the same in all ``runs``, and in all probes behind them."""
    return row.shape[1] != m and len(row) > runs and bool((row == row[:1]).all())


def _selected(view: View, which: NDArray[np.bool_]) -> View:
    rows = np.flatnonzero(which)
    return View(tuple(view.origins[r] for r in rows), tuple(view.rows[r] for r in rows))


def coarsest(view: View) -> float:
    """Find the unit roundoff of the coarsest floating-point numbers in ``view``."""
    return max((float(np.finfo(row.dtype).eps) / 2 for row in view.rows if row.dtype.kind == "f"), default=_UNIT)


def _linear_error(linear: LinearView, values: Array, averaging: Averaging, grid: float, unit: float) -> Array:
    """Compute the largest |V − c − A s − M r| of each row (F,), in units of the allowed rounding.

    It is ``rounding_units`` times e_f, the unit roundoff times the largest number sent so far, by run and entry, or
    times |A||s| + |M||r|. If the rounding of the initial numbers of nodes suffices for every row, the error is in units
    of the least of it.
    """
    inputs, masks = (np.ascontiguousarray(part.transpose(1, 0, 2)) for part in averaging)
    scale = np.ones(len(values)) if linear.scale is None else linear.scale
    unit = unit * rounding_units(linear.n)
    if ((error := _least_error(linear, values, (inputs, masks), grid, scale * unit)) <= 1.0).all():
        return error
    top = np.maximum(*(np.abs(part).max(axis=0, initial=0.0) for part in (inputs, masks)))  # initial numbers of nodes
    errors = []
    for begin in range(0, len(values), _CHUNK):  # a view may fill the memory, and this needs as much again
        chunk = slice(begin, begin + _CHUNK)
        part = linear.rows(chunk)
        off = _off(part, values[chunk], inputs, masks)
        sizes = np.abs(values[chunk])
        sizes /= scale[chunk, None, None]
        if part.c is not None and part.c.any():
            sizes += np.abs(part.c)[:, None, None]
        sizes[0] = np.maximum(sizes[0], top)
        np.maximum.accumulate(sizes, axis=0, out=sizes)
        top = sizes[-1].copy()
        sizes *= scale[chunk, None, None]
        steps = (
            0.5 * grid * np.abs(part.A).sum(axis=1)
        )  # in fixed-point arithmetic an input has an error of half a step
        error = _worst(off, unit * sizes, 1.001 * steps)
        # If large terms cancel, rounding is that of the terms; computed only where it matters.
        for row in np.flatnonzero(~(error <= 1.0)):
            single = part.rows(slice(row, row + 1))
            terms = np.tensordot(np.abs(single.A), np.abs(inputs), axes=1)
            terms += np.tensordot(np.abs(single.M), np.abs(masks), axes=1)
            allowed = unit * np.maximum(sizes[row], terms)
            error[row] = _worst(off[row : row + 1], allowed, 1.001 * steps[row : row + 1])[0]
        errors.append(error)
    error = np.concatenate(errors)
    return np.where(np.isfinite(error), error, np.inf)  # NaN would compare as small


def _least_error(linear: LinearView, values: Array, averaging: Averaging, grid: float, units: Array) -> Array:
    """Bound :func:`_linear_error` in units of the least number of ``averaging``: (n, runs, m) and (k, runs, m)."""
    least = float(np.maximum(*(np.abs(part).max(axis=0, initial=0.0) for part in averaging)).min(initial=np.inf))
    error = np.empty(len(values))
    for begin in range(0, len(values), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        part = linear.rows(chunk)
        allowed = units[chunk] * least + 1.001 * 0.5 * grid * np.abs(part.A).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            error[chunk] = _off(part, values[chunk], *averaging).max(axis=(1, 2), initial=0.0) / allowed
    return error


def _off(linear: LinearView, values: Array, inputs: Array, masks: Array) -> Array:
    """Compute |V − A s − M r| of rows (F, runs, m), for inputs (n, runs, m) and masks (k, runs, m)."""
    off = np.tensordot(linear.A, inputs, axes=1)
    off += np.tensordot(linear.M, masks, axes=1)
    np.subtract(values, off, out=off)
    if linear.modulus is not None:
        off -= linear.modulus * np.round(off / linear.modulus)
    return np.asarray(np.abs(off, out=off))


def _worst(off: Array, allowed: Array, steps: Array) -> Array:
    """Compute the largest off / (allowed + steps) of each row; 0 if there is no error."""
    allowed = allowed + steps[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(off == 0, 0.0, off / allowed)
    return np.asarray(share.reshape(len(off), -1).max(axis=1, initial=0.0))


def estimates_of(reading: Reading, values: Array, averagings: list[Averaging]) -> list[Array]:
    """Compute the adversary's estimates of all inputs, one (n, runs, m) an iteration."""
    inputs, masks = averagings[0]
    _, plain = unmodular(reading.linear, values)
    spread = np.maximum(inputs.std(axis=(0, 1)), 1e-12)
    size = float(masks.std()) if masks.size else 1.0
    both = reading.gaussian.estimates(plain, size / spread)
    return np.split(both, len(averagings))


def features_of(
    estimates: dict[int, Array], components: int, d: int, *, differences: bool = False
) -> tuple[dict[int, Array], Array]:
    """Join the estimates (runs, m) of a node's vector with the row that follows from their ratios; return that row too.

    If only ``differences`` between iterations are known (reused masks), the same ratios hold between those.
    """
    out: dict[int, Array] = {}
    before: Array | None = None
    above, below, row = np.zeros(1), np.zeros(1), np.empty((0, d))
    for t in sorted(estimates):
        current = estimates[t]
        row = _quotient(*_row_from(current, components, d))
        features = [current, row]
        if differences and before is not None:
            # Differences may be small in a single iteration; their sum is more accurate.
            numerator, denominator = _row_from(current - before, components, d)
            above, below = above + numerator, below + denominator
            row = _quotient(above, below)
            features.append(row)
        out[t] = np.concatenate(features, axis=1)
        before = current
    return out, row


def _row_from(vector: Array, components: int, d: int) -> tuple[Array, Array]:
    """Compute Σ_j a_j b_j and Σ a_j², whose quotient is the row x of a node with one row, since b_j = a_j x."""
    width = vector.shape[1]
    setup = components if width % components == 0 else 1
    table = vector.reshape(len(vector), setup, -1)
    a, b = table[..., :1], table[..., 1 : 1 + d]
    return (a * b).sum(axis=1), (a**2).sum(axis=1)


def _quotient(above: Array, below: Array) -> Array:
    usable = below > 1e-12
    return np.where(usable, above / np.where(usable, below, 1.0), 0.0)
