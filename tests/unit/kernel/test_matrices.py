"""Matrices of a node, of which NumPy computes something, each by itself: eigenvalues, factors, solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.kernel.examples import RingSum, WordSum

from secmix.adversaries import CuriousServer
from secmix.kernel import clear, prove
from secmix.kernel.clearance import KnownSums, Open
from secmix.network import Network

NETWORK = Network.complete(3)
DESIGN = np.vander(np.arange(3.0), 2)


class Computed(WordSum):
    """Each node sums up what it computes of its own row, (runs, 3)."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute

    def encode(self, row: Any) -> Any:
        return super().encode(np.clip(self.compute(row), -9, 9))


class OfAll(RingSum):
    """A server publishes the largest eigenvalue of two rows, of which one is behind no mask of its own."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        both = channel.send(3, [0, 1], -1, "rows", rows[:, :2].transpose(1, 0, 2), encrypted=True)
        channel.send(4, -1, 0, "largest", np.linalg.eigh(np.einsum("nri,nrj->rij", both, both)).eigenvalues[:, -1:])


def products(row: Any) -> Any:
    return np.einsum("ri,rj->rij", row, row) + np.eye(3)


def fitted(row: Any) -> Any:
    several = [np.linalg.lstsq(DESIGN, of_run, rcond=None) for of_run in row]
    return np.array([np.append(each[0], float(each[2])) for each in several])


OWN: dict[str, Callable[[Any], Any]] = {
    "eigenvalues": lambda row: np.linalg.eigh(products(row))[0],
    "eigenvectors": lambda row: np.linalg.eigh(products(row)).eigenvectors[:, 0],
    "eigenvalues alone": lambda row: np.linalg.eigvalsh(products(row)),
    "singular values": lambda row: np.linalg.svd(products(row))[1],
    "factors": lambda row: np.linalg.qr(products(row))[1][:, 0],
    "a determinant": lambda row: np.repeat(np.linalg.slogdet(products(row))[1][:, None], 3, axis=1),
    "solutions": lambda row: np.linalg.solve(products(row), row[..., None])[..., 0],
    "solutions of one side": lambda row: np.linalg.solve(products(row), np.ones((3, 1)))[..., 0],
    "least squares": fitted,
}


def outcome(protocol: Any, adversary: Any) -> Open | KnownSums:
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 3))
    return clear(prove(protocol, NETWORK, inputs), NETWORK, adversary)


@pytest.mark.build
@pytest.mark.parametrize("name", OWN)
def test_what_a_node_computes_of_its_own_matrices_is_an_encoding(name: str) -> None:
    result = outcome(Computed(OWN[name]), CuriousServer())
    assert isinstance(result, KnownSums)
    assert not result.covers
    assert result.symmetric
    assert max(result.exact.values()) == pytest.approx(1 / 3)


def test_what_is_computed_of_several_nodes_counts_as_their_rows() -> None:
    result = outcome(OfAll(), CuriousServer())
    assert isinstance(result, Open) or max(result.exact.values()) > 0.9


def test_residuals_which_are_not_always_there_end_the_proof() -> None:
    def asked(row: Any) -> Any:
        several = [np.linalg.lstsq(DESIGN, of_run, rcond=None)[1] for of_run in row]
        return np.array([np.ones(3) * each.sum() for each in several])

    result = outcome(Computed(asked), CuriousServer())
    assert isinstance(result, Open)
    assert "residuals of lstsq" in result.reason
