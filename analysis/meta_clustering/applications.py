"""The paper's experiments on fairness (table 1) and on the electrical grid under attack (figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LinearRegression

from analysis.meta_clustering.common import (
    WAYS,
    by_cross_validation,
    clustered,
    in_three_ways,
    likeness,
    nearest,
    pooled,
    pooled_by_cluster,
)
from analysis.study import Numbers, data_folders, mean_and_half_width, summary
from secmix.errors import DataError

FAIR = (*WAYS, "cv")  # and by cross-validation


def fairness(repeats: int, weights: Sequence[float], seed: int) -> list[Numbers]:
    """Table 1: 30 learners train and 20 test; z, one number a learner, is not to be used. 100 rows of 5 columns."""
    out = []
    for gamma in weights:
        found: dict[str, list[float]] = {
            name: [] for name in (*FAIR, "Fairness", "Oracle", "clusters", "penalty K", "cv K")
        }
        for r in range(repeats):
            rng = np.random.default_rng([seed, 3, int(100 * gamma), r])
            slope = rng.standard_normal(5)
            z = rng.standard_normal(50)
            parts = []
            for i in range(50):
                X = rng.standard_normal((100, 5))
                parts.append((X, X @ slope + gamma * z[i] + rng.standard_normal(100)))
            train = parts[:30]
            ways = in_three_ways(clustered(train, [LinearRegression()], r), 3)
            k = by_cross_validation(train, [LinearRegression()], r, 8, pool=True)
            ways["cv"] = ways["given"].reclustered(n_clusters=k)
            whole = [(np.column_stack([X, np.full(100, z[i])]), y) for i, (X, y) in enumerate(parts)]
            fair, oracle = pooled(train), pooled(whole[:30])
            models = {way: pooled_by_cluster(sec.labels_, train) for way, sec in ways.items()}
            errors: dict[str, list[float]] = {name: [] for name in (*FAIR, "Fairness", "Oracle")}
            for i in range(30, 50):
                (X, y), half = parts[i], slice(50, 100)
                like = likeness(ways["gap"], train, (X[:50], y[:50]), LinearRegression())
                judged = {way: (models[way][nearest(sec.labels_, like)], X) for way, sec in ways.items()}
                for name, (model, rows) in (judged | {"Fairness": (fair, X), "Oracle": (oracle, whole[i][0])}).items():
                    errors[name].append(float(np.mean((model.predict(rows[half]) - y[half]) ** 2)))
            for name, values in errors.items():
                found[name].append(float(np.mean(values)))
            found["clusters"].append(float(ways["gap"].n_clusters_))
            found["penalty K"].append(float(ways["penalty"].n_clusters_))
            found["cv K"].append(float(k))
        ratios = {way: [a / b for a, b in zip(found[way], found["Fairness"], strict=True)] for way in FAIR}
        out.append(
            {"gamma": gamma, "ratio": {way: mean_and_half_width(values) for way, values in ratios.items()}}
            | {name: summary(values) for name, values in found.items()}
        )
    return out


def grid(path: Path, repeats: int, attacked: Sequence[int], seed: int) -> list[Numbers]:
    """Figure 4: 50 learners of 160 rows, the first s with y negated; the last one's error on 2000 rows."""
    table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(13))
    if table.shape != (10_000, 13):
        raise DataError(f"the grid data have 10000 rows, 12 features and stab; {path} has {table.shape}")
    out = []
    for s in attacked:
        names = ("all", "none", *WAYS, "oracle")
        found: dict[str, list[float]] = {name: [] for name in names}
        exact = dict.fromkeys(WAYS, 0)
        for r in range(repeats):
            rows = table[np.random.default_rng([seed, 4, r]).permutation(len(table))]
            test, sign = rows[8000:], np.where(np.arange(50) < s, -1.0, 1.0)
            parts = [(t[:, :12], sign[i] * t[:, 12]) for i, t in enumerate(rows[:8000].reshape(50, 160, 13))]
            members: Numbers = {"all": np.ones(50, bool), "none": np.arange(50) == 49, "oracle": np.arange(50) >= s}
            for way, sec in in_three_ways(clustered(parts, [LinearRegression()], r), 2).items():
                members[way] = sec.labels_ == sec.labels_[49]
                exact[way] += bool((members[way] == members["oracle"]).all())
            for name, those in members.items():
                model = pooled([parts[i] for i in np.flatnonzero(those)])
                found[name].append(float(np.mean((model.predict(test[:, :12]) - test[:, 12]) ** 2)))
        over = {way: mean_and_half_width(np.divide(found[way], found["oracle"]).tolist()) for way in WAYS}
        out.append(
            {"attacked": s, "exact": exact, "repeats": repeats, "over_oracle": over}
            | {name: summary(values) for name, values in found.items()}
        )
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
