"""Federated averaging of regressions: nodes train a shared model on their rows, a server averages what they send."""

from secmix.protocols.regression.federated_regression import FederatedRegression
from secmix.protocols.regression.training import Trainer

__all__ = ["FederatedRegression", "Trainer"]
