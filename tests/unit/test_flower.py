"""A Flower app under audit: run unchanged, every message through the channel, the same messages for the same seed."""

from __future__ import annotations

import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

import secmix
from secmix import Network
from secmix.adversaries import Colluders, CuriousServer, Eavesdropper
from secmix.auditing.recorded import audit_recording
from secmix.auditing.robustness.collaborations import errors_of_collaborations
from secmix.auditing.setup import build_setup
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols.collaboration import RunsDiffer
from secmix.recording import read_recording
from secmix.scenario import from_dict
from secmix.transcript import Channel

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")
from secmix.protocols.flower import FlowerApp

CLIENT = """
    import numpy as np
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp

    app = ClientApp()

    def load_data(partition, partitions):
        raise RuntimeError("the audit's rows come in its place")

    def rows_of(context):
        return load_data(context.node_config["partition-id"], context.node_config["num-partitions"])

    @app.train()
    def train(message, context):
        rows = rows_of(context)
        weights, bias = message.content["arrays"].to_numpy_ndarrays()
        if context.run_config.get("fails", 0) and rows[0, 0] < 0:
            raise ValueError(f"a negative number: {rows[0, 0]}")
        x, y = rows[:, :-1], rows[:, -1]
        off = x @ weights + bias[0] - y
        rate = context.run_config["rate"]
        weights = weights - rate * off @ x / len(x)
        bias = bias - rate * off.mean()
        content = RecordDict({
            "arrays": ArrayRecord([weights, bias]),
            "metrics": MetricRecord({"loss": float(np.mean(off**2)), "num-examples": len(x)}),
        })
        return Message(content=content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        rows = rows_of(context)
        metrics = MetricRecord({"noise": float(np.random.random()), "num-examples": len(rows)})
        return Message(content=RecordDict({"metrics": metrics}), reply_to=message)
"""
SERVER = """
    import numpy as np
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import {strategy}

    app = ServerApp()

    @app.main()
    def main(grid, context):
        start = ArrayRecord([np.zeros(context.run_config["features"]), np.zeros(1)])
        strategy = {strategy}({settings})
        result = strategy.start(grid=grid, initial_arrays=start, num_rounds=context.run_config["rounds"])
        np.savez("final_model.npz", *result.arrays.to_numpy_ndarrays())
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes an app, and returns it as a protocol."""

    def write(strategy="FedAvg", settings="", **config):
        name = f"flower_app_{time.monotonic_ns()}"
        (tmp_path / f"{name}_client.py").write_text(textwrap.dedent(CLIENT))
        (tmp_path / f"{name}_server.py").write_text(
            textwrap.dedent(SERVER.format(strategy=strategy, settings=settings))
        )
        monkeypatch.syspath_prepend(str(tmp_path))
        config = {"rate": 0.1, "features": 2, "rounds": 2, **config}
        return FlowerApp(f"{name}_server:app", f"{name}_client:app", data=f"{name}_client:load_data", config=config)

    return write


def run(protocol, parts, seed=0):
    channel = Channel()
    network = Network.complete(len(parts))
    return protocol.collaborate(parts, network, np.random.default_rng(seed), channel=channel), channel.transcript


def rows_of(counts=(1, 2, 3), d=3, runs=2):
    return [np.random.default_rng(i).standard_normal((runs, count, d)) for i, count in enumerate(counts)]


def test_an_app_learns_what_federated_averaging_of_its_rows_is(written):
    parts = rows_of()
    ends, transcript = run(written(), parts)
    everything = np.concatenate(parts, axis=1)
    weights = np.zeros((2, 3))
    for _ in range(2):  # one full-batch step on all rows: what FedAvg of single steps comes to
        x = np.concatenate([everything[..., :-1], np.ones((2, 6, 1))], axis=2)
        off = np.einsum("rnd,rd->rn", x, weights) - everything[..., -1]
        weights = weights - 0.1 * np.einsum("rn,rnd->rd", off, x) / 6
    assert_allclose(ends, np.repeat(weights[:, None], 3, axis=1), atol=1e-12)
    kinds = {block.kind for block in transcript}
    assert {"train: arrays/0", "train reply: arrays/1", "train reply: metrics", "evaluate reply: metrics"} <= kinds
    assert {block.line for block in transcript} == {"held", "encrypted"}


def test_one_seed_gives_the_same_messages_and_leaves_no_trace(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app, parts = written("FedAvg", "fraction_train=0.4, min_train_nodes=2"), rows_of()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    (first, one), (second, two) = (run(app, parts) for _ in range(2))
    assert np.array_equal(first, second)
    assert [b.frame for b in one] == [b.frame for b in two]
    assert all(np.array_equal(a.payload, b.payload) for a, b in zip(one, two, strict=True))
    other = run(app, parts, seed=1)[1]
    noise = [next(b.payload for b in t if b.kind == "evaluate reply: metrics") for t in (one, other)]
    assert not np.array_equal(*noise)
    assert not list(tmp_path.glob("*.npz"))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_what_the_channel_delivers_is_what_the_app_goes_on_with(written):
    class Doubling(Channel):
        def send(self, round, sender, receiver, kind, payload, **how):
            arrived = super().send(round, sender, receiver, kind, payload, **how)
            return 2 * arrived if kind.startswith("train reply: arrays") else arrived

    parts, app, network = rows_of(), written(rounds=1), Network.complete(3)
    honest, _ = run(app, parts)
    doubled = app.collaborate(parts, network, np.random.default_rng(0), channel=Doubling())
    assert_allclose(doubled, 2 * honest, atol=1e-12)


@pytest.mark.parametrize("strategy", ["FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "FedAdam"])
def test_other_strategies_run_too(written, strategy):
    ends, _ = run(written(strategy, rounds=1), rows_of((2, 2, 2, 2, 2), runs=1))
    assert np.isfinite(ends).all()


@pytest.mark.parametrize(("rows", "verdict"), [(1, "violated"), (4, "inconclusive")])
def test_the_only_row_of_a_client_is_known_to_the_server(written, rows, verdict):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": rows},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"max_revealed_nodes": 0},
        },
        protocols={"app": written()},
        adversaries={"server": CuriousServer()},
    )
    cell = report.cells[0]
    assert cell.verdict == verdict
    assert not any("outside" in note for note in cell.notes)
    assert [finding.value for finding in report.findings] == [1.0] * (rows == 1)


def test_a_client_that_fails_is_left_out_and_the_runs_are_grouped(written):
    app, network = written(rounds=1, fails=1), Network.complete(2)
    ends, _ = run(app, [np.ones((1, 1, 3)), np.ones((1, 2, 3))])
    channel = Channel()
    first = np.stack([np.ones((1, 3)), -np.ones((1, 3))])
    with pytest.raises(RunsDiffer) as differing:
        app.collaborate([first, np.ones((2, 2, 3))], network, np.random.default_rng(0), channel=channel)
    good, bad = differing.value.groups
    assert (good.runs, bad.runs) == ((0,), (1,))
    assert [b.sender.tolist() for b in bad.transcript if b.kind == "train reply: error"] == [[0]]
    assert_allclose(good.results[0], ends[0])
    assert_allclose(bad.results[0], ends[0])  # both nodes have the same rows, and node 1 alone answers
    with pytest.raises(
        SecmixError, match=r"in every run: node 0 answers 'train' with ValueError in \w+\.py, line \d+$"
    ):
        run(app, [-np.ones((1, 1, 3)), -np.ones((1, 2, 3))])


def test_clients_are_named_before_the_server_that_fails_without_them(written, monkeypatch):
    monkeypatch.setitem(globals(), "SERVER", SERVER.replace("np.savez(", "result.arrays['9'].numpy(); np.savez("))
    app = written("FedAvg", "fraction_evaluate=0.0", rounds=1, fails=1)
    with pytest.raises(
        SecmixError, match=r"^every client app .*: node 0 answers 'train' with ValueError.*; after that: the"
    ):
        run(app, [-np.ones((1, 1, 3)), -np.ones((1, 2, 3))])


def test_a_node_that_always_fails_alone_is_no_failure_of_all(written):
    """One client is asked at a time; node 0 fails whenever it is, and others train."""
    app = written("FedAvg", "fraction_train=0.3, min_train_nodes=1, fraction_evaluate=0.0", rounds=6, fails=1)
    ends, transcript = run(app, [-np.ones((1, 1, 3)), np.ones((1, 1, 3)), np.ones((1, 1, 3))])
    assert any(block.kind == "train reply: error" for block in transcript)
    assert np.isfinite(ends).any()


def test_which_clients_fail_is_seen_by_an_outsider(written):
    """Nobody reads a message; that node 0 fails on negative numbers is seen in what it sends nevertheless."""
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 2},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": [1, 20]},
            "runs": 160,
            "measure": {"evidence": ["reconstruction"], "nodes": [0]},
            "policy": {"max_normalised_leakage": 0.15},
        },
        protocols={"app": written("FedAvg", "fraction_evaluate=0.0", rounds=1, fails=1)},
        adversaries={"outsider": Eavesdropper()},
    )
    [frames] = [f for f in report.findings if f.evidence == "frames"]
    assert frames.normalised_low > 0.15
    assert report.verdict == "violated"


def test_a_node_that_is_never_sampled_ends_with_nothing(written):
    app = written("FedAvg", "fraction_train=0.5, min_train_nodes=1, fraction_evaluate=0.0", rounds=1)
    ends, _ = run(app, rows_of((1, 1)))
    assert np.isnan(ends).all(axis=2).sum(axis=1).tolist() == [1, 1]
    assert app.error(ends, ends).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("strategy", "settings", "withstands"),
    [
        ("FedAvg", "", 0),
        ("FedTrimmedAvg", "beta=0.2", 1),
        ("MultiKrum", "num_malicious_nodes=1, num_nodes_to_select=5", 2),
        ("FedMedian", "", 3),
    ],
)
def test_as_many_colluders_break_a_strategy_as_its_arithmetic_says(written, strategy, settings, withstands):
    """Of seven nodes: 0.2 of them are cut at each end, one; five are averaged, and four honest leave room for one."""
    cell = from_dict(
        {
            "network": {"kind": "complete", "nodes": 7},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": 3},
            "runs": 100,
            "protocol": {"name": "p", "label": "p"},
            "adversary": {"name": "a", "label": "a"},
        }
    )
    app, colluders = written(strategy, settings, rounds=1), Colluders([6], "update_far", eavesdrops=False)
    setup = build_setup(cell, {("protocol", "p"): app, ("adversary", "a"): colluders})
    push = errors_of_collaborations(cell, setup).push
    assert [push(f)[0] is None for f in range(1, 4)] == [f > withstands for f in range(1, 4)]


def test_what_a_server_and_its_clients_record_is_what_passed(written, tmp_path, monkeypatch):
    """The recorder changes nothing; what it wrote gives the rows of those that say they have one."""
    parts = rows_of((1, 2, 1), runs=1)
    plain, transcript = run(written(), parts)
    wrapped = "        grid = recorded(grid, context.run_config['folder'])\n        start ="
    server = SERVER.replace("        start =", wrapped)
    recorded = "    from secmix.recording.flower import recorded, recording_mod\n    import numpy"
    monkeypatch.setitem(globals(), "SERVER", server.replace("    import numpy", recorded, 1))
    mods = 'mods=[recording_mod("' + str(tmp_path / "clients") + '")]'
    client = CLIENT.replace("ClientApp()", f"ClientApp({mods})")
    client = client.replace(
        "    import numpy", "    from secmix.recording.flower import recording_mod\n    import numpy"
    )
    monkeypatch.setitem(globals(), "CLIENT", client)
    ends, _ = run(written(folder=str(tmp_path / "server")), parts)
    assert np.array_equal(ends, plain)
    recording = read_recording(tmp_path / "server")
    passed = [(b.kind, b.payload[0, 0].tolist()) for b in transcript if b.line != "held" and "config" not in b.kind]
    written_down = [
        (kind, numbers.tolist()) for m in recording.messages for kind, _, numbers in m.parts if "config" not in kind
    ]
    assert sorted(passed) == sorted(written_down)
    found = audit_recording(recording)
    assert [known.node for known in found.rows] == [0, 2]
    assert_allclose(found.rows[0].row, parts[0][0, 0, :-1], atol=1e-8)
    assert "any 2 of these nodes together" in found.coalitions[0]
    own = [read_recording(folder) for folder in sorted((tmp_path / "clients").iterdir())]
    assert [len(audit_recording(each).rows) for each in own] == [1, 0, 1]
    assert sum(len(each.messages) for each in own) == len(recording.messages)


@pytest.mark.build
def test_a_recorded_and_a_simulated_audit_agree_node_by_node(written, tmp_path, monkeypatch):
    """Nodes with one row are known to the server, in both; the one with two rows in neither."""
    counts = [1, 2, 1]
    wrapped = [
        "from secmix.recording.flower import recorded",
        "grid = recorded(grid, context.run_config['folder'])",
        "start =",
    ]
    server = SERVER.replace("        start =", textwrap.indent("\n".join(wrapped), 8 * " "), 1)
    monkeypatch.setitem(globals(), "SERVER", server)
    run(written(folder=str(tmp_path / "server")), rows_of(counts, runs=1))
    rows = {known.node for known in audit_recording(read_recording(tmp_path / "server")).rows}
    monkeypatch.undo()
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 3},
            "data": {"name": "breast_cancer", "features": 3, "rows_per_node": counts},
            "runs": 100,
            "measure": {"evidence": ["reconstruction"]},
            "policy": {"max_revealed_nodes": 0},
        },
        protocols={"app": written()},
        adversaries={"server": CuriousServer()},
    )
    assert rows == {node.node for node in report.cells[0].nodes if node.standing == "revealed"} == {0, 2}


def test_a_strategy_that_waits_for_more_nodes_is_refused(written, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with pytest.raises(SecmixError, match="waits for more nodes than the 3"):
        run(written("FedAvg", "min_available_nodes=10"), rows_of())


def test_an_app_is_code_that_must_be_allowed():
    from secmix._base.plugins import code_allowed

    with pytest.raises(ScenarioError, match="parts of a Flower app are named"):
        FlowerApp("server", "m:app", data="m:data")
    with code_allowed(False), pytest.raises(ScenarioError, match="--allow-code"):
        FlowerApp("m:server", "m:app", data="m:data")
    assert "m" not in sys.modules
