"""Rows from a released result alone: the protocol is solved for the rows on which it ends there.

Where a result has at least as many numbers as there are unknown ones behind it, rows follow from it: a mean of n rows
of which n − 1 are known, the mean and covariance of two rows, the model that one row has trained. The protocol is
public, so it is run on rows that are tried, and Levenberg and Marquardt (Moré 1978) change these until it ends at the
result. Of a subspace, nodes with few rows may lie in its first directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.adversaries.reconstructions.subspace import span_of
from secmix.protocols.flower import FlowerApp
from secmix.protocols.released import OWN_ROWS, RELEASED, FittedMixture
from secmix.transcript import Channel

_MOST = 24
"""Unknown numbers up to which a search is made."""
_STARTS, _STEPS = 8, 60
_STEP = 1e-5  # of the size of the rows, for differences
_MET = 1e-7  # of the largest number: a result that is met
_FREE = 1e-6  # of the largest singular value: below it the result leaves rows free
_SHORTEN, _LENGTHEN = 0.3, 4.0  # of the damping


def reconstruct_released(known: KnownMessages) -> Reconstruction | None:
    """Recover rows from what was released; None where there is none, or it has fewer numbers than there are unknown.

    The protocol ends at the result on the rows that are returned, to seven digits, and no small change of them keeps
    it there. That certifies nothing: other rows farther off may end there too.
    """
    results = [row for origin, row in known.messages if origin.kind == RELEASED]
    if not results:
        return None
    r = getattr(known.protocol, "r", None)
    if isinstance(r, int) and results[0].size == known.d * r:
        # All rows span it where they are no more than its dimensions; else a median may be the basis of one node.
        count = sum(known.counts) if sum(known.counts) <= r else known.count
        columns = results[0].reshape(known.d, r)[:, :count]
        few = count <= r and count < known.d  # else its rows may lie anywhere
        return span_of(columns, count, "the first columns of the released subspace") if few else None
    known_rows = {o.sender: row.reshape(-1, known.d) for o, row in known.messages if o.kind == OWN_ROWS}
    target = np.concatenate(results)
    unknown = known.d * sum(count for node, count in enumerate(known.counts) if node not in known_rows)
    if not unknown or unknown > min(_MOST, _different(results)) or isinstance(known.protocol, FlowerApp):
        return None
    return _solved(_Replay(known, known_rows), target, unknown, known)


def _different(results: list[Array]) -> int:
    """Count the numbers of the results, copies of one result once."""
    alike = all(np.allclose(each, results[0], rtol=1e-6, atol=1e-9) for each in results)
    return len(results[0]) if alike else sum(map(len, results))


class _Replay:
    """The protocol as anybody can run it: rows in, results of all nodes out."""

    def __init__(self, known: KnownMessages, known_rows: dict[int, Array]) -> None:
        self.known, self.known_rows = known, known_rows
        inner = known.protocol
        self.protocol = inner.without_masks if isinstance(inner, FittedMixture) else inner

    def __call__(self, unknown: Array) -> Array:
        """Return the released numbers (runs, p) for unknown rows (runs, u)."""
        runs, d, parts, place = len(unknown), self.known.d, [], 0
        for node, count in enumerate(self.known.counts):
            if node in self.known_rows:
                parts.append(np.repeat(self.known_rows[node][None], runs, axis=0))
            else:
                parts.append(unknown[:, place : place + count * d].reshape(runs, count, d).copy())
                place += count * d
        channel, rng = Channel(record=False), np.random.default_rng(0)  # who draws in secret is not met
        results = self.protocol.collaborate(parts, self.known.network, rng, channel=channel)
        return np.asarray(results, dtype=np.float64).reshape(runs, -1)


def _solved(replay: _Replay, target: Array, unknown: int, known: KnownMessages) -> Reconstruction | None:
    """Search from several starts for rows on which the protocol ends at ``target``; the best, if it ends there."""
    scale = max(float(np.abs(target).max()), 1e-300)
    most = known.budget.of(_STARTS)
    for place, start in enumerate(_starts(known, target, unknown, most), 1):
        with suppress(Exception), np.errstate(all="ignore"):  # it may refuse such rows, in any way
            rows, misfit, jacobian = _fitted(replay, target / scale, start, scale)
            strengths = np.linalg.svd(jacobian, compute_uv=False)
            if misfit <= _MET and strengths[-1] > _FREE * strengths[0]:
                known.budget.spend(place, most, certain=True)
                numbers = f"{len(target) // known.network.n} released numbers and {unknown} unknown ones"
                how = f"{numbers}: the protocol, run on these rows, ends at the result"
                return Reconstruction(rows.reshape(-1, known.d), False, how)
    known.budget.spend(most, most, certain=False)
    return None


def _starts(known: KnownMessages, target: Array, unknown: int, most: int) -> Iterator[Array]:
    """Yield rows (u,) to start from: drawn from a released mixture, else of usual size."""
    d = known.d
    for _ in range(most):
        rows = known.rng.standard_normal((unknown // d, d))
        if isinstance(known.protocol, FittedMixture):
            k = known.protocol.model.n_components
            means = target[k : k + k * d].reshape(k, d)
            rows = means[known.rng.integers(k, size=len(rows))] + rows
        yield rows.ravel()


def _fitted(replay: _Replay, target: Array, start: Array, scale: float) -> tuple[Array, float, Array]:
    """Return rows (u,), the largest misfit over ``scale``, and the derivatives (p, u) there."""
    rows, damping = start, 1e-2
    off, jacobian = _linearised(replay, target, rows, scale)
    for _ in range(_STEPS):
        if np.abs(off).max() <= 1e-3 * _MET:
            break
        normal, slope = jacobian.T @ jacobian, jacobian.T @ off
        tries = damping * _LENGTHEN ** np.arange(-1.0, 4.0)
        damped = normal + tries[:, None, None] * (np.diag(np.diag(normal)) + 1e-12 * np.eye(len(rows)))
        steps = np.linalg.solve(damped, np.repeat(slope[None, :, None], len(tries), axis=0))[..., 0]
        misfits = np.square(replay(rows - steps) / scale - target).sum(axis=1)
        best = int(np.nanargmin(misfits))
        if not misfits[best] < np.square(off).sum():
            damping *= _LENGTHEN**4
            if damping > 1e12:
                break
            continue
        rows, damping = rows - steps[best], float(tries[best]) * _SHORTEN
        off, jacobian = _linearised(replay, target, rows, scale)
    return rows, float(np.abs(off).max()), jacobian


def _linearised(replay: _Replay, target: Array, rows: Array, scale: float) -> tuple[Array, Array]:
    """Return the misfit (p,) and its derivatives (p, u), by differences in one call."""
    nudges = _STEP * max(float(np.abs(rows).max()), 1e-3) * np.eye(len(rows))
    ends = replay(np.concatenate([rows[None], rows + nudges, rows - nudges])) / scale
    ahead, behind = np.split(ends[1:], 2)
    return ends[0] - target, (ahead - behind).T / (2 * nudges[0, 0])
