"""Federated PCA and AltGDmin: they find the subspace, through the channel alone, under attack, and say what leaks."""

from __future__ import annotations

import numpy as np
import pytest

from secmix.adversaries import Attack, CuriousServer, HonestButCurious, TamperingChannel
from secmix.adversaries.against_rules.subspaces import consensus
from secmix.adversaries.attacks.subspace import (
    SUBSPACE_FIXED,
    SUBSPACE_FORGERIES,
    forging,
    ones,
    orthogonal,
    reverse,
)
from secmix.aggregators.subspace_rules import (
    power_method,
    subspace_distance,
    subspace_median,
    subspace_median_bound,
    subspace_median_of_means,
)
from secmix.errors import DataError, ScenarioError, SecmixError
from secmix.network import Network
from secmix.protocols import ByzFedAltGDmin, Collaboration, FederatedPCA
from secmix.protocols.subspace.federated_pca import own_basis
from secmix.transcript import SERVER, Channel

RULES = ("subspace_median", "power_method", "resilient_power_method")
OF_MEANS = FederatedPCA(2, rule="subspace_median_of_means", groups=5, iterations=30)


def samples(runs=2, nodes=5, n=12, r=2, q=80, seed=0):
    """Rows of variance 16 in r directions, 1 in the others; and U*."""
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
    rows = rng.standard_normal((nodes, runs, q, n))
    return list(rows + 3 * (rows @ truth) @ truth.T), truth


def measured(n=20, q=40, r=2, m=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
    X = rng.standard_normal((q, m, n))
    return X, np.einsum("kmn,nk->km", X, truth @ rng.standard_normal((r, q))), truth


@pytest.mark.parametrize("rule", RULES)
def test_pca_finds_the_subspace_in_every_run(rule):
    parts, truth = samples()
    run = FederatedPCA(2, rule=rule).run(parts, rng=np.random.default_rng(0))
    assert run.bases.shape == (2, 12, 2)
    assert run.rejected.tolist() == [0] * 5
    for k in range(2):
        assert run.bases[k].T @ run.bases[k] == pytest.approx(np.eye(2), abs=1e-13)
        assert subspace_distance(run.bases[k], truth) < 0.3
    assert subspace_distance(run.bases[0], run.bases[1]) > 1e-3


def test_pca_is_the_rule_on_what_the_nodes_hold():
    parts, _ = samples(runs=1)
    run = FederatedPCA(2).run(parts, rng=np.random.default_rng(0))
    bases = np.stack([own_basis(part, 2, np.random.default_rng(0))[0] for part in parts])
    direct = subspace_median(bases)
    assert run.index.tolist() == [direct.index]
    assert np.array_equal(run.bases[0], direct.basis)
    power = FederatedPCA(2, rule="power_method", iterations=60).run(parts, rng=np.random.default_rng(0))
    again = power_method([part[0].T for part in parts], 2, iterations=60)
    assert subspace_distance(power.bases[0], again) < 1e-10


@pytest.mark.parametrize("rule", RULES)
def test_every_message_is_in_the_transcript(rule):
    parts, _ = samples()
    run = FederatedPCA(2, rule=rule, iterations=4, encrypted=True).run(parts, rng=np.random.default_rng(0))
    assert run.transcript.messages == (10 if rule == "subspace_median" else 4 * 10 + 5)
    assert {b.line for b in run.transcript} == {"held", "encrypted"}
    network = Network.complete(5)
    assert len(CuriousServer().observe(run.transcript, network)) > 0
    heard = HonestButCurious({1}).observe(run.transcript, network)
    assert {o.sender for o in heard.origins} <= {1, SERVER}


@pytest.mark.parametrize("rule", RULES)
def test_the_run_goes_on_with_what_arrives(rule):
    class Silencing(Channel):
        def send(self, round, sender, receiver, kind, payload, **options):
            if kind in ("basis", "product"):
                payload = payload.copy()
                payload[2] = np.nan
            return super().send(round, sender, receiver, kind, payload, **options)

    parts, truth = samples()
    run = FederatedPCA(2, rule=rule, iterations=20).run(parts, rng=np.random.default_rng(0), channel=Silencing())
    assert run.rejected.tolist() == [0, 0, 2 if rule == "subspace_median" else 40, 0, 0]
    assert subspace_distance(run.bases[0], truth) < 0.4


def test_the_median_of_means_is_the_rule_on_what_the_nodes_hold():
    parts, truth = samples(runs=1, nodes=6)
    protocol = FederatedPCA(2, rule="subspace_median_of_means", groups=3, iterations=20)
    run = protocol.run(parts, rng=np.random.default_rng(4))
    direct = subspace_median_of_means([part[0].T for part in parts], 2, 3, iterations=20, rng=np.random.default_rng(4))
    assert subspace_distance(run.bases[0], direct.basis) < 1e-10
    assert run.index.tolist() == [direct.index]
    # An iterate and a product of each node in each round, and the result to each.
    assert run.transcript.messages == 20 * 12 + 6
    # More samples to a basis: nearer to U* than the Subspace Median of single nodes, over twenty draws.
    gain = []
    for seed in range(20):
        parts, truth = samples(runs=1, nodes=6, q=20, seed=seed)
        alone = FederatedPCA(2).run(parts, rng=np.random.default_rng(0)).bases[0]
        grouped = protocol.run(parts, rng=np.random.default_rng(0)).bases[0]
        gain.append(subspace_distance(alone, truth) - subspace_distance(grouped, truth))
    assert np.mean(gain) > 3 * np.std(gain, ddof=1) / np.sqrt(20)


def test_a_byzantine_node_spoils_its_group_and_no_other():
    parts, _ = samples(runs=1, nodes=6, q=300)
    protocol = FederatedPCA(2, rule="subspace_median_of_means", groups=3, iterations=20)
    network = Network.complete(6)

    def found(corrupt, forgery):
        channel = TamperingChannel(forgery, corrupt, np.random.default_rng(0), protocol=protocol)
        return protocol.collaborate(parts, network, np.random.default_rng(0), channel=channel)

    honest = Channel()
    reference = protocol.collaborate(parts, network, np.random.default_rng(0), channel=honest)
    most = protocol.bound(honest.transcript, reference, 1)
    assert protocol.bound(honest.transcript, reference, 2) is None  # they may stand in two groups of three
    for forgery in SUBSPACE_FORGERIES.values():
        assert protocol.error(found({0}, forgery), reference)[0] <= most
        assert protocol.error(found({0, 1}, forgery), reference)[0] <= most  # the same group
    alternating = SUBSPACE_FORGERIES["alternating"]
    assert protocol.error(found({0, 2}, alternating), reference)[0] > protocol.broken
    # One who sends what is no number takes its group out, and is named.
    silent = Attack(["product"], lambda said: said.own * np.nan)
    channel = TamperingChannel(silent, {3}, np.random.default_rng(0), protocol=protocol)
    run = protocol.run(parts, rng=np.random.default_rng(0), channel=channel)
    assert run.rejected.tolist() == [0, 0, 0, 20, 0, 0]
    assert run.index.tolist() in ([0], [2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "subspace_median_of_means"}, "groups goes with"),
        ({"groups": 2}, "groups goes with"),
        ({"rule": "subspace_median_of_means", "groups": 0}, "groups"),
    ],
)
def test_groups_go_with_the_median_of_means(settings, message):
    with pytest.raises(SecmixError, match=message):
        FederatedPCA(2, **settings)


def test_there_are_no_more_groups_than_nodes():
    parts, _ = samples(nodes=4)
    with pytest.raises(SecmixError, match="at most 4"):
        OF_MEANS.run(parts, rng=np.random.default_rng(0))


NETWORK = Network.complete(5)


def audit_cell(protocol, parts, forgery=None, scale=1.0):
    """Results (runs, nodes, p) and transcript, with nodes 0 and 3 of five forging."""
    options = {"protocol": protocol, "scale": scale}
    channel = Channel() if forgery is None else TamperingChannel(forgery, {0, 3}, np.random.default_rng(0), **options)
    return protocol.collaborate(parts, NETWORK, np.random.default_rng(0), channel=channel), channel.transcript


@pytest.mark.build
@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("attack", SUBSPACE_FORGERIES)
def test_no_attack_takes_the_subspace_median_beyond_its_bounds(attack, scale):
    parts, truth = samples(q=160)
    protocol = FederatedPCA(2)
    honest, transcript = audit_cell(protocol, parts)
    found, said = audit_cell(protocol, parts, SUBSPACE_FORGERIES[attack], scale)
    messages = next(block for block in said if block.kind == "basis").payload
    assert messages[0] == pytest.approx(messages[3])  # the transcript holds what the colluders said
    assert (protocol.error(found, honest) <= protocol.bound(transcript, honest, 2)).all()
    # From U*, by the sharp bound, of which δ is the largest error of an honest node by itself.
    for k, basis in enumerate(found[:, 0].reshape(2, 12, 2)):
        delta = max(subspace_distance(messages[i, k].reshape(12, 2), truth) for i in (1, 2, 4))
        assert subspace_distance(basis, truth) <= subspace_median_bound(0.4) * delta


def test_what_breaks_the_power_method():
    parts, _ = samples()
    protocol = FederatedPCA(2, rule="power_method")
    honest, transcript = audit_cell(protocol, parts)
    assert protocol.bound(transcript, honest, 1) is None
    errors = {
        name: protocol.error(audit_cell(protocol, parts, forgery, 100.0)[0], honest)
        for name, forgery in SUBSPACE_FORGERIES.items()
    }
    assert set(errors) == {"alternating", "ones", "orthogonal", "reverse", "worst_basis"}
    for name in ("alternating", "ones", "orthogonal", "worst_basis"):
        assert (errors[name] > protocol.broken).all()
    # A negative multiple of the mean spans the same: what is left is the error of three nodes in place of five.
    three = FederatedPCA(2, rule="power_method").run([parts[i] for i in (1, 2, 4)], rng=np.random.default_rng(0)).bases
    assert errors["reverse"] == pytest.approx(protocol.error(three.reshape(2, 1, -1), honest[:, :1]), abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_the_search_is_worse_than_fixed_attacks(rule):
    parts, _ = samples(runs=1)
    protocol = FederatedPCA(2, rule=rule, iterations=10)
    honest, _ = audit_cell(protocol, parts)
    errors = {
        name: protocol.error(audit_cell(protocol, parts, forgery)[0], honest)[0]
        for name, forgery in SUBSPACE_FORGERIES.items()
    }
    assert max(errors, key=errors.get) == "worst_basis"


def test_pca_is_a_collaboration():
    parts, _ = samples(q=160)
    protocol = FederatedPCA(2)
    assert isinstance(protocol, Collaboration)
    results, transcript = audit_cell(protocol, parts)
    run = protocol.run(parts, rng=np.random.default_rng(0))
    assert results.shape == (2, 5, 24)
    assert np.array_equal(results[:, 4], run.bases.reshape(2, -1))
    other = audit_cell(protocol, parts[::-1])[0]
    by_hand = [subspace_distance(results[k, 0].reshape(12, 2), other[k, 0].reshape(12, 2)) for k in range(2)]
    assert protocol.error(results, other) == pytest.approx(by_hand)
    turned = (results.reshape(2, 5, 12, 2) @ np.array([[0.6, -0.8], [0.8, 0.6]])).reshape(2, 5, 24)
    assert protocol.error(turned, results) == pytest.approx(np.zeros(2), abs=1e-14)
    sent = next(block for block in transcript if block.kind == "basis").payload.reshape(5, 2, 12, 2)
    delta = max(subspace_distance(u, run.bases[k]) for node in sent for k, u in enumerate(node))
    constants = [protocol.bound(transcript, results, f) / delta for f in (0, 1, 2)]
    assert constants == pytest.approx(np.sqrt([2.0, 1.6 / 0.6, 1.2 / 0.2]))
    assert protocol.bound(transcript, results, 3) is None
    # Of nodes that differ much the theorem allows a worthless result: that is no bound to rely on.
    few, far = audit_cell(protocol, samples(q=5)[0])
    assert protocol.bound(far, few, 0) is None
    with pytest.raises(DataError, match="network has 5"):
        protocol.collaborate(parts[1:], NETWORK, np.random.default_rng(0), channel=Channel())


@pytest.mark.parametrize("rule", RULES)
def test_a_run_is_the_same_however_many_follow(rule):
    parts, _ = samples(runs=3, q=1)  # less than r: the bases are filled up
    protocol = FederatedPCA(2, rule=rule, iterations=3)
    all_three, first = audit_cell(protocol, parts)[0], audit_cell(protocol, [part[:1] for part in parts])[0]
    assert np.array_equal(all_three[:1], first)


def test_forgeries_need_a_protocol_with_r():
    honest = np.ones((2, 1, 6))
    for protocol in (None, FederatedPCA(4)):
        channel = TamperingChannel(SUBSPACE_FORGERIES["ones"], [1], np.random.default_rng(0), protocol=protocol)
        with pytest.raises(ScenarioError, match="whose attribute r divides"):
            channel.send(0, [0, 1], SERVER, "basis", honest)


def test_the_forgeries_say_what_the_attacks_do():
    protocol, rng = FederatedPCA(2), np.random.default_rng(0)
    honest = rng.standard_normal((3, 1, 8))
    for name, attack in (("ones", ones), ("reverse", reverse)):
        channel = TamperingChannel(SUBSPACE_FORGERIES[name], [0], rng, protocol=protocol, scale=3.0)
        said = channel.send(0, [0, 1, 2], SERVER, "product", honest)
        assert np.array_equal(said[1:], honest[1:])
        assert said[0, 0] == pytest.approx(3 * attack(honest[1:, 0].reshape(2, 4, 2), 1, rng).ravel())
    away = TamperingChannel(SUBSPACE_FORGERIES["orthogonal"], [0], rng, protocol=protocol)
    false = away.send(0, [0, 1, 2], SERVER, "basis", honest)[0, 0].reshape(4, 2)
    assert consensus(honest[1:, 0].reshape(2, 4, 2)).T @ false == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    # Alone, before anybody honest has spoken, they go by what they would say themselves.
    single = TamperingChannel(forging(orthogonal), [0], rng, protocol=protocol)
    assert np.isfinite(single.send(0, 0, SERVER, "basis", honest[0])).all()
    # Where all honest say the same there is nothing to hide in, and a majority need not hide.
    for among in (np.tile(np.eye(4)[:, :2].ravel(), (5, 1, 1)), honest):
        search = TamperingChannel(SUBSPACE_FORGERIES["worst_basis"], [0, 1], rng, protocol=protocol)
        said = search.send(0, np.arange(len(among)), SERVER, "basis", among)[0, 0].reshape(4, 2)
        assert subspace_distance(said, consensus(among[2:, 0].reshape(-1, 4, 2))) == pytest.approx(np.sqrt(2))


def test_pca_checks_its_input():
    parts, _ = samples()
    rng = np.random.default_rng(0)
    with pytest.raises(SecmixError, match="rule is one of"):
        FederatedPCA(2, rule="mean")
    with pytest.raises(SecmixError, match="r can be at most that"):
        FederatedPCA(13).run(parts, rng=rng)
    with pytest.raises(DataError, match="agree in runs and d"):
        FederatedPCA(2).run([parts[0], parts[1][:1]], rng=rng)
    with pytest.raises(DataError, match="rows of node 1"):
        FederatedPCA(2).run([parts[0], parts[1] * np.nan], rng=rng)


@pytest.mark.parametrize("attack", SUBSPACE_FIXED)
def test_altgdmin_converges_linearly_under_attack(attack):
    X, y, truth = measured()

    def errors(rule):
        protocol = ByzFedAltGDmin(2, iterations=150, rule=rule)
        channel = TamperingChannel(SUBSPACE_FORGERIES[attack], {1, 4}, np.random.default_rng(0), protocol=protocol)
        run = protocol.run(X, y, nodes=6, channel=channel)
        return np.array([subspace_distance(u, truth) / np.sqrt(2) for u in run.iterates])

    fell = errors("geometric_median")
    assert fell[-1] <= 1e-8
    assert (fell[50] / fell[100], fell[100] / fell[150]) > (10, 10)
    # The mean stops where the colluders' gradient and the honest ones balance: far off or, for a small one, nearer.
    stuck = errors("mean")
    assert stuck[-1] > 1e-4
    assert stuck[-1] > 0.5 * stuck[100]
    if attack in ("ones", "reverse"):
        assert stuck[-1] > 0.3


def test_altgdmin_without_attack():
    X, y, truth = measured()
    for rule in ("geometric_median", "mean"):
        run = ByzFedAltGDmin(2, iterations=150, rule=rule).run(X, y, nodes=6)
        assert subspace_distance(run.basis, truth) <= 1e-9
        assert run.iterates.shape == (151, 20, 2)
        assert np.array_equal(run.iterates[-1], run.basis)
        assert run.rejected.sum() == 0
    # threshold, basis, scale and a gradient a round from 6 nodes; threshold and an iterate a round to them
    assert run.transcript.messages == 6 * (3 + 150) + 6 * (2 + 150)


@pytest.mark.build
def test_means_of_gradients_are_taken_before_their_median():
    X, y, truth = measured()
    grouped = ByzFedAltGDmin(2, iterations=150, groups=3)
    forgery = SUBSPACE_FORGERIES["reverse"]

    def end(corrupt, protocol=grouped):
        channel = TamperingChannel(forgery, corrupt, np.random.default_rng(0), protocol=protocol)
        return subspace_distance(protocol.run(X, y, nodes=6, channel=channel).basis, truth)

    assert end({0, 1}) <= 1e-8  # one group of three
    assert end({0, 2}) > 0.1  # two of them
    assert end({0, 2}, ByzFedAltGDmin(2, iterations=150)) <= 1e-8
    # As many groups as nodes: every node by itself.
    alone = ByzFedAltGDmin(2, iterations=20).run(X, y, nodes=6)
    assert np.array_equal(ByzFedAltGDmin(2, iterations=20, groups=6).run(X, y, nodes=6).basis, alone.basis)


def test_every_node_ends_with_the_columns_themselves():
    X, y, _ = measured()
    run = ByzFedAltGDmin(2, iterations=150).run(X, y, nodes=6)
    columns = np.einsum("nr,lkr->lkn", run.basis, run.coefficients)
    seen = np.einsum("kmn,lkn->lkm", X, columns)
    assert seen == pytest.approx(np.broadcast_to(y, seen.shape), abs=1e-6)


def test_altgdmin_sets_aside_and_counts_what_is_not_finite():
    X, y, truth = measured()
    protocol = ByzFedAltGDmin(2, iterations=100)
    silent = Attack(["basis", "gradient", "threshold", "scale"], lambda said: said.own * np.nan)
    channel = TamperingChannel(silent, {5}, np.random.default_rng(0), protocol=protocol)
    run = protocol.run(X, y, nodes=6, channel=channel)
    assert subspace_distance(run.basis, truth) <= 1e-6
    assert run.rejected.tolist() == [0, 0, 0, 0, 0, 3 + 100]


def test_altgdmin_checks_its_input():
    X, y, _ = measured()
    protocol = ByzFedAltGDmin(2)
    for arguments, message in (
        ((X, y[:, 1:], 6), "y should be"),
        ((X, y, 7), "same number"),
        ((X, y, 60), "at least r = 2"),
        ((X[:1], y[:1], 6), "no rank of r = 2"),
        ((X * np.nan, y, 6), "X holds"),
        ((0 * X, y, 6), "do not determine"),
    ):
        with pytest.raises(DataError, match=message):
            protocol.run(*arguments[:2], nodes=arguments[2])
    with pytest.raises(SecmixError, match="at most 6"):
        ByzFedAltGDmin(2, groups=7).run(X, y, nodes=6)
    wrong = ({"groups": 0}, {"groups": 2, "rule": "mean"})
    for settings in ({"rule": "krum"}, {"iterations": 0}, {"step": 0.0}, {"truncation": -1}, *wrong):
        with pytest.raises(SecmixError):
            ByzFedAltGDmin(2, **settings)
