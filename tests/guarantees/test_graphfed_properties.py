"""What GraphFed-EM is held to: local EM at alpha 0, agreement, relabelling, and covariances that stay covariances."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from strategies import networks, seeds

from secmix import Mixture, Network
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, matched, positive_definite
from secmix.protocols.graphfed.local import kmeans_start
from secmix.transcript import Channel


def draw_parts(rng, n, d=2, rows=12):
    # Two components well apart: which matches which is then no matter of rounding.
    return [rng.normal(size=(rows + i, d)) + 8 * (np.arange(rows + i) % 2)[:, None] for i in range(n)]


def starts(rng, n, d=2):
    means = np.stack([np.zeros((n, d)), np.full((n, d), 8.0)], axis=1) + 0.5 * rng.normal(size=(n, 2, d))
    return Mixture(np.full((n, 2), 0.5), means, np.broadcast_to(np.eye(d), (n, 2, d, d)))


# Each example fits mixtures at several nodes, so that a quarter of the usual number takes as long as other properties.
FEW = settings(max_examples=max(5, settings().max_examples // 4))


@FEW
@given(seeds, networks(most=5), st.integers(1, 3), st.integers(1, 4))
def test_at_alpha_zero_each_node_runs_em_on_its_own_rows(seed, network, rounds, steps):
    rng = np.random.default_rng(seed)
    parts, start = draw_parts(rng, network.n), starts(rng, network.n)
    fitted = GraphFedEM(2, alpha=0.0, n_rounds=rounds, local_steps=steps, init=start).fit(parts, network=network)
    for i, part in enumerate(parts):
        alone = GaussianMixture(
            2,
            tol=0.0,
            max_iter=rounds * steps,
            weights_init=start.weights[i],
            means_init=start.means[i],
            precisions_init=np.linalg.inv(start.covariances[i]),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # stopped on purpose
            alone.fit(part)
        assert_allclose(fitted.mixtures_.means[i], alone.means_, rtol=1e-8, atol=1e-8)
        assert_allclose(fitted.mixtures_.covariances[i], alone.covariances_, rtol=1e-8, atol=1e-8)
        assert_allclose(fitted.mixtures_.weights[i], alone.weights_, rtol=1e-8)


@FEW
@given(seeds, st.integers(2, 5), st.integers(1, 3), st.sampled_from(["weights", "counts"]))
def test_with_a_complete_graph_equal_data_and_alpha_one_all_agree_after_one_round(seed, n, k, mixing):
    part = np.random.default_rng(seed).normal(size=(15, 2))
    fitted = GraphFedEM(k, n_rounds=1, mixing=mixing).fit([part] * n, network=Network.complete(n), rng=seed)
    for name in ("weights", "means", "covariances"):
        values = getattr(fitted.mixtures_, name)
        assert_allclose(values, np.broadcast_to(values[0], values.shape), rtol=0, atol=0)


@given(seeds, st.integers(2, 5), st.sampled_from(["weights", "counts"]))
def test_with_a_complete_graph_and_alpha_one_any_data_agree_too(seed, n, mixing):
    rng = np.random.default_rng(seed)
    fitted = GraphFedEM(2, n_rounds=1, mixing=mixing, init=starts(rng, n)).fit(
        draw_parts(rng, n), network=Network.complete(n)
    )
    for name in ("weights", "means", "covariances"):
        values = getattr(fitted.mixtures_, name)
        assert_allclose(values, np.broadcast_to(values[0], values.shape), rtol=1e-10, atol=1e-10)


@FEW
@given(seeds, networks(most=6), st.sampled_from([0.4, 1.0]), st.sampled_from([None, "coordinate_median"]))
def test_relabelling_nodes_changes_nothing(seed, network, alpha, rule):
    rng = np.random.default_rng(seed)
    parts, name = draw_parts(rng, network.n), rng.permutation(network.n)
    other = Network.from_edges(network.n, [(int(name[a]), int(name[b])) for a, b in network.edges])
    settings = {"alpha": alpha, "n_rounds": 2, "local_steps": 2, "rule": rule}
    one = GraphFedEM(2, **settings).fit(parts, network=network, rng=seed).mixtures_
    two = GraphFedEM(2, **settings).fit([parts[i] for i in np.argsort(name)], network=other, rng=seed).mixtures_
    assert_allclose(two.means[name], one.means, rtol=1e-9, atol=1e-9)
    assert_allclose(two.covariances[name], one.covariances, rtol=1e-9, atol=1e-9)
    assert_allclose(two.weights[name], one.weights, rtol=1e-9)


@given(seeds, networks(most=6), st.sampled_from([0.4, 1.0]), st.sampled_from([None, "coordinate_median"]))
def test_relabelling_components_at_any_node_changes_nothing(seed, network, alpha, rule):
    rng = np.random.default_rng(seed)
    n = network.n
    parts, start = draw_parts(rng, n), starts(rng, n)
    order = np.stack([rng.permutation(2) for _ in range(n)])
    each = np.arange(n)[:, None]
    other = Mixture(start.weights[each, order], start.means[each, order], start.covariances[each, order])
    settings = {"alpha": alpha, "n_rounds": 2, "local_steps": 2, "rule": rule}
    one = GraphFedEM(2, init=start, **settings).fit(parts, network=network).mixtures_
    two = GraphFedEM(2, init=other, **settings).fit(parts, network=network).mixtures_
    assert_allclose(two.means, one.means[each, order], rtol=1e-9, atol=1e-9)
    assert_allclose(two.covariances, one.covariances[each, order], rtol=1e-9, atol=1e-9)
    assert_allclose(two.weights, one.weights[each, order], rtol=1e-9)


class Hostile(Channel):
    """Node 0 says anything at all: noise of any size, or a mixture bent in one place."""

    def __init__(self, rng, size):
        super().__init__()
        self.rng, self.size = rng, size

    def send(self, round, sender, receiver, kind, payload, **more):
        forged = payload.copy()
        noise = self.rng.standard_normal(forged[0, 0].shape) * 10.0**self.size
        which = self.rng.integers(4)
        if which == 0:
            forged[0, 0] = noise
        elif which == 1:
            forged[0, 0] = forged[0, 0] + noise * (self.rng.random(noise.shape) < 0.3)
        elif which == 2:
            table = forged[0, 0].reshape(2, -1)
            table[:, 4:] *= 10.0**-self.size  # covariances of any size, and still of a mixture
            table[:, 2:4] += noise.reshape(2, -1)[:, 2:4]
            table[:, 0] *= 10.0**self.size
        else:
            forged[0, 0, self.rng.integers(noise.size)] = self.rng.choice([np.nan, np.inf, -np.inf, -1e300, 1e300])
        return super().send(round, sender, receiver, kind, forged, **more)


@FEW
@given(seeds, st.integers(-45, 45), st.sampled_from([0.3, 1.0]), st.sampled_from([None, "trimmed_mean"]))
def test_covariances_stay_positive_definite_whatever_a_neighbour_sends(seed, size, alpha, rule):
    rng = np.random.default_rng(seed)
    em = GraphFedEM(2, alpha=alpha, n_rounds=3, local_steps=2, rule=rule, f=0 if rule is None else 1)
    fitted = em.fit(draw_parts(rng, 5), network=Network.complete(5), rng=seed, channel=Hostile(rng, size)).mixtures_
    assert np.isfinite(fitted.means).all()
    np.linalg.cholesky(fitted.covariances)
    assert (fitted.covariances == fitted.covariances.swapaxes(-1, -2)).all()
    assert_allclose(fitted.weights.sum(axis=1), 1.0)


@given(seeds, st.integers(1, 5), st.floats(-8, 8), st.sampled_from([0.0, 0.3]))
def test_any_symmetric_matrix_is_lifted_to_a_covariance(seed, d, size, shrinkage):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(3, d, d)) * 10.0**size
    lifted = positive_definite(matrix, shrinkage=shrinkage, floor=1e-6)
    np.linalg.cholesky(lifted)
    assert np.linalg.eigvalsh(lifted).min() > 0


def test_a_component_of_one_row_is_told_to_everybody():
    # The audit's reason to be: no raw data leave, and yet this row does.
    rng = np.random.default_rng(0)
    parts = [np.concatenate([rng.normal(size=(10, 2)), [[50.0, -40.0]]]), rng.normal(size=(10, 2))]
    fitted = GraphFedEM(2, n_rounds=1).fit(parts, network=Network.complete(2), rng=0)
    (sent,) = [block for block in fitted.transcript_ if block.line == "plain"]
    table = sent.payload[0, 0].reshape(2, -1)
    assert np.abs(table[:, 2:4] - [50.0, -40.0]).max(axis=1).min() < 1e-9


def orders_of_equal_components(seed, k, d, size):
    """Return a neighbour's means as paired with components of which two are equal, under five sets of last bits."""
    # EM on six rows and three components ends with two equal ones in one run of fifty; a neighbour's components then
    # went to one or the other by the kernel of the linear algebra, and what a node told next differed by a sixth.
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=(k, d, d + 2))
    covariances = shape @ shape.swapaxes(-1, -2) / d + 0.1 * np.eye(d)
    means = rng.normal(size=(k, d)) * 10.0 ** (size / 4)
    means[-1], covariances[-1] = means[0], covariances[0]
    theirs = Mixture(np.full(k, 1 / k), rng.permutation(means) + rng.normal(size=(k, d)), covariances)
    message = NodeMessage(np.ones(k), theirs)

    def wobbled():
        off = 1 + 1e-15 * rng.normal(size=(2, k))
        return Mixture(np.full(k, 1 / k), means * off[0][:, None], covariances * off[1][:, None, None])

    return [matched(wobbled(), message).mixture.means for _ in range(5)]


@given(seeds, st.integers(2, 4), st.integers(1, 3), st.integers(0, 12))
def test_equal_components_are_paired_alike_whatever_the_last_bits(seed, k, d, size):
    orders = orders_of_equal_components(seed, k, d, size)
    assert all(np.array_equal(order, orders[0]) for order in orders)


def test_equal_components_at_a_distance_that_rounds_either_way_are_paired_alike():
    # Distances rounded to nine digits: 0.039 lay on the border between two of the rounded values.
    orders = orders_of_equal_components(seed=72244, k=2, d=2, size=10)
    assert all(np.array_equal(order, orders[0]) for order in orders)


@FEW
@given(seeds, st.integers(2, 5))
def test_components_come_in_the_order_of_their_centres_whatever_k_means_draws_and_however_rows_stand(seed, k):
    # Two rows may be equally good seeds but for rounding: which is drawn first must not number the components.
    rng = np.random.default_rng(seed)
    rows = np.repeat(100.0 * np.arange(k), 2)[:, None] + rng.normal(size=(2 * k, 2))
    for draw in range(5):
        start = kmeans_start(rng.permutation(rows), k, draw, 10, shrinkage=0.1, reg_covar=1e-3)
        assert_allclose(start.means, rows.reshape(k, 2, 2).mean(axis=1))


def test_an_unmatched_order_would_be_noticed():
    # The properties above would hold trivially if components never came in different orders.
    rng = np.random.default_rng(4)
    init = starts(rng, 6)
    init = Mixture(init.weights, np.stack([rng.permutation(means) for means in init.means]), init.covariances)
    em = GraphFedEM(2, n_rounds=1, local_steps=1, init=init)
    fitted = em.fit(draw_parts(rng, 6), network=Network.complete(6))
    first = [fitted.mixtures_.means[i, 0, 0] < 4 for i in range(6)]
    assert any(first)
    assert not all(first)
