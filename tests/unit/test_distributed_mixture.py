"""Split-and-conquer mixtures as a protocol: what is sent, what a liar can and cannot do, what forgeries say."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from secmix import Mixture, Network
from secmix.adversaries import Attack, TamperingChannel
from secmix.adversaries.attacks import mixture as mixture_forgeries
from secmix.aggregators.mixture_rules import RejectedMixtures, ared, coat, dfmr, wasserstein
from secmix.errors import DataError, SecmixError
from secmix.protocols import Collaboration, DistributedMixture, fit_mixtures
from secmix.protocols.mixture.distributed_mixture import RULES, packed, unpacked, width
from secmix.transcript import SERVER, Channel

pytestmark = pytest.mark.delicate

FORGERIES = {name: f for name, f in vars(mixture_forgeries).items() if isinstance(f, Attack)}
N = 9


def rows(runs=2, n=N, size=60, seed=0, d=2):
    """Two groups, 8 standard deviations apart."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(runs, size, d)) + 8 * (np.arange(size) % 2)[:, None] for _ in range(n)]


def ran(protocol, parts, channel=None, seed=0):
    return protocol.run(parts, rng=np.random.default_rng(seed), channel=channel)


def forged(protocol, parts, forgery, corrupt, scale=1.0):
    rng = np.random.default_rng(7)
    if forgery.poison is not None:
        parts = [forgery.poison(part, scale, rng) if i in corrupt else part for i, part in enumerate(parts)]
    return ran(protocol, parts, TamperingChannel(forgery, corrupt, rng, protocol=protocol, scale=scale))


def test_it_is_a_collaboration_that_sends_each_mixture_once():
    parts, channel = rows(), Channel()
    protocol = DistributedMixture(2, rule="dfmr", encrypted=True)
    assert isinstance(protocol, Collaboration)
    results = protocol.collaborate(parts, Network.complete(N), np.random.default_rng(0), channel=channel)
    assert results.shape == (2, N, width(2, 2))
    assert (results == results[:, :1]).all()
    held, told, back = channel.transcript.blocks[:N], *channel.transcript.blocks[N:]
    assert all(block.line == "held" and block.kind == "rows" for block in held)
    assert_array_equal(held[3].payload[0], parts[3].reshape(2, -1))
    assert (told.kind, told.line, told.receiver.tolist()) == ("mixture", "encrypted", [SERVER] * N)
    assert (back.kind, back.sender.tolist()) == ("aggregate", [SERVER] * N)
    assert channel.transcript.messages == 2 * N


@pytest.mark.parametrize("name", RULES)
def test_the_result_is_the_rule_applied_to_what_arrived(name):
    run = ran(DistributedMixture(2, rule=name), rows())
    told = run.transcript.blocks[N].payload
    for r in range(2):
        found = RULES[name](unpacked(told[:, r], 2))
        assert_allclose(unpacked(run.results, 2).means[r, 4], found.mixture.means)
        expected = [found.index] if name == "coat" else found.kept
        assert_array_equal(run.kept[r], expected)
    assert run.failed == {}


def test_what_is_sent_is_the_local_fit_of_the_node():
    parts, start = rows(), Mixture([0.5, 0.5], [[0.0, 0.0], [8.0, 8.0]], np.stack([np.eye(2)] * 2))
    for setting in (start, {name: getattr(start, name).tolist() for name in vars(start)}):
        run = ran(DistributedMixture(2, start=setting, penalty=0.3), parts)
        alone = fit_mixtures([parts[4][1]], start, penalty=0.3).mixture
        assert_allclose(run.transcript.blocks[N].payload[4, 1], packed(alone)[0], rtol=1e-12)


def test_layout_of_a_message():
    one = Mixture([0.25, 0.75], [[1.0, 2.0], [3.0, 4.0]], [[[5.0, 6.0], [6.0, 9.0]], [[7.0, 1.0], [1.0, 8.0]]])
    vector = packed(one)
    assert vector.tolist() == [0.25, 0.75, 1, 2, 3, 4, 5, 6, 9, 7, 1, 8]
    again = unpacked(np.stack([vector, vector]), 2)
    assert_array_equal(again.covariances[1], one.covariances)
    with pytest.raises(SecmixError, match="2 components"):
        unpacked(vector[:-1], 2)


def test_a_run_is_the_same_however_many_follow_it():
    many = rows(runs=5)
    few = [part[:2] for part in many]
    protocol = DistributedMixture(3, rule="dfmr")
    assert_array_equal(ran(protocol, few).results, ran(protocol, many).results[:2])
    assert (ran(protocol, few).results != ran(protocol, few, seed=1).results).any()


@pytest.mark.parametrize(("k", "d"), [(3, 4), (5, 2), (2, 10)])
def test_as_few_rows_as_components_and_features(k, d):
    rng = np.random.default_rng(0)
    run = ran(DistributedMixture(k, rule="cred"), [rng.normal(size=(20, k + d, d)) for _ in range(5)])
    assert np.isfinite(run.results).all()
    assert run.fit.converged.all()


def test_nodes_with_other_numbers_of_rows():
    parts = rows()
    parts[2] = parts[2][:, :20]
    assert (
        wasserstein(
            ran(DistributedMixture(2, rule="dfmr", starts=3), parts).mixture[0],
            Mixture([0.5, 0.5], [[0.0, 0.0], [8.0, 8.0]], np.stack([np.eye(2)] * 2)),
        )
        < 1.0
    )


HOSTILE = {
    "NaN": (slice(None), np.nan),
    "infinity": (2, np.inf),
    "weight": (slice(0, 2), [-0.5, 1.5]),
    "sum to 1": (slice(0, 2), [0.7, 0.7]),
    "positive definite": (6, -1.0),
    "beyond": (2, 1e200),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("rule", RULES)
def test_what_is_no_mixture_is_refused_and_its_sender_named(what, rule):
    where, value = HOSTILE[what]

    def forge(said):
        out = said.own.copy()
        out[:, where] = value
        return out

    protocol, parts = DistributedMixture(2, rule=rule, starts=3), rows()
    channel = TamperingChannel(Attack(["mixture"], forge), [3, 5], np.random.default_rng(0))
    with pytest.warns(RejectedMixtures, match=what) as caught:
        run = ran(protocol, parts, channel)
    assert list(caught[0].message.reasons) == [3, 5]
    assert [set(refused) for refused in run.refused] == [{3, 5}] * 2
    assert not any(np.isin([3, 5], kept).any() for kept in run.kept)
    if rule != "trim":  # half of the weight that it trims is all of one component here
        assert (protocol.error(run.results, ran(protocol, parts).results) < 1).all()


def test_a_server_without_a_majority_says_so_and_the_error_is_infinite():
    protocol, parts = DistributedMixture(2, rule="dfmr", starts=3), rows()
    silence = Attack(["mixture"], lambda said: np.nan * said.own)
    run = ran(protocol, parts, TamperingChannel(silence, range(5), np.random.default_rng(0)))
    assert sorted(run.failed) == [0, 1]
    assert "majority" in run.failed[0]
    assert "machine 4 holds NaN" in run.failed[0]
    honest = ran(protocol, parts).results
    assert_array_equal(protocol.error(run.results, honest), [np.inf, np.inf])


def test_error_is_the_transport_distance_at_the_worst_node():
    protocol = DistributedMixture(2, rule="dfmr", starts=3)
    run, other = ran(protocol, rows()), ran(protocol, rows(seed=1))
    expected = [wasserstein(run.mixture[r], other.mixture[r]) for r in range(2)]
    assert_allclose(protocol.error(run.results, other.results), expected)
    assert_allclose(protocol.error(run.results, run.results), 0, atol=1e-9)
    one_off = run.results.copy()
    one_off[0, 4] = other.results[0, 4]
    assert_allclose(protocol.error(one_off, run.results), [expected[0], 0], atol=1e-9)


def test_settings_are_checked():
    with pytest.raises(SecmixError, match="did you mean 'ared'"):
        DistributedMixture(2, rule="arde")
    with pytest.raises(SecmixError, match="components"):
        DistributedMixture(0)
    with pytest.raises(SecmixError, match="start is one mixture of 2"):
        DistributedMixture(2, start=Mixture([1.0], [[0.0]], [[[1.0]]]))
    with pytest.raises(SecmixError, match="weights, means and covariances"):
        DistributedMixture(2, start={"weights": [1.0]})
    with pytest.raises(SecmixError, match="more than two machines"):
        ran(DistributedMixture(2), rows(n=2))
    with pytest.raises(DataError, match="do not span"):
        ran(DistributedMixture(2), [np.ones((1, 9, 2))] * 4)
    assert DistributedMixture(2).aggregate is ared
    assert len(ran(DistributedMixture(2, rule=partial(dfmr, p=0.0)), rows()).kept[0]) == N // 2 + 1


def test_every_forgery_of_a_mixture_is_there():
    assert set(FORGERIES) == {
        "mean_failure",
        "covariance_failure",
        "weight_failure",
        "component_failure",
        "foreign_data",
        "under_the_threshold",
        "over_the_threshold",
    }
    assert all(f.kinds == {"mixture"} for f in FORGERIES.values())


@pytest.mark.parametrize("name", [name for name, attack in FORGERIES.items() if not attack.searches])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_failures_break_the_reduction_of_all_and_not_a_robust_rule(name, scale):
    parts, corrupt = rows(n=15), {1, 8, 12}
    errors = {}
    for rule in ("gmr", "dfmr"):
        protocol = DistributedMixture(2, rule=rule, starts=3)
        honest = ran(protocol, parts).results
        errors[rule] = protocol.error(forged(protocol, parts, FORGERIES[name], corrupt, scale).results, honest)
    assert (errors["dfmr"] < 1).all()
    if scale == 1 and name in ("mean_failure", "component_failure", "foreign_data"):
        assert (errors["gmr"] > 1).all()
    if scale > 1 and name != "weight_failure":  # weights lie between 0 and 1: their error has a bound
        assert (errors["gmr"] > 100).all()


def test_a_failure_sends_mixtures_and_touches_what_it_says():
    protocol, parts = DistributedMixture(2, rule="dfmr", starts=3), rows()
    sent = ran(protocol, parts).transcript.blocks[N].payload
    same = {"mean_failure": "weights covariances", "covariance_failure": "weights means",
            "weight_failure": "means covariances", "component_failure": "weights covariances"}  # fmt: skip
    for name, fields in same.items():
        for scale in (1.0, 1e6):
            told = forged(protocol, parts, FORGERIES[name], [4, 6], scale).transcript.blocks[N].payload
            assert_array_equal(np.delete(told, [4, 6], axis=0), np.delete(sent, [4, 6], axis=0))
            lies, truth = unpacked(told[[4, 6]], 2), unpacked(sent[[4, 6]], 2)
            assert (told[[4, 6]] != sent[[4, 6]]).any(-1).all()
            assert_allclose(lies.weights.sum(-1), 1)
            for field in fields.split():
                assert_array_equal(getattr(lies, field), getattr(truth, field))
    lies = unpacked(forged(protocol, parts, FORGERIES["component_failure"], [4, 6]).transcript.blocks[N].payload, 2)
    assert ((lies.means[[4, 6]] != unpacked(sent, 2).means[[4, 6]]).any(-1).sum(-1) == 1).all()


@pytest.mark.build
def test_colluders_send_one_mixture_and_stay_under_the_threshold():
    parts, corrupt = rows(n=15, runs=1), [1, 8, 12]
    protocol = DistributedMixture(2, rule="dfmr", starts=3)
    honest = ran(protocol, parts).results
    found = forged(protocol, parts, FORGERIES["under_the_threshold"], corrupt)
    told = found.transcript.blocks[15].payload[corrupt, 0]
    assert (told == told[0]).all()
    assert set(corrupt) <= set(found.kept[0].tolist())
    pushed = protocol.error(found.results, honest)
    best_failure = max(
        float(protocol.error(forged(protocol, parts, FORGERIES[name], corrupt).results, honest)[0])
        for name in ("mean_failure", "covariance_failure", "weight_failure")
    )
    assert pushed[0] > 1.5 * best_failure
    over = protocol.error(forged(protocol, parts, FORGERIES["over_the_threshold"], corrupt).results, honest)
    assert over[0] > 0.8 * pushed[0]


def test_a_majority_of_colluders_takes_the_result_where_it_likes():
    parts = rows(n=5, runs=1)
    protocol = DistributedMixture(2, rule="dfmr", starts=3)
    honest = ran(protocol, parts).results
    for scale in (1.0, 1e6):
        found = forged(protocol, parts, FORGERIES["under_the_threshold"], [0, 1, 2], scale)
        assert protocol.error(found.results, honest)[0] > 90 * scale


def test_coat_of_the_messages_is_an_honest_node_under_failures():
    parts = rows(n=9)
    found = forged(DistributedMixture(2, rule="coat"), parts, FORGERIES["mean_failure"], [0, 1, 2, 3])
    told = found.transcript.blocks[9].payload
    for r in range(2):
        assert found.kept[r].tolist() == [coat(unpacked(told[:, r], 2)).index]
        assert found.kept[r][0] > 3
