"""GraphFed-EM (Abdurakhmanova and Jung 2025): the paper's experiments, what the messages reveal, what liars do.

Run ``python -m analysis.abdurakhmanova_2025.run``; see analysis/README.md.
The protocol is ``secmix.protocols.GraphFedEM``;
local and pooled training are the same class with alpha = 0.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import normalized_mutual_info_score

from analysis.abdurakhmanova_2025.audit import REGULAR, liars, recovered
from analysis.abdurakhmanova_2025.report import figures, report
from analysis.study import Numbers, data_folders, options, provenance, summary, write
from secmix._base.checks import Array, Ints
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, matched

K, CLUSTERS, EACH = 3, 5, 5
VALIDATION = 500


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


def fit(parts: Sequence[Array], adjacency: Array | None, seed: int, k: int = K, **settings: Any) -> GraphFedEM:
    """GraphFed-EM over the graph, or without one each part by itself."""
    given = REGULAR | {"record": False} | settings
    if adjacency is None:
        return GraphFedEM(k, alpha=0.0, **given).fit(parts, adjacency=np.zeros((len(parts),) * 2), rng=seed)
    return GraphFedEM(k, **given).fit(parts, adjacency=adjacency, rng=seed)


def scores(
    fitted: GraphFedEM, of: Sequence[int], validation: Sequence[tuple[Array, Ints]], truth: Sequence[Mixture] | None
) -> list[float]:
    """Mean log-likelihood, NMI and μ_err (eq. 4), over the nodes; node i uses mixture ``of[i]``."""
    likelihood = [fitted.mixtures_[of[i]].log_density(rows).mean() for i, (rows, _) in enumerate(validation)]
    nmi = [
        normalized_mutual_info_score(labels, fitted.predict(of[i], rows), average_method="geometric")
        for i, (rows, labels) in enumerate(validation)
    ]
    found = [float(np.mean(likelihood)), float(np.mean(nmi))]
    if truth is not None:
        off = [_mean_error(fitted.mixtures_[of[i]], truth[i]) for i in range(len(truth))]
        found.append(float(np.mean(off)))
    return found


def _mean_error(mixture: Mixture, truth: Mixture) -> float:
    found = matched(truth, NodeMessage(mixture.weights, mixture)).mixture.means
    return float(((found - truth.means) ** 2).sum(axis=1).mean())


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


def _over(
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


def clusters(repeats: int, dims: Sequence[int], sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Experiment (i), figure 1: local, centralised, oracle pooling and GraphFed."""

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, 1, d, size, r])
        truth, parts, validation = _cluster_data(d, size, rng)
        pools = [np.concatenate(parts[c * EACH : (c + 1) * EACH]) for c in range(CLUSTERS)]
        own = [i // EACH for i in range(len(parts))]
        found = _three_ways(parts, clustered_graph(1.0, 0.0, rng), validation, truth, r)
        return found | {"oracle pooling": scores(fit(pools, None, r), own, validation, truth)}

    return _over(dims, sizes, repeats, one)


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
                table[a, b, r] = scores(fit(parts, graph, r, alpha=alpha), range(len(parts)), validation, None)[1]
    means = table.mean(axis=2)
    best = [float(alphas[int(np.argmax(row))]) for row in means]
    return {"p_out": list(leaks), "alpha": list(alphas), "nmi": summary(table), "best_alpha": best}


def overlap(priors: Array) -> Array:
    """A_ij of eq. (7): how much two nodes' priors overlap, each row divided by its sum."""
    shared = np.minimum(priors[:, None], priors[None]).sum(axis=-1)
    np.fill_diagonal(shared, 0.0)
    return np.asarray(shared / shared.sum(axis=1, keepdims=True))


def _three_ways(
    parts: list[Array], graph: Array, validation: Any, truth: Any, seed: int, k: int = K
) -> dict[str, list[float]]:
    each = list(range(len(parts)))
    return {
        "local": scores(fit(parts, None, seed, k), each, validation, truth),
        "centralised": scores(fit([np.concatenate(parts)], None, seed, k), [0] * len(parts), validation, truth),
        "GraphFed": scores(fit(parts, graph, seed, k), each, validation, truth),
    }


def own_priors(repeats: int, dims: Sequence[int], sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Experiment (ii), figure 4a: one mixture, priors of each node's own (Dirichlet(0.5)); 10 nodes."""

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, 5, d, size, r])
        base, priors = base_mixture(d, rng), rng.dirichlet(np.full(K, 0.5), size=10)
        truth = [Mixture(p, base.means, base.covariances) for p in priors]
        parts = [labelled(t, size, rng)[0] for t in truth]
        validation = [labelled(t, VALIDATION, rng) for t in truth]
        return _three_ways(parts, overlap(priors), validation, truth, r)

    return _over(dims, sizes, repeats, one)


def digits(folder: Path | None, repeats: int, dims: Sequence[int], sizes: Sequence[int], seed: int) -> list[Numbers]:
    """Experiment (iii), figure 4b: MNIST with skewed labels, by PCA; 10 nodes, 10 components."""
    images, labels = mnist(folder)
    half = np.random.default_rng([seed, 6]).permutation(len(images))
    pools = half[: len(half) // 2], half[len(half) // 2 :]
    projected = PCA(max(dims), svd_solver="randomized", random_state=0).fit(images[pools[0]]).transform(images)

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        rng = np.random.default_rng([seed, 7, d, size, r])
        priors = rng.dirichlet(np.full(10, 0.3), size=10)
        parts, validation = [], []
        for prior in priors:
            train, test = (
                _drawn(labels, pool, prior, n, rng) for pool, n in zip(pools, (size, VALIDATION), strict=True)
            )
            parts.append(projected[train, :d])
            validation.append((projected[test, :d], labels[test]))
        return _three_ways(parts, overlap(priors), validation, None, r, 10)

    return _over(dims, sizes, repeats, one)


def _drawn(labels: Ints, pool: Ints, prior: Array, size: int, rng: np.random.Generator) -> Ints:
    """``size`` images of the pool with labels from ``prior``; a node has none twice as long as there are enough."""
    wanted = rng.multinomial(size, prior)
    chosen = []
    for digit, count in enumerate(wanted):
        these = pool[labels[pool] == digit]
        chosen.append(rng.choice(these, size=count, replace=count > len(these)))
    return np.concatenate(chosen)


def mnist(folder: Path | None) -> tuple[Array, Ints]:
    """The 10 000 test images of MNIST, pixels in [0, 1], and their digits."""
    names = ("mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-labels-idx1-ubyte.gz")
    places = data_folders(folder)
    home = next((p for p in places if all((p / name).is_file() for name in names)), None)
    if home is None:
        raise DataError(
            f"{' and '.join(names)} are in none of {', '.join(map(str, places))}; get them from the owners of MNIST "
            "and give their folder with --data"
        )
    with gzip.open(home / names[0]) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28 * 28) / 255.0
    with gzip.open(home / names[1]) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.intp)
    if len(images) != len(labels):
        raise DataError(f"{len(images)} images and {len(labels)} labels in {home}; they must be as many")
    return images, labels


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate and audit Abdurakhmanova and Jung 2025.", "abdurakhmanova-2025")
    parser.add_argument("--data", type=Path, help="the folder with the MNIST test files")
    given = parser.parse_args(arguments)
    quick, seed = given.quick, given.seed
    try:
        numbers = provenance("abdurakhmanova_2025.run", seed, quick)
        dims, sizes = ((10,), (10,)) if quick else ((2, 6, 10), (10, 100))
        repeats = 2 if quick else 3
        numbers |= {
            "repeats": repeats,
            "clusters": clusters(repeats, dims, sizes, seed),
            "consensus": consensus(
                repeats,
                (0.4, 1.0) if quick else (0.2, 0.4, 0.7, 1.0),
                (0.2, 1.0) if quick else (0.1, 0.4, 0.7, 1.0),
                10 if quick else 50,
                seed,
            ),
            "spurious": spurious(
                repeats,
                (0.4,) if quick else (0.0, 0.2, 0.4),
                (0.4, 1.0) if quick else (0.1, 0.4, 0.7, 1.0),
                seed,
            ),
            "own_priors": own_priors(repeats, dims, sizes, seed),
            "digits": digits(given.data, repeats, (6,) if quick else (2, 6, 10), (50,) if quick else (50, 200), seed),
            "recovered": recovered(quick, seed),
            "liars": liars(quick, seed),
        }
    except SecmixError as error:
        print(f"abdurakhmanova_2025: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
