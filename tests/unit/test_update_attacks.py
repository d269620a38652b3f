"""Lies of clients about models and weights: what is sent, and what federated averaging makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import secmix
from secmix.adversaries import Colluders, RoundMessages, TamperingChannel
from secmix.adversaries.attacks.attack import named
from secmix.network import Network
from secmix.protocols import FederatedRegression
from secmix.protocols.regression.federated_regression import averaged

NAMES = ["update_far", "update_reversed", "update_inner_product", "update_alike", "update_claims"]
OWN, HONEST = np.array([[1.0, -2.0, 3.0]]), np.array([[0.0, 1.0, 4.0], [2.0, 3.0, 4.0]])


def sent(name, kind="update", own=OWN, honest=HONEST, scale=1.0):
    return named(name).send(RoundMessages(kind, own, honest, scale, None, np.random.default_rng(0)))[0].tolist()


def test_models_are_forged_and_counts_stay():
    assert sent("update_far") == [3.0, 1.0, 3.0]
    assert sent("update_far", scale=10.0) == [21.0, 28.0, 3.0]
    assert sent("update_reversed") == [-1.0, 2.0, 3.0]
    assert_allclose(sent("update_inner_product"), [-0.1, -0.2, 3.0])
    assert sent("update_alike") == [0.0, 1.0, 3.0]


def test_claims_change_counts_alone():
    assert sent("update_claims") == [1.0, -2.0, 30.0]
    assert sent("update_claims", "train reply: metrics", np.array([[0.25, 7.0]]), np.empty((0, 2))) == [0.25, 70.0]


@pytest.mark.parametrize("name", NAMES)
def test_a_flower_message_is_forged_where_it_is_meant(name):
    own, empty = np.array([[0.5, 3.0]]), np.empty((0, 2))
    arrays = sent(name, "train reply: arrays/0", own, empty)
    metrics = sent(name, "train reply: metrics", own, empty)
    is_claim = name == "update_claims"
    assert (arrays == own[0].tolist()) == (is_claim or name == "update_alike")  # of one's own alone there is no spread
    assert (metrics != own[0].tolist()) == is_claim
    assert sent(name, "train reply: metrics, bytes", own, empty) == own[0].tolist()
    assert not named(name).speaks(["evaluate reply: metrics", "mean"])


def test_a_lie_about_weight_makes_the_average_the_liar_s_model():
    rng, network = np.random.default_rng(0), Network.complete(4)
    parts = [rng.standard_normal((1, 3, 3)) for _ in range(4)]
    protocol = FederatedRegression(rounds=1)
    alone = protocol.trainer.trained(np.zeros((1, 3)), parts[2])
    channel = TamperingChannel(named("update_claims"), [2], rng, protocol=protocol, scale=1e6)
    ends = protocol.collaborate(parts, network, rng, channel=channel)
    assert_allclose(ends[0], np.repeat(alone, 4, axis=0), rtol=1e-5)
    honest = next(block for block in channel.transcript if block.kind == "update").payload
    assert_allclose(honest[2, 0, -1], 3e7)
    assert not np.allclose(averaged(honest * [1, 1, 1, 0] + [0, 0, 0, 3.0]), alone)


def test_colluders_break_federated_averaging_and_claims_do_not_break_it_without_bound():
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 5},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": 5},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"min_breakdown": 0.2},
        },
        protocols={"FedAvg": FederatedRegression()},
        adversaries={"one": Colluders([4], eavesdrops=False)},
    )
    robustness = report.cells[0].robustness
    assert robustness.breakdown == 0.0
    assert robustness.verdict == "violated"
    found = {damage.attack: damage for damage in robustness.damages}
    assert {*NAMES, "update_flipped_targets", "update_flipped_claims"} == set(found)
    assert found["update_far"].aggregate is None
    assert 0.5 < found["update_claims"].aggregate < 50  # it ends at one honest model
    assert found["update_flipped_claims"].model > found["update_flipped_targets"].model > 0
