"""Distributed EM for Gaussian mixtures over any sum protocol, and its defences (Li 2022)."""

from secmix.protocols.em.defences import Defences, epsilon, noise_multiplier_for
from secmix.protocols.em.distributed_em import DistributedEM, EMRun

__all__ = ["Defences", "DistributedEM", "EMRun", "epsilon", "noise_multiplier_for"]
