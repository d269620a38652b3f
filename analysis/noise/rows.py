"""Rows that the learners are trained on: those of the papers where the files are present, else of scikit-learn."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from analysis.study import find_data
from secmix._base.checks import Array

NODES = 5


@dataclass(frozen=True)
class Rows:
    """Rows (N, d) of all nodes together, standardised by public figures, and where they are from."""

    values: Array
    source: str

    def parts(self, rng: np.random.Generator) -> list[Array]:
        """Deal the rows to the nodes in another order, as many to each, (1, N_i, d)."""
        permuted = rng.permutation(self.values)[: len(self.values) // NODES * NODES]
        return [part[None] for part in np.split(permuted, NODES)]


def rows_of(learner: str) -> Rows:
    """Return the rows of a learner."""
    return {"EM": _voices, "PCA": _images, "GraphFed-EM": _zeros_and_ones, "regression": _grid}[learner]()


def _standardised(values: Array) -> Array:
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


def _principal(values: Array, count: int) -> Array:
    """Return the scores on the first components, each with variance 1."""
    centred = values - values.mean(axis=0)
    return _standardised(centred @ np.linalg.svd(centred, full_matrices=False)[2][:count].T)


def _voices() -> Rows:
    """Parkinson's disease by voice (Li et al. 2022), two components."""
    if path := find_data("parkinsons.csv"):
        table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(1, 23))
        return Rows(_principal(_standardised(table), 2), "Parkinsons, two principal components")
    table = load_breast_cancer().data
    return Rows(_principal(_standardised(table), 2), "Breast Cancer (Parkinsons is not here), two principal components")


def _mnist() -> tuple[Array, Array] | None:
    images, labels = (find_data(f"mnist-t10k-{name}-ubyte.gz") for name in ("images-idx3", "labels-idx1"))
    if images is None or labels is None:
        return None
    pixels = np.frombuffer(gzip.decompress(images.read_bytes()), dtype=np.uint8, offset=16).reshape(-1, 28, 28)
    return pixels / 255, np.frombuffer(gzip.decompress(labels.read_bytes()), dtype=np.uint8, offset=8)


def _images() -> Rows:
    """Handwritten digits, of which four by four blocks of pixels are averaged."""
    if found := _mnist():
        blocks = found[0].reshape(-1, 4, 7, 4, 7).mean(axis=(2, 4)).reshape(-1, 16)
        return Rows((blocks - blocks.mean(axis=0)) / blocks.std(), "MNIST, 16 blocks of pixels")
    blocks = load_digits().images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    return Rows((blocks - blocks.mean(axis=0)) / blocks.std(), "Digits (MNIST is not here), 16 blocks of pixels")


def _zeros_and_ones() -> Rows:
    """Zeros and ones of handwritten digits (Abdurakhmanova and Jung 2025 take all ten), two components."""
    if found := _mnist():
        pixels, labels = found
        return Rows(_principal(pixels[labels < 2].reshape(-1, 784), 2), "zeros and ones of MNIST, two components")
    digits = load_digits()
    chosen = digits.data[digits.target < 2]
    return Rows(_principal(chosen, 2), "zeros and ones of Digits (MNIST is not here), two components")


def _grid() -> Rows:
    """Stability of an electrical grid (Ye, Ding et al. 2022), predicted from twelve features."""
    if path := find_data("electrical_grid_stability.csv"):
        table = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(13))
        return Rows(_standardised(table), "electrical grid, its stability from twelve features")
    table = load_breast_cancer().data[:, [*range(1, 13), 0]]
    return Rows(_standardised(table), "Breast Cancer (the grid is not here), the radius from twelve features")
