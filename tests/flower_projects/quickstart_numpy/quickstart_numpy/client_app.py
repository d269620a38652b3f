"""quickstart-numpy: A Flower / NumPy app."""

import random

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.train()
def train(msg: Message, context: Context):
    """Add noise to the model, in place of training."""
    model = [array + np.random.rand(*array.shape) for array in msg.content["arrays"].to_numpy_ndarrays()]  # noqa: NPY002
    metrics = MetricRecord({"random_metric": random.random(), "num-examples": 1})
    return Message(content=RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context):
    """Measure nothing."""
    metrics = MetricRecord({"eval_loss": random.random(), "num-examples": 1})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
