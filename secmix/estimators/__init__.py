"""Evidence: leaked subspaces, mutual information, reconstruction; robustness and its proven bounds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from secmix.estimators.estimate import Estimate, normalised
    from secmix.estimators.exact.leakage import LeakedSubspace, gaussian_leakage, leaked_subspace
    from secmix.estimators.information import information_lower_bound
    from secmix.estimators.ksg_estimator.entropies import entropy
    from secmix.estimators.ksg_estimator.estimator import ksg
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

# Loaded on use: most audits need neither a compiler nor a robust rule.
_HOMES = {
    **dict.fromkeys(("Estimate", "normalised"), "estimate"),
    **dict.fromkeys(("LeakedSubspace", "gaussian_leakage", "leaked_subspace"), "exact.leakage"),
    "information_lower_bound": "information",
    "entropy": "ksg_estimator.entropies",
    "ksg": "ksg_estimator.estimator",
    **dict.fromkeys(("BiasPoint", "bias_curve", "breakdown_point"), "robustness.bias_curves"),
    **dict.fromkeys(("Bound", "BoundViolated", "bounds"), "robustness.proven"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'secmix.estimators' has no attribute '{name}'")
    return getattr(importlib.import_module(f"secmix.estimators.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
