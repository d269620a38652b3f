"""DistributedEM: options, the transcript, drop-outs, and input that cannot be fitted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from secmix import Mixture, Network
from secmix.errors import DataError, NetworkError, NotConverged, SecmixError
from secmix.protocols import PDMM, DistributedEM, Plain, SecureSum

RING = Network.cycle(4)
RNG = np.random.default_rng(0)
PARTS = [RNG.normal(size=(6, 2)) + 5 * (i % 2) for i in range(4)]
START = Mixture([0.5, 0.5], [[0.0, 0.0], [5.0, 5.0]], np.repeat(np.eye(2)[None], 2, axis=0))


def fit(parts=PARTS, network=RING, n_components=2, **settings):
    settings = {"sums": Plain(), "init": START} | settings
    return DistributedEM(n_components, **settings).fit(parts, network=network, rng=0)


def test_is_a_scikit_learn_estimator():
    em = DistributedEM(3, sums=PDMM(sigma=5.0), max_iter=7)
    twin = clone(em)
    assert twin.get_params() == em.get_params()
    assert twin.set_params(max_iter=9).max_iter == 9


def test_the_default_sum_is_pdmm_on_a_complete_network():
    em = DistributedEM(2, init=START, max_iter=1, tol=None).fit(PARTS, rng=0)
    assert {block.kind for block in em.transcript_} == {"input", "mask", "lambda", "y"}
    assert len({tuple(a) for b in em.transcript_ for a in zip(b.sender, b.receiver, strict=True) if a[0] != a[1]}) == 12


def test_what_is_summed_has_the_width_the_paper_says():
    for tol, more in ((None, 0), (1e-3, 1)):
        em = fit(tol=tol, max_iter=2)
        assert {block.payload.shape[2] for block in em.transcript_} == {2 * (1 + 2 + 3) + more}
        assert em.lower_bounds_.shape == (2 * more,)


def test_runs_side_by_side_are_the_runs_alone():
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=(5, 6, 2)) + 5 * (i % 2) for i in range(4)]
    em = DistributedEM(2, sums=Plain(), init=START, max_iter=3, tol=None)
    together = em.run(parts, network=RING, rng=np.random.default_rng(0)).mixtures[-1]
    for run in range(5):
        alone = fit([part[run] for part in parts], max_iter=3, tol=None)
        assert_allclose(together.means[run, 0], alone.means_, rtol=1e-10, atol=1e-12)
        assert_allclose(together.covariances[run, 0], alone.covariances_, rtol=1e-10, atol=1e-12)


def test_one_seed_one_result():
    first, again, other = (
        DistributedEM(2, sums=PDMM(), max_iter=3).fit(PARTS, network=RING, rng=seed) for seed in (5, 5, 6)
    )
    assert np.array_equal(first.means_, again.means_)
    assert not np.array_equal(first.means_, other.means_)


def test_held_parameters_stay_and_are_still_summed_over():
    em = fit(hold_parameters=True, max_iter=3, tol=None)
    assert np.array_equal(em.means_, START.means)
    assert em.transcript_.iterations == [0, 1, 2]


def test_without_a_record_there_is_no_transcript_and_the_same_result():
    kept, bare = (fit(sums=SecureSum(), record=record) for record in (True, False))
    assert bare.transcript_.messages == 0
    assert np.array_equal(kept.means_, bare.means_)


def test_reused_masks_are_the_same_in_every_iteration_and_fresh_ones_are_not():
    for masks, same in (("reused", True), ("fresh", False)):
        em = fit(sums=PDMM(masks=masks), max_iter=3, tol=None)
        drawn = [block.payload for block in em.transcript_ if block.kind == "mask"]
        assert len(drawn) == 3
        assert np.array_equal(drawn[0], drawn[2]) == same


def test_a_node_that_drops_out_keeps_what_it_had_and_the_others_go_on_without_its_rows():
    em = DistributedEM(2, sums=PDMM(sigma=1.0, dropout=(3, 2), tol=1e-12), init=START, max_iter=2, tol=None)
    run = em.run([part[None] for part in PARTS], network=RING, rng=np.random.default_rng(0))
    rest = fit(PARTS[:3], network=Network.cycle(3), max_iter=2, tol=None)
    assert_allclose(run.mixtures[-1].means[0, 0], rest.means_, atol=1e-8)
    assert np.array_equal(run.mixtures[-1].means[0, 3], START.means)


@pytest.mark.parametrize("init", ["kmeans", "moments"])
def test_a_drop_out_during_the_start_is_survived(init):
    em = DistributedEM(2, sums=PDMM(dropout=(3, 2)), init=init).fit(PARTS, network=RING, rng=0)
    assert np.isfinite(em.means_).all()
    assert np.isfinite(em.lower_bounds_).all()


def test_one_row_at_a_node_is_enough():
    em = fit([part[:1] for part in PARTS], n_components=2, max_iter=3)
    assert np.isfinite(em.covariances_).all()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (PARTS[:3], "3 parts for a network of 4 nodes; give one part a node"),
        ([*PARTS[:3], np.ones((2, 3))], r"different numbers of columns: \[2, 3\]"),
        ([*PARTS[:3], np.ones(2)], r"part 3 must have 2 axes; the array given has shape \(2,\)"),
        ([*PARTS[:3], np.empty((0, 2))], r"part 3 is empty \(shape \(0, 2\)\)"),
        (
            [PARTS[0], np.where(PARTS[1] > 6, np.nan, PARTS[1]), *PARTS[2:]],
            r"part 1 holds \d+ value\(s\) that are not",
        ),
        ([*PARTS[:3], [["a", "b"]]], "part 3 must be an array of numbers"),
        (
            [part * [1.0, 0.0] + [0.0, 3.0] for part in PARTS],
            r"column\(s\) \[1\] are constant over all nodes; drop",
        ),
    ],
)
def test_parts_that_cannot_be_fitted_are_refused(parts, message):
    with pytest.raises(DataError, match=message):
        fit(parts)


def test_a_column_constant_at_each_node_but_not_over_all_is_fine():
    parts = [np.column_stack([part[:, 0], np.full(6, float(i))]) for i, part in enumerate(PARTS)]
    assert np.isfinite(fit(parts).means_).all()


def test_more_components_than_rows_is_an_error():
    with pytest.raises(DataError, match="5 components but only 4 rows in all; use fewer components"):
        DistributedEM(5, sums=Plain()).fit([part[:1] for part in PARTS], network=RING, rng=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1; given 0"),
        ({"n_components": True}, "n_components must be an integer of at least 1; given True"),
        ({"n_components": "2"}, "n_components must be an integer"),
        ({"n_components": 2.0}, "n_components must be an integer"),
        ({"n_components": 3}, "init has 2 components in 2 dimensions; needed are 3 in 2"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_iter": "many"}, "max_iter must be an integer"),
        ({"reg_covar": 0.0}, "reg_covar must be above 0"),
        ({"reg_covar": -1e-6}, "reg_covar must be above 0"),
        ({"covariance_center": "mean"}, "'new' or 'old'; given 'mean'"),
        ({"init": "random"}, "a Mixture, 'kmeans' or 'moments'; given 'random'"),
        ({"tol": "small"}, "tol"),
        ({"tol": -1.0}, "tol"),
        ({"tol": float("nan")}, "tol"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SecmixError, match=message):
        fit(**settings)


def test_what_a_sum_protocol_cannot_do_is_said_by_it():
    star = Network.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    with pytest.raises(NetworkError, match="no Hamiltonian cycle: node 1 has fewer than two neighbours"):
        fit(network=star, sums=SecureSum())
    with pytest.raises(NotConverged, match="did not agree in 1 sweeps") as info:
        fit(sums=PDMM(max_sweeps=1))
    assert info.value.residual > 0


def test_new_rows_are_checked_too():
    em = fit()
    assert em.predict(np.array([[0.0, 0.0], [5.0, 5.0]])).tolist() == [0, 1]
    for ask in (em.predict, em.predict_proba, em.score):
        with pytest.raises(DataError, match="not finite, the first at index"):
            ask([[0.0, np.nan]])
        with pytest.raises(DataError, match="X must have 2 axes"):
            ask([0.0, 1.0])
