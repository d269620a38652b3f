"""Reading a view: what the adversary can make of the messages it holds.

A view is read as well as a linear adversary can (``GaussianView.estimates``): an estimate of every node's summed vector
in every iteration. These estimates, and the ratios in them that give a mean of rows, are the features that the
estimators get.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.observation.course import Averaging, Course, linear_error
from secmix.auditing.setup import SumSetup
from secmix.estimators.exact.gaussian import GaussianView
from secmix.estimators.exact.linear import LinearView, read_off, unmodular
from secmix.estimators.exact.structure import LeakedSubspace, mask_range, subspace_of
from secmix.mixture import Mixture
from secmix.protocols import EMRun
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Origin, View

SOLVED = 5  # runs whose sums are kept for inversion
_SHORTER = 2  # lengths of an iteration other than the longest that are kept worked out
_ROWS = 20  # messages of an iteration kept as they are, where they are not linear and nothing better is known


@dataclass(frozen=True)
class Reading:
    """What the adversary can read of one iteration (or of all, jointly)."""

    linear: LinearView
    gaussian: GaussianView
    subspace: LeakedSubspace


@dataclass
class ProbeCache:
    """What probes told of the messages of an iteration, for runs that take the same course without probes.

    Attributes
    ----------
    reading : Reading
        Of all ``origins``. Who holds the first few of these messages knows no more.
    course : Course
        Of all messages, those that the adversary does not hold too.
    """

    origins: tuple[Origin, ...]
    reading: Reading
    course: Course
    _shorter: dict[int, GaussianView] = field(default_factory=dict)

    def of(self, view: View, seen: Averaging, grid: float) -> tuple[Reading, Array]:
        """What can be read of ``view`` and the values it is read from, (F, runs, m).

        Raises
        ------
        Unprecedented
            Unless these are the same messages in the same order, some at the end perhaps not sent, and every one of
            them is on the real data what the probes said; a schedule drawn anew shows there.
        """
        runs, _, m = seen[0].shape
        count = len(view.origins)
        if view.origins != self.origins[:count] or bool(count) != bool(self.origins):
            raise ProbeMismatch
        if not count:
            return self.reading, np.empty((0, runs, m))
        linear, values = self.reading.linear, np.stack(view.rows)
        part = replace(linear, A=linear.A[:count], M=linear.M[:count])
        if (linear_error(part, values, seen, grid) > 1.0).any():
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


@dataclass(frozen=True)
class KnownSums:
    """What the adversary knows of several nodes together, in the first runs, with the parameters it is a function of.

    Attributes
    ----------
    members : tuple of int
        The nodes whose vectors are summed.
    values : (runs, T, m)
        Their sums, iteration by iteration.
    parameters : list of Mixture, length T
        θ^0 … θ^{T−1}, each with leading axis runs.
    error : float
        How far the sums are off, by rounding and finite masks, relative to their largest entry.
    rows : (runs, h, d)
        The rows behind them, to judge a solution by.
    """

    members: tuple[int, ...]
    values: Array
    parameters: list[Mixture]
    error: float
    rows: Array


def read(
    view: View, iterations: list[int], seen: Averaging, setup: SumSetup, *, shared: bool = False
) -> tuple[Reading, Array]:
    """What can be read of ``iterations``, and the rows of the real runs it is read from, (F, runs, m)."""
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
    )
    rows = [row[:runs] for t in iterations for row in view.at(t).rows]
    values = np.stack(rows) if rows else np.empty((0, runs, inputs.shape[2]))
    return _reading(linear, setup.corrupt), values


def _reading(linear: LinearView, corrupt: frozenset[int]) -> Reading:
    plain, _ = unmodular(linear, np.empty((len(linear.A), 0, 1)))
    reach = mask_range(plain)
    same = reach if plain is linear else None
    return Reading(linear, GaussianView.of(plain, reach), subspace_of(linear, corrupt, same))


def linear_part(view: View, t: int, seen: Averaging, setup: SumSetup) -> tuple[Reading, Array, Array]:
    """What can be read of the rows of iteration ``t`` that are A s + M r on the real data too.

    Beside the reading stand the values it is read from, (F, runs, m), and the other rows as features (runs, p).

    A row may fail because the protocol is not linear there, or because it draws randomness elsewhere than in
    draw_masks; either way the exact evidence must not use it.
    """
    reading, values = read(view, [t], seen, setup)
    if not len(values):
        return reading, values, np.empty((len(seen[0]), 0))
    bad = linear_error(reading.linear, values, seen, SumTraits.of(setup.protocol).grid) > 1.0
    left_over = values[bad][:_ROWS].transpose(1, 0, 2).reshape(values.shape[1], -1)
    if bad.any():
        good = np.flatnonzero(~bad)
        part = View(tuple(view.origins[r] for r in good), tuple(view.rows[r] for r in good))
        reading, values = read(part, [t], seen, setup)
    return reading, values, left_over


def estimates_of(reading: Reading, values: Array, seen: list[Averaging]) -> list[Array]:
    """The adversary's estimates of all inputs, one (n, runs, m) an iteration."""
    inputs, masks = seen[0]
    _, plain = unmodular(reading.linear, values)
    spread = np.maximum(inputs.std(axis=(0, 1)), 1e-12)
    size = float(masks.std()) if masks.size else 1.0
    both = reading.gaussian.estimates(plain, size / spread)
    return np.split(both, len(seen))


def known_sums(
    setup: SumSetup,
    rows_by_node: list[Array],
    run: EMRun,
    readings: dict[int, Reading],
    estimates: dict[int, Array],
    seen: dict[int, Averaging],
) -> list[KnownSums]:
    """The sums over two or more honest rows that are known in every iteration of EM."""
    later = [t for t in sorted(readings) if t >= 0]
    honest = np.array([i not in setup.corrupt for i in range(setup.network.n)])
    each = [_groups(readings[t].subspace.basis, honest, setup.counts) for t in later]
    groups = set.intersection(*each) if each else set()
    found = []
    for members in sorted(groups):
        pick = list(members)
        values = np.stack([estimates[t][pick, :SOLVED].sum(axis=0) for t in later], axis=1)
        truth = np.stack([seen[t][0][:SOLVED, pick].sum(axis=1) for t in later], axis=1)
        error = float(np.abs(values - truth).max() / max(np.abs(truth).max(), 1e-300))
        parameters = [run.mixtures[t][:SOLVED, 0] for t in later]
        rows = np.concatenate([rows_by_node[i][:SOLVED] for i in members], axis=1)
        found.append(KnownSums(members, values, parameters, error, rows))
    return found


def _groups(basis: Array, honest: Array, counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Sets of honest nodes, of two or more rows, of which some known combination is a multiple of the plain sum."""
    found = set()
    for row in basis:
        members = np.flatnonzero((np.abs(row) > 1e-6) & honest)
        if sum(counts[i] for i in members) > 1 and np.ptp(row[members]) < 1e-6:
            found.add(tuple(members.tolist()))
    return found


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
