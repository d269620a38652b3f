"""SEC (Ye, Ding et al. 2022, Meta clustering): the paper's experiments, what liars do, and what is revealed.

Run ``python -m analysis.meta_clustering.run``; see analysis/README.md. Learners are clustered by
``secmix.protocols.MetaClustering``, audited as ``SelectExchangeCluster``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import adjusted_rand_score

from analysis.meta_clustering.audit import breakdown, revealed
from analysis.meta_clustering.report import figures, report
from analysis.study import Numbers, data_folders, options, provenance, summary, write
from secmix._base.checks import Array
from secmix.errors import DataError, SecmixError
from secmix.protocols import MetaClustering, SelectExchangeCluster
from secmix.protocols.meta_clustering.clustering import FewerClusters
from secmix.protocols.meta_clustering.selection import CandidateFailed

Part = tuple[Array, Array]
NINE = ("forest", "knn", "svr", "neural_network", "boosting", "lasso", "lars", "elastic_net", "ridge")


def standardised(X: Array, y: Array) -> Part:
    """As the paper does in both simulations, each learner by itself."""
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def clustered(parts: Sequence[Part], candidates: Sequence[Any], seed: int, **settings: Any) -> MetaClustering:
    """SEC, without the warnings that many repeats would fill pages with."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, CandidateFailed, FewerClusters):
            warnings.simplefilter("ignore", kind)
        return MetaClustering(list(candidates), record=False, **settings).fit(parts, rng=seed)


def simulation_1(repeats: int, widths: Sequence[int], snrs: Sequence[float], seed: int) -> list[Numbers]:
    """20 learners, 100 rows, two linear functions of 5 of p columns; LASSO and random forest; exact recovery."""
    candidates = [LassoCV(cv=2), RandomForestRegressor(50, max_depth=3)]
    out = []
    for p in widths:
        for snr in snrs:
            hits, right_k = 0, 0
            for r in range(repeats):
                rng = np.random.default_rng([seed, 1, p, int(10 * snr), r])
                slopes = np.zeros((2, p))
                slopes[:, :5] = rng.standard_normal((2, 5))
                slopes /= np.linalg.norm(slopes, axis=1, keepdims=True)  # so that the SNR is 1/σ²
                parts = []
                for i in range(20):
                    X = rng.standard_normal((100, p))
                    noise = rng.standard_normal(100) / np.sqrt(snr)
                    parts.append(standardised(X, X @ slopes[i // 10] + noise))
                found = clustered(parts, candidates, r, criterion="gap", max_clusters=6)
                hits += adjusted_rand_score(np.arange(20) // 10, found.labels_) == 1
                right_k += found.n_clusters_ == 2
            out.append({"p": p, "snr": snr, "exact": int(hits), "two": int(right_k), "repeats": repeats})
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


def simulation_2(repeats: int, sets: Sequence[Sequence[str]], seed: int, rows: int = 150, p: int = 20) -> list[Numbers]:
    """20 learners, Friedman functions: how often clusters are right, and learner 0's error with and without others."""
    out = []
    for names in sets:
        candidates = SelectExchangeCluster(names).clustering().candidates
        hits, together, alone = 0, [], []
        chosen = np.zeros(len(names))
        for r in range(repeats):
            rng = np.random.default_rng([seed, 2, r])
            parts, raw = [], []
            for i in range(20):
                X = _friedman_rows(rows, p, rng)
                y = friedman(i // 10, X)
                y = y + 0.3 * y.std() * rng.standard_normal(rows)
                raw.append((X, y))
                parts.append(standardised(X, y))
            found = clustered(parts, candidates, r, criterion="gap", max_clusters=6)
            hits += adjusted_rand_score(np.arange(20) // 10, found.labels_) == 1
            chosen += np.bincount(found.selected_, minlength=len(names)) / 20 / repeats
            X = _friedman_rows(1000, p, rng)
            (X0, y0) = raw[0]
            y = (friedman(0, X) - y0.mean()) / y0.std()
            X = (X - X0.mean(axis=0)) / X0.std(axis=0)
            together.append(float(np.mean((found.predict(0, X) - y) ** 2)))
            alone.append(float(np.mean((found.models_[0].predict(X) - y) ** 2)))
        out.append(
            {
                "candidates": list(names),
                "selected": chosen.tolist(),
                "exact": int(hits),
                "repeats": repeats,
                "collaboration": summary(together),
                "alone": summary(alone),
            }
        )
    return out


def fairness(repeats: int, weights: Sequence[float], seed: int) -> list[Numbers]:
    """Table 1: 30 learners train and 20 test; z, one number a learner, is not to be used. 100 rows of 5 columns."""
    out = []
    for gamma in weights:
        found: dict[str, list[float]] = {"SEC-Fairness": [], "Fairness": [], "Oracle": [], "clusters": []}
        for r in range(repeats):
            rng = np.random.default_rng([seed, 3, int(100 * gamma), r])
            slope = rng.standard_normal(5)
            z = rng.standard_normal(50)
            parts = []
            for i in range(50):
                X = rng.standard_normal((100, 5))
                parts.append((X, X @ slope + gamma * z[i] + rng.standard_normal(100)))
            train = parts[:30]
            sec = clustered(train, [LinearRegression()], r, criterion="gap")
            models = [_pooled([train[i] for i in np.flatnonzero(sec.labels_ == c)]) for c in range(sec.n_clusters_)]
            fair = _pooled(train)
            whole = [(np.column_stack([X, np.full(100, z[i])]), y) for i, (X, y) in enumerate(parts)]
            oracle = _pooled(whole[:30])
            errors: dict[str, list[float]] = {"SEC-Fairness": [], "Fairness": [], "Oracle": []}
            for i in range(30, 50):
                (X, y), half = parts[i], slice(50, 100)
                mine = models[_nearest(sec, train, (X[:50], y[:50]))]
                for name, model, rows in (
                    ("SEC-Fairness", mine, X), ("Fairness", fair, X), ("Oracle", oracle, whole[i][0]),
                ):  # fmt: skip
                    errors[name].append(float(np.mean((model.predict(rows[half]) - y[half]) ** 2)))
            for name, values in errors.items():
                found[name].append(float(np.mean(values)))
            found["clusters"].append(float(sec.n_clusters_))
        out.append({"gamma": gamma} | {name: summary(values) for name, values in found.items()})
    return out


def _pooled(parts: Sequence[Part]) -> LinearRegression:
    return LinearRegression().fit(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]))


def _nearest(sec: MetaClustering, train: Sequence[Part], new: Part) -> int:
    """The cluster whose learners are in sum most similar to a new one."""
    X, y = new
    model = LinearRegression().fit(X, y)
    own = np.mean((model.predict(X) - y) ** 2)
    total = np.zeros(sec.n_clusters_)
    for j, (Xj, yj) in enumerate(train):
        there = abs(np.mean((model.predict(Xj) - yj) ** 2) - sec.losses_[j, j])
        here = abs(np.mean((sec.models_[j].predict(X) - y) ** 2) - own)
        total[sec.labels_[j]] += np.exp(-(there + here) / sec.scale_)
    return int(np.argmax(total))


def grid(path: Path, repeats: int, attacked: Sequence[int], seed: int) -> list[Numbers]:
    """Figure 4: 50 learners of 160 rows, the first s with y negated; the last one's error on 2000 rows."""
    table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(13))
    if table.shape != (10_000, 13):
        raise DataError(f"the grid data have 10000 rows, 12 features and stab; {path} has {table.shape}")
    out = []
    for s in attacked:
        found: dict[str, list[float]] = {"all": [], "none": [], "SEC": [], "SEC, K = 2": [], "oracle": []}
        exact = 0
        for r in range(repeats):
            rows = table[np.random.default_rng([seed, 4, r]).permutation(len(table))]
            test, sign = rows[8000:], np.where(np.arange(50) < s, -1.0, 1.0)
            parts = [(t[:, :12], sign[i] * t[:, 12]) for i, t in enumerate(rows[:8000].reshape(50, 160, 13))]
            members: Numbers = {"all": np.ones(50, bool), "none": np.arange(50) == 49, "oracle": np.arange(50) >= s}
            for name, k in (("SEC", None), ("SEC, K = 2", 2)):
                labels = clustered(parts, [LinearRegression()], r, n_clusters=k).labels_
                members[name] = labels == labels[49]
            exact += bool((members["SEC"] == members["oracle"]).all())
            for name, those in members.items():
                model = _pooled([parts[i] for i in np.flatnonzero(those)])
                found[name].append(float(np.mean((model.predict(test[:, :12]) - test[:, 12]) ** 2)))
        out.append({"attacked": s, "exact": exact, "repeats": repeats} | {n: summary(v) for n, v in found.items()})
    return out


def find_grid(given: Path | None) -> Path:
    """The file, where it is given or kept."""
    name = "electrical_grid_stability.csv"
    places = [*([given] if given else []), *(folder / name for folder in data_folders())]
    for path in places:
        if path.is_file():
            return path
    raise DataError(
        f"there is no {' and no '.join(map(str, places))}; get the Electrical Grid Stability data (UCI no. 471) and "
        "give the file with --data"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate and audit meta clustering (SEC).", "meta-clustering")
    parser.add_argument("--data", type=Path, help="the Electrical Grid Stability file")
    given = parser.parse_args(arguments)
    quick, seed = given.quick, given.seed
    try:
        numbers = provenance("meta_clustering.run", seed, quick)
        path = find_grid(given.data)
        sets = [("boosting",), ("boosting", "forest", "lasso"), NINE]
        numbers |= {
            "grid": grid(path, 2 if quick else 10, (0, 40) if quick else (0, 5, 15, 25, 35, 40, 45), seed),
            "fairness": fairness(2 if quick else 10, (1.0,) if quick else (0.01, 1, 3, 6, 20), seed),
            "breakdown": breakdown(quick, seed),
            "revealed": revealed(quick, seed),
        }
        if not quick:
            numbers["simulation_1"] = simulation_1(10, (10, 50), (0.5, 1.0, 2.0, 5.0), seed)
            numbers["simulation_2"] = simulation_2(5, sets, seed)
    except SecmixError as error:
        print(f"meta_clustering: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
