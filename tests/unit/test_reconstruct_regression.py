"""Rows from the models that nodes train: a row that is certified is the node's, at the precision of the messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from strategies import seeds

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.adversaries.reconstructions.regression import reconstruct_regression
from secmix.protocols import FederatedRegression, Plain
from secmix.protocols.regression import Trainer
from secmix.transcript import Channel

SERVER, OTHERS = CuriousServer(), HonestButCurious([1, 2, 3], eavesdrops=False)


def found(protocol, parts, adversary=SERVER, run=0):
    channel, network = Channel(), Network.complete(len(parts))
    protocol.collaborate(parts, network, np.random.default_rng(1), channel=channel)
    view = adversary.observe(channel.transcript, network)
    counts, d = [part.shape[1] for part in parts], parts[0].shape[2]
    return reconstruct_regression(known_in_run(view, run, 0, counts, d, protocol, network, np.random.default_rng(0)))


def rows_of(seed, counts=(1, 3, 2, 4), d=5, runs=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((runs, count, d)) for count in counts]


@pytest.mark.build
@pytest.mark.parametrize("adversary", [SERVER, OTHERS], ids=["server", "all others"])
@given(
    seeds,
    st.sampled_from(["linear", "logistic"]),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["float64", "float32"]),
    st.integers(1, 3),
)
def test_the_only_row_of_a_node_comes_out_certified(adversary, seed, model, steps, decay, precision, rounds):
    parts = rows_of(seed)
    assume(abs(parts[0][0, 0, -1]) > 0.05)  # a row that the model fits already moves nothing
    protocol = FederatedRegression(model, rounds, steps, weight_decay=decay, precision=precision)
    got = found(protocol, parts, adversary)
    if (model, rounds) == ("linear", 1) and decay and steps > 1 and not got.certified:
        assert "training on another row ends at the same message" in got.how  # then nothing tells which it is
        return
    assert got.certified
    known = slice(None, -1) if model == "logistic" else slice(None)
    off = np.abs(got.rows[0, known] - parts[0][0, 0, known]).max()
    assert off <= max(got.error, 1e-8)
    assert got.error < (1e-6 if precision == "float64" else 0.05)
    assert np.isnan(got.rows[0, -1]) == (model == "logistic")


@pytest.mark.parametrize("adversary", [SERVER, OTHERS], ids=["server", "all others"])
def test_of_rows_that_end_at_the_same_message_the_next_round_tells_which(adversary):
    """One that is longer by a third ends there too, and was once certified: which is nearer is no certificate."""
    parts = rows_of(12724)
    one = found(FederatedRegression(rounds=1, steps=4, weight_decay=0.3), parts, adversary)
    assert not one.certified
    two = found(FederatedRegression(rounds=2, steps=4, weight_decay=0.3), parts, adversary)
    assert two.certified
    assert_allclose(two.rows, parts[0][0], atol=1e-9)


@pytest.mark.build
@pytest.mark.parametrize(("seed", "steps"), [(3, 4), (13, 2), (55, 4), (108, 2), (125, 4), (123628, 2)])
def test_no_other_row_that_trains_alike_is_certified(seed, steps):
    """Of these messages the first row that was found was another, and it was certified.

    Of the last the node's row is one of two whose lengths differ by less than a step of the search.
    """
    parts = rows_of(seed)
    for rounds in (1, 2):
        got = found(FederatedRegression(rounds=rounds, steps=steps, weight_decay=0.3), parts)
        assert got.certified == (rounds == 2)
        assert rounds == 1 or np.abs(got.rows - parts[0][0]).max() < 1e-9


def test_the_class_of_a_logistic_row_is_the_value_that_it_stands_for():
    for y in (2.0, 7.0):
        parts = [np.array([[[1.0, -0.5, y]]]), *rows_of(0, (3, 2), 3)]
        parts[1:] = [np.where(np.arange(3) == 2, np.where(p > 0, 2.0, 7.0), p) for p in parts[1:]]
        got = found(FederatedRegression("logistic", classes=(2.0, 7.0)), parts)
        assert_allclose(got.rows, parts[0][0], atol=1e-9)


@pytest.mark.parametrize("protocol", [FederatedRegression(), FederatedRegression("logistic")])
def test_of_two_rows_a_single_unit_tells_neither(protocol):
    assert found(protocol, rows_of(0, (2, 3, 2, 4))) is None


def test_one_other_node_alone_knows_no_update_and_finds_nothing():
    assert found(FederatedRegression(), rows_of(0), HonestButCurious([1], eavesdrops=False)) is None
    assert found(FederatedRegression(), rows_of(0), Eavesdropper()) is None
    assert found(FederatedRegression(encrypted=False), rows_of(0), Eavesdropper()).certified


def test_other_protocols_are_left_alone():
    channel, network = Channel(), Network.complete(3)
    Plain().average(np.ones((1, 3, 2)), network, np.random.default_rng(0), channel=channel)
    view = SERVER.observe(channel.transcript, network)
    held = known_in_run(view, 0, 0, [1, 1, 1], 2, Plain(), network, np.random.default_rng(0))
    assert reconstruct_regression(held) is None


def share(protocol, parts, close):
    """Of the runs in which every row of node 0 is certified and comes out to ``close``."""
    hits = 0
    for run in range(len(parts[0])):
        got = found(protocol, parts, run=run)
        if got is not None and got.certified:
            apart = np.linalg.norm(got.rows[:, None] - parts[0][run], axis=-1).min(axis=0)
            assert apart.max() <= max(10 * got.error, 1e-6)  # never a wrong one
            hits += apart.max() <= close
    return hits / len(parts[0])


def test_the_row_of_a_relu_layer_comes_out_in_single_precision():
    protocol = FederatedRegression("relu", steps=3, hidden=8, precision="float32")
    assert share(protocol, rows_of(3, (1, 3, 2), 5, runs=40), 1e-3 * 3) >= 0.95


@pytest.mark.build
def test_four_rows_of_a_relu_layer_are_taken_apart():
    protocol = FederatedRegression("relu", hidden=100, weight_decay=0.1)
    assert share(protocol, rows_of(4, (4, 3, 2), 4, runs=5), 1e-6) >= 0.8


@given(seeds, st.sampled_from(["linear", "logistic", "relu"]), st.integers(1, 5))
def test_training_follows_the_gradient_of_the_loss(seed, model, count):
    trainer = Trainer(model, hidden=3, rate=1e-3, weight_decay=0.2)
    rng = np.random.default_rng(seed)
    rows, parameters = rng.standard_normal((count, 4)), rng.standard_normal(trainer.size(4))

    def loss(p):
        weights, biases = trainer.first_layer(p)
        z = rows[:, :-1] @ weights.T + biases
        y, penalty = rows[:, -1], 0.1 * (weights**2).sum()
        if model == "logistic":
            return np.mean(np.logaddexp(0, z[:, 0]) - (y > 0) * z[:, 0]) + penalty
        if model == "relu":
            a, c = trainer.output_layer(p)
            penalty += 0.1 * (a**2).sum()
            z = np.maximum(z, 0) @ a[:, None] + c
        return 0.5 * np.mean((z[:, 0] - y) ** 2) + penalty

    units = 1e-6 * np.eye(len(parameters))
    slope = np.array([(loss(parameters + u) - loss(parameters - u)) / 2e-6 for u in units])
    moved = trainer.trained(parameters[None], rows[None])[0] - parameters
    assert_allclose(moved, -1e-3 * slope, atol=1e-3 * 1e-4 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize(
    ("adversary", "verdict"),
    [(SERVER, "violated"), (HonestButCurious([1, 2, 3]), "violated"), (HonestButCurious([1]), "inconclusive")],
)
def test_an_audit_says_so(adversary, verdict):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 4},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": 1},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"max_revealed_nodes": 0},
        },
        protocols={"FedAvg": FederatedRegression(precision="float32")},
        adversaries={"who": adversary},
    )
    assert report.cells[0].verdict == verdict


def test_settings_that_make_no_sense_say_so():
    for settings, told in (
        ({"model": "cubic"}, "model is 'linear', 'logistic' or 'relu'"),
        ({"precision": "float16"}, "precision is 'float64' or 'float32'"),
        ({"weight_decay": 20.0}, "below 1/rate = 10"),
        ({"classes": (1.0, 0.0)}, "the lower first"),
    ):
        with pytest.raises(secmix.errors.SecmixError, match=told):
            FederatedRegression(**settings)
    with pytest.raises(secmix.errors.SecmixError, match="two columns at least"):
        found(FederatedRegression(), rows_of(0, d=1))
