"""Searches for how far colluders move a rule's result, and bounds that are proven about it."""

from secmix.estimators.robustness.bias_curves import BiasPoint, bias_curve, breakdown_point
from secmix.estimators.robustness.proven import Bound, BoundViolated, bounds

__all__ = [
    "BiasPoint",
    "Bound",
    "BoundViolated",
    "bias_curve",
    "bounds",
    "breakdown_point",
]
