"""Why GraphFed-EM is not above centralised training on the digits (figure 4b): one thing changed at a time.

What is changed was fixed before anything was run: the start, the graph, the regularisation, the size of the model, how
far nodes move, and how NMI is taken. Beside it stands how often the components that nodes match hold the same digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from analysis.abdurakhmanova_2025.ways import fit, overlap, scores
from analysis.study import Numbers, mean_and_half_width
from secmix._base.checks import Array, Ints
from secmix.mixture import Mixture
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, matched

Node = tuple[Array, Ints]  # a node's rows and their digits
K = 10
# The authors' public code (federated_gmm_training) shrinks only where d / N_i is at least this, and loads 1e-6.
SHRINKS_FROM, LOADS = 0.2, 1e-6


class Deals(Protocol):
    """Images in one embedding that can be dealt to nodes again and again."""

    d: int

    def deal(self, size: int, repeat: int) -> tuple[list[Node], list[Node], Array]: ...


def causes(dealt: Deals, size: int, repeats: int, *, thorough: bool = True) -> Numbers:
    """NMI less that of centralised training on the same rows, mean and half-width over the repeats (paired)."""
    found: dict[str, dict[str, list[float]]] = {"ways": {}, "same digit": {}}
    for r in range(repeats):
        for group, values in _changed(*dealt.deal(size, r), dealt.d, r, thorough=thorough).items():
            for name, value in values.items():
                found[group].setdefault(name, []).append(value)
    return {group: {name: mean_and_half_width(v) for name, v in each.items()} for group, each in found.items()}


def _changed(
    nodes: list[Node], validation: list[Node], priors: Array, d: int, seed: int, *, thorough: bool
) -> dict[str, dict[str, float]]:
    parts = [rows for rows, _ in nodes]
    graph, pooled = overlap(priors), [np.concatenate(parts)]
    central = fit(pooled, None, seed, K).mixtures_[0]
    base = _nmi(central.expand(len(parts)), validation)
    alike: dict[str, float] = {}

    def graphfed(name: str = "", adjacency: Array | None = graph, k: int = K, **settings: Any) -> float:
        fitted = fit(parts, adjacency, seed, k, **settings)
        if name:
            alike[name] = _same_digit(fitted, nodes, graph)
        return _nmi(fitted.mixtures_, validation) - base

    def centralised(k: int = K, **settings: Any) -> float:
        return _nmi(fit(pooled, None, seed, k, **settings).mixtures_[0].expand(len(parts)), validation) - base

    ways = {"GraphFed": graphfed("GraphFed"), "local": graphfed(adjacency=None)}
    if not thorough:
        return {"ways": ways, "same digit": alike}
    start = fit(pooled, None, seed, K, n_rounds=1, local_steps=1).mixtures_[0]
    digits = _by_digit(pooled[0], np.concatenate([labels for _, labels in nodes]))
    shared = np.minimum(priors[:, None], priors[None]).sum(axis=-1)
    np.fill_diagonal(shared, 0.0)
    everybody = 1.0 - np.eye(len(parts))
    few = int(np.ceil((priors > 0.05).sum(axis=1).mean()))
    code = {"shrinkage": 0.1 if d / len(parts[0]) >= SHRINKS_FROM else 0.0, "reg_covar": LOADS}
    ways |= {
        "start: all nodes from pooled k-means": graphfed("all nodes from pooled k-means", init=start),
        "start: the Gaussians of the true digits": graphfed("the Gaussians of the true digits", init=digits),
        "start: one draw of k-means": graphfed(n_init=1),
        "graph: the overlap itself, rows not divided by their sums": graphfed(adjacency=shared),
        "graph: everybody with weight 1": graphfed("everybody with weight 1", adjacency=everybody),
        "graph and start: the overlap itself, pooled k-means": graphfed(adjacency=shared, init=start),
        "averaging: α = 0.4": graphfed(alpha=0.4),
        "regularisation: none": graphfed(shrinkage=0.0),
        "regularisation: that of the authors' code": graphfed(**code),
        "model: K the mean number of labels at a node, 4 or 5": graphfed(k=few),
        "centralised: one draw of k-means": centralised(n_init=1),
        "centralised: the Gaussians of the true digits": centralised(init=digits),
        "centralised: K the mean number of labels at a node": centralised(few),
        "judged: centralised on all validation rows at once": _pooled_nmi(central, validation) - base,
    }
    return {"ways": ways, "same digit": alike}


def _by_digit(rows: Array, labels: Ints) -> Mixture:
    """One Gaussian for each digit, from its rows: no way to start in earnest, since it takes the labels."""
    d = rows.shape[1]
    groups = [rows[labels == digit] for digit in range(K)]
    groups = [group if len(group) > d else rows for group in groups]  # a digit that nobody has
    covariances = np.stack([np.cov(group.T) + 1e-3 * np.eye(d) for group in groups])
    weights = np.array([len(group) for group in groups], dtype=np.float64)
    return Mixture(weights / weights.sum(), np.stack([group.mean(axis=0) for group in groups]), covariances)


def _same_digit(fitted: GraphFedEM, nodes: Sequence[Node], graph: Array) -> float:
    """Of the components that two neighbours match and that have rows at both, the share that mostly hold one digit."""
    hits = pairs = 0
    majority = [_majorities(fitted.mixtures_[i], *node) for i, node in enumerate(nodes)]
    for i in range(len(nodes)):
        for j in np.flatnonzero(graph[i]).tolist():
            place = NodeMessage(np.arange(fitted.n_components, dtype=np.float64), fitted.mixtures_[j])
            order = matched(fitted.mixtures_[i], place).counts.astype(np.intp)
            both = (majority[i] >= 0) & (majority[j][order] >= 0)
            hits += int((majority[i] == majority[j][order])[both].sum())
            pairs += int(both.sum())
    return hits / max(pairs, 1)


def _majorities(mixture: Mixture, rows: Array, labels: Ints) -> Ints:
    """The digit that most rows of each component have; −1 where it has none."""
    which = mixture.log_joint(rows).argmax(axis=1)
    votes = np.zeros((mixture.n_components, K), dtype=np.intp)
    np.add.at(votes, (which, labels), 1)
    return np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)


def _nmi(mixtures: Mixture, validation: Sequence[Node]) -> float:
    return scores(mixtures, validation, None)[1]


def _pooled_nmi(mixture: Mixture, validation: Sequence[Node]) -> float:
    rows, labels = (np.concatenate(each) for each in zip(*validation, strict=True))
    found = mixture.log_joint(rows).argmax(axis=1)
    return float(normalized_mutual_info_score(labels, found, average_method="geometric"))
