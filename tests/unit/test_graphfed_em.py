"""GraphFed-EM: options, messages, neighbours who do not follow the protocol, and input that cannot be fitted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from secmix import Mixture, Network
from secmix.errors import DataError, NetworkError, SecmixError
from secmix.protocols import GraphFedEM
from secmix.protocols.graphfed.aggregation import NodeMessage, flattened, packed, unpacked
from secmix.transcript import Channel

RING = Network.cycle(4)
RNG = np.random.default_rng(0)
PARTS = [RNG.normal(size=(8 + 2 * i, 2)) + 6 * (np.arange(8 + 2 * i) % 2)[:, None] for i in range(4)]
START = Mixture([0.5, 0.5], [[0.0, 0.0], [6.0, 6.0]], np.repeat(np.eye(2)[None], 2, axis=0))


def fit(parts=PARTS, network=RING, n_components=2, *, adjacency=None, channel=None, **settings):
    settings = {"n_rounds": 2, "local_steps": 2} | settings
    em = GraphFedEM(n_components, **settings)
    return em.fit(parts, network=network, adjacency=adjacency, rng=0, channel=channel)


def test_is_a_scikit_learn_estimator():
    em = GraphFedEM(3, alpha=0.4, rule="trimmed_mean", f=1)
    assert clone(em).get_params() == em.get_params()
    assert (em.get_params()["n_rounds"], em.get_params()["local_steps"], GraphFedEM().alpha) == (10, 5, 1.0)


def test_every_round_each_node_tells_each_neighbour_its_counts_and_parameters():
    fitted = fit(n_rounds=3)
    sent = [block for block in fitted.transcript_ if block.line == "plain"]
    assert [block.iteration for block in sent] == [0, 1, 2]
    for block in sent:
        assert block.kind == "neighbour mixture"
        assert block.payload.shape == (4, 1, 2 * (2 + 2 + 3))
        assert {(int(a), int(b)) for a, b in zip(block.sender, block.receiver, strict=True)} == set(
            map(tuple, RING.arcs.tolist())
        )
        assert_array_equal(block.content, block.sender)
    held = [block for block in fitted.transcript_ if block.line == "held"]
    assert_array_equal(held[1].payload.reshape(-1, 2), PARTS[1])
    assert {block.line for block in fit(encrypted=True).transcript_} == {"held", "encrypted"}
    assert not list(fit(record=False).transcript_)


def test_the_first_round_averages_as_equation_two_says():
    # By hand, node 0 and its one neighbour; well apart, so that the order of the components is the same at both.
    parts = PARTS[:2]
    alone = GraphFedEM(2, alpha=0.0, n_rounds=1, local_steps=3, init=START).fit(parts, network=Network.complete(2))
    a, n = 0.7, alone.counts_
    mean = (n[0, :, None] * alone.mixtures_.means[0] + a * n[1, :, None] * alone.mixtures_.means[1]) / (
        n[0] + a * n[1]
    )[:, None]
    cov = (
        n[0, :, None, None] * alone.mixtures_.covariances[0] + a * n[1, :, None, None] * alone.mixtures_.covariances[1]
    ) / (n[0] + a * n[1])[:, None, None]
    weight = (n[0] * alone.mixtures_.weights[0] + a * n[1] * alone.mixtures_.weights[1]) / (n[0] + a * n[1])
    by_counts = n[0] + a * n[1]
    for alpha in (0.3, 1.0):
        for mixing, target in (({"mixing": "weights"}, weight), ({"mixing": "counts"}, by_counts), ({}, by_counts)):
            em = fit(parts, None, adjacency=[[0, a], [1, 0]], init=START, n_rounds=1, local_steps=3, alpha=alpha,
                     **mixing)  # fmt: skip
            own = alone.mixtures_[0]
            assert_allclose(em.mixtures_.means[0], (1 - alpha) * own.means + alpha * mean, rtol=1e-12)
            assert_allclose(em.mixtures_.covariances[0], (1 - alpha) * own.covariances + alpha * cov, rtol=1e-10)
            expected = (1 - alpha) * own.weights + alpha * target / target.sum()
            assert_allclose(em.mixtures_.weights[0], expected, rtol=1e-12)


def test_weights_are_one_way_and_pieces_may_be_apart():
    fitted = fit(network=None, adjacency=np.diag([1.0, 0, 0], k=1))
    (sent, *_) = [block for block in fitted.transcript_ if block.line == "plain"]
    assert (sent.sender.tolist(), sent.receiver.tolist()) == ([1], [0])
    alone = fit(alpha=0.0)
    assert_allclose(fitted.mixtures_.means[1:], alone.mixtures_.means[1:], rtol=1e-12)
    assert np.abs(fitted.mixtures_.means[0] - alone.mixtures_.means[0]).max() > 1e-3


def test_a_message_says_what_was_packed():
    told = NodeMessage(np.array([3.0, 5.0]), START)
    again = unpacked(packed(told), 2)
    assert_array_equal(again.counts, told.counts)
    assert_array_equal(again.mixture.covariances, START.covariances)


class Forger(Channel):
    """Replaces what node 1 says by ``change`` of it."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def send(self, round, sender, receiver, kind, payload, **more):
        forged = payload.copy()
        forged[1, 0] = self.change(forged[1, 0])
        return super().send(round, sender, receiver, kind, forged, **more)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m * np.nan,
        lambda m: m * 0 + np.inf,
        lambda m: -m,
        lambda m: m * 1e60,
        lambda m: m * 0,
    ],
)
def test_a_message_that_is_no_mixture_is_left_out_and_reported(change):
    # With node 1 silenced, all is as if its neighbours had no edge to it.
    forged = fit(channel=Forger(change))
    assert_array_equal(forged.rejected_, [[t, 1, i] for t in (0, 1) for i in (0, 2)])
    without = np.zeros((4, 4))
    without[RING.arcs[:, 0], RING.arcs[:, 1]] = 1
    without[:, 1] = 0
    honest = fit(network=None, adjacency=without)
    assert len(honest.rejected_) == 0
    others = [0, 2, 3]
    assert_allclose(forged.mixtures_.means[others], honest.mixtures_.means[others], rtol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"mixing": "weights", "alpha": 0.6}, {"rule": "coordinate_median", "f": 1}])
def test_runs_side_by_side_are_what_each_is_by_itself(settings):
    """Nodes of several sizes, and a message that is no mixture in one run alone: there it is left out."""

    class Broken(Channel):
        def __init__(self, which):
            super().__init__()
            self.which = which

        def send(self, round, sender, receiver, kind, payload, **more):
            forged = payload.copy()
            if self.which is not None and self.iteration == 1:
                forged[1, self.which] = np.nan
            return super().send(round, sender, receiver, kind, forged, **more)

    rng = np.random.default_rng(5)
    parts = [rng.normal(size=(3, 6 + i % 3, 2)) + 5 * (np.arange(6 + i % 3) % 2)[:, None] for i in range(5)]
    em = GraphFedEM(2, n_rounds=3, local_steps=2, n_init=1, **settings)
    network, together = Network.cycle(5), Broken(2)
    ends = em.collaborate(parts, network, np.random.default_rng(7), channel=together)
    seeds = np.random.default_rng(7).spawn(3)
    for run in range(3):
        alone = Broken(0 if run == 2 else None)
        fitted = clone(em).fit([part[run] for part in parts], network=network, rng=seeds[run], channel=alone)
        assert len(fitted.rejected_) == (2 if run == 2 else 0)
        assert_array_equal(ends[run], flattened(fitted.mixtures_).reshape(5, -1))
        for one, other in zip(together.transcript, alone.transcript, strict=True):
            assert_array_equal(one.payload[:, run : run + 1], other.payload)


def test_a_robust_rule_holds_where_the_weighted_mean_is_carried_off():
    rng = np.random.default_rng(3)
    parts = [rng.normal(size=(40, 2)) + 6 * (np.arange(40) % 2)[:, None] for _ in range(7)]

    def moved(message):  # the means far off, and a claim of very many rows
        table = message.reshape(2, -1).copy()
        table[:, 0] = 1e6
        table[:, 2:4] += 1e3
        return table.ravel()

    def error(**settings):
        fitted = fit(parts, Network.complete(7), channel=Forger(moved), init=START, n_rounds=1, **settings)
        return np.abs(np.delete(fitted.mixtures_.means, 1, axis=0) - START.means).max()

    assert error() > 900
    for rule in ("coordinate_median", "geometric_median", "trimmed_mean"):
        assert error(rule=rule, f=1) < 1


def test_shrinkage_moves_covariances_towards_their_mean_variance():
    part = np.random.default_rng(1).normal(size=(30, 2)) * [1.0, 5.0]
    network = Network.complete(2)
    plain, shrunk = (
        GraphFedEM(1, alpha=0.0, n_rounds=1, local_steps=1, shrinkage=s).fit([part, part], network=network)
        for s in (0.0, 0.25)
    )
    full = plain.mixtures_.covariances[0, 0]
    expected = 0.75 * full + 0.25 * np.trace(full) / 2 * np.eye(2)
    assert_allclose(shrunk.mixtures_.covariances[0, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.4, 1.0])
@pytest.mark.parametrize("rule", [None, "coordinate_median"])
def test_the_average_of_equal_covariances_is_that_covariance_whatever_the_shrinkage(alpha, rule):
    # Section III: after the aggregation covariances are symmetrised and loaded on the diagonal, and no more.
    same = Mixture([1.0], [[0.0, 0.0]], [np.diag([4.0, 1.0])])
    mine = NodeMessage(np.array([[20.0]]), same.expand(1))
    heard = NodeMessage(np.array([[[np.nan]], [[20.0]], [[20.0]]]), same.expand(3, 1))
    em = GraphFedEM(1, shrinkage=0.1, reg_covar=1e-3, alpha=alpha, rule=rule, f=0)
    averaged = em.averaged(0, mine, heard, np.array([0.0, 1.0, 1.0]))
    assert_allclose(averaged.covariances[0, 0], np.diag([4.0, 1.0]), rtol=0, atol=1e-3)


def test_predict_is_the_most_likely_component_of_the_node():
    fitted = fit()
    for node in range(4):
        labels = fitted.predict(node, [[0.0, 0.0], [6.0, 6.0]])
        near = np.linalg.norm(fitted.mixtures_.means[node][labels] - [[0.0, 0.0], [6.0, 6.0]], axis=1)
        assert near.max() < 2


def test_fewer_distinct_rows_than_components_still_give_a_mixture():
    parts = [np.repeat([[1.0, 2.0]], 5, axis=0), np.random.default_rng(0).normal(size=(5, 2))]
    fitted = GraphFedEM(3, n_rounds=2).fit(parts, network=Network.complete(2), rng=0)
    assert np.linalg.eigvalsh(fitted.mixtures_.covariances).min() > 0
    assert_allclose(fitted.mixtures_.weights.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"alpha": 1.5}, SecmixError, r"alpha must lie in \[0, 1\]"),
        ({"n_rounds": 0}, SecmixError, "n_rounds must be at least 1"),
        ({"local_steps": 2.0}, SecmixError, "local_steps must be an integer"),
        ({"shrinkage": 1.0}, SecmixError, "shrinkage must lie in"),
        ({"mixing": "sum"}, SecmixError, "mixing is 'counts' or 'weights'"),
        ({"rule": "krumm"}, SecmixError, "did you mean 'krum'"),
        ({"rule": "krum", "f": 1}, SecmixError, "needs n >= 5 messages"),
        ({"rule": "mean", "network": None, "adjacency": np.full((4, 4), 0.5) - 0.5 * np.eye(4)}, SecmixError, "0 and"),
        ({"init": "random"}, SecmixError, "init is a Mixture or 'kmeans'"),
        ({"init": START, "n_components": 3}, SecmixError, "init has means of shape"),
        ({"n_components": 9}, DataError, "node 0 holds 8"),
        ({"network": Network.cycle(5)}, DataError, "4 parts for a network of 5 nodes"),
        ({"adjacency": np.ones((4, 4)) - np.eye(4)}, NetworkError, "joins nodes 0 and 2"),
        ({"adjacency": np.eye(4)}, NetworkError, "diagonal of 0"),
        ({"parts": [np.ones((3, 2)), np.ones((3, 1)), *PARTS[:2]]}, DataError, "different numbers of columns"),
        ({"parts": [np.full((3, 2), np.nan), *PARTS[:3]]}, DataError, "part 0 holds 6 value"),
        ({"parts": [], "network": None}, DataError, "there are no parts"),
    ],
)
def test_bad_input_is_refused_in_words(settings, error, words):
    with pytest.raises(error, match=words):
        fit(**settings)
