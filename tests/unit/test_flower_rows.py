"""The only row of a Flower client, from its model, or from the next average where all others pool what they know."""

from __future__ import annotations

import numpy as np
import pytest
from flower_apps import flower_app
from numpy.testing import assert_allclose

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.adversaries.reconstructions.flower import only_row, reconstruct_flower
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.transcript import Channel

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")

WHO = {
    "server": CuriousServer(),
    "all but one": HonestButCurious([1, 2]),
    "one client": HonestButCurious([1]),
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda *model, **settings: flower_app(tmp_path, *model, **settings)


def found(app, who, runs, d=3, others=1):
    """What is reconstructed of node 0 in each run, and its true row."""
    counts, network = [1, others, others], Network.complete(3)
    parts = [np.random.default_rng(i).standard_normal((runs, count, d)) for i, count in enumerate(counts)]
    channel, rng = Channel(), np.random.default_rng(0)
    app.collaborate(parts, network, rng, channel=channel)
    view = WHO[who].observe(channel.transcript, network)
    held = [known_in_run(view, run, 0, counts, d, app, network, rng) for run in range(runs)]
    return [(reconstruct_flower(each), parts[0][run, 0]) for run, each in enumerate(held)]


def moves_of(node, messages):
    """The models that a node got and sent back, by round."""
    models = {}
    for origin, row in messages:
        if "/" in origin.kind and node in (origin.sender, *origin.receivers):
            models.setdefault((origin.iteration, origin.sender == node), []).append(row)
    return [(models[t, False], models[t, True]) for t, sent in models if sent]


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_one_row_a_client_is_known_to_the_server_and_to_all_others(made, model):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "breast_cancer", "features": 3},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"max_revealed_nodes": 0},
        },
        protocols={"app": made(model)},
        adversaries=WHO,
    )
    assert {cell.adversary: cell.verdict for cell in report.cells} == {
        "server": "violated",
        "all but one": "violated",
        "one client": "inconclusive",
    }
    for who in ("server", "all but one"):
        for one, truth in found(made(model), who, runs=5):
            assert one.certified
            assert_allclose(one.rows[0, :2], truth[:2], rtol=1e-6)


@pytest.mark.parametrize("who", ["server", "all but one"])
def test_the_row_of_a_network_of_two_layers_in_single_precision(made, who):
    tried = found(made("mlp", precision="float32", features=4), who, runs=40, d=5)
    off = [np.nanmax(np.abs(one.rows[0] - truth)) for one, truth in tried if one is not None]
    assert sum(each < 1e-3 for each in off) >= 0.95 * 40
    assert all(np.nanmax(np.abs(one.rows[0] - row)) <= one.error for one, row in tried if one and one.certified)


def test_rows_are_counted_where_the_others_have_more(made):
    for one, truth in found(made("linear"), "all but one", runs=3, others=4):
        assert one.certified
        assert_allclose(one.rows[0, :2], truth[:2], rtol=1e-6)


@pytest.mark.parametrize("strategy", ["FedMedian", "FedAdam"])
def test_nothing_is_certified_where_models_are_not_averaged(made, strategy):
    for one, _ in found(made("linear", strategy), "all but one", runs=3):
        assert one is None or not one.certified


@pytest.mark.parametrize("who", ["server", "all but one"])
@pytest.mark.parametrize("model", ["linear", "logistic", "mlp"])
@pytest.mark.parametrize(("steps", "decay", "bias_decays"), [(5, 0.0, True), (5, 0.3, True), (1, 0.3, False)])
def test_several_steps_and_weight_decay_leave_the_row_certified(made, who, model, steps, decay, bias_decays):
    """After several steps the ratio is the same; what decay left of the weights is found where units agree."""
    settings = {"steps": steps, "decay": decay, "bias-decays": bias_decays, "rounds": 4, "features": 4}
    for one, truth in found(made(model, **settings), who, runs=4, d=5):
        assert one.certified
        assert_allclose(one.rows[0, :4], truth[:4], rtol=1e-6)
        assert np.abs(one.rows[0, :4] - truth[:4]).max() <= max(one.error, 1e-12)


@pytest.mark.parametrize("model", ["linear", "mlp"])
def test_nothing_false_is_certified_where_decay_leaves_no_ratio(made, model):
    """Several steps in which the weights decay and the biases do not: no factor gives the row."""
    settings = {"steps": 5, "decay": 0.3, "bias-decays": False, "rounds": 4, "features": 4}
    for one, truth in found(made(model, **settings), "server", runs=10, d=5):
        assert one is None or not one.certified or np.abs(one.rows[0, :4] - truth[:4]).max() <= one.error


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_several_rows_are_not_taken_for_one(made, precision):
    """The arithmetic is told that there is one row; with three, and decay, no factor makes the rounds agree."""
    app, network = made(precision=precision, decay=0.3, rounds=3, features=4), Network.complete(2)
    channel, rng = Channel(), np.random.default_rng(0)
    parts = [np.random.default_rng(i).standard_normal((10, 3, 5)) for i in range(2)]
    app.collaborate(parts, network, rng, channel=channel)
    view = CuriousServer().observe(channel.transcript, network)
    for run in range(10):
        told = only_row(moves_of(0, zip(view.origins, (row[run] for row in view.rows), strict=True)), 5)
        assert told is None or not told.certified


def test_steps_of_one_size_are_not_taken_for_a_row(made):
    """Whoever sends signs of gradients moves weights and bias equally far: the ratio is 1 or -1, in every round."""
    for one, _ in found(made("mlp", signs=True, features=4), "server", runs=5, d=5):
        assert one is None or not one.certified
