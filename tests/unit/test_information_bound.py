"""`information_lower_bound`: errors that teach, the same number on any machine, and what each critic computes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import multivariate_t
from threadpoolctl import threadpool_limits

from secmix.errors import DataError
from secmix.estimators import information_lower_bound
from secmix.estimators.information import copula, near_equality
from secmix.estimators.information.contrast import contrasts, pseudo_values
from secmix.estimators.information.critic import Rows
from secmix.estimators.information.neighbours import fit_neighbours
from secmix.estimators.information.stacking import frugal_weights, stacked, stacking_weights


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


# At the door


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": np.array([1.0, np.nan] * 10)}, "not finite"),
        ({"y": np.ones(20)}, "column 0 of y is constant"),
        ({"x": np.arange(19.0)}, "x has 19 rows and y has 20"),
        ({"x": np.empty((0, 1))}, "empty"),
        ({"x": np.zeros((20, 2, 2))}, "shape"),
        ({"x": np.array(["a"] * 20)}, "real numbers"),
        ({"level": 1.0}, "level = 1.0 must be at least 0.5 and below 1"),
        ({"level": 0.2}, "level = 0.2"),
        ({"level": True}, "level"),
    ],
)
def test_errors_say_what_was_given(change, words):
    given = {"x": normal(0, 20), "y": normal(1, 20)} | change
    with pytest.raises(DataError, match=words):
        information_lower_bound(given.pop("x"), given.pop("y"), **given)


def test_few_rows_bound_nothing_and_say_so():
    bound = information_lower_bound(normal(0, 30), normal(0, 30))
    assert (bound.low, bound.high, bound.kind, bound.status) == (0.0, math.inf, "lower bound", "unresolved")
    assert "too few" in bound.notes[0]


@pytest.mark.build
def test_rows_given_twice_are_spoken_of():
    x, noise = normal(1, 2, 150)
    twice = information_lower_bound(np.tile(x, 2), np.tile(x + noise, 2))
    assert any("150 of 300 rows (x, y) repeat" in note for note in twice.notes)


def test_the_same_seed_gives_the_same_bound_on_any_number_of_threads():
    x, noise = normal(2, 2, 300, 2)
    bound = information_lower_bound(x, x + noise, rng=5)
    with threadpool_limits(limits=2):
        assert information_lower_bound(x, x + noise, rng=np.random.default_rng(5)) == bound


def test_progress_is_told_after_each_fold():
    told: list[tuple[int, int, str]] = []
    information_lower_bound(normal(0, 100), normal(1, 100), progress=lambda *now: told.append(now))
    assert [done for done, _, _ in told] == [1, 2, 3, 4, 5]
    assert {total for _, total, _ in told} == {5}


# The caller's own critics


@pytest.mark.build
def test_a_critic_of_the_caller_carries_what_ours_do_not_see():
    # The sign of y is that of the product of the four signs of x: any three of them tell nothing.
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((600, 4)), np.abs(draw.standard_normal(600))
    y *= np.sign(x).prod(axis=1)
    seen: list[tuple[int, ...]] = []

    def parity(x_train, y_train, rng):
        seen.append(x_train.shape)
        return lambda x, y: 3.0 * np.sign(x).prod(axis=1)[:, None] * np.sign(y[:, 0])

    bound = information_lower_bound(x, y, critics=[parity])
    assert 0.5 < bound.low < math.log(2)
    assert "critic 1 of the caller" in bound.method
    assert seen == [(360, 4)] * 5
    assert information_lower_bound(x, y).low < 0.1


def test_a_critic_that_looks_at_other_rows_is_refused():
    def relative(x_train, y_train, rng):
        return lambda x, y: -(((x - x.mean(axis=0)) - (y - y.mean(axis=0)).T) ** 2)

    with pytest.raises(DataError, match=r"critic 1 of the caller scores a pair differently among other rows"):
        information_lower_bound(normal(0, 200), normal(1, 200), critics=[relative])


@pytest.mark.parametrize("wrong", [lambda x, y: np.zeros(len(x)), lambda x, y: np.full((len(x), len(y)), np.nan)])
def test_a_critic_that_gives_no_matrix_is_refused(wrong):
    with pytest.raises(DataError, match=r"it must be finite numbers"):
        information_lower_bound(normal(0, 200), normal(1, 200), critics=[lambda x, y, rng: wrong])


# Parts


def test_pseudo_values_are_those_of_leaving_out_each_pair():
    scores, mixed = 2 * normal(3, 7, 7), 0.01
    whole, pseudo = pseudo_values(scores, mixed)
    for k in range(7):
        rest = np.delete(np.delete(scores, k, axis=0), k, axis=1)
        assert pseudo[k] == pytest.approx(7 * whole.mean() - 6 * contrasts(rest, mixed).mean(), abs=1e-9)


def test_weights_are_the_best_in_the_box():
    truth = normal(4, 60, 60)
    truth[np.diag_indices(60)] += 2
    parts = [np.stack([truth + normal(5, 60, 60), normal(6, 60, 60), 0.01 * truth])]

    def gain(weights):
        return contrasts(stacked(np.array(weights), parts)[0]).mean()

    found = stacking_weights(parts)
    grid = [(a, b, c) for a in np.linspace(0, 1.5, 16) for b in np.linspace(0, 1.5, 16) for c in (0, 1.5)]
    assert gain(found) > max(gain(weights) for weights in grid) - 1e-3


@pytest.mark.parametrize("degrees", [1.0, 5.0, math.inf])
def test_the_copula_critic_is_the_log_density_ratio(degrees):
    rho = np.array([0.8, 0.3])
    correlation = np.eye(5)
    correlation[[0, 3, 1, 4], [3, 0, 4, 1]] = [0.8, 0.8, 0.3, 0.3]
    canonical = copula.Canonical(np.eye(3), np.eye(2), rho)
    score = copula.copula_score((lambda x: x, lambda y: y), canonical, degrees)
    x, y = normal(7, 4, 3), normal(8, 4, 2)
    tail = [copula.t_scores(part, degrees) for part in (x, y)]

    def log_density(rows, shape):
        return np.atleast_1d(multivariate_t(shape=shape, df=degrees).logpdf(rows))

    pairs = np.array([[np.r_[a, b] for b in tail[1]] for a in tail[0]])
    ratio = log_density(pairs.reshape(-1, 5), correlation).reshape(4, 4)
    ratio = ratio - log_density(tail[0], np.eye(3))[:, None] - log_density(tail[1], np.eye(2))[None, :]
    difference = score(x, y) - ratio
    assert np.ptp(difference) < 1e-9


def test_the_neighbours_critic_counts():
    train, x, y = Rows(normal(9, 60, 2), normal(10, 60, 1)), normal(11, 3, 2), normal(12, 4, 1)
    scores = fit_neighbours(train, lambda x: x, lambda y: y, np.random.default_rng(0))
    for k in (5, 15):
        for i in range(3):
            for j in range(4):
                to_x, to_y = np.abs(train.x - x[i]).max(axis=1), np.abs(train.y - y[j]).max(axis=1)
                radius = np.sort(np.maximum(to_x, to_y))[k - 1]
                ratio = k * 60 / ((to_x <= radius).sum() * (to_y <= radius).sum())
                assert scores[f"k = {k}"](x, y)[i, j] == pytest.approx(math.log(ratio), abs=1e-12)


@pytest.mark.parametrize("family", near_equality.FAMILIES, ids=lambda family: family.name)
def test_near_equality_tells_copies_from_strangers(family):
    x, y = normal(13, 1200, 5), normal(14, 1200, 5)
    y[:24] = x[:24]
    (score,) = family.fit(Rows(x, y), Rows(x, y), np.random.default_rng(0)).values()
    fresh = normal(15, 50, 5)
    scores = score(fresh, fresh)
    off = scores[~np.eye(50, dtype=bool)]
    assert np.diag(scores).min() > 5
    assert np.abs(off).mean() < 0.2


def test_near_is_what_few_strangers_are_nearer_than():
    # One row in ten is copied to 1e-3 of its size; sizes run over four orders of magnitude.
    size = np.exp(np.random.default_rng(16).uniform(0, 9, size=(3000, 1)))
    x, y = size, np.random.default_rng(17).permutation(size)
    copied = np.arange(3000) % 10 == 0
    y = np.where(copied[:, None], x * (1 + 1e-3 * normal(18, 3000, 1)), y)
    (score,) = near_equality.FAMILIES[0].fit(Rows(x, y), Rows(x, y), np.random.default_rng(0)).values()
    for near in (10.0, 1000.0):  # a distance of 1 between large numbers is as near as 0.01 between small ones
        asked = np.array([[near], [1.3 * near]])
        same, apart = score(asked, asked * 1.0005)[0]
        assert same - apart > 2


def test_a_critic_chosen_among_many_must_gain_more():
    weak, rng = np.zeros((1, 400, 400)), np.random.default_rng(0)
    weak[0] = 0.12 * np.outer(*(lambda u: (u, 0.4 * u + rng.standard_normal(400)))(rng.standard_normal(400)))
    gain = contrasts(stacked(stacking_weights([weak]), [weak])[0]).mean()
    assert gain > 1.5 / 400
    few, many = max(1, int(np.exp(400 * gain - 1.5) * 0.5)), int(np.exp(400 * gain - 1.5) * 2) + 1
    assert frugal_weights([weak], [few]).any()
    assert not frugal_weights([weak], [many]).any()


def hard_samples() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(0)
    coin, x, rare = draw.integers(2, size=80), draw.standard_normal((80, 2)), np.zeros(80)
    rare[7] = 1.0
    return {
        "two values each": (coin, 1 - coin),
        "a column that varies in one row": (np.c_[x, rare], x[:, 0]),
        "more columns than rows": (draw.standard_normal((60, 90)), draw.standard_normal((60, 70))),
        "beyond what can be squared": (1e300 * x, 1e-300 * x),
        "a copy": (x, x),
        "hundreds of orders of magnitude": (np.exp(200 * x[:, 0]), np.exp(-200 * x[:, 0])),
    }


@pytest.mark.parametrize("name", hard_samples())
def test_hard_samples_give_a_finite_bound(name):
    bound = information_lower_bound(*hard_samples()[name])
    assert math.isfinite(bound.value)
    assert 0.0 <= bound.low <= math.log(200)
    if name == "two values each":
        assert 0.3 < bound.low < math.log(2)
    if name == "more columns than rows":
        assert bound.low == 0.0
