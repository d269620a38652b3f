"""quickstart-numpy: A Flower / NumPy app."""

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from quickstart_numpy.task import get_model

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Average what the clients send."""
    strategy = FedAvg()
    rounds = context.run_config["num-server-rounds"]
    strategy.start(grid=grid, initial_arrays=ArrayRecord(get_model()), num_rounds=rounds)
