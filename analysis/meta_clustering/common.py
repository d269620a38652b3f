"""What the experiments on meta clustering share: learners, SEC with K chosen in several ways, pooled models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import adjusted_rand_score

from secmix._base.checks import Array, Ints
from secmix.protocols import MetaClustering
from secmix.protocols.meta_clustering.candidates import CandidateFailed
from secmix.protocols.meta_clustering.clustering import FewerClusters

Part = tuple[Array, Array]
WAYS = ("gap", "penalty", "given")  # how K is chosen


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


def split(part: Part) -> tuple[Part, Part]:
    """The first and the second half of a learner's rows, which are in no order."""
    (X, y), half = part, len(part[1]) // 2
    return (X[:half], y[:half]), (X[half:], y[half:])


def by_cross_validation(parts: Sequence[Part], candidates: Sequence[Any], seed: int, most: int, *, pool: bool) -> int:
    """K as the end of the paper's section 4 suggests: SEC on half of each learner's rows, judged on the other half.

    The K up to ``most`` with the least error there, of models pooled by cluster or of eq. (4).
    """
    halves = [split(part) for part in parts]
    sec = clustered([train for train, _ in halves], candidates, seed, n_clusters=1)
    errors = []
    for k in range(1, most + 1):
        found = sec.reclustered(n_clusters=k)
        models = pooled_by_cluster(found.labels_, [train for train, _ in halves]) if pool else []
        losses = []
        for i, (_, (X, y)) in enumerate(halves):
            predicted = models[found.labels_[i]].predict(X) if pool else found.predict(i, X)
            losses.append(np.mean((predicted - y) ** 2))
        errors.append(np.mean(losses))
    return 1 + int(np.argmin(errors))


def pooled(parts: Sequence[Part], model: Any = None) -> Any:
    """One regression, linear if not another, on the rows of all ``parts``."""
    model = LinearRegression() if model is None else model
    return model.fit(np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]))


def pooled_by_cluster(labels: Ints, parts: Sequence[Part], model: Any = None) -> list[Any]:
    """One regression for each cluster, on the rows of its learners."""
    from sklearn.base import clone

    return [
        pooled([parts[i] for i in np.flatnonzero(labels == c)], None if model is None else clone(model))
        for c in range(labels.max() + 1)
    ]


def likeness(sec: MetaClustering, train: Sequence[Part], new: Part, model: Any) -> Array:
    """The similarity of a new learner, who fits ``model``, to each of those that were clustered."""
    X, y = new
    model.fit(X, y)
    own = np.mean((model.predict(X) - y) ** 2)
    there = [abs(np.mean((model.predict(Xj) - yj) ** 2) - sec.losses_[j, j]) for j, (Xj, yj) in enumerate(train)]
    here = [abs(np.mean((theirs.predict(X) - y) ** 2) - own) for theirs in sec.models_]
    return np.exp(-(np.array(there) + np.array(here)) / sec.scale_)


def nearest(labels: Ints, like: Array) -> int:
    """The cluster to whose learners a new one is in sum most similar."""
    return int(np.argmax(np.bincount(labels, weights=like)))
