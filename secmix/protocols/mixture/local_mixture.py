"""Local fit of split-and-conquer: a Gaussian mixture fitted to a machine's own rows by penalised EM, to be sent.

Chen and Tan 2009: the likelihood of a mixture has no maximum, since a component may collapse onto one row; a penalty
on small covariances mends that. Many machines are fitted together, as batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array, Ints, finite_array, integer, positive
from secmix._base.gaussians import cholesky, log_det
from secmix.errors import DataError
from secmix.mixture import Mixture
from secmix.protocols.remembered import Remembered

_NUMBERS = 4_000_000
"""Responsibilities held at once, 32 MB: machines are fitted in batches of that size."""


@dataclass(frozen=True)
class LocalFit:
    """The mixtures of m machines.

    Attributes
    ----------
    mixture : Mixture with one leading axis m
    penalised : (m,)
        The penalised log-likelihood reached, in nats.
    iterations : (m,)
    converged : (m,) booleans
        Whether it changed by less than the tolerance a row in the last step.
    histories : m tuples
        The penalised log-likelihood after each step, which never decreases.
    """

    mixture: Mixture
    penalised: Array
    iterations: Ints
    converged: np.ndarray[tuple[int], np.dtype[np.bool_]]
    histories: tuple[tuple[float, ...], ...]


def fit_mixtures(
    rows: Array | Sequence[Array],
    start: Mixture | int,
    *,
    rng: np.random.Generator | None = None,
    starts: int = 10,
    penalty: float | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> LocalFit:
    """Fit a mixture to the rows of each machine by itself.

    Parameters
    ----------
    rows : (m, N, d), or m arrays (N_j, d)
        The rows of each machine.
    start : Mixture or int
        Where every machine starts: a single mixture, or one a machine. Or the number of components K: then from
        the best of ``starts`` draws by k-means++, for which ``rng`` is needed.
    penalty : float, optional
        a_N; by default N^(−1/2) for a machine of N rows.
    tolerance : float
        A machine is done when its penalised log-likelihood changes by less than this a row.
    max_iterations : int

    Raises
    ------
    DataError
        Rows that are not finite, fewer than two, or that span fewer than d dimensions on some machine.

    Notes
    -----
    Maximises Σ_i log f(x_i) − a Σ_k {tr(S Σ_k⁻¹) + log det Σ_k}, S the covariance of the machine's rows. The M-step
    is that of EM with Σ_k = (Σ_i r_ik (x_i − μ_k)(x_i − μ_k)ᵀ + 2 a S) / (n_k + 2 a).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(-5, 1, (2, 300, 1)), rng.normal(5, 1, (2, 100, 1))], axis=1)
    >>> fit = fit_mixtures(rows, 2, rng=rng)
    >>> np.sort(fit.mixture.weights).round(2)
    array([[0.25, 0.75],
           [0.25, 0.75]])
    """
    parts = [finite_array(part, f"the rows of machine {j}", ndim=2) for j, part in enumerate(rows)]
    if not parts or len({part.shape[1] for part in parts}) != 1:
        raise DataError(f"machines must have rows (N_j, d) of as many features; given {[part.shape for part in parts]}")
    positive(tolerance, "tolerance")
    if penalty is not None:
        positive(penalty, "penalty")
    for name, value in (("max_iterations", max_iterations), ("starts", starts)):
        integer(value, name)
    init = start if isinstance(start, Mixture) else None
    k = init.n_components if init is not None else integer(start, "start")
    if init is None and rng is None:
        raise DataError("without a mixture to start from, the starts are drawn: give rng")
    if init is not None and init.weights.shape not in ((k,), (len(parts), k)):
        raise DataError(
            f"start is one mixture, or one for each of {len(parts)} machines; given weights {init.weights.shape}"
        )
    # One row of draws a machine, so that its start does not depend on which others are fitted with it.
    draws = rng.random((len(parts), starts, k)) if init is None and rng is not None else np.empty((len(parts), 0, k))
    settings = k, penalty, tolerance, max_iterations
    keys = [_FITS.key(part, _begins(init, draws, j), *settings) for j, part in enumerate(parts)]
    fits = [_FITS.get(key) for key in keys]
    missing = [j for j, fit in enumerate(fits) if fit is None]
    for batch in _batches([len(parts[j]) for j in missing], k):
        members = [missing[at] for at in batch]
        columns = np.ascontiguousarray(np.stack([parts[j] for j in members]).swapaxes(-1, -2))
        problem = _problem(columns, members, penalty)
        if init is not None:
            single = init.weights.ndim == 1
            first = init.expand(len(members)) if single else init[np.asarray(members)]
            best = _run(problem, first, tolerance, max_iterations)
        else:
            best = _best_of(problem, draws[members], tolerance, max_iterations)
        for at, j in enumerate(members):
            fits[j] = fit = _joined([_single(best, at)])
            _FITS.put(keys[j], fit)
    return _joined([fit for fit in fits if fit is not None])


def _begins(init: Mixture | None, draws: Array, machine: int) -> Hashable:
    """Make a key of where a machine's fit begins."""
    if init is None:
        return draws[machine].tobytes(), draws.shape[1]
    own = init if init.weights.ndim == 1 else init[machine]
    return tuple(np.asarray(getattr(own, name), dtype=np.float64).tobytes() for name in _FIELDS)


@dataclass(frozen=True)
class _Problem:
    """Rows as columns (b, d, N), their covariances (b, d, d), the penalty."""

    columns: Array
    spread: Array
    penalty: float

    def __getitem__(self, at: Ints) -> _Problem:
        return _Problem(self.columns[at], self.spread[at], self.penalty)


def _problem(columns: Array, members: list[int], penalty: float | None) -> _Problem:
    size, d = columns.shape[-1], columns.shape[-2]
    apart = columns - columns.mean(axis=-1, keepdims=True)
    spread = np.matmul(apart, apart.swapaxes(-1, -2)) / size
    scale = np.sqrt(np.diagonal(spread, axis1=-2, axis2=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = spread / scale[:, :, None] / scale[:, None, :]
    for j, matrix in zip(members, correlation, strict=True):
        if not np.isfinite(matrix).all() or np.linalg.eigvalsh(matrix)[0] < 1e-12:
            raise DataError(
                f"the {size} rows of machine {j} do not span {d} dimensions, so their covariance is singular; give "
                "more rows, or drop constant and repeated features"
            )
    return _Problem(columns, spread, size**-0.5 if penalty is None else penalty)


def _batches(sizes: list[int], k: int) -> list[list[int]]:
    """Group machines with equally many rows, so many at a time that their responsibilities fit."""
    batches: list[list[int]] = []
    for size in sorted(set(sizes)):
        members = [j for j, own in enumerate(sizes) if own == size]
        at_once = max(1, _NUMBERS // (size * k))
        batches += [members[begin : begin + at_once] for begin in range(0, len(members), at_once)]
    return batches


def _run(problem: _Problem, start: Mixture, tolerance: float, max_iterations: int) -> LocalFit:
    """Run EM for a batch of machines; those that have converged are done, the others go on."""
    b, size = len(problem.columns), problem.columns.shape[-1]
    weights, means, covariances = (np.array(getattr(start, name)) for name in ("weights", "means", "covariances"))
    penalised, iterations = np.full(b, -np.inf), np.zeros(b, dtype=np.intp)
    converged = np.zeros(b, dtype=bool)
    histories: list[list[float]] = [[] for _ in range(b)]
    active = np.arange(b)
    for step in range(max_iterations + 1):
        unfinished = problem if len(active) == b else problem[active]
        current = Mixture(weights[active], means[active], covariances[active])
        resp, density = current.column_responsibilities(unfinished.columns)
        value = density.sum(axis=-1) - _price(unfinished, current)
        for j, reached in zip(active, value, strict=True):
            histories[j].append(float(reached))
        done = np.abs(value - penalised[active]) < tolerance * size
        penalised[active] = value
        converged[active[done]] = True
        if step == max_iterations or done.all():
            break
        going = np.flatnonzero(~done)
        active = active[going]
        better = _maximised(
            unfinished[going] if done.any() else unfinished, resp[going] if done.any() else resp, current[going]
        )
        weights[active], means[active], covariances[active] = better.weights, better.means, better.covariances
        iterations[active] += 1
    return LocalFit(
        Mixture(weights, means, covariances), penalised, iterations, converged, tuple(map(tuple, histories))
    )


def _price(problem: _Problem, mixture: Mixture) -> Array:
    """Compute a Σ_k {tr(S Σ_k⁻¹) + log det Σ_k}, (b,)."""
    lower = cholesky(mixture.covariances)
    whiten = np.linalg.inv(lower)
    inverse = np.matmul(whiten.swapaxes(-1, -2), whiten)
    trace = np.einsum("bkij,bij->bk", inverse, problem.spread)
    return np.asarray(problem.penalty * (trace + log_det(lower)).sum(-1))


def _maximised(problem: _Problem, resp: Array, old: Mixture) -> Mixture:
    """Compute the M-step from responsibilities (b, K, N)."""
    count = resp.sum(axis=-1)
    empty = count <= 0
    safe = np.where(empty, 1.0, count)
    means = np.matmul(resp, problem.columns.swapaxes(-1, -2)) / safe[..., None]
    means = np.where(empty[..., None], old.means, means)
    weight = 2 * problem.penalty
    covariances = np.empty_like(old.covariances)
    for k in range(old.n_components):
        apart = problem.columns - means[:, k, :, None]
        scatter = np.matmul(apart * resp[:, k, None, :], apart.swapaxes(-1, -2))
        covariances[:, k] = (scatter + weight * problem.spread) / (count[:, k, None, None] + weight)
    covariances = 0.5 * (covariances + covariances.swapaxes(-1, -2))
    return Mixture(count / count.sum(axis=-1, keepdims=True), means, covariances)


def _best_of(problem: _Problem, draws: Array, tolerance: float, max_iterations: int) -> LocalFit:
    """Fit from several draws (b, starts, K) by k-means++; keep each machine's fit of highest penalised likelihood."""
    best: list[LocalFit] = []
    for start in range(draws.shape[1]):
        fit = _run(problem, _plus_plus(problem, draws[:, start]), tolerance, max_iterations)
        parts = [_single(fit, at) for at in range(len(problem.columns))]
        best = [
            new if not best or new.penalised[0] > best[at].penalised[0] else best[at] for at, new in enumerate(parts)
        ]
    return _joined(best)


def seeded_start(rows: Array, seeds: Ints) -> Mixture:
    """Start EM at rows that k-means++ has chosen: each other row goes to the nearest, then one M-step.

    Rows are near or far by the Mahalanobis distance of their own covariance. ``rows`` (m, N, d); ``seeds`` (m, K):
    which rows of each machine, in the order of its components.

    >>> seeded_start(np.array([[[0.0], [1.0], [9.0], [10.0]]]), np.array([[0, 3]])).weights
    array([[0.5, 0.5]])
    """
    columns = np.ascontiguousarray(finite_array(rows, "rows", ndim=3).swapaxes(-1, -2))
    problem = _problem(columns, list(range(len(columns))), None)
    points = _whitened(problem)
    distances = np.stack([_squares(points, chosen) for chosen in np.asarray(seeds, dtype=np.intp).T], axis=1)
    return _clustered(problem, distances)


def _plus_plus(problem: _Problem, draws: Array) -> Mixture:
    """Run k-means++ on each machine's whitened rows (Arthur and Vassilvitskii 2007), by draws (b, K) from [0, 1)."""
    points = _whitened(problem)
    (b, _, size), k = points.shape, draws.shape[1]
    nearest = np.ones((b, size))
    distances = np.empty((b, k, size))
    for c in range(k):
        total = np.cumsum(nearest, axis=-1)
        level = draws[:, c] * total[:, -1]
        chosen = np.minimum((total <= level[:, None]).sum(axis=-1), size - 1)
        distances[:, c] = _squares(points, chosen)
        nearest = distances[:, c] if c == 0 else np.minimum(nearest, distances[:, c])
    return _clustered(problem, distances)


def _whitened(problem: _Problem) -> Array:
    return np.asarray(np.matmul(np.linalg.inv(cholesky(problem.spread)), problem.columns))


def _squares(points: Array, chosen: Ints) -> Array:
    """Compute squared distances (b, N) of points (b, d, N) from one chosen in each machine."""
    return np.asarray(((points - points[np.arange(len(points)), :, chosen][:, :, None]) ** 2).sum(axis=1))


def _clustered(problem: _Problem, distances: Array) -> Mixture:
    """Compute one M-step from the clusters that squared distances (b, K, N) make."""
    b, k, size = distances.shape
    resp = (np.argmin(distances, axis=1)[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
    d = problem.columns.shape[-2]
    blank = Mixture(np.ones((b, k)), np.zeros((b, k, d)), np.repeat(problem.spread[:, None], k, axis=1))
    first = _maximised(problem, resp, blank)
    weights = np.maximum(first.weights, 1.0 / size)  # a centre whose rows all lie on another one as well
    return Mixture(weights / weights.sum(axis=-1, keepdims=True), first.means, first.covariances)


def _single(fit: LocalFit, at: int) -> LocalFit:
    place = slice(at, at + 1)
    return LocalFit(
        fit.mixture[place], fit.penalised[place], fit.iterations[place], fit.converged[place], fit.histories[place]
    )


def _joined(fits: Sequence[LocalFit]) -> LocalFit:
    return LocalFit(
        Mixture(*(np.concatenate([getattr(fit.mixture, name) for fit in fits]) for name in _FIELDS)),
        np.concatenate([fit.penalised for fit in fits]),
        np.concatenate([fit.iterations for fit in fits]),
        np.concatenate([fit.converged for fit in fits]),
        tuple(history for fit in fits for history in fit.histories),
    )


_FIELDS = ("weights", "means", "covariances")
_FITS = Remembered[LocalFit](most=4096)  # by machine: its fit does not depend on which others are fitted with it
