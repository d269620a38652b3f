"""From sums of EM statistics to the rows behind them.

Secure summation and subspace perturbation let an adversary see sums over honest nodes and nothing else. But the mixture
of every round is public, and so each round gives the adversary s^t = Σ_i φ(x_i; θ^t): equations in the honest rows.
Solving them yields the rows up to their order: who owns which row stays hidden, the rows do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.adversaries.inversion.certificate import (
    NOISIEST,
    USEFUL,
    Solution,
    agreeing,
    are_same_rows,
    fit,
    likeliest,
    misfits,
    rivals,
)
from secmix.adversaries.inversion.coordinates import Problem, plane_of, standard_of
from secmix.adversaries.inversion.equations import rounds_needed
from secmix.adversaries.inversion.hops import hop, parents
from secmix.adversaries.inversion.input import checked, distinct_rounds, numbers
from secmix.adversaries.inversion.solver import FINEST, SCHEDULES, basis, solve
from secmix.adversaries.inversion.starts import draw_starts, rounding, samples
from secmix.mixture import Mixture

__all__ = ["Inversion", "invert_sums", "rounds_needed"]

Status = Literal["determined", "underdetermined", "inconclusive"]

# Starts in a batch, and derivatives at all of them; where one start has many, the first few are tried by themselves.
_BATCH, _DERIVATIVES = 32, 1_600_000
_POLISHED = 8
# Hops in a batch; and batches of hops for each batch of new starts, once two of these are made.
_HOPPING = 16
_HOPS = 6
# This many solutions that fit, none of them certain: the sums do not pin the rows down in double precision.
_ENOUGH = 8
# Derivatives of all sums that fit into memory, and steps on all sums from rows that were found in a plane.
_DENSE, _STEPS = 15_000_000, 12
# Numbers that the sums must hold beyond the unknowns for a small residual to prove anything.
_SPARE = 2


@dataclass(frozen=True)
class Inversion:
    """The rows that follow from the sums, and how certain they are.

    Attributes
    ----------
    rows : (h, d)
        The rows in order of their first column, which says nothing of who owns them. The best guess if not certified;
        NaN where the sums were too few to try.
    residual : float
        Largest misfit of a sum, in coordinates where the rows have covariance I, relative to 1 + Σ_i |φ(x_i)|.
    certified : bool
        True only if every sum fits to 1e-10 (and four times the noise given), the same rows came out of at least two
        independent starts and no other rows did, and ``error`` is below 1e-4.
    status : {"determined", "underdetermined", "inconclusive"}
        Determined: certified. Underdetermined: fewer equations than unknowns, so that infinitely many sets of rows have
        the same sums (single rows may be known all the same: this is no all-clear). Inconclusive: neither.
    rounds_needed : int or inf
        T*, see :func:`rounds_needed`.
    error : float
        Expected largest distance of a row from the true one, in standard deviations of the rows (three standard errors,
        linearised at ``rows``): the noise or the misfit, whichever is larger, times what the sums leave uncertain.
    errors : (h,)
        The same for each row: where components are narrow, some rows are known and others are not.
    starts, agreeing : int
        Starts and hops made, and how many starts, each of its own, ended at ``rows`` and fit.
    condition : float
        Condition number of the Jacobian at ``rows``.
    rank : int
        Directions of the h d unknowns that the sums fix to a tenth of a standard deviation at the noise given.
    notes : tuple of str
        What stood in the way, in words.
    """

    rows: Array
    residual: float
    certified: bool
    status: Status
    rounds_needed: float
    error: float
    errors: Array
    starts: int
    agreeing: int
    condition: float
    rank: int
    notes: tuple[str, ...]


def invert_sums(
    sums: ArrayLike,
    parameters: Sequence[Mixture],
    n_rows: int,
    *,
    rng: np.random.Generator | int | None = None,
    noise: ArrayLike = 0.0,
    starts: int = 768,
    noisiest: float = NOISIEST,
) -> Inversion:
    """Find the rows whose EM statistics have these sums.

    Parameters
    ----------
    sums : (T, c, q)
        T rounds, c components, q = 1 + d + d(d+1)/2: Σ_i of P_j, of P_j x, and of the upper triangle, row by row, of
        P_j (x−μ_j)(x−μ_j)ᵀ with μ_j of the same round (old-mean centring).
    parameters : T mixtures
        θ^t under which the statistics of round t were computed.
    n_rows : int
        h, how many rows are in the sums.
    rng : Generator, int or None
        Where the starts come from. The same seed gives the same result.
    noise : float, or array that broadcasts to (T, c, q)
        Absolute error of each sum, one standard deviation, in the sums' own units, on top of float64 rounding: for PDMM
        its float error, for a fixed-point grid g / √12.
    starts : int
        Starts and hops at most.
    noisiest : float
        Sums with more error than this share of their scale are never certified; ``error`` then says how far off the
        rows can be. An audit, which can compare the rows with the truth, needs no such caution.

    Raises
    ------
    DataError
        The sums are not finite or have another shape than the parameters say, or count another number of rows.

    Notes
    -----
    Levenberg-Marquardt with the analytic Jacobian from starts drawn from the last θ and given the rows' own mean and
    covariance, which the sums reveal because Σ_j P_j = 1. One or two rows follow from these moments in closed form.
    Candidates that got stuck are shaken and let down again (basin hopping). Two solutions count as independent only if
    they go back to different starts.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.mixture import local_statistics
    >>> theta = Mixture([0.5, 0.5], [[0.0, 0.0], [2.0, 1.0]], np.repeat(np.eye(2)[None], 2, axis=0))
    >>> rows = np.array([[-1.0, 0.5], [0.3, 0.2], [2.5, 1.0]])
    >>> sums = local_statistics(rows, theta, likelihood=False).reshape(1, 2, 6)
    >>> solution = invert_sums(sums, [theta], 3, rng=0)
    >>> solution.status, solution.rows.round(6).tolist()
    ('determined', [[-1.0, 0.5], [0.3, 0.2], [2.5, 1.0]])
    """
    table, rounds, error = checked(sums, parameters, n_rows, noise)
    integer(starts, "starts", least=2)
    d = rounds[0].n_features
    active = int(np.any([mixture.weights > 0 for mixture in rounds], axis=0).sum())
    distinct = distinct_rounds(rounds)
    needed = rounds_needed(n_rows, d, active)
    if distinct < needed:
        return _too_few(n_rows, d, needed, distinct, len(rounds))
    error = error + rounding(table, rounds, n_rows)
    problem = Problem.of(standard_of(table, rounds, n_rows), table, error, rounds)
    plane = plane_of(table, rounds, n_rows)
    searched = problem if plane is None else Problem.of(plane, table, error, rounds)
    fits, made = _search(searched, rounds[-1], n_rows, np.random.default_rng(rng), starts)
    spare = numbers(distinct, active, d) - n_rows * d
    return _conclude(fits, made, problem, searched, float(problem.noise.max()) > noisiest, needed, spare=spare)


def _search(problem: Problem, last: Mixture, h: int, rng: np.random.Generator, most: int) -> tuple[list[Solution], int]:
    """Fit from batch after batch of starts, until a fit is certain, none can be, or ``most`` starts are made."""
    standard, equations, target, noise = problem.standard, problem.equations, problem.target, problem.noise
    sample_rng, start_rng, hop_rng = rng.spawn(3)
    counts = target.reshape(*equations.means.shape[:2], -1)[-1, :, 0]
    functions = basis(equations, samples(last, standard, 3 * equations.size + 500, sample_rng).T)
    batch_size = min(max(_DERIVATIVES // (equations.size * h * standard.lower.shape[1]), _POLISHED), _BATCH)
    fits: list[Solution] = []
    start_count = batch = drawn = hopped = 0
    while start_count < most:
        stuck, iterations = parents(fits), 300
        if batch % _HOPS and drawn >= 2 and stuck:
            count = min(_HOPPING, most - start_count)
            rows, origin = hop(equations, functions, target, stuck, count, hop_rng)
            iterations, hopped = 200, hopped + 1
        else:
            count = min(batch_size, most - start_count)
            if drawn % 4 < 2:
                first = (target, equations) if start_count == 0 else None
                rows = draw_starts(last, standard, count, h, start_rng, moments=first)
            else:
                rows = draw_starts(last, standard, count, h, start_rng, counts=counts)
            for smoothing, most_steps in SCHEDULES[drawn % len(SCHEDULES)]:
                rows, loss = solve(equations, target, functions.weights(smoothing), rows, most_steps)
            best = np.argsort(loss)[:_POLISHED]
            rows, origin, drawn = rows[best], start_count + best, drawn + 1
        rows, _ = solve(equations, target, functions.weights(FINEST), rows, iterations, orthogonal=True)
        # The likeliest rows, down to where the noise explains the misfit many times over.
        enough = 1e-4 * equations.size
        rows, _ = solve(equations, target, 1 / noise, rows, iterations, orthogonal=True, enough=enough)
        fits += [fit(equations, target, noise, row, int(k)) for row, k in zip(rows, origin, strict=True)]
        start_count, batch = start_count + count, batch + 1
        fitting = likeliest(fits)
        if len({each.start for each in fitting}) >= _ENOUGH or (fitting and _certain(fitting, fits)):
            break
        if hopped >= 2 and _stalled(fits):  # a trap that most starts fall into is left by hops
            break
    return fits, start_count


def _certain(fitting: list[Solution], fits: list[Solution]) -> bool:
    best = min(fitting, key=lambda each: each.error)
    return best.error <= USEFUL and agreeing(best, fits) >= 2 and not rivals(best, fitting)


def _stalled(fits: list[Solution]) -> bool:
    """Check whether start after start ends at the same best rows, and these do not fit: the sums were altered."""
    best = min(fits, key=lambda each: each.misfit)
    there = {each.start for each in fits if each.misfit < 1.001 * best.misfit and are_same_rows(best, each)}
    return not best.consistent and len(there) >= _ENOUGH


def _on_all_sums(best: Solution, searched: Problem, problem: Problem) -> Solution:
    """Judge rows that were searched for in a plane by all sums, after a few more steps where these fit into memory."""
    rows = problem.standard.standardised(searched.standard.rows(best.rows))
    equations, target, noise = problem.equations, problem.target, problem.noise
    if equations.size * rows.size > _DENSE:
        residual, consistent, misfit = misfits(equations.statistics(rows.T).T, target, noise)
        return replace(best, rows=rows, residual=residual, consistent=consistent, misfit=misfit)
    steps = solve(equations, target, 1 / noise, rows[None], _STEPS, orthogonal=True)[0]
    return fit(equations, target, noise, steps[0], best.start)


def _conclude(
    fits: list[Solution],
    start_count: int,
    problem: Problem,
    searched: Problem,
    noisy: bool,
    needed: float,
    *,
    spare: int,
) -> Inversion:
    fitting = likeliest(fits)
    best = min(fitting, key=lambda each: each.error) if fitting else min(fits, key=lambda each: each.residual)
    together = agreeing(best, fits) if best.consistent else 0
    others = rivals(best, fitting)
    if searched.standard.is_plane:
        best = _on_all_sums(best, searched, problem)
    standard, notes = problem.standard, []
    if not best.consistent:
        notes.append(f"no start fits the sums; the best is off by {best.residual:.1e} of their scale")
    elif together < 2:
        notes.append("only one start found these rows")
    if others:
        notes.append("other rows fit the sums as well")
    if noisy:
        notes.append("the sums are too noisy for a certificate")
    if spare < _SPARE:
        notes.append("the sums hold no more numbers than unknowns, so that a small residual proves nothing")
    rows = standard.rows(best.rows)
    order = np.lexsort(rows.T[::-1])
    # Written as float64, a row far from the origin is itself rounded.
    written = np.finfo(np.float64).eps * np.linalg.norm(standard.inverse, 2) * np.abs(rows).max()
    errors = best.errors[order] + written
    if errors.max() > USEFUL:
        notes.append(f"the sums leave rows uncertain by {errors.max():.1e} standard deviations")
    certified = not notes
    return Inversion(
        rows[order],
        best.residual,
        certified,
        "determined" if certified else "inconclusive",
        needed,
        float(errors.max()),
        errors,
        start_count,
        together,
        best.condition,
        best.rank,
        tuple(notes),
    )


def _too_few(h: int, d: int, needed: float, distinct: int, rounds: int) -> Inversion:
    same_theta = "" if distinct == rounds else f" ({distinct} with different parameters)"
    wanted = "no number of rounds" if math.isinf(needed) else f"at least {needed}"
    note = f"{rounds} rounds{same_theta} do not determine {h} rows; {wanted} would"
    nothing, open_ = np.full((h, d), np.nan), np.full(h, np.inf)
    return Inversion(nothing, math.nan, False, "underdetermined", needed, math.inf, open_, 0, 0, math.inf, 0, (note,))
