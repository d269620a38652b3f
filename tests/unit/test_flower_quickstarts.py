"""Apps in the form of Flower's own quickstarts, unchanged; noise as it is declared; strategies that liars break."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from flower_apps import flower_app
from scipy.stats import chi2
from typer.testing import CliRunner

import secmix
from secmix import Network
from secmix.adversaries import Colluders, CuriousServer
from secmix.auditing.robustness.collaborations import errors_of_collaborations
from secmix.auditing.setup import build_setup
from secmix.cli.app import app
from secmix.scenario import from_dict
from secmix.transcript import Channel

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")
from secmix.protocols.flower import FlowerApp

PROJECTS = Path(__file__).parents[1] / "flower_projects"
LOCAL = "LocalDpMod(clipping_norm=1.0, sensitivity=1.0, epsilon=10.0, delta=1e-5)"
LOCAL_NOISE = np.sqrt(2 * np.log(1.25e5)) / 10  # Dwork and Roth 2014, theorem 3.22
CENTRAL = "FedAvg(), noise_multiplier=1.5, clipping_norm=1.0, num_sampled_clients=3"
CENTRAL_NOISE = 1.5 * 1.0 / 3  # McMahan et al. 2018, algorithm 1: of the average, not of the sum


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda *model, **settings: flower_app(tmp_path, *model, **settings)


def messages(protocol, parts, seed=0):
    channel = Channel()
    protocol.collaborate(parts, Network.complete(len(parts)), np.random.default_rng(seed), channel=channel)
    return channel.transcript


@pytest.mark.parametrize("name", ["quickstart_numpy", "quickstart_sklearn"])
def test_a_quickstart_is_audited_by_its_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--allow-code", "--workers", "1", "--cell", "1", "--format", "json,md", "--out", "report"]
    told = CliRunner().invoke(app, ["audit", "--flower", str(PROJECTS / name), *options])
    # Under the limit on leakage of an app without one of its own, the models of twelve rows tell too much.
    assert told.exit_code == (3 if name == "quickstart_numpy" else 1), told.output
    report = json.loads(Path("report", "cell-1", "report.json").read_text(encoding="utf-8"))
    [cell] = report["cells"]
    assert "revealed" not in {node["standing"] for node in cell["nodes"]}
    # Of the first the rows do not go in; of the second twelve rows go into each model, with labels of their own.
    decoded = [found["normalised_low"] for found in report["findings"] if found["evidence"].endswith("decoder")]
    assert max(decoded) < 1e-3 if name == "quickstart_numpy" else 0.1 < max(decoded) < 0.9
    assert sorted(path.name for path in Path().iterdir()) == ["report"]  # what the server writes is not left there


@pytest.mark.parametrize(("name", "data"), [("quickstart_numpy", None), ("quickstart_sklearn", "load_data")])
def test_two_runs_of_a_quickstart_send_the_same_messages(name, data):
    hook = data and f"{name}.client_app:{data}"
    protocol = FlowerApp(project=PROJECTS / name, data=hook, load="injected:load" if hook else None)
    parts = [np.random.default_rng(i).standard_normal((2, 12, 61)) for i in range(3)]
    one, two, other = (messages(protocol, parts, seed) for seed in (0, 0, 1))
    assert [block.frame for block in one] == [block.frame for block in two]
    assert all(np.array_equal(a.payload, b.payload) for a, b in zip(one, two, strict=True))
    # The second app draws nothing; the order in which the strategy adds up models is drawn.
    alike = [np.allclose(a.payload, b.payload, rtol=1e-6, atol=1e-9) for a, b in zip(one, other, strict=True)]
    assert all(alike) == (name == "quickstart_sklearn")


@pytest.mark.parametrize(("where", "declared"), [("client", LOCAL_NOISE), ("server", CENTRAL_NOISE)])
def test_the_noise_of_privacy_mods_is_the_noise_declared(made, where, declared):
    """By a χ² interval at 99.9 % for the standard deviation, which is narrower than a tenth of it each way."""
    runs, features = 30, 60
    parts = [np.random.default_rng(i).standard_normal((runs, 1, features + 1)) / 100 for i in range(3)]
    honest = messages(made(rounds=1, features=features), parts)
    if where == "client":
        noisy = made(rounds=1, features=features, imports="from flwr.clientapp.mod import LocalDpMod", mods=LOCAL)
        kind, sender = "train reply: arrays/0", 0
    else:
        noisy = made("linear", "DifferentialPrivacyServerSideFixedClipping", CENTRAL, rounds=1, features=features)
        kind, sender = "evaluate: arrays/0", -1
    found = [
        next(block.payload[0] for block in transcript if block.kind == kind and block.sender[0] == sender)
        for transcript in (messages(noisy, parts), honest)
    ]
    noise = found[0] - found[1]
    assert noise.shape == (runs, features)
    assert len(np.unique(noise)) == noise.size  # drawn anew in each run
    squares, count = float((noise**2).sum()), noise.size
    low, high = (np.sqrt(squares / chi2.ppf(level, count)) for level in (0.9995, 0.0005))
    assert low <= declared <= high
    assert high - low < 0.2 * declared


def test_a_metric_that_carries_no_noise_is_found(made):
    imports, strong = "from flwr.clientapp.mod import LocalDpMod", LOCAL.replace("10.0", "0.1")
    apps = {metric: made(rounds=1, imports=imports, mods=strong, metric=metric) for metric in ("loss", "0.0")}
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 2},
            "data": {"name": "breast_cancer", "features": 3},
            "runs": 300,
            "measure": {"nodes": [0], "evidence": ["ksg", "reconstruction"]},
            "policy": {"max_normalised_leakage": 0.05},
        },
        protocols=apps,
        adversaries={"server": CuriousServer()},
    )
    assert {cell.protocol: cell.verdict for cell in report.cells} == {"loss": "violated", "0.0": "inconclusive"}


@pytest.mark.parametrize("strategy", ["Krum", "Bulyan"])
def test_three_of_seven_do_not_break_a_strategy_that_looks_at_distances(made, strategy):
    cell = from_dict(
        {
            "network": {"kind": "complete", "nodes": 7},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": 3},
            "runs": 100,
            "protocol": {"name": "p", "label": "p"},
            "adversary": {"name": "a", "label": "a"},
        }
    )
    app, colluders = made("linear", strategy, "num_malicious_nodes=1", rounds=1), Colluders([6], "update_far")
    setup = build_setup(cell, {("protocol", "p"): app, ("adversary", "a"): colluders})
    push = errors_of_collaborations(cell, setup).push
    sizes = [1, 2, 3] if strategy == "Krum" else [3]  # Bulyan takes its time
    assert not any(push(f)[0] is None for f in sizes)
