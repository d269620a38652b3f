"""Experiment (iii), figure 4b: MNIST with skewed labels, by UMAP as in the paper, or by principal components.

Where GraphFed-EM is not above centralised training, ``causes.py`` changes one thing at a time.
"""

from __future__ import annotations

import gzip
import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from analysis.abdurakhmanova_2025.causes import Node, causes
from analysis.abdurakhmanova_2025.ways import VALIDATION, over, overlap, three_ways
from analysis.study import Numbers, data_folders
from secmix._base.checks import Array, Ints
from secmix.errors import DataError

NODES = K = 10


def embedding() -> str:
    """UMAP, as in the paper, where umap-learn is installed (``pip install secmix[papers]``), else PCA."""
    return "UMAP" if importlib.util.find_spec("umap") is not None else "PCA"


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

    def deal(self, size: int, repeat: int) -> tuple[list[Node], list[Node], Array]:
        """Rows, validation rows with their labels, and priors of the nodes."""
        rng = np.random.default_rng([self.seed, 7, self.d, size, repeat])
        priors = rng.dirichlet(np.full(10, 0.3), size=NODES)
        parts, validation = [], []
        for prior in priors:
            train, test = (
                self._drawn(pool, prior, n, rng) for pool, n in zip(self.pools, (size, VALIDATION), strict=True)
            )
            parts.append((self.rows[train], self.labels[train]))
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
    how: str,
    repeats: int,
    dims: Sequence[int],
    sizes: Sequence[int],
    seed: int,
    *,
    thorough: bool = True,
) -> Numbers:
    """NMI of the three ways, and what the causes looked for are worth (all of them if ``thorough``)."""
    dealt = {d: Dealt(folder, d, how, seed) for d in dims}

    def one(d: int, size: int, r: int) -> dict[str, list[float]]:
        nodes, validation, priors = dealt[d].deal(size, r)
        return three_ways([rows for rows, _ in nodes], overlap(priors), validation, None, r, K)

    cells = over(dims, sizes, repeats, one)
    d, size = dims[0], sizes[min(1, len(sizes) - 1)]
    found = causes(dealt[d], size, repeats, thorough=thorough)
    return {"embedding": how, "repeats": repeats, "cells": cells, "causes": {"d": d, "rows": size} | found}


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
