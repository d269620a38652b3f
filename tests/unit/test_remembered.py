"""What nodes fit to their own rows is kept, and is what a fresh fit gives; transport in closed form is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from secmix.aggregators.mixture_rules.transport import _transport
from secmix.protocols.graphfed import local
from secmix.protocols.mixture import local_mixture
from secmix.protocols.mixture.local_mixture import fit_mixtures
from secmix.protocols.remembered import Remembered

FIELDS = ("weights", "means", "covariances")


def test_the_one_longest_unused_goes_first():
    known = Remembered[int](most=2)
    for k in (1, 2):
        known.put(k, k)
    assert known.get(1) == 1
    known.put(3, 3)
    assert [known.get(k) for k in (1, 2, 3)] == [1, None, 3]


@pytest.mark.build
def test_machines_are_fitted_the_same_whether_remembered_or_not(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(6, 40, 2)) + np.arange(2)

    def fitted(which):
        return fit_mixtures(rows[which], 2, rng=np.random.default_rng(1))

    monkeypatch.setattr(local_mixture, "_FITS", Remembered(most=100))
    fitted(slice(0, 3))
    partly = fitted(slice(0, 6))  # three of six are known
    again = fitted(slice(0, 6))
    again.mixture.means[:] = 0.0  # what is returned belongs to the caller
    third = fitted(slice(0, 6))
    monkeypatch.setattr(local_mixture, "_FITS", Remembered(most=100))
    fresh = fitted(slice(0, 6))
    for name in FIELDS:
        assert np.array_equal(getattr(partly.mixture, name), getattr(fresh.mixture, name))
        assert np.array_equal(getattr(third.mixture, name), getattr(fresh.mixture, name))
    assert partly.histories == fresh.histories
    other = fit_mixtures(rows, 2, rng=np.random.default_rng(1), penalty=0.5)
    assert not np.array_equal(other.mixture.means, fresh.mixture.means)


def test_k_means_starts_the_same_whether_remembered_or_not(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    settings = {"shrinkage": 0.1, "reg_covar": 1e-3}
    monkeypatch.setattr(local, "_CLUSTERS", Remembered(most=10))
    first, again = (local.kmeans_start(rows, 2, 3, 2, **settings) for _ in range(2))
    assert all(np.array_equal(getattr(first, name), getattr(again, name)) for name in FIELDS)
    assert not np.array_equal(local.kmeans_start(rows + 1, 2, 3, 2, **settings).means, first.means)


@given(st.integers(1, 4), st.booleans(), st.integers(0, 2**32 - 1))
def test_transport_of_two_components_is_the_linear_programme(size, turned, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.dirichlet(np.ones(k)) for k in ((size, 2) if turned else (2, size)))
    cost = rng.random((len(a), len(b))) * 10 ** rng.uniform(-3, 6)
    margins = [np.kron(np.eye(len(a)), np.ones(len(b))), np.kron(np.ones(len(a)), np.eye(len(b)))]
    given = np.concatenate([a, b])[:-1]
    plan = linprog((cost / cost.max()).ravel(), A_eq=np.concatenate(margins)[:-1], b_eq=given, bounds=(0, None))
    assert _transport(cost, a, b) / cost.max() == pytest.approx(plan.fun, abs=1e-9)
