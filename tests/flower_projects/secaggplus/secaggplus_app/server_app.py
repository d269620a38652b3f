"""secaggplus-app: the server, in the form that Flower's SecAgg+ asks for."""

import numpy as np
from flwr.app import Context
from flwr.common import ndarrays_to_parameters
from flwr.server import LegacyContext, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
from flwr.serverapp import Grid, ServerApp

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Average the models of the clients, under masks."""
    config = context.run_config
    start = ndarrays_to_parameters([np.zeros(config["features"]), np.zeros(1)])
    strategy = FedAvg(fraction_evaluate=0.0, min_available_clients=config["least-clients"], initial_parameters=start)
    legacy = LegacyContext(context, ServerConfig(num_rounds=config["num-server-rounds"]), strategy)
    masked = SecAggPlusWorkflow(num_shares=1.0, reconstruction_threshold=0.6, max_weight=config["max-weight"])
    DefaultWorkflow(fit_workflow=masked)(grid, legacy)
