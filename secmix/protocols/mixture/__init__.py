"""Mixtures fitted at every node and sent once (split and conquer, Zhang 2024)."""

from secmix.protocols.mixture.distributed_mixture import DistributedMixture, MixtureRun
from secmix.protocols.mixture.local_mixture import LocalFit, fit_mixtures

__all__ = ["DistributedMixture", "LocalFit", "MixtureRun", "fit_mixtures"]
