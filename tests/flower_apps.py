"""Small Flower apps as text, for tests: federated gradient descent on rows whose last number is the label."""

from __future__ import annotations

import textwrap
from itertools import count
from pathlib import Path

from secmix.protocols.flower import FlowerApp

_number = count()

MODELS = {
    "linear": """
        def gradients(model, x, y):
            weights, bias = model
            off = x @ weights + bias[0] - y
            return float(np.mean(off**2)), [off @ x / len(x), np.array([off.mean()])]
    """,
    "logistic": """
        def gradients(model, x, y):
            weights, bias = model
            off = 1 / (1 + np.exp(-(x @ weights + bias[0]))) - (y > 0)
            return float(np.mean(np.abs(off))), [off @ x / len(x), np.array([off.mean()])]
    """,
    "mlp": """
        def gradients(model, x, y):
            first, one, second, two = model
            before = x @ first.T + one
            hidden = np.maximum(before, 0)
            off = (hidden @ second + two[0] - y) / len(x)
            back = off[:, None] * second * (before > 0)
            return float(np.mean(off**2)), [back.T @ x, back.sum(axis=0), off @ hidden, np.array([off.sum()])]
    """,
}
TRAINING = {"steps": 1, "decay": 0.0, "bias-decays": True, "signs": False}
CLIENT = """
    import numpy as np
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    {imports}

    app = ClientApp()

    def load_data(partition, partitions):
        raise RuntimeError("the audit's rows come in its place")

    {gradients}

    @app.train(mods=[{mods}])
    def train(message, context):
        rows = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
        model = message.content["arrays"].to_numpy_ndarrays()
        rows = rows.astype(model[0].dtype)
        config = context.run_config
        for _ in range(config["steps"]):
            loss, slopes = gradients(model, rows[:, :-1], rows[:, -1])
            if config["signs"]:
                slopes = [np.sign(slope) for slope in slopes]
            decays = [config["decay"] if config["bias-decays"] or k % 2 == 0 else 0.0 for k in range(len(model))]
            slopes = [slope + decay * array for slope, decay, array in zip(slopes, decays, model)]
            model = [array - array.dtype.type(0.1) * slope.astype(array.dtype) for array, slope in zip(model, slopes)]
        metrics = MetricRecord({{"loss": {metric}, "num-examples": len(rows)}})
        return Message(content=RecordDict({{"arrays": ArrayRecord(model), "metrics": metrics}}), reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        rows = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
        metrics = MetricRecord({{"num-examples": len(rows)}})
        return Message(content=RecordDict({{"metrics": metrics}}), reply_to=message)
"""
SERVER = """
    import numpy as np
    from flwr.app import ArrayRecord
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg, {strategy}

    app = ServerApp()

    @app.main()
    def main(grid, context):
        config = context.run_config
        features, hidden = config["features"], config["hidden"]
        draw = np.random.default_rng(3).normal
        sizes = [(hidden, features), (hidden,), (hidden,), (1,)] if hidden else [(features,), (1,)]
        start = [(draw(size=size) if hidden else np.zeros(size)).astype(config["precision"]) for size in sizes]
        {strategy}({settings}).start(
            grid=grid, initial_arrays=ArrayRecord(start), num_rounds=config["rounds"], evaluate_config=None
        )
"""


def flower_app(
    folder: Path, model="linear", strategy="FedAvg", settings="", imports="", mods="", metric="loss", **config
) -> FlowerApp:
    """Writes an app into ``folder``, which is to be on Python's path, and returns it as a protocol."""
    name = f"flower_{folder.name}_{next(_number)}"
    gradients = textwrap.indent(textwrap.dedent(MODELS[model]), "    ").strip()
    client = CLIENT.format(gradients=gradients, imports=imports, mods=mods, metric=metric)
    (folder / f"{name}_client.py").write_text(textwrap.dedent(client))
    (folder / f"{name}_server.py").write_text(textwrap.dedent(SERVER.format(strategy=strategy, settings=settings)))
    config = {"features": 2, "hidden": 8 * (model == "mlp"), "rounds": 2, "precision": "float64", **TRAINING, **config}
    return FlowerApp(f"{name}_server:app", f"{name}_client:app", data=f"{name}_client:load_data", config=config)
