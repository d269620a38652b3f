"""Directions to search, and exact worst cases, that follow from how rules are built.

All points are in units of the honest spread from the honest mean: ``cloud`` (h, p) is the honest messages.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from secmix._base.checks import Array
from secmix._base.stable_order import oriented
from secmix.adversaries.against_rules.oracle import Oracle
from secmix.adversaries.against_rules.ties import above, in_order

PER_COORDINATE = np.geomspace(0.05, 3.0, 14)[1:]
"""Offsets tried in every coordinate at once, in units of that coordinate's largest honest deviation; besides 10⁴."""
FINER = (0.12, 0.05, 0.02, 0.008, 0.003)
"""Then these relative steps about the best of each coordinate."""


def basis(cloud: Array, rng: np.random.Generator, *, most: int) -> Array:
    """Compute orthonormal rows (d, p) that span the honest messages and three random directions.

    For a rule that turns with its messages (orthogonally equivariant) an optimum of identical messages lies
    there: what is orthogonal to the honest span only counts through its length.
    """
    p = cloud.shape[1]
    _, sizes, rows = np.linalg.svd(cloud, full_matrices=False)
    span = oriented(rows[: min(int((sizes > 1e-9 * max(float(sizes[0]), 1e-300)).sum()), most)])
    count = min(3, p - len(span))
    if count <= 0:
        return span
    more = rng.standard_normal((count, p))
    more -= (more @ span.T) @ span
    return np.concatenate([span, np.linalg.qr(more.T)[0].T])


def pulls(cloud: Array, f: int, rng: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """Yield unit directions worth a line search, the most promising first.

    Rules that choose messages near each other (Krum, Multi-Krum, Bulyan, MDA) are led astray by colluders who sit
    beside a group S of honest messages that is itself off centre: towards mean(S), for S the k furthest along
    some direction.
    """
    h, p = cloud.shape
    _, _, rows = np.linalg.svd(cloud, full_matrices=False)
    first = oriented(rows[:2])
    seeds = [*first, *-first, *cloud[in_order(-np.linalg.norm(cloud, axis=1))[:3]]]
    seeds += list(rng.standard_normal((1, p)))
    for k in dict.fromkeys((max(h - f - 1, 1), max(h // 2, 1), 1)):
        for seed in seeds:
            along = seed
            for _ in range(3):
                along = cloud[in_order(-(cloud @ along))[:k]].mean(axis=0)
            if np.linalg.norm(along) > 1e-9:
                yield f"towards a group of {k}", along / np.linalg.norm(along)


def coordinate_by_coordinate(oracle: Oracle) -> None:
    """Search for the worst case of a rule that treats every coordinate by itself, all coordinates at once.

    Each evaluation tries one offset in every coordinate; the best of each is then put together. For the
    coordinate-wise median and trimmed mean the result is monotone in every message, so that all colluders far up
    or all far down in each coordinate is the exact worst case.
    """
    reach = np.abs(oracle.cloud).max(axis=0)
    reach = np.where(reach > 0, reach, max(float(reach.max()), 1.0))
    ahead = np.arange(oracle.f)[:, None] < (oracle.f + 1) // 2
    patterns = {"coordinate by coordinate": np.ones((oracle.f, 1))}
    if oracle.f > 1:
        patterns["coordinate by coordinate, on two sides"] = np.where(ahead, 1.0, -1.0)
    for found_by, pattern in patterns.items():
        best, offset = np.full(len(reach), -1.0), np.zeros(len(reach))

        def improve(*candidates: Array, pattern: Array = pattern, best: Array = best, offset: Array = offset) -> None:
            """Try offsets of all coordinates independently, and keep the best of each."""
            shifts = _moved(oracle, np.stack([pattern * candidate for candidate in candidates]), found_by)  # noqa: B023
            for errors, candidate in zip(shifts, candidates, strict=True):
                better = above(errors, best)
                best[better], offset[better] = errors[better], candidate[better]

        improve(1e4 * reach, -1e4 * reach)  # from afar, and about it; then from nearby, and about the best
        for factor in (1 + FINER[1], 1 - FINER[1]):
            improve(offset * factor)
        improve(*(sign * step * reach for step in PER_COORDINATE for sign in (1.0, -1.0)))
        for factor in (1 + sign * step for step in FINER for sign in (1.0, -1.0)):
            improve(offset * factor)
        oracle(pattern * offset, found_by)


def _moved(oracle: Oracle, zs: Array, found_by: str) -> Array:
    """Measure |rule − mean| in each coordinate (k, p); −1 where the rule refuses, which is never an improvement."""
    tried = oracle.tried(zs)
    oracle.note(tried, zs, found_by)
    shifts = np.abs(tried.shifts)
    return np.where(np.isfinite(shifts).all(axis=1, keepdims=True), shifts, -1.0)


def geometric_median_exactly(oracle: Oracle, rng: np.random.Generator) -> None:
    """Send the exact worst case, from where it lies and from afar."""
    cloud = oracle.cloud
    rows = oriented(np.linalg.svd(cloud, full_matrices=False)[2][:3])
    directions = np.concatenate([rows, -rows, cloud, rng.standard_normal((2, cloud.shape[1]))])
    point = geometric_median_worst(cloud, oracle.f, directions)
    if point is None:
        return
    found_by = "where the geometric median's optimality condition just holds"
    everybody = np.ones((oracle.f, 1))
    oracle.errors_of(np.stack([everybody * ((1 - shrink) * point) for shrink in (0.0, 1e-12, 1e-9, 1e-6)]), found_by)
    apart = point - cloud
    length = np.linalg.norm(apart, axis=1)
    if (length > 0).all():
        force = (apart / length[:, None]).sum(axis=0)
        unit = force / np.linalg.norm(force)
        oracle.errors_of(np.stack([everybody * (point + distance * unit) for distance in (1.0, 1e2, 1e4)]), found_by)


def geometric_median_worst(cloud: Array, f: int, directions: Array) -> Array | None:
    """Find the furthest point that f colluders can make the geometric median of h > f honest messages: b (p,).

    f messages at b make b the geometric median exactly when ‖Σ_i (b − x_i)/‖b − x_i‖‖ <= f (Vardi and Zhang 2000),
    and no messages can move it where this fails, since each of them pulls with at most force 1. So the worst case is
    the largest ‖b‖ under that inequality. It is found by gradient ascent from each of ``directions``.
    """
    h = len(cloud)
    if f >= h:
        return None
    rows = np.linalg.svd(cloud, full_matrices=False)[2]
    flat = cloud @ rows.T  # the same distances in at most h coordinates
    best: Array | None = None
    for direction in directions @ rows.T:
        if np.linalg.norm(direction) < 1e-9:
            continue
        along = minimize(_reach, direction, args=(flat, f), jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
        unit = along / np.linalg.norm(along)
        point = reach_along(unit, flat, f) * unit
        if best is None or np.linalg.norm(point) > np.linalg.norm(best):
            best = point
    return None if best is None else np.asarray(best @ rows)


def _force(point: Array, cloud: Array) -> tuple[Array, Array]:
    """Compute Σ (b − x_i)/‖b − x_i‖ and its Jacobian, for b away from the data points."""
    apart = point - cloud
    length = np.maximum(np.linalg.norm(apart, axis=1), 1e-12)
    units = apart / length[:, None]
    jacobian = (1 / length).sum() * np.eye(len(point)) - (units / length[:, None]).T @ units
    return units.sum(axis=0), jacobian


def reach_along(unit: Array, cloud: Array, f: int) -> float:
    """Find the largest t at which f colluders hold the geometric median at t·unit, along a ray.

    Beyond t = R h/√(h² − f²), R the largest honest distance, the pull back exceeds f (the bound's proof). Within,
    ever finer grids close in on the last point where they do. Data points on the ray, where the force jumps, are
    tried as they are.
    """
    h = len(cloud)
    square = (cloud**2).sum(axis=1)
    largest = float(np.sqrt(square.max()))
    along = cloud @ unit
    across = np.maximum(square - along**2, 0.0)
    touching = across <= 1e-24 * largest**2

    def stays(t: Array) -> NDArray[np.bool_]:
        length = np.sqrt((t[:, None] - along) ** 2 + across)
        near = length <= 1e-12 * largest
        weights = np.where(near, 0.0, 1 / np.where(near, 1.0, length))
        forces = (weights.sum(axis=1) * t)[:, None] * unit - weights @ cloud
        return np.asarray(np.linalg.norm(forces, axis=1) <= f + near.sum(axis=1))

    low, high = 0.0, largest * h / np.sqrt(h * h - f * f) * (1 + 1e-9)
    for _ in range(8):
        grid = np.linspace(low, high, 33)
        holds = np.flatnonzero(stays(grid))
        if not len(holds):
            break
        last = int(holds[-1])
        low, high = float(grid[last]), float(grid[min(last + 1, 32)])
    at = along[touching & (along > low)]
    if len(at):
        low = max(low, float(np.max(at, where=stays(at), initial=low)))
    return low


def _reach(direction: Array, cloud: Array, f: int) -> tuple[float, Array]:
    """Compute −t, the furthest point along ``direction``, and its gradient by the implicit function theorem."""
    size = float(np.linalg.norm(direction))
    unit = direction / size
    t = reach_along(unit, cloud, f)
    force, jacobian = _force(t * unit, cloud)
    slope = jacobian @ force  # half the gradient of ‖force‖²
    rise = float(slope @ unit)
    if abs(rise) < 1e-9 * float(np.linalg.norm(slope)) or t == 0.0:
        return -t, np.zeros_like(direction)
    by_unit = -t * slope / rise
    return -t, -(by_unit - (by_unit @ unit) * unit) / size
