"""quickstart-sklearn: A Flower / scikit-learn app."""

import warnings

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from sklearn.metrics import log_loss

from quickstart_sklearn.task import (
    CLASSES,
    create_log_reg_and_instantiate_parameters,
    get_model_parameters,
    load_data,
    set_model_params,
)

app = ClientApp()


def model_of(msg: Message, context: Context):
    """The model that came, to train or to test."""
    config = context.run_config
    model = create_log_reg_and_instantiate_parameters(config["penalty"], config["local-epochs"])
    return set_model_params(model, msg.content["arrays"].to_numpy_ndarrays())


@app.train()
def train(msg: Message, context: Context):
    """Fit the model to the local data."""
    model = model_of(msg, context)
    partition_id, num_partitions = context.node_config["partition-id"], context.node_config["num-partitions"]
    pixels, _, classes, _ = load_data(partition_id, num_partitions)
    with warnings.catch_warnings():  # of the few epochs
        warnings.simplefilter("ignore")
        model.fit(pixels, classes)
    loss = log_loss(classes, model.predict_proba(pixels), labels=model.classes_)
    metrics = MetricRecord({"train_logloss": float(loss), "num-examples": len(pixels)})
    arrays = ArrayRecord(get_model_parameters(model))
    return Message(content=RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context):
    """Test the model on the local data."""
    model = model_of(msg, context)
    partition_id, num_partitions = context.node_config["partition-id"], context.node_config["num-partitions"]
    _, pixels, _, classes = load_data(partition_id, num_partitions)
    loss = log_loss(classes, model.predict_proba(pixels), labels=range(CLASSES))
    metrics = MetricRecord({"test_logloss": float(loss), "accuracy": float(model.score(pixels, classes)),
                            "num-examples": len(pixels)})  # fmt: skip
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
