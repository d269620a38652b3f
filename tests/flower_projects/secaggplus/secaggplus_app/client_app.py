"""secaggplus-app: the client, in the form that Flower's SecAgg+ asks for."""

from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp

from secaggplus_app.task import load_data, step


class Client(NumPyClient):
    """Trains on its rows."""

    def __init__(self, rows, report_loss):
        self.rows, self.report_loss = rows, report_loss

    def fit(self, parameters, config):
        """The model goes through the mod, which masks it; what stands beside it does not."""
        model, loss = step(parameters, self.rows)
        return model, len(self.rows), {"loss": loss} if self.report_loss else {}


def client_fn(context):
    """A client of this node's rows."""
    rows = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    return Client(rows, context.run_config["report-loss"]).to_client()


app = ClientApp(client_fn=client_fn, mods=[secaggplus_mod])
