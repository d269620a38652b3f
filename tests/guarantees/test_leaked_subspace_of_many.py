"""The leaked subspace is the same however many messages there are."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.estimators.exact.leakage import subspace_of
from secmix.estimators.exact.linear import LinearView


@pytest.mark.parametrize("rows", [5, 40])
def test_of_many_messages_and_of_few_the_leaked_subspace_is_that_of_the_combinations(rows: int) -> None:
    rng = np.random.default_rng(rows)
    a, free = rng.integers(-2, 3, size=(2, 4)), rng.normal(size=(3, 6))
    A, M = np.vstack([rng.normal(size=(3, 4)), a]), np.vstack([free, np.zeros((2, 6))])
    mixed = rng.normal(size=(rows, 5))
    found = subspace_of(LinearView(mixed @ A, mixed @ M, 4), frozenset())
    q = np.linalg.qr(a.T.astype(float))[0]
    np.testing.assert_allclose(found.projector, q @ q.T, atol=1e-9)
