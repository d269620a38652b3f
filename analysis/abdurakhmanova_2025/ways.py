"""The ways of training that GraphFed-EM is compared with, and the scores that all are judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from analysis.abdurakhmanova_2025.audit import REGULAR
from analysis.study import Numbers, summary
from secmix._base.checks import Array, Ints
from secmix.mixture import Mixture
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, matched

K, VALIDATION = 3, 500


def fit(parts: Sequence[Array], adjacency: Array | None, seed: int, k: int = K, **settings: Any) -> GraphFedEM:
    """GraphFed-EM over the graph, or without one each part by itself."""
    given = REGULAR | {"record": False} | settings
    if adjacency is None:
        return GraphFedEM(k, alpha=0.0, **given).fit(parts, adjacency=np.zeros((len(parts),) * 2), rng=seed)
    return GraphFedEM(k, **given).fit(parts, adjacency=adjacency, rng=seed)


def scores(mixtures: Mixture, validation: Sequence[tuple[Array, Ints]], truth: Sequence[Mixture] | None) -> list[float]:
    """Mean log-likelihood, NMI and μ_err (eq. 4), over the nodes, of a mixture for each."""
    found: list[list[float]] = [[], [], []]
    for i, (rows, labels) in enumerate(validation):
        joint = mixtures[i].log_joint(rows)
        found[0].append(float(mixtures[i].log_density(rows).mean()))
        found[1].append(normalized_mutual_info_score(labels, joint.argmax(axis=1), average_method="geometric"))
        if truth is not None:
            found[2].append(_mean_error(mixtures[i], truth[i]))
    return [float(np.mean(values)) for values in found if values]


def _mean_error(mixture: Mixture, truth: Mixture) -> float:
    found = matched(truth, NodeMessage(mixture.weights, mixture)).mixture.means
    return float(((found - truth.means) ** 2).sum(axis=1).mean())


def overlap(priors: Array) -> Array:
    """A_ij of eq. (7): how much two nodes' priors overlap, each row divided by its sum."""
    shared = np.minimum(priors[:, None], priors[None]).sum(axis=-1)
    np.fill_diagonal(shared, 0.0)
    return np.asarray(shared / shared.sum(axis=1, keepdims=True))


def three_ways(
    parts: list[Array], graph: Array, validation: Any, truth: Any, seed: int, k: int = K
) -> dict[str, list[float]]:
    """Scores of local training, of one mixture for the pooled rows, and of GraphFed-EM over the graph."""
    pooled = fit([np.concatenate(parts)], None, seed, k).mixtures_[0]
    return {
        "local": scores(fit(parts, None, seed, k).mixtures_, validation, truth),
        "centralised": scores(pooled.expand(len(parts)), validation, truth),
        "GraphFed": scores(fit(parts, graph, seed, k).mixtures_, validation, truth),
    }


def over(
    dims: Sequence[int], sizes: Sequence[int], repeats: int, one: Callable[[int, int, int], dict[str, list[float]]]
) -> list[Numbers]:
    """Each way's scores for each number of columns and of rows, over the repeats; ``one`` makes one of these."""
    out = []
    for d in dims:
        for size in sizes:
            found = [one(d, size, r) for r in range(repeats)]
            ways = {name: summary([each[name] for each in found]) for name in found[0]}
            out.append({"d": d, "rows": size, "scores": ways})
    return out
