"""quickstart-sklearn: the model, and the data of a client."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

CLASSES, FEATURES = 10, 64


def load_data(partition_id: int, num_partitions: int):
    """One share of the digits, cut into training and test."""
    pixels, classes = load_digits(return_X_y=True)
    pixels, classes = pixels[partition_id::num_partitions] / 16, classes[partition_id::num_partitions]
    cut = len(pixels) * 4 // 5
    return pixels[:cut], pixels[cut:], classes[:cut], classes[cut:]


def create_log_reg_and_instantiate_parameters(penalty: str, epochs: int):
    """A model that is not fitted, with parameters to go on from."""
    model = LogisticRegression(penalty=penalty, max_iter=epochs, warm_start=True)
    model.classes_ = np.arange(CLASSES)
    model.coef_ = np.zeros((CLASSES, FEATURES))
    model.intercept_ = np.zeros(CLASSES)
    return model


def get_model_parameters(model):
    """The arrays that are sent."""
    return [model.coef_, model.intercept_]


def set_model_params(model, params):
    """The model with the arrays that came."""
    model.coef_, model.intercept_ = params
    return model
