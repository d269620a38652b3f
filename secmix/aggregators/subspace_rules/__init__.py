"""Byzantine-resilient subspaces (Singh 2024): medians of subspaces and power methods. Nothing n × n is ever formed."""

from secmix.aggregators.subspace_rules.bases import RejectedBases, orthonormal, subspace_distance
from secmix.aggregators.subspace_rules.covariance import svd_rce
from secmix.aggregators.subspace_rules.median import SubspaceMedian, subspace_median, subspace_median_bound
from secmix.aggregators.subspace_rules.power import (
    Exchange,
    power_method,
    resilient_power_method,
    subspace_median_of_means,
)

__all__ = [
    "Exchange",
    "RejectedBases",
    "SubspaceMedian",
    "orthonormal",
    "power_method",
    "resilient_power_method",
    "subspace_distance",
    "subspace_median",
    "subspace_median_bound",
    "subspace_median_of_means",
    "svd_rce",
]
