"""The 40 tasks of Czyż et al. (2023), and tasks of our own: draws with a known mutual information.

The definitions are those of Czyż, Grabowski, Vogt, Beerenwinkel and Marx, *Beyond Normal: On the Evaluation of Mutual
Information Estimators*, NeurIPS 2023, section 3 and appendix B. The information is invariant under a one-to-one
transform of either side, which is why all of them have it in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, ndtr

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]
Map = Callable[[Array], Array]


@dataclass(frozen=True)
class Task:
    """Pairs (x, y) whose information is known.

    Attributes
    ----------
    name, family : str
    truth : float
        I(X; Y) in nats; ``inf`` where a share of the rows of x can be read off y exactly.
    draw : function
        ``draw(rng, n)`` gives x (n, dx) and y (n, dy).
    """

    name: str
    family: str
    truth: float
    draw: Draw

    def transformed(self, name: str, family: str, of_x: Map, of_y: Map | None = None) -> Task:
        """The same information, seen through one-to-one maps of rows (n, d)."""

        def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
            x, y = self.draw(rng, n)
            return of_x(x), (of_y or of_x)(y)

        return Task(name, family, self.truth, draw)


def gaussian_information(covariance: Array, dx: int) -> float:
    """I of the first ``dx`` and the other coordinates: ½ ln(det Σ_x det Σ_y / det Σ)."""
    parts = covariance[:dx, :dx], covariance[dx:, dx:], covariance
    in_x, in_y, together = (float(np.linalg.slogdet(part)[1]) for part in parts)
    return 0.5 * (in_x + in_y - together)


def student_entropy(d: int, dof: float) -> float:
    """Differential entropy of a d-variate Student distribution with unit dispersion.

    Arellano-Valle, Contreras-Reyes and Genton, Scandinavian Journal of Statistics 40 (2013), equation (7).
    """
    half = 0.5 * (dof + d)
    log_constant = gammaln(0.5 * dof) - gammaln(half) + 0.5 * d * math.log(dof * math.pi)
    return float(log_constant + half * (digamma(half) - digamma(0.5 * dof)))


def normal(name: str, family: str, covariance: Array, dx: int) -> Task:
    """A multivariate normal distribution, split after ``dx`` coordinates."""
    lower = np.linalg.cholesky(covariance)

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        both = rng.standard_normal((n, len(covariance))) @ lower.T
        return both[:, :dx], both[:, dx:]

    return Task(name, family, gaussian_information(covariance, dx), draw)


def dense(d: int, correlation: float = 0.5) -> Task:
    """All 2d coordinates correlated with one another."""
    covariance = (1 - correlation) * np.eye(2 * d) + correlation
    return normal(f"Multinormal {d} × {d} (dense)", "normal, dense", covariance, d)


def two_pairs(d: int, correlation: float = 0.8) -> Task:
    """Two pairs of coordinates that correlate; all others stand alone."""
    covariance = np.eye(2 * d)
    for pair in (0, 1):
        covariance[pair, d + pair] = covariance[d + pair, pair] = correlation
    return normal(f"Multinormal {d} × {d} (2-pair)", "normal, sparse", covariance, d)


def student(d: int, dof: int, correlation: float = 0.0) -> Task:
    """A multivariate Student distribution; the common scale is informative even where nothing correlates."""
    covariance = (1 - correlation) * np.eye(2 * d) + correlation
    base = normal("", "", covariance, d)

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, y = base.draw(rng, n)
        scale = np.sqrt(dof / rng.chisquare(dof, (n, 1)))
        return x * scale, y * scale

    truth = base.truth + 2 * student_entropy(d, dof) - student_entropy(2 * d, dof)
    return Task(f"Student-t {d} × {d} (dof = {dof})", "Student", truth, draw)


def additive(width: float) -> Task:
    """x uniform on [0, 1], y = x plus noise that is uniform on [−width, width]."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = rng.uniform(size=(n, 1))
        return x, x + rng.uniform(-width, width, (n, 1))

    truth = 0.25 / width if width > 0.5 else width - math.log(2 * width)
    return Task(f"Uniform 1 × 1 (additive noise = {width:g})", "1-D", truth, draw)


def half_cube(x: Array) -> Array:
    """x √|x|: longer tails."""
    return x * np.sqrt(np.abs(x))


def swiss_roll(u: Array) -> Array:
    """[0, 1] rolled up in the plane: (n, 1) to (n, 2)."""
    t = 1.5 * np.pi * (1 + 2 * u)
    return np.hstack([t * np.cos(t), t * np.sin(t)]) / 21


def spiral(i: int, j: int) -> Map:
    """Coordinates i and j turned by an angle of ‖x‖²/d."""

    def turn(x: Array) -> Array:
        angle = (x**2).sum(axis=1) / x.shape[1]
        turned = x.copy()
        turned[:, i] = np.cos(angle) * x[:, i] - np.sin(angle) * x[:, j]
        turned[:, j] = np.sin(angle) * x[:, i] + np.cos(angle) * x[:, j]
        return turned

    return turn


def _wiggly_x(x: Array) -> Array:
    return np.asarray(x + 0.4 * np.sin(x) + 0.2 * np.sin(1.7 * x + 1) + 0.03 * np.sin(3.3 * x - 2.5))


def _wiggly_y(x: Array) -> Array:
    return np.asarray(x - 0.4 * np.sin(0.4 * x) + 0.17 * np.sin(1.3 * x + 3.5) + 0.02 * np.sin(4.3 * x - 2.5))


def _two_humps(share: float, first: float, second: float) -> Map:
    """The quantile function of a mixture of two normal distributions, of a normal score."""
    grid = np.linspace(-12, 12, 48_001)
    cdf = share * ndtr(grid - first) + (1 - share) * ndtr(grid - second)
    return lambda x: np.interp(ndtr(x), cdf, grid)


def beyond_normal() -> list[Task]:
    """The 40 tasks of the benchmark, in its order."""
    pair = normal("Bivariate normal 1 × 1", "1-D", np.array([[1.0, 0.75], [0.75, 1.0]]), 1)
    cauchy = student(1, 1)
    sparse = {d: two_pairs(d) for d in (2, 3, 5, 25)}
    tailed = {(d, dof): student(d, dof) for d, dof in ((2, 1), (2, 2), (3, 2), (3, 3), (5, 2), (5, 3))}
    bent = [(sparse[d], d) for d in (3, 5, 25)]
    at_x, at_y = spiral(0, 1), spiral(1, 2)
    return [
        pair,
        pair.transformed("Uniform 1 × 1", "1-D", ndtr),
        additive(0.1),
        additive(0.75),
        pair.transformed("Bimodal 1 × 1", "1-D", _two_humps(0.3, 0, 5), _two_humps(0.5, -1, 3)),
        pair.transformed("Wiggly 1 × 1", "1-D", _wiggly_x, _wiggly_y),
        pair.transformed("Half-cube 1 × 1", "1-D", half_cube),
        cauchy,
        cauchy.transformed("Asinh @ Student-t 1 × 1 (dof = 1)", "Student", np.arcsinh),
        pair.transformed("Swiss roll 2 × 1", "embedding", lambda x: swiss_roll(ndtr(x)), ndtr),
        *(dense(d) for d in (2, 3, 5, 25, 50)),
        *sparse.values(),
        *tailed.values(),
        *(task.transformed(f"Normal CDF @ {task.name}", "normal cdf", ndtr) for task, _ in bent),
        *(task.transformed(f"Half-cube @ {task.name}", "half-cube", half_cube) for task, _ in bent),
        *(task.transformed(f"Spiral @ {task.name}", "spiral", at_x, at_y) for task, _ in bent),
        *(
            task.transformed(
                f"Spiral @ Normal CDF @ {task.name}", "spiral", lambda x: at_x(ndtr(x)), lambda y: at_y(ndtr(y))
            )
            for task, _ in bent
        ),
        *(
            tailed[key].transformed(f"Asinh @ {tailed[key].name}", "Student", np.arcsinh)
            for key in ((2, 1), (3, 2), (5, 2))
        ),
    ]
