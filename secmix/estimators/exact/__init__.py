"""Exact evidence for protocols that are linear in inputs and masks: leaked subspaces and Gaussian information."""

from secmix.estimators.exact.gaussian import gaussian_leakage
from secmix.estimators.exact.structure import LeakedSubspace, leaked_subspace

__all__ = ["LeakedSubspace", "gaussian_leakage", "leaked_subspace"]
