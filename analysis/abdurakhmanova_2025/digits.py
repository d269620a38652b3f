"""Experiment (iii), figure 4b: MNIST with skewed labels, by UMAP as in the paper and by principal components.

Where GraphFed-EM is not above centralised training, ``causes`` changes one thing at a time: the start, the graph, the
alignment, the regularisation and the size of the model.
"""

from __future__ import annotations

import gzip
import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from analysis.abdurakhmanova_2025.ways import VALIDATION, fit, over, overlap, scores, three_ways
from analysis.study import Numbers, data_folders, mean_and_half_width
from secmix._base.checks import Array, Ints
from secmix.errors import DataError
from secmix.mixture import Mixture

NODES = K = 10


def embeddings() -> list[str]:
    """Those that can be made here: UMAP needs umap-learn (``pip install secmix[papers]``)."""
    return ["UMAP"] * (importlib.util.find_spec("umap") is not None) + ["PCA"]


def embedded(images: Array, train: Ints, d: int, how: str) -> Array:
    """Rows (N, d). Principal components are those of the images that train; UMAP, which sees no labels, of all."""
    if how == "PCA":
        return np.asarray(PCA(d, svd_solver="full").fit(images[train]).transform(images))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one thread, which the fixed seed asks for
        from umap import UMAP  # optional, and slow to load

        return np.asarray(UMAP(n_components=d, random_state=0, n_jobs=1).fit_transform(images), dtype=np.float64)


class Dealt:
    """The images in one embedding, dealt to ten nodes with labels of Dirichlet(0.3)."""

    def __init__(self, folder: Path | None, d: int, how: str, seed: int) -> None:
        images, self.labels = mnist(folder)
        halves = np.random.default_rng([seed, 6]).permutation(len(images))
        self.pools = np.split(halves, [len(images) // 2])
        self.rows, self.d, self.seed = embedded(images, self.pools[0], d, how), d, seed

    def deal(self, size: int, repeat: int) -> tuple[list[Array], list[tuple[Array, Ints]], Array]:
        """Rows, validation rows with their labels, and priors of the nodes."""
        rng = np.random.default_rng([self.seed, 7, self.d, size, repeat])
        priors = rng.dirichlet(np.full(10, 0.3), size=NODES)
        parts, validation = [], []
        for prior in priors:
            train, test = (
                self._drawn(pool, prior, n, rng) for pool, n in zip(self.pools, (size, VALIDATION), strict=True)
            )
            parts.append(self.rows[train])
            validation.append((self.rows[test], self.labels[test]))
        return parts, validation, priors

    def _drawn(self, pool: Ints, prior: Array, size: int, rng: np.random.Generator) -> Ints:
        """``size`` images with labels from ``prior``; a node has none twice as long as there are enough."""
        chosen = []
        for digit, count in enumerate(rng.multinomial(size, prior)):
            these = pool[self.labels[pool] == digit]
            chosen.append(rng.choice(these, size=count, replace=count > len(these)))
        return np.concatenate(chosen)


def digits(
    folder: Path | None,
    ways: Sequence[str],
    repeats: int,
    dims: Sequence[int],
    sizes: Sequence[int],
    seed: int,
    *,
    thorough: bool = True,
) -> list[Numbers]:
    """NMI of the three ways, by embedding, and what the causes looked for are worth in it (if ``thorough``)."""
    out = []
    for how in ways:
        dealt = {d: Dealt(folder, d, how, seed) for d in dims}

        def one(d: int, size: int, r: int, dealt: dict[int, Dealt] = dealt) -> dict[str, list[float]]:
            parts, validation, priors = dealt[d].deal(size, r)
            return three_ways(parts, overlap(priors), validation, None, r, K)

        cells = over(dims, sizes, repeats, one)
        d, size = dims[0], sizes[min(1, len(sizes) - 1)]
        found = causes(dealt[d], size, max(repeats, 2), thorough=thorough)
        out.append({"embedding": how, "cells": cells, "causes": {"d": d, "rows": size, "ways": found}})
    return out


def causes(dealt: Dealt, size: int, repeats: int, *, thorough: bool = True) -> Numbers:
    """NMI less that of centralised training on the same rows, mean and half-width, with one thing changed at a time."""
    found: dict[str, list[float]] = {}
    for r in range(repeats):
        parts, validation, priors = dealt.deal(size, r)
        central = _nmi(fit([np.concatenate(parts)], None, r, K).mixtures_[0].expand(NODES), validation)
        for name, value in _changed(parts, validation, priors, r, thorough=thorough).items():
            found.setdefault(name, []).append(value - central)
    return {name: mean_and_half_width(values) for name, values in found.items()}


def _changed(
    parts: list[Array], validation: Sequence[tuple[Array, Ints]], priors: Array, seed: int, *, thorough: bool
) -> dict[str, float]:
    graph, pooled = overlap(priors), [np.concatenate(parts)]
    shared = np.minimum(priors[:, None], priors[None]).sum(axis=-1)
    np.fill_diagonal(shared, 0.0)
    start = fit(pooled, None, seed, K, n_rounds=1, local_steps=1).mixtures_[0]
    few = int(np.ceil((priors > 0.05).sum(axis=1).mean()))

    def graphfed(adjacency: Array | None = graph, k: int = K, **settings: object) -> float:
        return _nmi(fit(parts, adjacency, seed, k, **settings).mixtures_, validation)

    def centralised(k: int = K, **settings: object) -> float:
        return _nmi(fit(pooled, None, seed, k, **settings).mixtures_[0].expand(NODES), validation)

    plain = {"GraphFed": graphfed(), "local": graphfed(None)}
    if not thorough:
        return plain
    return plain | {
        "GraphFed, all start from one mixture, that of pooled k-means": graphfed(init=start),
        "GraphFed, A_ij the overlap itself, rows not divided by their sums": graphfed(shared),
        "GraphFed, one mixture to start from and the overlap itself": graphfed(shared, init=start),
        "GraphFed, α = 0.4": graphfed(alpha=0.4),
        "GraphFed, no shrinkage": graphfed(shrinkage=0.0),
        "GraphFed, one draw of k-means": graphfed(n_init=1),
        f"GraphFed, K = {few}, the labels a node has": graphfed(k=few),
        "centralised, one draw of k-means": centralised(n_init=1),
        f"centralised, K = {few}": centralised(few),
    }


def _nmi(mixtures: Mixture, validation: Sequence[tuple[Array, Ints]]) -> float:
    return scores(mixtures, validation, None)[1]


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
