"""Eigenvectors and singular vectors have no sign of their own; processors differ in it. No search may depend on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inversion_problems import problem

from secmix import Mixture, aggregators
from secmix._base.stable_order import oriented
from secmix.adversaries import WorstCase, collude, invert_sums, worst_basis
from secmix.adversaries.against_rules.cma_es import evolve
from secmix.adversaries.against_rules.ties import in_order
from secmix.adversaries.attacks.sums import FIXED
from secmix.aggregators.mixture_rules import dfmr

pytestmark = pytest.mark.delicate


def other_signs(monkeypatch):
    """From now on LAPACK's wrappers return every other vector with the other sign, the first among them."""
    eigh, svd = np.linalg.eigh, np.linalg.svd

    def flipped_eigh(a, *args, **kwargs):
        found = eigh(a, *args, **kwargs)
        return type(found)(found.eigenvalues, found.eigenvectors * alternating(found.eigenvectors.shape[-1]))

    def flipped_svd(a, full_matrices=True, compute_uv=True, **kwargs):
        found = svd(a, full_matrices=full_matrices, compute_uv=compute_uv, **kwargs)
        if not compute_uv:
            return found
        u, v = alternating(found.U.shape[-1]), alternating(found.Vh.shape[-2])
        return type(found)(found.U * u, found.S, found.Vh * v[:, None])

    monkeypatch.setattr(np.linalg, "eigh", flipped_eigh)
    monkeypatch.setattr(np.linalg, "svd", flipped_svd)


def alternating(count):
    return np.where(np.arange(count) % 2 == 0, -1.0, 1.0)


def evolved():
    slopes = np.array([1.0, 3.0, 10.0, 0.2])
    coupled = np.eye(4) + 0.4 * np.eye(4, k=1)
    return evolve(lambda z: -float(np.abs(slopes * (coupled @ z - 1)).sum()), np.zeros(4), 0.3, 300, rng())[0]


def colluded():
    draws = rng(1)
    means = np.array([[0.0, 0.0], [4.0, 1.0]]) + 0.2 * draws.standard_normal((5, 2, 2))
    turned = np.array([[2.0, 0.5], [0.5, 1.0]]) * (1 + 0.1 * draws.random((5, 2, 1, 1)))
    honest = Mixture(np.full((5, 2), 0.5), means, turned)
    return collude(dfmr, honest, 2, rng(), budget=220, undetected=True).mixture.means


def worst(rule, p):
    return lambda: WorstCase(rule, f=2, budget=300).search(rng(2).standard_normal((9, p)), rng()).messages


def against_the_subspace_median():
    near = np.eye(5)[:, :2] + 0.05 * rng().standard_normal((6, 5, 2))
    return worst_basis(near, 2, rng(), truth=np.eye(5)[:, :2], budget=150).messages


def inverted():
    _, path, sums = problem(5, 2, 2, 4, seed=3)
    return invert_sums(sums, path, 5, rng=rng(), starts=3).rows


def mimicked():
    return FIXED["mimic"](rng(4).standard_normal((7, 3)), 2, rng())


def rng(seed=0):
    return np.random.default_rng(seed)


SEARCHES = {
    "evolve": evolved,
    "collude": colluded,
    "worst case of krum": worst(aggregators.krum, 4),
    "worst case of the geometric median": worst(aggregators.geometric_median, 4),
    "worst case of the trimmed mean, one dimension": worst(aggregators.trimmed_mean, 1),
    "worst basis": against_the_subspace_median,
    "invert_sums": inverted,
    "mimic": mimicked,
}


@pytest.mark.build
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_search_finds_the_same_whatever_the_signs(search, monkeypatch):
    expected = search()
    other_signs(monkeypatch)
    assert search() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_directions_are_oriented_alike_to_the_last_bit():
    nearly = np.array([[0.5, -0.5, 0.1], [-0.5, 0.5 * (1 + 1e-12), 0.1]])
    assert np.array_equal(oriented(nearly), oriented(-nearly))
    assert np.array_equal(oriented(nearly)[:, 0], [0.5, 0.5])


@given(
    values=st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=1, max_size=12),
    seed=st.integers(0, 2**16),
)
def test_a_cut_among_equal_numbers_is_the_same_whatever_the_last_bits(values: list[float], seed: int) -> None:
    exact = np.array(values)
    wobbled = exact * (1 + 1e-15 * np.random.default_rng(seed).integers(-3, 4, exact.size))
    assert in_order(wobbled) == np.argsort(exact, kind="stable").tolist()
