"""recorded-app: the client."""

from pathlib import Path

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from recorded_app.task import load_data
from secmix.recording.flower import recording_mod


def record(msg: Message, context: Context, call_next):
    """A mod that records where the run config says."""
    return recording_mod(Path(context.run_config["folder"]) / "clients")(msg, context, call_next)


app = ClientApp(mods=[record])


@app.train()
def train(msg: Message, context: Context):
    """One step of gradient descent."""
    rows = load_data(context.node_config["partition-id"])
    weights, bias = msg.content["arrays"].to_numpy_ndarrays()
    x, y = rows[:, :-1], rows[:, -1]
    off = x @ weights + bias - y
    model = [weights - 0.1 * off @ x, bias - 0.1 * off.mean()]
    metrics = MetricRecord({"loss": float(off @ off), "num-examples": len(rows)})
    return Message(content=RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=msg)
