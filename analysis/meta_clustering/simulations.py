"""The paper's simulations: clustering accuracy (figures 2 and 3), candidate sets (table 2), K, and theorem 4."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
from scipy.stats import ttest_rel
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV, LinearRegression

from analysis.meta_clustering.common import (
    WAYS,
    Part,
    by_cross_validation,
    clustered,
    in_three_ways,
    right,
    standardised,
)
from analysis.repetitions import Repetitions
from analysis.study import Numbers, mean_and_half_width, summary
from secmix._base.checks import Array
from secmix.protocols import SelectExchangeCluster
from secmix.protocols.meta_clustering.spectral import eigenvectors, standardised_rows

# The sets of 5 and 7 are lost in the paper's text: those of 3 and two of its nine more each time.
NINE = ("boosting", "forest", "lasso", "knn", "svr", "ridge", "elastic_net", "neural_network", "lars")
HERE = Repetitions("meta_clustering")  # nothing kept, one process
SETS = tuple(NINE[:size] for size in (1, 3, 5, 7, 9))


def _linear_learners(p: int, snr: float, rng: np.random.Generator) -> list[Part]:
    """20 learners of 100 rows, ten by each of two functions of 5 of p columns."""
    slopes = np.zeros((2, p))
    slopes[:, :5] = rng.standard_normal((2, 5))
    slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)  # so that the SNR is 1/σ²
    parts = []
    for i in range(20):
        X = rng.standard_normal((100, p))
        noise = rng.standard_normal(100) / np.sqrt(snr)
        parts.append(standardised(X, X @ slopes[i // 10] + noise))
    return parts


def simulation_1(
    repeats: int,
    widths: Sequence[int],
    snrs: Sequence[float],
    seed: int,
    *,
    forest: bool = True,
    repeated: Repetitions = HERE,
) -> list[Numbers]:
    """20 learners, 100 rows, two linear functions of 5 of p columns; LASSO and random forest; exact recovery."""
    out = []
    for p in widths:
        for snr in snrs:
            make = partial(_recovered, p, snr, forest, seed)
            values = repeated(f"simulation_1-{p}-{snr:g}", (seed, p, snr, forest), repeats, make)
            counts = {what: {way: sum(v[what][way] for v in values) for way in WAYS} for what in ("exact", "two")}
            out.append({"p": p, "snr": snr} | counts | {"repeats": repeats})
    return out


def _recovered(p: int, snr: float, forest: bool, seed: int, r: int) -> Numbers:
    candidates = [LassoCV(cv=2), *([RandomForestRegressor(50, max_depth=3)] if forest else [])]
    parts = _linear_learners(p, snr, np.random.default_rng([seed, 1, p, int(10 * snr), r]))
    ways = in_three_ways(clustered(parts, candidates, r, max_clusters=6), 2)
    return {
        "exact": {way: bool(right(found, np.arange(20) // 10)) for way, found in ways.items()},
        "two": {way: bool(found.n_clusters_ == 2) for way, found in ways.items()},
    }


def spectrum(seed: int, *, forest: bool = True) -> Numbers:
    """Figure 3: eigenvalues of one replication of simulation 1, p = 10 and SNR 5, and the rows that are clustered."""
    candidates = [LassoCV(cv=2), *([RandomForestRegressor(50, max_depth=3)] if forest else [])]
    sec = clustered(_linear_learners(10, 5.0, np.random.default_rng([seed, 7])), candidates, 0, n_clusters=2)
    rows = standardised_rows(eigenvectors(sec.similarity_)[1], 2)
    cosines = rows @ rows.T
    own = np.arange(20)[:, None] // 10 == np.arange(20) // 10
    return {
        "eigenvalues": sec.eigenvalues_[:6].tolist(),
        "right": right(sec, np.arange(20) // 10),
        "least cosine within": float(cosines[own].min()),
        "largest cosine between": float(cosines[~own].max()),
    }


def counted(repeats: int, seed: int, learners: Sequence[int] = (5, 8, 15)) -> list[Numbers]:
    """How often K is found where learners of 40 rows have one, two or three linear functions; least squares."""
    out = []
    for m in learners:
        for functions in (1, 2, 3):
            if m < 2 * functions:
                continue
            hits = dict.fromkeys(("gap", "penalty", "cv"), 0)
            for r in range(repeats):
                rng = np.random.default_rng([seed, 5, m, functions, r])
                slopes = 2 * rng.standard_normal((functions, 3))
                rows = [rng.standard_normal((40, 3)) for _ in range(m)]
                parts = [(X, X @ slopes[i % functions] + rng.standard_normal(40)) for i, X in enumerate(rows)]
                most = min(6, m - 1)
                sec = clustered(parts, [LinearRegression()], r, max_clusters=most)
                for way in ("gap", "penalty"):
                    hits[way] += sec.reclustered(criterion=way).n_clusters_ == functions
                hits["cv"] += by_cross_validation(parts, [LinearRegression()], r, most, pool=False) == functions
            out.append({"learners": m, "functions": functions, "right": hits, "repeats": repeats})
    return out


def rate(repeats: int, sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Theorem 4: how often all labels are right as learners have more rows; 20 of them, two functions of 5 columns."""
    out = []
    for size in sizes:
        exact = dict.fromkeys(WAYS, 0)
        for r in range(repeats):
            rng = np.random.default_rng([seed, 6, r])
            slopes = rng.standard_normal((2, 5)) / np.sqrt(5)
            parts = []
            for i in range(20):
                X = rng.standard_normal((max(sizes), 5))
                y = X @ slopes[i % 2] + rng.standard_normal(len(X))
                parts.append((X[:size], y[:size]))
            sec = clustered(parts, [LinearRegression()], r, max_clusters=6)
            for way, found in in_three_ways(sec, 2).items():
                exact[way] += right(found, np.arange(20) % 2)
        out.append({"rows": size, "exact": exact, "repeats": repeats})
    return out


def friedman(which: int, X: Array) -> Array:
    """Friedman's second and third functions of the first four columns, drawn as he draws them."""
    inner = X[:, 1] * X[:, 2] - 1 / (X[:, 1] * X[:, 3])
    return np.asarray(np.sqrt(X[:, 0] ** 2 + inner**2) if which == 0 else np.arctan(inner / X[:, 0]))


def _friedman_rows(size: int, p: int, rng: np.random.Generator) -> Array:
    X = rng.standard_normal((size, p))
    low, high = np.array([0, 40 * np.pi, 0, 1]), np.array([100, 560 * np.pi, 1, 11])
    X[:, :4] = rng.uniform(low, high, size=(size, 4))
    return X


class Remembered(BaseEstimator):  # type: ignore[misc]
    """A regressor that is fitted once on the same rows: what it would fit again is taken from ``kept``.

    Candidate sets overlap, so that without it gradient boosting on 500 columns is fitted five times over.
    """

    kept: ClassVar[dict[tuple[str, bytes], Any]] = {}

    def __init__(self, regressor: Any) -> None:
        self.regressor = regressor

    def fit(self, X: Array, y: Array) -> Remembered:
        key = (repr(self.regressor), sha256(X.tobytes() + y.tobytes()).digest())
        if key not in self.kept:
            self.kept[key] = clone(self.regressor).fit(X, y)
        self.fitted_ = self.kept[key]
        return self

    def predict(self, X: Array) -> Array:
        return np.asarray(self.fitted_.predict(X))


def simulation_2(
    repeats: int,
    sets: Sequence[Sequence[str]],
    seed: int,
    rows: int = 150,
    p: int = 500,
    *,
    repeated: Repetitions = HERE,
) -> list[Numbers]:
    """20 learners, Friedman functions: how often clusters are right, and learner 0's error with and without others.

    Every set of candidates is given the same learners.
    """
    what = (seed, rows, p, [list(names) for names in sets])
    found = repeated("simulation_2", what, repeats, partial(_once, sets, seed, rows, p))
    out = []
    for i, names in enumerate(sets):
        mine = [each[i] for each in found]
        together, alone = ([each[what] for each in mine] for what in ("together", "alone"))
        out.append(
            {
                "candidates": list(names),
                "selected": np.mean([each["selected"] for each in mine], axis=0).tolist(),
                "columns": p,
                "rows": rows,
                "exact": {way: sum(each["exact"][way] for each in mine) for way in WAYS},
                "repeats": repeats,
                "gain": mean_and_half_width(np.subtract(alone, together).tolist()),
                "p": float(ttest_rel(alone, together, alternative="greater").pvalue),
                "collaboration": summary(together),
                "alone": summary(alone),
            }
        )
    return out


def _once(sets: Sequence[Sequence[str]], seed: int, rows: int, p: int, r: int) -> list[Numbers]:
    """One repeat of simulation 2, each set of candidates in turn."""
    Remembered.kept.clear()
    rng = np.random.default_rng([seed, 2, r])
    parts, raw = [], []
    for i in range(20):
        X = _friedman_rows(rows, p, rng)
        y = friedman(i // 10, X)
        y = y + 0.3 * y.std() * rng.standard_normal(rows)
        raw.append((X, y))
        parts.append(standardised(X, y))
    X = _friedman_rows(1000, p, rng)
    (X0, y0) = raw[0]
    y = (friedman(0, X) - y0.mean()) / y0.std()
    X = (X - X0.mean(axis=0)) / X0.std(axis=0)
    out: list[Numbers] = []
    for names in sets:
        candidates = [Remembered(one) for one in SelectExchangeCluster(names).clustering().candidates]
        ways = in_three_ways(clustered(parts, candidates, r, max_clusters=6), 2)
        found = ways["gap"]
        out.append(
            {
                "exact": {way: bool(right(each, np.arange(20) // 10)) for way, each in ways.items()},
                "selected": (np.bincount(found.selected_, minlength=len(names)) / 20).tolist(),
                "together": float(np.mean((found.predict(0, X) - y) ** 2)),
                "alone": float(np.mean((found.models_[0].predict(X) - y) ** 2)),
            }
        )
    Remembered.kept.clear()
    return out
