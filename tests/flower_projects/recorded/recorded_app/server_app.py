"""recorded-app: the server."""

from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from secmix.recording.flower import recorded

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Average the models of the clients, and record what passes."""
    grid = recorded(grid, Path(context.run_config["folder"]) / "server")
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=3)
    start = ArrayRecord([np.zeros(2), np.zeros(1)])
    strategy.start(grid=grid, initial_arrays=start, num_rounds=context.run_config["num-server-rounds"])
