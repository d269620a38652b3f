"""Noise as a proof, and claims of noise put to the test: against integration, dp-accounting and known mechanisms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from analysis.noise.mechanisms import DELTA, MECHANISMS
from secmix.errors import DataError, SecmixError
from secmix.privacy import (
    epsilon_lower_bound,
    epsilon_lower_bound_of,
    explained_variance_bound,
    explained_variance_bound_of,
    family_of,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    information_bound,
    releases_epsilon,
)

# --- closed forms ---


@pytest.mark.build
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(("relation", "moves"), [("ADD_OR_REMOVE_ONE", 1), ("REPLACE_ONE", 2)])
def test_gaussian_releases_spend_what_dp_accounting_says_in_the_same_relation(
    mu: float, relation: str, moves: int
) -> None:
    """A sum of vectors of norm C moves by C for one more and by 2 C for one exchanged: dp-accounting asks for σ/C."""
    dp_accounting = pytest.importorskip("dp_accounting")
    for rounds in (1, 20):
        accountant = dp_accounting.pld.PLDAccountant(getattr(dp_accounting.NeighboringRelation, relation))
        noise = moves * math.sqrt(rounds) / mu
        accountant.compose(dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise), rounds))
        spent = releases_epsilon(gaussian=[moves / noise] * rounds, delta=DELTA)
        assert spent == pytest.approx(gaussian_epsilon(mu, DELTA), rel=1e-9)
        assert spent == pytest.approx(accountant.get_epsilon(DELTA), rel=1e-6)


@given(st.floats(0.01, 30.0), st.sampled_from([1e-9, 1e-5, 0.1]))
def test_epsilon_delta_and_mu_are_inverses(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)
    assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)


def test_a_curve_is_that_of_the_likelihood_ratio() -> None:
    mu, epsilon = 0.8, 0.7
    beyond = epsilon / mu + mu / 2  # where the ratio exceeds e^ε
    excess = lambda y: stats.norm.pdf(y, mu) - math.exp(epsilon) * stats.norm.pdf(y)  # noqa: E731
    assert gaussian_delta(epsilon, mu) == pytest.approx(integrate.quad(excess, beyond, 12)[0], rel=1e-8)


@pytest.mark.parametrize("t", [0.1, 1.0, 5.0])
def test_the_affinity_of_laplace_noise_is_that_of_integration(t: float) -> None:
    affinity = integrate.quad(lambda y: 0.5 * math.exp(-(abs(y) + abs(y - t)) / 2), -60, 60, points=[0, t])[0]
    assert explained_variance_bound(laplace=[t]) == pytest.approx(1 - affinity**2, rel=1e-7)


# --- the theorem: explained variance is at most 1 − B² ---


def explained(laws: Any, prior: Any, values: Any) -> float:
    """Return the explained variance of the best estimator: laws (secrets, outputs), prior and values (secrets,)."""
    joint = prior[:, None] * laws
    seen = joint.sum(axis=0)
    means = np.divide(values @ joint, seen, out=np.zeros_like(seen), where=seen > 0)
    variance = prior @ values**2 - (prior @ values) ** 2
    return float((seen @ means**2 - (prior @ values) ** 2) / variance)


@st.composite
def secrets(draw: st.DrawFn, most: int = 4) -> tuple[Any, Any]:
    """Return a prior over some secrets, and a function of them that is not constant."""
    count = draw(st.integers(2, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.dirichlet(np.ones(count)), rng.normal(size=count)


@given(secrets(), st.integers(1, 3), st.floats(0.1, 4.0), st.integers(0, 2**32 - 1))
def test_gaussian_releases_explain_no_more_than_the_bound(
    secret: tuple[Any, Any], dimensions: int, mu: float, seed: int
) -> None:
    prior, values = secret
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(len(prior), dimensions))
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
    points *= mu / gaps.max()
    # Densities beside that of standard normal outputs: averages over them are integrals.
    outputs = rng.normal(size=(20_000, dimensions)) + points[rng.choice(len(prior), size=20_000, p=prior)]
    laws = np.exp(-0.5 * ((outputs[None] - points[:, None]) ** 2).sum(axis=-1))
    posterior = prior[:, None] * laws / (prior @ laws)
    means = values @ posterior
    variance = prior @ values**2 - (prior @ values) ** 2
    known = 1 - (values**2 @ posterior - means**2).mean() / variance
    # Four standard errors of the average.
    error = 4 * (values**2 @ posterior - means**2).std() / variance / math.sqrt(20_000)
    assert known <= explained_variance_bound(gaussian=[mu]) + error


@given(secrets(), st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.integers(0, 2**32 - 1))
def test_adaptive_gaussian_releases_explain_no_more_than_the_bound(
    secret: tuple[Any, Any], first: float, second: float, seed: int
) -> None:
    """What is released of the secret the second time follows from the first output."""
    prior, values = secret
    rng = np.random.default_rng(seed)
    points = rng.uniform(-first / 2, first / 2, size=len(prior))
    later = rng.uniform(-second / 2, second / 2, size=(5, len(prior)))
    grid = np.linspace(-9.0, 9.0, 361)
    density = lambda at: stats.norm.pdf(grid[None], at[:, None])  # noqa: E731, of each secret, (secrets, outputs)
    asked = np.digitize(grid, [-1.0, -0.3, 0.3, 1.0])
    laws = density(points)[:, :, None] * np.stack([density(later[k]) for k in asked], axis=1)
    laws = laws.reshape(len(prior), -1) * (grid[1] - grid[0]) ** 2
    assert explained(laws, prior, values) <= explained_variance_bound(gaussian=[first, second]) + 1e-6


@given(secrets(), st.floats(0.05, 4.0), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_private_discrete_mechanisms_explain_no_more_than_the_bound(
    secret: tuple[Any, Any], epsilon: float, releases: int, seed: int
) -> None:
    prior, values = secret
    rng = np.random.default_rng(seed)
    laws = np.ones((len(prior), 1))
    for _ in range(releases):  # adaptive: what is released next may hang on what was
        outputs = 4
        widths = rng.uniform(0, epsilon / releases / 2, size=(len(prior), laws.shape[1] * outputs))
        weights = rng.dirichlet(np.ones(outputs), size=laws.shape[1]).ravel() * np.exp(widths)
        weights = weights.reshape(len(prior), laws.shape[1], outputs)
        laws = (laws[..., None] * weights / weights.sum(axis=-1, keepdims=True)).reshape(len(prior), -1)
    ratio = np.log(laws.max(axis=0) / laws.min(axis=0)).max()
    assert ratio <= epsilon + 1e-9
    assert explained(laws, prior, values) <= explained_variance_bound_of(epsilon) + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response_reaches_the_bound_of_its_epsilon(epsilon: float) -> None:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    laws = np.array([[truth, 1 - truth], [1 - truth, truth]])
    known = explained(laws, np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert known == pytest.approx(explained_variance_bound_of(epsilon), rel=1e-9)


@pytest.mark.parametrize(("mu", "least"), [(0.447, 0.048), (1.0, 0.204), (2.0, 0.550)])
def test_two_opposite_points_come_near_the_bound_of_gaussian_noise(mu: float, least: float) -> None:
    grid = np.linspace(-12, 12, 8001)
    laws = np.stack([stats.norm.pdf(grid, -mu / 2), stats.norm.pdf(grid, mu / 2)])
    laws /= laws.sum(axis=1, keepdims=True)
    known = explained(laws, np.array([0.5, 0.5]), np.array([0.0, 1.0]))
    assert least - 1e-3 <= known <= explained_variance_bound(gaussian=[mu])


def test_information_bounds_add_up() -> None:
    assert information_bound([0.1] * 20) == pytest.approx(0.1)
    # A Gaussian secret of variance s² within the release N(x, 1): ½ ln(1 + s²) is at most its bound for any Δ ≥ 2 s.
    assert 0.5 * math.log(1 + 0.25) <= information_bound([1.0])


# --- lower bounds by runs ---


def test_what_rounding_alone_tells_apart_is_not_read() -> None:
    """NumPy's Laplace numbers around 0 and around 2⁻⁴⁰ differ by their last bits, and by nothing else."""
    rng = np.random.default_rng(1)
    a, b = rng.laplace(size=4000), 2.0**-40 + rng.laplace(size=4000)
    assert epsilon_lower_bound_of(a, b).epsilon <= 0.2


def test_equal_outputs_say_nothing() -> None:
    same = np.ones((100, 2))
    assert epsilon_lower_bound_of(same, same).epsilon == 0.0
    assert epsilon_lower_bound_of(same, same, delta=DELTA, family="gaussian").epsilon == 0.0


def test_outputs_that_never_coincide_read_much() -> None:
    assert epsilon_lower_bound_of(np.zeros(2000), np.ones(2000)).epsilon > 5


def test_outputs_without_any_noise_are_told_apart_as_often_as_they_run() -> None:
    """Their covariance is zero, and no direction has any spread."""
    up = np.tile(np.arange(10.0), (400, 1))
    bound = epsilon_lower_bound_of(up, -up)
    fewest = stats.beta.isf(0.025, 1, 200)  # of errors, none of 200 being one
    assert bound.ceiling == pytest.approx(-math.log(fewest))
    assert bound.epsilon == pytest.approx(bound.ceiling, rel=0.02)
    assert bound.epsilon < bound.ceiling


def test_more_looks_read_less() -> None:
    a, b = MECHANISMS["Laplace"].draw(np.random.default_rng(2), 4000)
    assert epsilon_lower_bound_of(a, b, looks=100).epsilon < epsilon_lower_bound_of(a, b).epsilon


def test_the_same_seed_reads_the_same() -> None:
    bounds = [epsilon_lower_bound(lambda x, rng: x + rng.laplace(size=2), (0.0, 1.0), runs=400, seed=3) for _ in "ab"]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: epsilon_lower_bound(lambda x, rng: x, (0.0,)), "neighbours: expected two data sets; given 1"),
        (lambda: epsilon_lower_bound(lambda x, rng: x, (0, 1), runs=10), "runs must be at least 40; given 10"),
        (lambda: epsilon_lower_bound_of(np.zeros(50), np.zeros((50, 2))), "must have one shape"),
        (lambda: epsilon_lower_bound_of(np.zeros(9), np.zeros(9)), "expected at least 40 runs each; given 9"),
        (lambda: epsilon_lower_bound_of(np.full(50, np.nan), np.zeros(50)), "not finite"),
        (lambda: epsilon_lower_bound_of(np.zeros(50), np.zeros(50), family="laplace"), "expected a NoiseFamily"),
        (lambda: epsilon_lower_bound_of(np.zeros(50), np.zeros(50), delta=1.0), "delta must lie in"),
        (lambda: gaussian_epsilon(1.0, 0.0), "delta must lie above 0"),
        (lambda: gaussian_delta(-1.0, 1.0), "epsilon must be a finite number of at least 0"),
        (lambda: explained_variance_bound(gaussian=[-1.0]), "gaussian must be a finite number of at least 0"),
        (lambda: family_of(lambda scale: None, [0.0]), "scales must lie above 0"),
    ],
)
def test_wrong_settings_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SecmixError, match=message):
        call()


def test_a_mechanism_must_return_as_many_numbers_in_each_run() -> None:
    with pytest.raises(DataError, match="1 numbers are read in one run and 2 in another"):
        epsilon_lower_bound(lambda x, rng: np.zeros(rng.integers(1, 3)), (0, 1), runs=60)
