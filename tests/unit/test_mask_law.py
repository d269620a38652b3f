"""Masks that are linear images of draws: their map is found, checked in every call, and met by the exact evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from secmix import Network
from secmix.auditing.soundness import with_linear_masks
from secmix.auditing.soundness.linear_masks import LinearMasks, factor_of, independent
from secmix.estimators.exact.leakage import subspace_of
from secmix.estimators.exact.linear import LinearView

NETWORK = Network.complete(4)


@dataclass
class Drawn:
    """Masks of four nodes, drawn in some way."""

    how: Any
    modulus: float | None = None
    grid: float = 0.0

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return self.how(rng, runs, m)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        raise NotImplementedError


def normals(rng, runs, m, k=4):
    return rng.normal(scale=2.0, size=(runs, k, m))


MAP = np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0.5], [-1, 0, 2]])
IMAGES = {
    "mixed": (lambda rng, runs, m: np.einsum("kq,nqm->nkm", MAP, normals(rng, runs, m, 3)), 3, 2 * MAP),
    "less the mean": (lambda rng, runs, m: (g := normals(rng, runs, m)) - g.mean(axis=1, keepdims=True), 3,
                      2 * (np.eye(4) - 0.25)),
    "entry by entry": (lambda rng, runs, m: np.array([[[rng.normal() + k * rng.normal() for _ in range(m)]
                                                       for k in range(1, 5)] for _ in range(runs)]), 4,
                       np.array([np.kron(row, [1.0, k + 1]) for k, row in enumerate(np.eye(4))])),
    "about one": (lambda rng, runs, m: np.diff(rng.normal(1.0, 3.0, (m, runs, 5))).transpose(1, 2, 0), 4,
                  3 * (np.eye(5)[1:] - np.eye(5)[:-1])),
    "of its children": (lambda rng, runs, m: np.stack([c.laplace(0, i + 1.0, (runs, m)) for i, c in
                                                       enumerate(rng.spawn(4))], axis=1), 4,
                        2**0.5 * np.diag([1.0, 2, 3, 4])),
}  # fmt: skip
OTHERS = {
    "absolute": lambda rng, runs, m: np.abs(normals(rng, runs, m)),
    "clipped": lambda rng, runs, m: np.clip((g := normals(rng, runs, m)) - g.mean(axis=1, keepdims=True), -2, 2),
    "over entries": lambda rng, runs, m: (g := normals(rng, runs, m)) - g.mean(axis=2, keepdims=True),
    "over runs": lambda rng, runs, m: normals(rng, runs, m) + normals(rng, 1, m),
    "by lot": lambda rng, runs, m: normals(rng, runs, m) * rng.permutation([1.0, 2, 3, 4])[:, None],
    "single precision": lambda rng, runs, m: rng.standard_normal((runs, 4, m), dtype=np.float32).cumsum(axis=1),
    "all but singular": lambda rng, runs, m: np.einsum("kq,nqm->nkm", np.eye(4) - (0.25 - 1e-7), normals(rng, runs, m)),
    "another in long calls": lambda rng, runs, m: normals(rng, runs, m).cumsum(axis=1) * (1 + (runs == 6)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_the_map_from_draws_to_masks_is_found(name):
    how, rank, due = IMAGES[name]
    found = with_linear_masks(Drawn(how), NETWORK)
    assert isinstance(found, LinearMasks)
    np.testing.assert_allclose(found.distribution.mixing @ found.distribution.mixing.T, due @ due.T, atol=1e-9)
    kept = found.draw_masks(2000, 2, NETWORK, np.random.default_rng(0))
    assert kept.shape == (2000, rank, 2)
    np.testing.assert_allclose(found.distribution.all(kept), how(np.random.default_rng(0), 2000, 2), atol=1e-12)
    white = independent(found, kept).transpose(0, 2, 1).reshape(-1, rank)
    np.testing.assert_allclose(np.corrcoef(white.T), np.eye(rank), atol=0.08)


def test_sums_of_draws_of_their_own_are_draws_of_their_own():
    protocol = Drawn(lambda rng, runs, m: normals(rng, runs, m) + normals(rng, runs, m))
    assert with_linear_masks(protocol, NETWORK) is protocol


@pytest.mark.parametrize("name", OTHERS)
def test_masks_that_are_no_such_image_are_left_alone(name):
    protocol = Drawn(OTHERS[name])
    assert with_linear_masks(protocol, NETWORK) is protocol


def test_residues_follow_from_others_by_whole_coefficients():
    def how(rng, runs, m):
        words = rng.integers(0, 64, size=(runs, 3, m))
        return np.concatenate([words, np.mod(-words.sum(axis=1, keepdims=True), 64)], axis=1) / 4

    found = with_linear_masks(Drawn(how, modulus=16.0, grid=0.25), NETWORK)
    assert isinstance(found, LinearMasks)
    assert factor_of(found) is None
    kept = found.draw_masks(50, 2, NETWORK, np.random.default_rng(0))
    assert np.array_equal(found.distribution.all(kept), how(np.random.default_rng(0), 50, 2))
    twice = Drawn(lambda *a: 2 * how(*a), modulus=16.0, grid=0.25)
    assert with_linear_masks(twice, NETWORK) is twice


def test_masks_that_all_but_cancel_reach_next_to_nothing():
    view = LinearView(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]), 2)
    assert subspace_of(view, frozenset()).rank == 0
    nearly = LinearView(view.A, view.M, 2, factor=np.array([[1.0, 0.0], [-1.0, 1e-10]]))
    assert subspace_of(nearly, frozenset()).describe() == ["x0"]
