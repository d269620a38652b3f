"""What a node holds, as a growing subspace: orthonormal and of the right rank, in whatever pieces it comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from secmix.estimators.exact.presumed import _Span, same_probes
from secmix.transcript import Block


@pytest.mark.parametrize("piece", [1, 3, 40])
def test_what_is_known_is_an_orthonormal_basis_of_all_that_came(piece: int) -> None:
    """Rows of very different sizes, some equal, some combinations of others, some apart by little."""
    rng = np.random.default_rng(0)
    free = rng.normal(size=(12, 60)) * 10.0 ** rng.integers(-2, 3, size=(12, 1))
    near = free[:4] * (1 + 1e-5 * rng.normal(size=(4, 60)))
    rows = np.concatenate([free, free[:3], rng.normal(size=(20, 12)) @ free, near, 0.0 * free[:2]])
    span = _Span(60)
    for first in range(0, len(rows), piece):
        span.add(rows[first : first + piece])
    assert span.rank == 16
    assert_allclose(span.basis @ span.basis.T, np.eye(16), atol=1e-14)
    assert span.holds(rows)
    assert span.holds(1e6 * rng.normal(size=(5, len(rows))) @ rows)
    assert not span.holds(rng.normal(size=(1, 60)))
    assert not span.holds(np.full((1, 60), np.nan))


def test_differences_at_the_edge_of_rounding_do_not_spoil_the_basis() -> None:
    rng, span = np.random.default_rng(1), _Span(300)
    for _ in range(60):
        rows = rng.normal(size=(6, 300))
        rows[1:3] = rows[0] + [[1e-5], [3e-8]] * rows[1:3]
        if span.rank > 5:
            rows[3] = span.basis[:5].sum(axis=0) + 2e-8 * rows[3]
        span.add(rows * 10.0 ** rng.integers(-3, 4))
    assert_allclose(span.basis @ span.basis.T, np.eye(span.rank), atol=1e-14)
    assert span.rank == 300


def test_probes_are_the_same_whatever_the_runs_before_them_sent() -> None:
    rng, node = np.random.default_rng(2), np.arange(3)
    payload = rng.normal(size=(3, 5, 2))
    block = Block(0, 0, "x", "plain", node, node[::-1], node, payload)
    of_later_runs = replace(block, iteration=1, payload=np.concatenate([rng.normal(size=(3, 2, 2)), payload[:, 2:]], 1))
    assert same_probes([block], [of_later_runs], 2)
    assert not same_probes([block], [of_later_runs], 1)
    assert not same_probes([block], [replace(of_later_runs, receiver=node)], 2)
    assert not same_probes([block], [of_later_runs, of_later_runs], 2)
