"""Tasks of our own with a known truth, of the kinds that make estimators read low and sound sure.

Heavy tails, few rows that leak, values that repeat, sharp edges, many dimensions. Where the information has no closed
form it is integrated here.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import quad
from scipy.special import k0e
from scipy.stats import norm

from analysis.information.tasks import Array, Task, dense, half_cube, normal, student, two_pairs

EULER = 0.5772156649015329


def leaking(d: int, share: float, noise: float = 0.0) -> Task:
    """A share of the rows of y copies x (with noise of deviation ``noise``, ρ² = 1 − noise²); others are strangers."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, y = rng.standard_normal((2, n, d))
        hit = rng.uniform(size=n) < share
        copied = x if not noise else math.sqrt(1 - noise**2) * x + noise * rng.standard_normal((n, d))
        return x, np.where(hit[:, None], copied, y)

    exactly = f"{-math.log(noise):.2g} nats each" if noise else "exact"
    truth = _leaking_information(share, noise) if noise and d == 1 else math.inf
    return Task(f"{share:.0%} of rows leak ({exactly}) {d} × {d}", "few rows leak", truth, draw)


def _leaking_information(share: float, noise: float) -> float:
    """E ln(1 − p + p r) under the mixture, r the density ratio of the pairs that leak; by a grid along their ridge."""
    rho = math.sqrt(1 - noise**2)
    x, t = np.linspace(-9, 9, 1801)[:, None], np.linspace(-13, 13, 2601)[None, :]
    y = rho * x + noise * t
    log_ratio = norm.logpdf(t) - math.log(noise) - norm.logpdf(y)
    gain = np.logaddexp(math.log1p(-share), math.log(share) + log_ratio)
    cell = (x[1, 0] - x[0, 0]) * (t[0, 1] - t[0, 0])
    leak = float((norm.pdf(x) * norm.pdf(t) * gain).sum() * cell)
    strangers = float((norm.pdf(x) * norm.pdf(y) * noise * (gain - math.log1p(-share))).sum() * cell)
    return share * leak + (1 - share) * (strangers + math.log1p(-share))


def _few_values(values: int, noise: float) -> Task:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = rng.integers(values, size=(n, 1)).astype(float)
        return x, x + noise * rng.standard_normal((n, 1))

    grid = np.linspace(-10 * noise, values - 1 + 10 * noise, 20_001)
    density = norm.pdf(grid[:, None], np.arange(values), noise).mean(axis=1)
    inside = density > 0
    entropy = -np.trapezoid(density[inside] * np.log(density[inside]), grid[inside])
    return Task(f"{values} values + noise", "values repeat", float(entropy - norm.entropy(scale=noise)), draw)


def _mostly_zero(share: float) -> Task:
    """y = x + e in a share of the rows, else 0: whether it is 0 tells nothing of x."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, e = rng.standard_normal((2, n, 1))
        return x, np.where(rng.uniform(size=(n, 1)) < share, x + e, 0.0)

    return Task(f"y is 0 in {1 - share:.0%} of rows", "values repeat", share * 0.5 * math.log(2), draw)


def _wrapped(width: float) -> Task:
    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x = rng.uniform(size=(n, 1))
        return x, (x + rng.uniform(0, width, (n, 1))) % 1

    return Task(f"Circle, band of {width:g}", "sharp edges", -math.log(width), draw)


def _under(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x = rng.uniform(size=(n, 1))
    return x, x * rng.uniform(size=(n, 1))


def _exponentials(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    x, e = rng.exponential(size=(2, n, 1))
    return x, x + e


def _product() -> Task:
    """y = x e: h(Y) of the density K₀(|y|)/π, less E ln |x| + h(e)."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        x, e = rng.standard_normal((2, n, 1))
        return x, x * e

    def part(y: float) -> float:
        density = float(k0e(y)) * math.exp(-y) / math.pi
        return -density * math.log(density)

    entropy = 2 * (quad(part, 0, 1)[0] + quad(part, 1, 60)[0])
    return Task("Product x e", "1-D", entropy - float(norm.entropy()) + 0.5 * (EULER + math.log(2)), draw)


def light_tailed() -> list[Task]:
    """One dimension each, light tails: what a nearest-neighbour estimate is good at."""
    pairs = [normal(f"Normal, ρ = {r:g}", "light", np.array([[1.0, r], [r, 1.0]]), 1) for r in (0.0, 0.3, 0.6, 0.9)]
    return [
        *pairs,
        Task("Sum of exponentials", "light", EULER, _exponentials),
        pairs[2].transformed("Normal, ρ = 0.6, bent", "light", lambda x: x + 0.5 * np.sin(x), half_cube),
    ]


def own_tasks() -> list[Task]:
    """All but the light-tailed ones."""
    pair = normal("", "", np.array([[1.0, 0.75], [0.75, 1.0]]), 1)
    return [
        student(1, 1, 0.5),
        student(2, 1, 0.3),
        student(1, 3),
        pair.transformed("Log-normal, σ = 2", "heavy tails", lambda x: np.exp(2 * x)),
        pair.transformed("Fifth powers", "heavy tails", lambda x: x**5),
        leaking(1, 0.02),
        leaking(5, 0.02),
        leaking(25, 0.02),
        leaking(1, 0.05, math.exp(-6)),
        leaking(1, 0.1, 0.05),
        _few_values(10, 0.5),
        _mostly_zero(0.5),
        _wrapped(0.3),
        Task("Uniform under x", "sharp edges", EULER, _under),
        _product(),
        two_pairs(10),
        dense(4),
    ]


def strangers() -> list[Task]:
    """Nothing to be found: x and y are independent, in 1, 3 (Cauchy), 5 and 25 dimensions each."""

    def task(d: int, cauchy: bool = False) -> Task:
        def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
            x, y = rng.standard_cauchy((2, n, d)) if cauchy else rng.standard_normal((2, n, d))
            return x, y

        return Task(f"Independent {'Cauchy' if cauchy else 'normal'} {d} × {d}", "independent", 0.0, draw)

    return [task(1), task(3, cauchy=True), task(5), task(25)]
