"""Evidence: leaked subspaces, mutual information, reconstruction; robustness and its proven bounds."""

from secmix.estimators.estimate import Estimate, normalised
from secmix.estimators.exact.gaussian import gaussian_leakage
from secmix.estimators.exact.structure import LeakedSubspace, leaked_subspace
from secmix.estimators.information import information_lower_bound
from secmix.estimators.ksg.entropies import entropy
from secmix.estimators.ksg.information import ksg
from secmix.estimators.robustness.bias_curves import BiasPoint, bias_curve, breakdown_point
from secmix.estimators.robustness.proven import Bound, BoundViolated, bounds

__all__ = [
    "BiasPoint",
    "Bound",
    "BoundViolated",
    "Estimate",
    "LeakedSubspace",
    "bias_curve",
    "bounds",
    "breakdown_point",
    "entropy",
    "gaussian_leakage",
    "information_lower_bound",
    "ksg",
    "leaked_subspace",
    "normalised",
]
