"""The boosted trees beside those of scikit-learn, with the same settings: they must err alike on rows not seen."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from secmix.estimators.trees import boosted

SETTINGS = {"max_iter": 50, "learning_rate": 0.12, "max_leaf_nodes": 8, "max_bins": 63, "max_features": 0.3}


def problem(kind, n=1500, p=6):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2 * n, p))
    if kind == "few values":
        x = np.round(x)
    noise = rng.standard_normal(2 * n)
    y = {
        "fold": np.abs(x[:, 0]) + 0.3 * noise,
        "product": x[:, 0] * x[:, 1] + x[:, 2] + 0.3 * noise,
        "few values": np.abs(x[:, 0]) - x[:, 3] + 0.3 * noise,
        "nothing": noise,
    }[kind]
    return x[:n], y[:n, None], x[n:], y[n:, None]


def fitted(x, y, seed):
    return HistGradientBoostingRegressor(**SETTINGS, early_stopping=False, random_state=seed).fit(x, y[:, 0])


def error(guess, truth):
    return float(np.sqrt(((guess - truth) ** 2).mean() / truth.var()))


@pytest.mark.parametrize("kind", ["fold", "product", "few values", "nothing"])
def test_they_err_like_the_reference(kind):
    x, y, new, truth = problem(kind)
    with threadpool_limits(limits=1):
        theirs = [error(fitted(x, y, seed).predict(new)[:, None], truth) for seed in range(3)]
    assert error(boosted(x, y, new), truth) == pytest.approx(np.mean(theirs), rel=0.1)


def test_without_enough_rows_for_a_split_they_guess_the_mean():
    x = np.arange(39.0)[:, None]
    assert boosted(x, x, np.array([[-5.0], [50.0]])) == pytest.approx(np.full((2, 1), 19.0))


def test_a_step_is_found_where_it_is_and_leaves_are_large_enough():
    x = np.arange(200.0)[:, None] // 5
    for at in (4, 17, 36):
        y = (x >= at).astype(float)
        off = boosted(x, y, x) - y
        assert np.abs(off).max() < 0.01  # (1 − 0.12)^50 of the step is left
    y = (x >= 39).astype(float)  # five rows do not make a leaf
    assert boosted(x, y, x)[0, 0] == pytest.approx(0.0, abs=0.01)
    assert boosted(x, y, x)[-1, 0] < 0.5


def test_columns_do_not_mix_and_order_of_rows_does_not_matter():
    x, y, new, _ = problem("product")
    both = boosted(x, np.hstack([y, -3 * y]), new)
    assert both[:, 1] == pytest.approx(-3 * both[:, 0])
    order = np.random.default_rng(0).permutation(len(x))
    assert boosted(x[order], y[order], new) == pytest.approx(both[:, :1], abs=1e-9)
