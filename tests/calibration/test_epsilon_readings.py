"""Lower bounds of epsilon on ten mechanisms whose epsilon is known: seldom above it, and near it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from analysis.noise.mechanisms import DELTA, MECHANISMS, true_place
from analysis.noise.readings import above, medians
from secmix.privacy import (
    NoiseFamily,
    epsilon_lower_bound_of,
    gaussian_mu,
)
from secmix.privacy.refuted_rates import ErrorCounts, private_curve

LISTED = ("discrete Gaussian", "randomised response")
DRAWS, MOST, MOST_OF_ALL = 10, 4, 5  # of a mechanism at 5 %, and of ten at 1 %: with the same chance
QUICK = ("Gaussian", "twenty Gaussians", "discrete Gaussian", "subsampled Gaussian")  # the study reads all ten


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (2.0, 0.05)])
def test_counts_refute_the_curve_that_they_come_from_no_more_often_than_the_level(epsilon: float, delta: float) -> None:
    """All outcomes of a few runs are listed, so that the chance is exact, at every pair of rates on the curve."""
    runs, level, curve = 16, 0.2, private_curve(epsilon, delta)
    outcomes = np.arange(runs + 1)
    every = outcomes.tolist()
    for weight in (1.0, 2.5):
        counts = [[ErrorCounts(x, y, runs, weight) for y in every] for x in every]
        refuted = np.array([[each.refute(curve, level) for each in row] for row in counts])
        alarms = np.linspace(0.0, 1 - delta, 60)
        first, second = (binom.pmf(outcomes, runs, rates[:, None]) for rates in (alarms, curve(alarms)))
        chance = np.einsum("rx,xy,ry->r", first, refuted, second).max()
        assert level / 4 <= chance <= level
        surer = np.array([each.refute(curve, level / 4) for each in counts[0]])
        assert not (surer & ~refuted[0]).any()


@pytest.fixture(scope="module")
def counts() -> dict[str, dict[str, int]]:
    """Count readings above the truth in some draws; reports/noise has 400 of each."""
    pytest.importorskip("dp_accounting")
    return {name: above(mechanism, draws=DRAWS, seed=45) for name, mechanism in MECHANISMS.items()}


@pytest.mark.build
def test_a_reading_of_any_mechanism_exceeds_the_truth_no_more_often_than_it_says(counts) -> None:
    exceeded = [of["any"] for of in counts.values()]
    assert max(exceeded) <= MOST, counts
    assert sum(exceeded) <= MOST_OF_ALL, counts


@pytest.mark.build
def test_a_reading_of_a_proved_family_exceeds_the_truth_no_more_often_than_it_says(counts) -> None:
    """Of a listed scale its own curve must be refuted as seldom, also where the bound is not above the truth yet."""
    assert max(of["family"] for of in counts.values()) <= MOST, counts


@pytest.mark.build
@pytest.mark.parametrize("name", QUICK)
def test_a_reading_comes_near_the_truth_or_near_its_ceiling(name: str) -> None:
    """A reading of any mechanism has a ceiling, worked out from the mechanism's own curve."""
    pytest.importorskip("dp_accounting")
    found, (least, of_family) = medians(MECHANISMS[name], draws=11, seed=47), MECHANISMS[name].asked
    assert found["any"] >= least * found["truth"], found
    assert found["family"] >= of_family * found["truth"], found
    assert 0.75 * found["ceiling"] <= found["any"] <= 1.1 * found["ceiling"], found


@pytest.mark.build
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
def test_proved_gaussian_noise_reads_nine_tenths_of_the_truth(epsilon: float) -> None:
    move, rngs = gaussian_mu(epsilon, DELTA), np.random.default_rng(48).spawn(45)
    outputs = [(rng.normal(size=20_000), rng.normal(size=20_000) + move) for rng in rngs]
    readings = [epsilon_lower_bound_of(*each, delta=DELTA, family="gaussian").epsilon for each in outputs]
    assert np.median(readings) >= 0.9 * epsilon


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_mechanism_reads_most_of_its_truth_where_its_family_is_proved(name: str) -> None:
    mechanism, rng = MECHANISMS[name], np.random.default_rng(5)
    family = mechanism.family()
    assert isinstance(family, NoiseFamily)
    truth = family.epsilon_of_scales(mechanism.delta)[true_place(family)]
    assert truth == pytest.approx(mechanism.epsilon, rel=0.012)  # the step of a family's epsilons
    bound = epsilon_lower_bound_of(*mechanism.draw(rng, 4000), delta=mechanism.delta, family=family)
    assert 0.7 * truth <= bound.epsilon <= mechanism.epsilon


@pytest.mark.build
def test_curves_in_closed_form_are_those_of_dp_accounting() -> None:
    dp_accounting = pytest.importorskip("dp_accounting")
    mechanism, pld = MECHANISMS["subsampled Gaussian"], dp_accounting.pld.PLDAccountant()
    pld.compose(dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(0.5)))
    assert mechanism.epsilon == pytest.approx(pld.get_epsilon(mechanism.delta), rel=1e-4)
    listed = MECHANISMS["geometric"].family()
    loss = dp_accounting.pld.privacy_loss_distribution.from_discrete_laplace_mechanism(1.0)
    assert isinstance(listed, NoiseFamily)
    known = [loss.get_delta_for_epsilon(epsilon) for epsilon in listed.epsilons.tolist()]
    assert listed.deltas[true_place(listed)] == pytest.approx(known, abs=1e-4)  # dp-accounting rounds losses up
