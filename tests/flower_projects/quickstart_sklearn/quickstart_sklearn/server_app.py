"""quickstart-sklearn: A Flower / scikit-learn app."""

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from quickstart_sklearn.task import create_log_reg_and_instantiate_parameters, get_model_parameters

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Average the models of the clients, and write the last one to a file."""
    config = context.run_config
    model = create_log_reg_and_instantiate_parameters(config["penalty"], config["local-epochs"])
    strategy = FedAvg(fraction_train=1.0, fraction_evaluate=1.0)
    arrays = ArrayRecord(get_model_parameters(model))
    result = strategy.start(grid=grid, initial_arrays=arrays, num_rounds=config["num-server-rounds"])
    with open("model.txt", "w", encoding="utf-8") as file:
        file.write(str(len(result.arrays)))
