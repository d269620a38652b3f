"""The worst basis that colluders can agree on: a search on the Grassmannian, and the worst case that is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.against_rules.cma_es import evolve
from secmix.adversaries.against_rules.ties import above, in_order
from secmix.aggregators.subspace_rules import orthonormal, subspace_distance, subspace_median
from secmix.errors import DataError, SecmixError

_STEPS = np.concatenate([np.linspace(0.5, 4.0, 15), [5.0, 7.0, 10.0, 15.0, 22.0]])  # of the honest spread


def consensus(honest: Array) -> Array:
    """Compute the basis (n, r) of least Σ SD_F² from the honest ones (h, n, r): singular vectors side by side."""
    return np.asarray(
        np.linalg.svd(np.hstack([orthonormal(u) for u in honest]), full_matrices=False)[0][:, : honest.shape[2]]
    )


@dataclass(frozen=True)
class WorstBasis:
    """The worst that a search found."""

    messages: Array  # (f, n, r)
    error: float  # SD_F(U*, U_out)
    spread: float  # δ, the largest SD_F of an honest basis from U*
    tries: int

    @property
    def constant(self) -> float:
        """SD_F(U*, U_out)/δ."""
        return self.error / self.spread


def worst_basis(
    honest: Array, f: int, rng: np.random.Generator, *, truth: Array | None = None, budget: int = 600
) -> WorstBasis:
    """Search for the common basis of f colluders that takes the Subspace Median farthest from U*.

    The colluders know every honest basis. They walk from U* along geodesics, towards and away from honest bases, from
    their mean, and in random directions, as far as their basis is still the one returned; then CMA-ES turns the best
    direction within the span of all of these. Among the random ones is one off all honest tangents: beyond their span a
    tangent only counts through its length.

    Parameters
    ----------
    honest : (h, n, r)
    f : int
        At least 1 and below h.
    rng : Generator
    truth : (n, r), optional
        U*; by default what the honest bases agree on (:func:`consensus`).
    budget : int
        About how many Subspace Medians may be computed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> near = np.eye(5)[:, :2] + 0.05 * rng.standard_normal((6, 5, 2))
    >>> 1.0 < worst_basis(near, 2, rng, truth=np.eye(5)[:, :2], budget=200).constant < 2.0
    True
    """
    f = integer(f, "f")
    if f >= len(honest):
        raise SecmixError(f"{f} colluders among {len(honest) + f} nodes are not a minority; the search needs f < h")
    good = np.stack([orthonormal(u) for u in honest])
    target = consensus(good) if truth is None else orthonormal(truth, "truth")
    spread = max(subspace_distance(target, u) for u in good)
    if spread == 0.0 or target.shape[0] == target.shape[1]:
        raise DataError("the honest bases all span U*: give bases that differ, as errors are measured in their spread")
    search = _Search(good, f, target, spread)
    directions = list(_tangents(good, target, rng))
    reached = []
    for k, direction in enumerate(directions):
        if k >= 2 and search.tries >= budget:
            break
        reached.append((search.reach(direction), k))
    ranked = sorted(reached, reverse=True)
    axes = np.stack([directions[k] for _, k in ranked[:12]])
    start = np.zeros(len(axes))
    start[0] = max(ranked[0][0], 1.0)

    def score(x: Array) -> float:
        error, chosen = search.at(np.tensordot(x, axes, 1) * spread)
        return error if chosen else error - spread * float(np.linalg.norm(x - start))  # back to where it is chosen

    if search.tries < budget and len(axes) > 1:
        evolve(score, start, 0.2, budget - search.tries, rng)
    return WorstBasis(repeated(search.best, f), search.error, spread, search.tries)


def tightest(n: int, r: int, h: int, f: int, delta: float) -> tuple[Array, Array, Array]:
    """Construct bases that attain √(2(1 − τ)/(1 − 2τ)) δ as δ → 0: U* (n, r), honest (h, n, r), Byzantine (f, n, r).

    From the proof in ``secmix.aggregators.subspace_rules.median``: with s = f/h and g = 1/√(2(1 − s)), the honest lie
    at (g, 0) + g(−s, ±√(1 − s²)), at distance 1 from U* = (0, 0), the colluders all at (2g, 0), a little nearer. The
    geometric median is then (g, 0), and all are equally far from it. Where h is even the pulls across cancel. ``n``,
    ``r``: n at least r + 2: the tangent plane is spanned by turns of the first axis of U* towards two further ones;
    ``h``, ``f``: h even, f below h; ``delta``: the honest bases' SD_F from U*; 2 g δ must stay below 1.
    """
    if h % 2 or not 1 <= f < h or n < r + 2:
        raise SecmixError(f"needs h even, 1 <= f < h and n >= r + 2; given h = {h}, f = {f}, n = {n}, r = {r}")
    s = f / h
    g = 1 / math.sqrt(2 * (1 - s))
    if not 0 < 2 * g * delta < 1:
        raise SecmixError(
            f"2 g delta = {2 * g * delta:.3g} is the sine of an angle: choose delta below {1 / (2 * g):.3g}"
        )
    across = g * math.sqrt(1 - s * s)
    plane = np.array([[g * (1 - s), across if k % 2 else -across] for k in range(h)])
    sent = np.tile([2 * g * (1 - 1e-4 - delta), 0.0], (f, 1))

    def basis(point: Array) -> Array:
        turned = np.eye(n)[:, :r]
        turned[0, 0] = math.sqrt(1 - float(point @ point))
        turned[r : r + 2, 0] = point
        return turned

    return np.eye(n)[:, :r], np.stack([basis(delta * x) for x in plane]), np.stack([basis(delta * x) for x in sent])


class _Search:
    """Tries a common basis of the colluders; remembers the worst."""

    def __init__(self, honest: Array, f: int, target: Array, spread: float) -> None:
        self.honest, self.f, self.target, self.spread = honest, f, target, spread
        self.tries, self.error, self.best = 0, -1.0, target

    def at(self, tangent: Array) -> tuple[float, bool]:
        """Try the basis at the end of ``tangent`` (n, r): SD_F of the result, and whether that basis is the result."""
        self.tries += 1
        sent = geodesic(self.target, tangent)
        median = subspace_median(np.concatenate([self.honest, repeated(sent, self.f)]))
        error = subspace_distance(self.target, median.basis)
        if above(error, self.error):
            self.error, self.best = error, sent
        return error, median.index >= len(self.honest)

    def reach(self, direction: Array) -> float:
        """Measure how far along a unit tangent, in units of the spread, the colluders' basis is still chosen."""
        chosen = [
            step for step in _STEPS if step * self.spread < math.pi / 2 and self.at(direction * step * self.spread)[1]
        ]
        if not chosen:
            return 0.0
        low = max(chosen)
        high = 1.3 * low
        for _ in range(6):
            middle = (low + high) / 2
            low, high = (middle, high) if self.at(direction * middle * self.spread)[1] else (low, middle)
        return float(low)


def geodesic(start: Array, tangent: Array) -> Array:
    """Follow the turn ``tangent`` (n, r), startᵀ tangent = 0, from the basis ``start`` (n, r) to another (n, r).

    With tangent = Q Θ Wᵀ it is (start W cos Θ + Q sin Θ) Wᵀ: angles Θ, in radians, towards Q.
    """
    q, angles, w = np.linalg.svd(tangent, full_matrices=False)
    return orthonormal((start @ w.T * np.cos(angles) + q * np.sin(angles)) @ w)


def _tangents(honest: Array, target: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Yield unit directions (n, r) at U*: to and from each honest basis, their mean, off all of them, random."""
    towards = []
    for u in honest:
        inner = target.T @ u
        left = u - target @ inner
        rotation = np.linalg.svd(inner)
        towards.append(left @ (rotation[2].T @ rotation[0].T))  # in the basis of U* that is nearest to the identity
    cloud = np.stack(towards)
    candidates = [cloud.mean(axis=0), *cloud[in_order(-np.linalg.norm(cloud, axis=(1, 2)))][:6]]
    flat = cloud.reshape(len(cloud), -1)
    sizes, span = np.linalg.svd(flat, full_matrices=False)[1:]
    candidates += [row.reshape(target.shape) for row in span[:4]]
    random = rng.standard_normal((3, *target.shape))
    random -= target @ (target.T @ random)
    candidates += list(random[:2])
    # Off all honest tangents, where there is such a direction: none of them pulls along it, wherever they lie.
    off, span = random[2].ravel(), span[sizes > 1e-9 * sizes[0]]
    off = off - span.T @ (span @ off)
    if np.linalg.norm(off) > 1e-6 * np.linalg.norm(random[2]):
        candidates.insert(0, off.reshape(target.shape))
    for x in candidates:
        size = float(np.linalg.norm(x))
        if size > 1e-12:
            yield x / size
            yield -x / size


def repeated(message: Array, f: int) -> Array:
    """Repeat the message (n, r) for all f: (f, n, r)."""
    return np.tile(message, (f, 1, 1))
