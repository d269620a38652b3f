"""The row behind a linear layer whose weights decayed: found where there is one, never where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.adversaries.reconstructions.layer_ratios import Unit, with_decay


def units_of(rng, m, d, size, *, x=None):
    w, b = rng.normal(size=(m, d)), rng.normal(size=m)
    moves = 0.1 * rng.normal(size=m)
    along = 0.1 * rng.normal(size=(m, d)) if x is None else moves[:, None] * x
    v = 0.9 * w + along + rng.uniform(-0.5, 0.5, (m, d)) * size
    c = 0.9 * b + moves + rng.uniform(-0.5, 0.5, m) * size
    return [Unit(w[j], v[j], float(b[j]), float(c[j]), size) for j in range(m)]


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("m", [2, 3, 8])
@pytest.mark.parametrize("size", [1e-15, 1e-6])
def test_a_row_is_as_near_as_is_said_and_none_is_found_where_there_is_none(size, m, d):
    rng = np.random.default_rng(1)
    for _ in range(60):
        assert with_decay(units_of(rng, m, d, size)) is None
        x = rng.normal(size=d)
        found = with_decay(units_of(rng, m, d, size, x=x))
        assert found is None or np.abs(found.x - x).max() <= found.error
        if size < 1e-12:
            assert (found is None) == ((m, d) == (2, 2))  # four equations for three numbers: one to spare is too few
