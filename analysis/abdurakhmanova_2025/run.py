"""GraphFed-EM (Abdurakhmanova and Jung 2025): the paper's experiments, what the messages reveal, what liars do.

Run ``python -m analysis.abdurakhmanova_2025.run``; see analysis/README.md.
The protocol is ``secmix.protocols.GraphFedEM``;
local and pooled training are the same class with alpha = 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from analysis.abdurakhmanova_2025.audit import REGULAR, liars, recovered
from analysis.abdurakhmanova_2025.digits import digits, embedding
from analysis.abdurakhmanova_2025.report import figures, report
from analysis.abdurakhmanova_2025.ways import VALIDATION, K, fit, over, overlap, scores, three_ways
from analysis.study import Numbers, options, provenance, run_parts, summary, write
from secmix._base.checks import Array, Ints
from secmix.errors import SecmixError
from secmix.mixture import Mixture
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, matched
from secmix.protocols.graphfed.local import kmeans_start

PARTS = ("clusters", "consensus", "spurious", "own_priors", "digits", "recovered", "liars")
CLUSTERS, EACH = 5, 5


def base_mixture(d: int, rng: np.random.Generator) -> Mixture:
    """Three components: means N(0, 2² I), covariances with eigenvalues in [0.5, 1.5], weights 1/3."""
    turns = np.stack([_rotation(d, rng) for _ in range(K)])
    spread = rng.uniform(0.5, 1.5, size=(K, 1, d))
    covariances = (turns * spread) @ turns.swapaxes(-1, -2)
    return Mixture(np.full(K, 1 / K), 2.0 * rng.standard_normal((K, d)), covariances)


def moved(base: Mixture, rng: np.random.Generator) -> Mixture:
    """All components turned and shifted alike, as the paper makes its clusters; the shift is N(0, I)."""
    d = base.n_features
    turn, shift = _rotation(d, rng), rng.standard_normal(d)
    return Mixture(base.weights, base.means @ turn.T + shift, turn @ base.covariances @ turn.T)


def _rotation(d: int, rng: np.random.Generator) -> Array:
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(q * np.sign(np.diagonal(r)))


def labelled(mixture: Mixture, size: int, rng: np.random.Generator) -> tuple[Array, Ints]:
    """Rows and the components they come from."""
    which = np.sort(rng.choice(mixture.n_components, size=size, p=mixture.weights))
    lower = np.linalg.cholesky(mixture.covariances)
    noise = rng.standard_normal((size, mixture.n_features))
    return mixture.means[which] + np.einsum("nij,nj->ni", lower[which], noise), which


def clustered_graph(p_in: float, p_out: float, rng: np.random.Generator, n: int = CLUSTERS * EACH) -> Array:
    """A (n, n) of 0 and 1: an edge with p_in inside a cluster of five and with p_out across."""
    own = np.arange(n) // EACH
    p = np.where(own[:, None] == own[None], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < p, 1)
    return np.asarray((upper | upper.T).astype(np.float64))


def consensus_error(fitted: GraphFedEM, adjacency: Array, rows: int) -> float:
    """Eqs. (5) and (6)."""
    total = 0.0
    for i in range(len(adjacency)):
        around = np.flatnonzero(adjacency[i])
        if not len(around):
            continue
        messages = [
            matched(fitted.mixtures_[i], NodeMessage(fitted.counts_[j], fitted.mixtures_[j])) for j in around.tolist()
        ]
        weights = np.stack([adjacency[i, j] * t.counts for j, t in zip(around, messages, strict=True)])
        means = np.einsum("jk,jkd->kd", weights / weights.sum(axis=0), np.stack([t.mixture.means for t in messages]))
        apart = ((fitted.mixtures_.means[i] - means) ** 2).sum(axis=1)
        total += float(fitted.counts_[i] @ apart)
    return total / (len(adjacency) * rows)


def clusters(repeats: int, dims: Sequence[int], sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Experiment (i), figure 1: local, centralised, oracle pooling, GraphFed, and GraphFed on pooled rows."""

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, 1, d, size, r])
        truth, parts, validation = _cluster_data(d, size, rng)
        pools = [np.concatenate(parts[c * EACH : (c + 1) * EACH]) for c in range(CLUSTERS)]
        own, graph = np.arange(len(parts)) // EACH, clustered_graph(1.0, 0.0, rng)
        found = three_ways(parts, graph, validation, truth, r)
        pooling = fit(pools, None, r).mixtures_
        each = Mixture(pooling.weights[own], pooling.means[own], pooling.covariances[own])
        return found | {
            "oracle pooling": scores(each, validation, truth),
            "GraphFed, pooled": scores(pooled_graphfed(pools, graph, r), validation, truth),
        }

    return over(dims, sizes, repeats, one)


def pooled_graphfed(pools: Sequence[Array], graph: Array, seed: int) -> Mixture:
    """GraphFed-EM where every node holds all rows of its cluster; each starts from a draw of k-means of its own.

    From one start for all, the nodes of a cluster would send each other what they have: averaging would change
    nothing, and each would end with the mixture of oracle pooling.
    """
    rows = [pools[i // EACH] for i in range(len(graph))]
    starts = [
        kmeans_start(part, K, 1000 * seed + i, 1, shrinkage=REGULAR["shrinkage"], reg_covar=REGULAR["reg_covar"])
        for i, part in enumerate(rows)
    ]
    start = Mixture(
        np.stack([s.weights for s in starts]),
        np.stack([s.means for s in starts]),
        np.stack([s.covariances for s in starts]),
    )
    return fit(rows, graph, seed, init=start).mixtures_


def _cluster_data(d: int, size: int, rng: np.random.Generator) -> tuple[list[Mixture], list[Array], Any]:
    base = base_mixture(d, rng)
    of_cluster = [moved(base, rng) for _ in range(CLUSTERS)]
    truth = [of_cluster[i // EACH] for i in range(CLUSTERS * EACH)]
    return truth, [labelled(t, size, rng)[0] for t in truth], [labelled(t, VALIDATION, rng) for t in truth]


def consensus(repeats: int, densities: Sequence[float], alphas: Sequence[float], rounds: int, seed: int) -> Numbers:
    """Figure 2: one cluster of 10 nodes, 10 rows of 10 columns each."""
    table = np.empty((len(densities), len(alphas), repeats))
    for r in range(repeats):
        rng = np.random.default_rng([seed, 2, r])
        mixture = base_mixture(10, rng)
        parts = [labelled(mixture, 10, rng)[0] for _ in range(10)]
        draws = np.triu(rng.random((10, 10)), 1)
        for a, p in enumerate(densities):
            graph = ((draws > 0) & (draws < p)).astype(np.float64)
            graph += graph.T
            for b, alpha in enumerate(alphas):
                table[a, b, r] = consensus_error(fit(parts, graph, r, alpha=alpha, n_rounds=rounds), graph, 10)
    return {"p_in": list(densities), "alpha": list(alphas), "rounds": rounds, "error": summary(table)}


def spurious(repeats: int, leaks: Sequence[float], alphas: Sequence[float], seed: int) -> Numbers:
    """Figure 3: NMI against alpha with edges across clusters; 10 rows of 10 columns a node."""
    table = np.empty((len(leaks), len(alphas), repeats))
    for r in range(repeats):
        rng = np.random.default_rng([seed, 3, r])
        _, parts, validation = _cluster_data(10, 10, rng)
        for a, p in enumerate(leaks):
            graph = clustered_graph(1.0, p, np.random.default_rng([seed, 4, r]))
            for b, alpha in enumerate(alphas):
                table[a, b, r] = scores(fit(parts, graph, r, alpha=alpha).mixtures_, validation, None)[1]
    means = table.mean(axis=2)
    best = [float(alphas[int(np.argmax(row))]) for row in means]
    return {"p_out": list(leaks), "alpha": list(alphas), "nmi": summary(table), "best_alpha": best}


def own_priors(repeats: int, dims: Sequence[int], sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Experiment (ii), figure 4a: one mixture, priors of each node's own (Dirichlet(0.5)); 10 nodes."""

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, 5, d, size, r])
        base, priors = base_mixture(d, rng), rng.dirichlet(np.full(K, 0.5), size=10)
        truth = [Mixture(p, base.means, base.covariances) for p in priors]
        parts = [labelled(t, size, rng)[0] for t in truth]
        validation = [labelled(t, VALIDATION, rng) for t in truth]
        return three_ways(parts, overlap(priors), validation, truth, r)

    return over(dims, sizes, repeats, one)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate and audit Abdurakhmanova and Jung 2025.", "abdurakhmanova-2025")
    parser.add_argument("--data", type=Path, help="the folder with the MNIST test files")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to make anew; the others are kept")
    given = parser.parse_args(arguments)
    quick, seed = given.quick, given.seed
    dims, sizes = ((10,), (10,)) if quick else ((2, 6, 10), (10, 50, 100))
    repeats = 3 if quick else 10  # the paper has 10
    embedded, shares = ((6,), (50,)) if quick else (dims, (50, 100, 200))
    densities, alphas = ((0.4, 1.0), (0.2, 1.0)) if quick else ((0.2, 0.4, 0.7, 1.0), (0.1, 0.4, 0.7, 1.0))
    leaks, strengths = ((0.4,), (0.4, 1.0)) if quick else ((0.0, 0.2, 0.4), (0.1, 0.4, 0.7, 1.0))
    parts: dict[str, Callable[[], Any]] = {
        "clusters": lambda: clusters(repeats, dims, sizes, seed),
        "consensus": lambda: consensus(repeats, densities, alphas, 10 if quick else 50, seed),
        "spurious": lambda: spurious(repeats, leaks, strengths, seed),
        "own_priors": lambda: own_priors(repeats, dims, sizes, seed),
        "digits": lambda: digits(
            given.data, "PCA" if quick else embedding(), repeats, embedded, shares, seed, thorough=not quick
        ),
        "recovered": lambda: recovered(quick, seed),
        "liars": lambda: liars(quick, seed),
    }
    try:
        numbers = provenance("abdurakhmanova_2025.run", seed, quick) | {"repeats": repeats}
        with threadpool_limits(1):  # one thread: sums in another order round otherwise
            numbers = run_parts(given.out, numbers, parts, given.only)
    except SecmixError as error:
        print(f"abdurakhmanova_2025: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
