"""GraphFed-EM and SEC with liars among the nodes: what each lie says, and what it does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from secmix import Mixture, Network
from secmix.adversaries import Attack, Colluders, RoundMessages, TamperingChannel
from secmix.adversaries.attacks import graphfed as neighbours
from secmix.adversaries.attacks import meta_clustering as learners
from secmix.errors import DataError, NetworkError, SecmixError
from secmix.protocols import Collaboration, GraphFedEM, SelectExchangeCluster
from secmix.protocols.graphfed.aggregation import unpacked
from secmix.transcript import Channel

START = Mixture([0.5, 0.5], [[0.0, 0.0], [6.0, 6.0]], np.repeat(np.eye(2)[None], 2, axis=0))
EM = GraphFedEM(2, n_rounds=2, local_steps=2, init=START)
NEIGHBOURS = {name: getattr(neighbours, name) for name in neighbours.__all__}
LEARNERS = {name: getattr(learners, name) for name in learners.__all__}


def draw_rows(seed, runs=2, n=6, rows=14):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(runs, rows, 2)) + 6 * (np.arange(rows) % 2)[:, None] for _ in range(n)]


def draw_learners(seed, runs=1, m=10, rows=30, p=3, noise=0.1):
    """The first six share one linear function, the others another."""
    rng = np.random.default_rng(seed)
    slopes = np.array([[2.0, -1.0, 1.0], [-1.0, 2.0, 1.0]])[:, :p]
    parts = []
    for i in range(m):
        X = rng.normal(size=(runs, rows, p))
        parts.append(np.concatenate([X, (X @ slopes[int(i > 5)] + noise * rng.normal(size=X.shape[:2]))[..., None]], 2))
    return parts


def collaborate(protocol, parts, forgery=None, corrupt=(), scale=1.0):
    rng = np.random.default_rng(3)
    channel = Channel()
    if forgery is not None:
        channel = TamperingChannel(forgery, corrupt, rng, protocol=protocol, scale=scale)
        if forgery.poison is not None:
            parts = [forgery.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(parts)]
    network = Network.complete(len(parts))
    with np.errstate(all="ignore"):
        return protocol.collaborate(parts, network, np.random.default_rng(1), channel=channel), channel.transcript


def pushed(protocol, parts, forgery, corrupt, scale=1.0):
    honest, _ = collaborate(protocol, parts)
    lied, _ = collaborate(protocol, parts, forgery, corrupt, scale)
    loyal = [i for i in range(len(parts)) if i not in corrupt]
    return protocol.error(lied[:, loyal], honest[:, loyal])


# GraphFed


def test_graphfed_is_a_collaboration_run_by_run():
    assert isinstance(EM, Collaboration)
    results, transcript = collaborate(EM, draw_rows(0))
    assert results.shape == (2, 6, 2 * (1 + 2 + 3))
    assert {block.kind for block in transcript} == {"rows", "neighbour mixture"}
    alone, _ = collaborate(EM, [part[:1] for part in draw_rows(0)])
    assert_array_equal(alone[0], results[0])


def test_the_error_is_a_distance_in_the_unit_of_the_features_that_sees_no_order():
    results, _ = collaborate(EM, draw_rows(0))
    assert_allclose(EM.error(results, results), 0, atol=1e-12)
    moved = results.reshape(2, 6, 2, 6).copy()
    moved[..., 1:3] += [3.0, 4.0]
    assert_allclose(EM.error(moved[:, :, ::-1].reshape(results.shape), results), 5.0, rtol=1e-9)


@pytest.mark.parametrize("name", NEIGHBOURS)
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_neighbours_lies_are_mixtures_and_change_the_outcome(name, scale):
    # Mixing weights that are announced count only where they are what is averaged.
    parts, em = draw_rows(1), clone(EM).set_params(mixing="weights")
    lied, transcript = collaborate(em, parts, NEIGHBOURS[name], [4], scale)
    honest, _ = collaborate(em, parts)
    assert np.isfinite(lied).all()
    assert EM.error(lied[:, :4], honest[:, :4]).min() > 1e-3
    for block in transcript:
        if block.line == "plain":
            assert unpacked(block.payload[4, 0], 2) is not None


def test_far_means_carry_the_weighted_mean_off_without_bound_and_not_a_median():
    parts = draw_rows(2, n=9)
    robust = GraphFedEM(2, n_rounds=2, local_steps=2, init=START, rule="coordinate_median", f=2)
    for forgery in (neighbours.means, neighbours.shift, neighbours.claim):
        assert pushed(EM, parts, forgery, [7, 8], 1e6).min() > 1e3
        assert pushed(robust, parts, forgery, [7, 8], 1e6).max() < 2


def test_a_claim_of_many_rows_outweighs_everybody():
    parts = draw_rows(3, n=9)
    shift, claim = (pushed(EM, parts, forgery, [8]) for forgery in (neighbours.shift, neighbours.claim))
    assert (claim > 4 * shift).all()


def test_imitation_repeats_an_honest_message():
    honest = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]])
    said = RoundMessages("neighbour mixture", np.zeros((2, 2)), honest, 1.0, EM, np.random.default_rng(0))
    assert neighbours.imitation.forge(said).tolist() == [[9.0, 9.0]] * 2


def test_poisoned_rows_are_far_off_and_only_theirs():
    parts = draw_rows(4)
    far = neighbours.rows.poison(parts[0], 1.0, np.random.default_rng(0))
    assert_allclose((far - parts[0]).mean(axis=(0, 1)), 10 * parts[0].std(axis=(0, 1)))


# SEC


SEC = SelectExchangeCluster(["ols"], n_clusters=2, points=20)


def test_sec_is_a_collaboration_and_ends_with_the_clusters_predictions():
    assert isinstance(SEC, Collaboration)
    parts = draw_learners(0, runs=2)
    results, transcript = collaborate(SEC, parts)
    assert results.shape == (2, 10, 20)
    assert {b.kind for b in transcript} == {"rows", "y", "coefficients", "losses"}
    assert_allclose(results[:, :6], results[:, :1].repeat(6, axis=1), rtol=1e-9)
    assert np.abs(results[:, 6] - results[:, 0]).max() > 1
    fitted = SEC.clustering().fit([(p[0, :, :-1], p[0, :, -1]) for p in parts])
    points = np.random.default_rng(0).standard_normal((20, 3))
    assert_allclose(results[0, 0], fitted.predict(0, points), rtol=1e-9)


def test_the_error_of_predictions_is_relative_to_their_spread():
    reference = np.tile([1.0, -1.0, 1.0, -1.0], (1, 2, 1))
    assert SEC.error(reference, reference).tolist() == [0.0]
    assert_allclose(SEC.error(reference + 0.5, reference), 0.5)
    assert SEC.error(np.ones((1, 1, 2)), np.zeros((1, 1, 2))).tolist() == [np.inf]


@pytest.mark.parametrize("exchange", ["models", "predictions"])
def test_any_candidates_ask_for_predictions_of_the_cluster(exchange):
    sec = SelectExchangeCluster(["tree"], n_clusters=2, exchange=exchange, points=4)
    results, transcript = collaborate(sec, draw_learners(0))
    assert "cluster predictions" in {b.kind for b in transcript}
    assert_allclose(results[0, 0], results[0, 5], rtol=1e-9)


def test_flipped_labels_are_put_apart():
    parts = draw_learners(1)
    assert pushed(SelectExchangeCluster(["ols"], n_clusters=3), parts, learners.flipped_labels, [0, 1]).max() < 0.1
    flipped = learners.flipped_labels.poison(parts[0], 1.0, np.random.default_rng(0))
    assert_array_equal(flipped[..., -1], -parts[0][..., -1])
    assert_array_equal(flipped[..., :-1], parts[0][..., :-1])


@pytest.mark.parametrize("liar", [0, 9])
def test_with_a_fixed_number_of_clusters_one_liar_makes_the_honest_merge(liar):
    # The liar is a cluster by itself, and one cluster is left for two functions.
    parts = draw_learners(2, noise=2.0)
    assert pushed(SEC, parts, learners.losses_far_off, [liar]).min() > 0.5
    # A penalty finds the number, and the honest stay apart: why it is the default. The gap statistic stops at two.
    assert pushed(SelectExchangeCluster(["ols"]), parts, learners.losses_far_off, [liar]).max() < 0.1
    gap = SelectExchangeCluster(["ols"], criterion="gap")
    assert pushed(gap, parts, learners.losses_far_off, [liar]).min() > 0.5


def test_a_turncoat_moves_its_cluster_as_far_as_it_likes():
    sec = SelectExchangeCluster(["tree"], n_clusters=2, points=10)
    parts = draw_learners(3)
    near, far = (pushed(sec, parts, learners.turncoat, [5], scale).min() for scale in (1.0, 1e6))
    assert near > 0.01
    assert far > 1e4
    _, transcript = collaborate(sec, parts, learners.turncoat, [5])
    assert {b.kind for b in transcript} >= {"model values", "losses"}


def test_predictions_that_are_no_numbers_are_left_out():
    from secmix.adversaries import Attack

    silent = Attack(["cluster predictions"], lambda said: np.nan * said.own)
    sec = SelectExchangeCluster(["tree"], n_clusters=2, points=10)
    assert pushed(sec, draw_learners(3), silent, [5]).max() < 1


def test_imitators_are_let_in_and_say_what_the_imitated_says():
    parts = draw_learners(4)
    _, transcript = collaborate(SEC, parts, learners.imitated_learner, [8, 9])
    coefficients = next(b.payload[:, 0] for b in transcript if b.kind == "coefficients")
    assert_array_equal(coefficients[8], coefficients[0])
    lied, _ = collaborate(SEC, parts, learners.imitated_learner, [8, 9])
    honest, _ = collaborate(SEC, parts)
    assert_allclose(lied[:, 0], honest[:, 0], atol=0.5)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_lies_have_the_shape_of_what_they_replace(name):
    forgery = LEARNERS[name]
    sec = SelectExchangeCluster(["tree"], n_clusters=2, points=5, exchange="predictions")
    results, _ = collaborate(sec, draw_learners(5, rows=12), forgery, [0, 9])
    assert np.isfinite(results).all()
    transcript = collaborate(sec, draw_learners(5, rows=12))[1]
    assert Colluders([0], forgery).against(block.kind for block in transcript)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"candidates": "ols"}, "a list of names"),
        ({"candidates": ["olls"]}, "did you mean 'ols'"),
        ({"n_clusters": 0}, "n_clusters must be at least 1"),
        ({"exchange": "rows"}, "'models' or 'predictions'"),
        ({"points": 0}, "points must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(settings, words):
    with pytest.raises(SecmixError, match=words):
        SelectExchangeCluster(**settings)


def test_a_users_own_candidate_and_a_network_that_is_not_complete():
    sec = SelectExchangeCluster(["sklearn.linear_model:Ridge"], n_clusters=2)
    assert type(sec.clustering().candidates[0]).__name__ == "Ridge"
    parts = draw_learners(0, m=4)
    with pytest.raises(NetworkError, match="complete network"):
        sec.collaborate(parts, Network.cycle(4), np.random.default_rng(0), channel=Channel())
    with pytest.raises(DataError, match="at least one more for X"):
        sec.collaborate([p[..., :1] for p in parts], Network.complete(4), np.random.default_rng(0), channel=Channel())


def test_who_tells_each_receiver_something_else_forges_all_of_it():
    channel = TamperingChannel(Attack(["mean"], lambda said: -said.own), [2], np.random.default_rng(0))
    told = np.arange(1.0, 4.0)[:, None, None]
    assert channel.send(0, 2, [0, 1, 3], "mean", told).ravel().tolist() == [-1.0, -2.0, -3.0]
    assert channel.send(0, [2], [0, 1, 3], "mean", told[:1], content=[0, 0, 0]).ravel().tolist() == [-1.0]
    assert [block.sender.tolist() for block in channel.transcript] == [[2, 2, 2], [2, 2, 2]]
