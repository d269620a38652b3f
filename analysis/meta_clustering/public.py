"""The paper's CT experiment (table 3) on public data: the CT slices are not among them.

The learners of the paper are patients. Here the rows, scikit-learn's diabetes data if no other file is given, are put
in an order, by sex and age, and cut into learners, so that learners are groups of like people.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from analysis.meta_clustering.common import Part, clustered, likeness, nearest, pooled, pooled_by_cluster
from analysis.study import Numbers, mean_and_half_width, summary
from secmix._base.checks import Array, finite_array
from secmix.errors import DataError

LEARNERS, TRAIN = 12, 8
WAYS = ("pooled", "unpooled", "pooled, K = 2", "unpooled, K = 2", "none")


def regression_data(path: Path | None) -> tuple[Array, Array, Array]:
    """X, y and the columns of X that the order goes by; of a CSV file with a head, y last: its first column."""
    if path is None:
        X, y = load_diabetes(return_X_y=True, scaled=False)
        return X, y, X[:, [1, 0]]  # sex, then age
    if not path.is_file():
        raise DataError(f"there is no file {path}; give a CSV file with a head and y in the last column")
    table = finite_array(np.genfromtxt(path, delimiter=",", skip_header=1), str(path), ndim=2)
    return table[:, :-1], table[:, -1], table[:, :1]


def learners_of(path: Path | None, rng: np.random.Generator) -> list[Part]:
    """The rows in order, ties broken at random, cut into learners; the rows of each in no order."""
    X, y, by = regression_data(path)
    if len(y) < 8 * LEARNERS:
        raise DataError(f"{len(y)} rows for {LEARNERS} learners; give at least {8 * LEARNERS}")
    order = np.lexsort((rng.random(len(y)), *by.T[::-1]))
    return [(X[rows], y[rows]) for rows in map(rng.permutation, np.array_split(order, LEARNERS))]


def public(path: Path | None, repeats: int, seed: int) -> Numbers:
    """Table 3: the MSE of random forests by cluster, pooled and unpooled (eq. 4), and of one for all."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    clusters = []
    for r in range(repeats):
        rng = np.random.default_rng([seed, 8, r])
        parts = learners_of(path, rng)
        forest = RandomForestRegressor(50, random_state=r)
        places = rng.permutation(LEARNERS)
        train, test = ([parts[i] for i in those] for those in (places[:TRAIN], places[TRAIN:]))
        sec = clustered(train, [forest], r, criterion="gap", max_clusters=4)
        clusters.append(sec.n_clusters_)
        everybody, two = pooled(train, clone(forest)), sec.reclustered(n_clusters=2)
        by = {"": sec, ", K = 2": two}
        models = {name: pooled_by_cluster(each.labels_, train, forest) for name, each in by.items()}
        errors: dict[str, list[float]] = {way: [] for way in WAYS}
        for X, y in test:
            half = len(y) // 2
            like = likeness(sec, train, (X[:half], y[:half]), clone(forest))
            predicted = {"none": everybody.predict(X[half:])}
            for suffix, found_by in by.items():
                mine = nearest(found_by.labels_, like)
                member = int(np.flatnonzero(found_by.labels_ == mine)[0])
                predicted["pooled" + suffix] = models[suffix][mine].predict(X[half:])
                predicted["unpooled" + suffix] = found_by.predict(member, X[half:])
            for way, values in predicted.items():
                errors[way].append(float(np.mean((values - y[half:]) ** 2)))
        for way in WAYS:
            found[way].append(float(np.mean(errors[way])))
    return {
        "repeats": repeats,
        "clusters": np.bincount(clusters, minlength=5).tolist(),
        "data": "diabetes" if path is None else path.name,
        "ways": {
            way: summary(found[way])
            | {"less": mean_and_half_width(np.subtract(found["none"], found[way]).tolist())}
            | {"p": _p(found["none"], found[way])}
            for way in WAYS
        },
    }


def _p(larger: list[float], smaller: list[float]) -> float | None:
    """Of the right-sided paired t-test, as in the paper; None where nothing differs."""
    if larger == smaller:
        return None
    return float(ttest_rel(larger, smaller, alternative="greater").pvalue)
