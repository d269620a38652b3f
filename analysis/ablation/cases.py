"""Draws with a known truth on which one safeguard of KSG was found to be needed: copies, functions, edges, few rows.

They come from the tests of `ksg`, and stand beside the tasks of the study of information.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from analysis.information.tasks import Array, Draw, Task, student

Sum = Callable[[np.random.Generator, int], tuple[Array, Array]]


def _exponentials(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, e = rng.exponential(size=(2, n, 1))
    return x, x + e


def _uniforms(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, e = rng.uniform(size=(2, n, 1))
    return x, x + e


def _normals(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, e = rng.standard_normal((2, n, 1))
    return x, 0.6 * x + 0.8 * e


SUMS: dict[str, Sum] = {"exponentials": _exponentials, "uniforms": _uniforms, "normals": _normals}


def _copied(of: Sum, copy: Callable[[Array], Array], noise: float = 0.0, share: float = 0.02) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, y = of(rng, n)
        return x, np.where(rng.uniform(size=(n, 1)) < share, copy(x) + noise * rng.standard_normal((n, 1)), y)

    return draw


def _quotient(columns: int) -> Draw:
    """Draw x against (a, a x) and columns of noise: a function of y that is not linear."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, a, noise = rng.standard_normal((n, 1)), rng.uniform(size=(n, 1)), rng.standard_normal((n, columns))
        return x, np.hstack([a, a * x, noise])

    return draw


def _square(columns: int) -> Draw:
    """Draw x against x² and columns of noise: the sign is open, and all else is known."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = rng.standard_normal((n, 1))
        return x, np.hstack([x**2, rng.standard_normal((n, columns))])

    return draw


def _masked(sigma: float) -> Draw:
    """Draw x against x + mask and the mask."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, mask = rng.standard_normal((2, n, 1))
        return x, np.hstack([x + sigma * mask, sigma * mask])

    return draw


def _combination(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, noise = rng.standard_normal((n, 3)), rng.standard_normal((n, 1))
    return x, np.hstack([x[:, :1] - 2 * x[:, 1:2], noise])


def _moments(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.standard_normal((n, 3))
    return x[:, :1], np.column_stack([x.sum(axis=1), (x**2).sum(axis=1)])


def _dealt(values: int, sigma: float) -> Task:
    """Rows of a finite data set, dealt again and again, and noise: the entropy of their mixture less the noise's."""
    atoms = np.random.default_rng(21).standard_normal(values)
    grid = np.linspace(atoms.min() - 8 * sigma, atoms.max() + 8 * sigma, 4000)
    density = norm.pdf(grid[:, None], atoms, sigma).mean(axis=1)
    inside = density > 0
    entropy = -np.trapezoid(density[inside] * np.log(density[inside]), grid[inside])

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = atoms[rng.integers(values, size=(n, 1))]
        return x, x + sigma * rng.standard_normal((n, 1))

    return Task(f"{values} rows dealt, noise of {sigma:g}", "", float(entropy - norm.entropy(scale=sigma)), draw)


def _distinct(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Twenty rows in four dimensions that lie far apart, and little noise: which of them it is is known."""
    x = np.random.default_rng(22).standard_normal((20, 4))[rng.integers(20, size=n)]
    return x, x + 0.05 * rng.standard_normal(x.shape)


def _redrawn(values: int, share: float) -> Task:
    """One of some values, drawn anew in a share of the rows."""
    same, other = 1 - share + share / values, share / values

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, y = rng.integers(values, size=(2, n, 1)).astype(float)
        return x, np.where(rng.uniform(size=(n, 1)) < share, y, x)

    truth = math.log(values) + same * math.log(same) + (values - 1) * other * math.log(other)
    return Task(f"{values} values, {share:.0%} drawn anew", "", truth, draw)


def _few_atoms(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Five rows that lie apart, and little noise."""
    x = np.linspace(-2, 2, 5)[rng.integers(5, size=(n, 1))]
    return x, x + 0.05 * rng.standard_normal(x.shape)


def _strangers(features: int) -> Draw:
    return lambda rng, n: (rng.standard_normal((n, 1)), rng.standard_normal((n, features)))


def _sum_in(d: int) -> Task:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, e = rng.standard_normal((2, n, d))
        return x, 0.7 * x + e

    return Task(f"x and 0.7 x + e, {d} + {d}", "", 0.5 * d * math.log1p(0.49), draw)


def _bits(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, y = rng.integers(2, size=(2, n, 1)).astype(float)
    return x, y


def cases() -> list[tuple[Task, int]]:
    """Return the tasks, each with its number of rows."""
    copies = [
        (Task(f"Copies by {name} in 2 % of a sum of {kind}", "", math.inf, _copied(of, copy)), 2000)
        for kind, of in SUMS.items()
        for name, copy in (("x", lambda x: x), ("1.5 − 2 x", lambda x: 1.5 - 2 * x))
    ]
    near = _copied(_exponentials, lambda x: x, math.sqrt(2) * math.exp(-6), 0.05)
    functions = [
        *(Task(f"x = (a x) / a, {columns} columns beside", "", math.inf, _quotient(columns)) for columns in (0, 3, 20)),
        *(Task(f"x² and {columns} columns", "", math.inf, _square(columns)) for columns in (0, 3, 7)),
        *(Task(f"A mask of {sigma:g} that is seen", "", math.inf, _masked(sigma)) for sigma in (100.0, 1e6)),
        Task("One combination of three", "", math.inf, _combination),
        Task("A copy in other units", "", math.inf, lambda rng, n: (lambda x: (x, 1 - 3 * x))(rng.normal(size=(n, 1)))),
    ]
    return [
        *copies,
        (Task("6 nats in 5 % of a sum of exponentials", "", 0.65, near), 2000),
        (Task("Sum of uniforms", "", 0.5, _uniforms), 2000),
        *((task, n) for task in functions for n in (300, 1000)),
        (Task("Sum and sum of squares of three", "", 1.1121, _moments), 2000),
        *((_dealt(100, sigma), 2000) for sigma in (0.1, 1.0)),
        (Task("Twenty rows, little noise", "", math.log(20), _distinct), 2000),
        (Task("Five rows, little noise", "", math.log(5), _few_atoms), 2000),
        *((_redrawn(values, share), 1000) for values, share in ((2, 0.1), (4, 0.3), (10, 0.9), (50, 0.5))),
        *((student(2, dof), 500) for dof in (1, 2)),
        *((Task(f"Independent, {p} features", "", 0.0, _strangers(p)), n) for p, n in ((1, 30), (60, 100), (12, 1000))),
        *((_sum_in(d), 1000) for d in (2, 3, 6)),
        (Task("Independent bits", "", 0.0, _bits), 500),
    ]
