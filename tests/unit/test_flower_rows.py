"""The only row of a Flower client, from its model, or from the next average where all others pool what they know."""

from __future__ import annotations

import numpy as np
import pytest
from flower_apps import flower_app
from numpy.testing import assert_allclose

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.adversaries.reconstructions.flower import reconstruct_flower
from secmix.adversaries.reconstructions.interfaces import held_in_run
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
    held = [held_in_run(view, run, 0, counts, d, app, network, rng) for run in range(runs)]
    return [(reconstruct_flower(each), parts[0][run, 0]) for run, each in enumerate(held)]


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
