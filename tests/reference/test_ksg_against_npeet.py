"""`ksg` against npeet-plus, against the formula written out pair by pair, and against closed forms."""

from __future__ import annotations

import math

import npeet_plus
import numpy as np
import pytest
from gaussian_truth import mutual_information_gaussian
from scipy.integrate import dblquad
from scipy.special import digamma

from secmix.errors import DataError
from secmix.estimators import entropy, ksg
from secmix.estimators.neighbours.counts import neighbour_counts


def correlated(seed: int, n: int, dx: int, dy: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    mix = np.eye(dx + dy) + 0.5 * draw.standard_normal((dx + dy, dx + dy))
    both = draw.standard_normal((n, dx + dy)) @ mix
    return both[:, :dx], both[:, dx:]


def npeet(seed: int, *samples: np.ndarray, **options: float) -> float:
    np.random.seed(seed)  # noqa: NPY002  the reference draws its noise from the global generator
    return float(npeet_plus.mi(*samples, **options))


@pytest.mark.parametrize(("n", "dx", "dy"), [(50, 1, 1), (1500, 1, 1), (900, 3, 3), (700, 6, 18), (3000, 2, 1)])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-6])
def test_equals_npeet(n, dx, dy, scale):
    x, y = correlated(n, n, dx, dy)
    ours = ksg(scale * x, scale * y, npeet_compatible=True, rng=7)
    assert ours.value == pytest.approx(npeet(7, scale * x, scale * y), abs=1e-12)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("base", [2.0, math.e, 10.0])
def test_equals_npeet_for_any_k_and_base(k, base):
    x, y = correlated(1, 500, 2, 2)
    ours = ksg(x, y, k=k, base=base, npeet_compatible=True, rng=3)
    assert ours.value == pytest.approx(npeet(3, x, y, k=k, base=base), abs=1e-12)


def test_equals_npeet_on_repeated_values():
    draw = np.random.default_rng(2)
    x, y = draw.integers(5, size=(2, 400, 1)).astype(float)
    assert ksg(x, y, npeet_compatible=True, rng=1).value == pytest.approx(npeet(1, x, y), abs=1e-12)


@pytest.mark.parametrize("dz", [1, 4])
def test_equals_npeet_given_z(dz):
    x, rest = correlated(3, 600, 1, 2 + dz)
    y, z = rest[:, :2], rest[:, 2:]
    ours = ksg(x, y, z, npeet_compatible=True, rng=4)
    assert ours.value == pytest.approx(npeet(4, x, y, z), abs=1e-12)


def test_where_npeet_is_infinite_there_is_an_error():
    x = 1e20 * np.repeat(np.arange(10.0), 10)
    with pytest.raises(DataError, match="coincide"):
        ksg(x, x, npeet_compatible=True)


@pytest.mark.build
def test_npeet_has_the_faults_that_ours_does_not_share():
    # Units: npeet's number moves when both variables are multiplied by 1e3, ours does not.
    x, noise = np.random.default_rng(5).standard_normal((2, 2000, 1))
    y = x + 0.5 * noise
    assert abs(npeet(0, 1e3 * x, 1e3 * y) - npeet(0, x, y)) > 0.01
    assert ksg(1e3 * x, 1e3 * y).value == pytest.approx(ksg(x, y).value, abs=1e-12)
    # A wide mask: npeet counts the boundary and reads -1/(k ln 2).
    assert npeet(0, x, x + 1e6 * noise) == pytest.approx(-1 / (3 * math.log(2)), abs=0.06)
    assert ksg(x, x + 1e6 * noise, base=2).value == pytest.approx(0.0, abs=0.06)


def by_hand(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Kraskov et al. (2004), equation (8), one sample at a time."""
    n, total = len(x), 0.0
    for i in range(n):
        in_x = [max(abs(x[j] - x[i])) for j in range(n) if j != i]
        in_y = [max(abs(y[j] - y[i])) for j in range(n) if j != i]
        epsilon = sorted(max(a, b) for a, b in zip(in_x, in_y, strict=True))[k - 1]
        n_x, n_y = sum(a < epsilon for a in in_x), sum(b < epsilon for b in in_y)
        total += digamma(n_x + 1) + digamma(n_y + 1)
    return float(digamma(k) + digamma(n) - total / n)


@pytest.mark.parametrize(("n", "dx", "dy", "k"), [(4, 1, 1, 3), (40, 1, 1, 1), (60, 2, 3, 3), (60, 6, 18, 5)])
def test_equals_the_formula_by_hand(n, dx, dy, k):
    x, y = correlated(6, n, dx, dy)
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), (y - y.mean(axis=0)) / y.std(axis=0)
    assert ksg(x, y, k=k, interval=False, checks=False).value == pytest.approx(by_hand(x, y, k), abs=1e-12)


@pytest.mark.parametrize("n", [1400, 3000])
def test_scan_and_bitmaps_equal_the_tree(n):
    # 2 dimensions go through the tree; with 23 copies of a column, 1400 rows through the scan and 3000 through bitmaps.
    x, y = correlated(7, n, 1, 1)
    none = np.empty((n, 0))
    few, many = neighbour_counts(x, y, none, 3), neighbour_counts(x, np.repeat(y, 23, axis=1), none, 3)
    assert np.array_equal(few[0], many[0])
    assert np.array_equal(few[1], many[1])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99])
def test_gaussian_closed_form(rho):
    draw = np.random.default_rng(8)
    truth = -0.5 * math.log(1 - rho**2)
    assert mutual_information_gaussian([[1.0, rho], [rho, 1.0]], 1) == pytest.approx(truth, abs=1e-12)
    readings = []
    for _ in range(20):
        x, noise = draw.standard_normal((2, 5000))
        y = rho * x + math.sqrt(1 - rho**2) * noise
        readings.append(ksg(x, y, checks=False, interval=False).value)
    assert np.mean(readings) == pytest.approx(truth, abs=0.025)


def test_gaussian_formula_by_determinants():
    draw = np.random.default_rng(9)
    root = draw.standard_normal((7, 7))
    sigma = root @ root.T
    parts = (np.linalg.slogdet(s)[1] for s in (sigma[:3, :3], sigma[3:, 3:], sigma))
    first, second, both = parts
    assert mutual_information_gaussian(sigma, 3) == pytest.approx(0.5 * (first + second - both), rel=1e-9)


def test_a_density_that_is_not_gaussian():
    # p(x, y) = 1 + sin 2πx sin 2πy on the unit square, drawn by rejection: uniform margins.
    def integrand(v: float, u: float) -> float:
        p = 1 + math.sin(2 * math.pi * u) * math.sin(2 * math.pi * v)
        return p * math.log(p) if p > 0 else 0.0

    truth = dblquad(integrand, 0, 1, 0, 1, epsabs=1e-7)[0]
    draw = np.random.default_rng(10)
    x, y, height = draw.uniform(size=(3, 40_000))
    kept = 2 * height < 1 + np.sin(2 * math.pi * x) * np.sin(2 * math.pi * y)
    assert ksg(x[kept], y[kept], checks=False).value == pytest.approx(truth, abs=0.02)


def test_conditional_information_closed_form():
    # x, y = x + z + noise given z: as x against x + noise, ½ ln 2.
    x, z, noise = np.random.default_rng(11).standard_normal((3, 4000))
    assert ksg(x, x + z + noise, z, checks=False).value == pytest.approx(0.5 * math.log(2), abs=0.05)
    assert ksg(x, z + noise, z, checks=False).value == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda r: r.standard_normal(5000), 0.5 * math.log(2 * math.pi * math.e)),
        (lambda r: r.uniform(0, 4, 5000), math.log(4)),
        (lambda r: r.exponential(3.0, 5000), 1 + math.log(3)),
        (lambda r: r.uniform(0, [2.0, 5.0], (5000, 2)), math.log(10)),
    ],
)
def test_entropy_closed_forms(draw, truth):
    assert entropy(draw(np.random.default_rng(12))) == pytest.approx(truth, abs=0.05)
