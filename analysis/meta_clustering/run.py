"""SEC (Ye, Ding et al. 2022, Meta clustering): the paper's experiments, what liars do, and what is revealed.

Run ``python -m analysis.meta_clustering.run``; see analysis/README.md. Learners are clustered by
``secmix.protocols.MetaClustering``, audited as ``SelectExchangeCluster``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import adjusted_rand_score

from analysis.meta_clustering.audit import breakdown, revealed
from analysis.meta_clustering.report import figures, report
from analysis.study import (
    Numbers,
    data_folders,
    mean_and_half_width,
    options,
    provenance,
    run_parts,
    summary,
    write,
)
from secmix._base.checks import Array
from secmix.errors import DataError, SecmixError
from secmix.protocols import MetaClustering, SelectExchangeCluster
from secmix.protocols.meta_clustering.clustering import FewerClusters
from secmix.protocols.meta_clustering.selection import CandidateFailed

Part = tuple[Array, Array]
WAYS = ("gap", "penalty", "given")  # how K is chosen
PARTS = ("grid", "fairness", "counted", "breakdown", "revealed", "simulation_1", "simulation_2")
NINE = ("forest", "knn", "svr", "neural_network", "boosting", "lasso", "lars", "elastic_net", "ridge")
SETS = (("boosting",), ("boosting", "forest", "lasso"), NINE)


def standardised(X: Array, y: Array) -> Part:
    """As the paper does in both simulations, each learner by itself."""
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def clustered(parts: Sequence[Part], candidates: Sequence[Any], seed: int, **settings: Any) -> MetaClustering:
    """SEC, without the warnings that many repeats would fill pages with."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, CandidateFailed, FewerClusters):
            warnings.simplefilter("ignore", kind)
        return MetaClustering(list(candidates), record=False, **settings).fit(parts, rng=seed)


def in_three_ways(sec: MetaClustering, k: int) -> dict[str, MetaClustering]:
    """The same learners with K by the gap statistic, by the penalty of eq. 3, and given."""
    return {
        "gap": sec.reclustered(criterion="gap", n_clusters=None),
        "penalty": sec.reclustered(criterion="penalty", n_clusters=None),
        "given": sec.reclustered(n_clusters=k),
    }


def right(found: MetaClustering, truth: Array) -> bool:
    """Whether all labels are right, up to their numbers."""
    return bool(adjusted_rand_score(truth, found.labels_) == 1)


def simulation_1(
    repeats: int, widths: Sequence[int], snrs: Sequence[float], seed: int, *, forest: bool = True
) -> list[Numbers]:
    """20 learners, 100 rows, two linear functions of 5 of p columns; LASSO and random forest; exact recovery."""
    candidates = [LassoCV(cv=2), *([RandomForestRegressor(50, max_depth=3)] if forest else [])]
    out = []
    for p in widths:
        for snr in snrs:
            exact, two = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
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
                for way, found in in_three_ways(clustered(parts, candidates, r, max_clusters=6), 2).items():
                    exact[way] += right(found, np.arange(20) // 10)
                    two[way] += found.n_clusters_ == 2
            out.append({"p": p, "snr": snr, "exact": exact, "two": two, "repeats": repeats})
    return out


def counted(repeats: int, seed: int) -> list[Numbers]:
    """How often K is found where 15 learners of 40 rows have one, two or three linear functions; least squares."""
    out = []
    for functions in (1, 2, 3):
        hits = dict.fromkeys(WAYS[:2], 0)
        for r in range(repeats):
            rng = np.random.default_rng([seed, 5, functions, r])
            slopes = 2 * rng.standard_normal((functions, 3))
            rows = [rng.standard_normal((40, 3)) for _ in range(15)]
            parts = [(X, X @ slopes[i % functions] + rng.standard_normal(40)) for i, X in enumerate(rows)]
            sec = clustered(parts, [LinearRegression()], r, max_clusters=6)
            for way in hits:
                hits[way] += sec.reclustered(criterion=way).n_clusters_ == functions
        out.append({"functions": functions, "right": hits, "repeats": repeats})
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


def simulation_2(
    repeats: int, sets: Sequence[Sequence[str]], seed: int, rows: int = 150, p: int = 500
) -> list[Numbers]:
    """20 learners, Friedman functions: how often clusters are right, and learner 0's error with and without others."""
    out = []
    for names in sets:
        candidates = SelectExchangeCluster(names).clustering().candidates
        exact, together, alone = dict.fromkeys(WAYS, 0), [], []
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
            ways = in_three_ways(clustered(parts, candidates, r, max_clusters=6), 2)
            for way, each in ways.items():
                exact[way] += right(each, np.arange(20) // 10)
            found = ways["gap"]
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
                "columns": p,
                "rows": rows,
                "exact": exact,
                "repeats": repeats,
                "gain": mean_and_half_width([a - b for a, b in zip(alone, together, strict=True)]),
                "collaboration": summary(together),
                "alone": summary(alone),
            }
        )
    return out


def fairness(repeats: int, weights: Sequence[float], seed: int) -> list[Numbers]:
    """Table 1: 30 learners train and 20 test; z, one number a learner, is not to be used. 100 rows of 5 columns."""
    out = []
    for gamma in weights:
        found: dict[str, list[float]] = {name: [] for name in (*WAYS, "Fairness", "Oracle", "clusters", "penalty K")}
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
            whole = [(np.column_stack([X, np.full(100, z[i])]), y) for i, (X, y) in enumerate(parts)]
            fair, oracle = _pooled(train), _pooled(whole[:30])
            models = {
                way: [_pooled([train[i] for i in np.flatnonzero(sec.labels_ == c)]) for c in range(sec.n_clusters_)]
                for way, sec in ways.items()
            }
            errors: dict[str, list[float]] = {name: [] for name in (*WAYS, "Fairness", "Oracle")}
            for i in range(30, 50):
                (X, y), half = parts[i], slice(50, 100)
                like = _likeness(ways["gap"], train, (X[:50], y[:50]))
                judged = {way: (models[way][_nearest(sec, like)], X) for way, sec in ways.items()}
                for name, (model, rows) in (judged | {"Fairness": (fair, X), "Oracle": (oracle, whole[i][0])}).items():
                    errors[name].append(float(np.mean((model.predict(rows[half]) - y[half]) ** 2)))
            for name, values in errors.items():
                found[name].append(float(np.mean(values)))
            found["clusters"].append(float(ways["gap"].n_clusters_))
            found["penalty K"].append(float(ways["penalty"].n_clusters_))
        ratios = {way: [a / b for a, b in zip(found[way], found["Fairness"], strict=True)] for way in WAYS}
        out.append(
            {"gamma": gamma, "ratio": {way: mean_and_half_width(values) for way, values in ratios.items()}}
            | {name: summary(values) for name, values in found.items()}
        )
    return out


def _pooled(parts: Sequence[Part]) -> LinearRegression:
    return LinearRegression().fit(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]))


def _likeness(sec: MetaClustering, train: Sequence[Part], new: Part) -> Array:
    """The similarity of a new learner to each of those that were clustered."""
    X, y = new
    model = LinearRegression().fit(X, y)
    own = np.mean((model.predict(X) - y) ** 2)
    there = [abs(np.mean((model.predict(Xj) - yj) ** 2) - sec.losses_[j, j]) for j, (Xj, yj) in enumerate(train)]
    here = [abs(np.mean((theirs.predict(X) - y) ** 2) - own) for theirs in sec.models_]
    return np.exp(-(np.array(there) + np.array(here)) / sec.scale_)


def _nearest(sec: MetaClustering, like: Array) -> int:
    """The cluster to whose learners a new one is in sum most similar."""
    return int(np.argmax(np.bincount(sec.labels_, weights=like, minlength=sec.n_clusters_)))


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
                model = _pooled([parts[i] for i in np.flatnonzero(those)])
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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate and audit meta clustering (SEC).", "meta-clustering")
    parser.add_argument("--data", type=Path, help="the Electrical Grid Stability file")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to make anew; the others are kept")
    given = parser.parse_args(arguments)
    quick, seed = given.quick, given.seed
    try:
        path = find_grid(given.data)
        parts: dict[str, Callable[[], Any]] = {
            "grid": lambda: grid(path, 2 if quick else 10, (0, 40) if quick else (0, 5, 15, 25, 35, 40, 45), seed),
            "fairness": lambda: fairness(4 if quick else 10, (3.0,) if quick else (0.01, 1, 3, 6, 20), seed),
            "counted": lambda: counted(6 if quick else 30, seed),
            "breakdown": lambda: breakdown(quick, seed),
            "revealed": lambda: revealed(quick, seed),
        }
        if not quick:
            parts["simulation_1"] = lambda: simulation_1(10, (10, 50), (0.5, 1.0, 2.0, 5.0), seed)
            parts["simulation_2"] = lambda: simulation_2(5, SETS, seed)
        numbers = run_parts(given.out, provenance("meta_clustering.run", seed, quick), parts, given.only)
    except SecmixError as error:
        print(f"meta_clustering: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
