"""Rows from the messages of GraphFed-EM and SEC: every row claimed is the node's, and the cases that must fall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from secmix import Mixture, Network
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.adversaries.reconstructions.graphfed import known_starts, reconstruct_graphfed
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.adversaries.reconstructions.meta_clustering import reconstruct_models
from secmix.protocols import GraphFedEM, Plain, SelectExchangeCluster
from secmix.protocols.graphfed.aggregation import unpacked
from secmix.transcript import Channel


def held(protocol, parts, adversary, network, node=0):
    channel = Channel()
    protocol.collaborate(parts, network, np.random.default_rng(0), channel=channel)
    view = adversary.observe(channel.transcript, network)
    counts = [part.shape[1] for part in parts]
    return known_in_run(view, 0, node, counts, parts[0].shape[2], protocol, network, np.random.default_rng(0))


def clustered(seed, n=4, rows=6, d=3, k=3, apart=6.0):
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(k, d))
    return [centres[rng.integers(k, size=rows)][None] + rng.normal(size=(1, rows, d)) for _ in range(n)]


def nearest(found, truth):
    """How far each row found is from a true one."""
    return np.linalg.norm(found[:, None] - truth, axis=-1).min(axis=1)


# GraphFed


@given(
    seeds,
    st.integers(1, 6),
    st.integers(3, 8),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([1e-6, 1e-2]),
    st.sampled_from([0.4, 1.0]),
)
def test_every_row_and_equation_that_is_claimed_holds(seed, d, rows, shrinkage, reg_covar, alpha):
    parts = clustered(seed, rows=rows, d=d)
    em = GraphFedEM(3, n_rounds=3, local_steps=3, shrinkage=shrinkage, reg_covar=reg_covar, alpha=alpha)
    found = reconstruct_graphfed(held(em, parts, Eavesdropper(), Network.complete(4)))
    scale = np.abs(parts[0]).max()
    assert (found.rows is not None) == found.certified
    if found.rows is not None:
        assert nearest(found.rows, parts[0][0]).max() < 1e-6 * scale
        assert len(np.unique(found.rows.round(5), axis=0)) <= rows
    if rows <= d:
        assert len(found.normals) >= d - rows + 1
    assert_allclose(parts[0][0] @ found.normals.T - found.offsets, 0, atol=1e-6 * scale)


@pytest.mark.parametrize("adversary", [Eavesdropper(), HonestButCurious({1}, eavesdrops=False)])
def test_three_far_rows_of_three_components_are_their_means(adversary):
    parts = [np.array([[[0.0, 0.0], [9.0, 1.0], [1.0, 9.0]]]), np.random.default_rng(0).normal(size=(1, 8, 2))]
    found = reconstruct_graphfed(held(GraphFedEM(3, n_rounds=1), parts, adversary, Network.complete(2)))
    assert found.certified
    assert_allclose(np.sort(found.rows, axis=0), np.sort(parts[0][0], axis=0), atol=1e-9)


def test_a_component_of_two_rows_gives_both_away():
    part = np.array([[[0.0, 0.0, 0.0], [1.0, 0.5, 0.2], [30.0, 1.0, 0.0], [30.5, 0.0, 2.0], [31.0, 5.0, 1.0]]])
    em = GraphFedEM(2, n_rounds=1, local_steps=3, shrinkage=0.3, reg_covar=1e-3)
    found = reconstruct_graphfed(held(em, [part, part], Eavesdropper(), Network.complete(2)))
    assert_allclose(found.rows[np.argsort(found.rows[:, 0])], part[0, :2], atol=1e-7)


def test_many_rows_of_few_columns_are_not_claimed():
    parts = [np.random.default_rng(i).normal(size=(1, 60, 2)) for i in range(3)]
    found = reconstruct_graphfed(held(GraphFedEM(2, n_rounds=3), parts, Eavesdropper(), Network.complete(3)))
    assert found.rows is None
    assert not found.certified
    assert not found.normals.size


def test_one_local_step_a_round_is_inverted_for_overlapping_components():
    parts = clustered(5, n=3, rows=5, d=2, k=2, apart=1.0)
    em = GraphFedEM(2, n_rounds=6, local_steps=1, reg_covar=0.05)
    network = Network.complete(3)
    by_all = reconstruct_graphfed(held(em, parts, Eavesdropper(), network))
    assert by_all.certified
    assert len(by_all.rows) == 5
    assert nearest(by_all.rows, parts[0][0]).max() < 1e-6
    assert "EM steps" in by_all.how
    # Whoever does not hear the third node does not know what the first went on with.
    path = Network.from_edges(3, [(0, 1), (0, 2)])
    deaf = reconstruct_graphfed(held(em, parts, HonestButCurious({1}, eavesdrops=False), path))
    assert "EM steps" not in deaf.how


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_the_start_of_a_round_is_computed_as_the_node_computes_it(alpha):
    # One step from the start that is known gives the message that was sent.
    from secmix.protocols.graphfed.local import local_em

    parts = clustered(1, n=3)
    em = GraphFedEM(2, n_rounds=3, local_steps=1, alpha=alpha)
    seen = held(em, parts, Eavesdropper(), Network.complete(3))
    told = {o.iteration: unpacked(row, 2) for o, row in seen.sent_by(0, "neighbour mixture")}
    starts = known_starts(seen, told)
    assert sorted(starts) == [1, 2, 3]
    for t in (1, 2):
        again, counts = local_em(parts[0][0], starts[t], 1, shrinkage=0.0, reg_covar=1e-6)
        assert_allclose(told[t].mixture.means, again.means, rtol=1e-12)
        assert_allclose(told[t].counts, counts, rtol=1e-12)


def test_a_given_start_is_known_too():
    start = Mixture([0.5, 0.5], [[0.0, 0.0], [6.0, 6.0]], np.repeat(np.eye(2)[None], 2, axis=0))
    em = GraphFedEM(2, n_rounds=1, local_steps=1, init=start)
    seen = held(em, clustered(1, n=2, d=2), Eavesdropper(), Network.complete(2))
    assert known_starts(seen, {})[0] is start


def test_other_protocols_are_left_alone():
    seen = held(GraphFedEM(2, n_rounds=1), clustered(0), Eavesdropper(), Network.complete(4))
    other = known_in_run(Eavesdropper().observe(Channel().transcript, Network.complete(4)), 0, 0, [6] * 4, 3, Plain(),
                        Network.complete(4), np.random.default_rng(0))  # fmt: skip
    assert reconstruct_models(seen) is None
    assert reconstruct_graphfed(other) is None
    assert reconstruct_models(other) is None


# SEC


def fitted(candidates, rows, columns, learners=6, adversary=None, **settings):
    rng = np.random.default_rng(7)
    slopes = rng.normal(size=(2, columns))
    parts = []
    for i in range(learners):
        X = rng.normal(size=(1, rows, columns))
        y = X @ slopes[i % 2] + 0.3 * rng.normal(size=(1, rows))
        parts.append(np.concatenate([X, y[..., None]], axis=2))
    sec = SelectExchangeCluster(candidates, n_clusters=2, points=3, **settings)
    seen = held(sec, parts, adversary or Eavesdropper(), Network.complete(learners))
    return reconstruct_models(seen), parts[0][0]


@pytest.mark.parametrize("adversary", [Eavesdropper(), HonestButCurious({3}, eavesdrops=False)])
def test_least_squares_with_fewer_rows_than_columns_is_an_equation_on_each(adversary):
    found, rows = fitted(["ols"], 5, 8, adversary=adversary)
    assert found.certified
    assert found.normals.shape == (1, 9)
    assert_allclose(rows @ found.normals.T - found.offsets, 0, atol=1e-10)


@pytest.mark.parametrize(("candidate", "rows"), [("ols", 20), ("ridge", 5), ("forest", 10)])
def test_nothing_is_claimed_of_functions_that_miss_their_rows(candidate, rows):
    found, _ = fitted([candidate], rows, 8)
    assert found is None or (found.rows is None and not found.certified and not found.normals.size)


def test_nearest_neighbours_are_the_rows():
    found, rows = fitted(["knn"], 9, 3)
    assert found.certified
    assert_array_equal(found.rows, rows)


def test_a_full_tree_tells_y():
    found, rows = fitted(["tree"], 9, 3)
    assert np.isnan(found.rows[:, :-1]).all()
    assert np.isin(found.rows[:, -1], rows[:, -1]).all()
    assert len(found.rows) >= 6  # those that others asked for


@pytest.mark.parametrize("adversary", [Eavesdropper(), HonestButCurious({3}, eavesdrops=False)])
def test_rows_asked_about_are_heard(adversary):
    found, rows = fitted(["ols"], 9, 3, exchange="predictions", adversary=adversary)
    assert_array_equal(found.rows[:, :-1], rows[:, :-1])
    assert np.isnan(found.rows[:, -1]).all()


@pytest.mark.build
def test_losses_of_enough_predictions_tell_y():
    found, rows = fitted(["forest"], 6, 3, learners=9, exchange="predictions")
    assert_allclose(found.rows, rows, atol=1e-7)
    few, _ = fitted(["forest"], 6, 3, learners=6, exchange="predictions")
    assert np.isnan(few.rows[:, -1]).all()
