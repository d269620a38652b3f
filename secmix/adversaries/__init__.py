"""Adversaries: each turns a transcript into the view it holds."""

from secmix.adversaries.against_rules.mixtures import Collusion, CollusionPoint, collude, collusion_curve
from secmix.adversaries.against_rules.subspaces import worst_basis
from secmix.adversaries.against_rules.worst_of_a_rule import Search, WorstCase
from secmix.adversaries.attacks.attack import Attack, RoundMessages
from secmix.adversaries.attacks.subspace import SUBSPACE_FIXED, SUBSPACE_FORGERIES
from secmix.adversaries.attacks.sums import FIXED
from secmix.adversaries.colluders import Colluders
from secmix.adversaries.interfaces import Adversary
from secmix.adversaries.inversion.invert import Inversion, invert_sums, rounds_needed
from secmix.adversaries.passive.curious_server import CuriousServer
from secmix.adversaries.passive.eavesdropper import Eavesdropper
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.adversaries.passive.public import PublicReader
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.adversaries.steering.adversaries import (
    Detectability,
    Isolated,
    MaliciousServer,
    Steered,
    Steering,
    detectability,
)
from secmix.adversaries.steering.models import ModelServer
from secmix.adversaries.tampering import TamperingChannel
from secmix.adversaries.unmasking import UnmaskingServer

__all__ = [
    "FIXED",
    "SUBSPACE_FIXED",
    "SUBSPACE_FORGERIES",
    "Adversary",
    "Attack",
    "Colluders",
    "Collusion",
    "CollusionPoint",
    "CuriousServer",
    "Detectability",
    "Eavesdropper",
    "HonestButCurious",
    "Inversion",
    "Isolated",
    "KnownMessages",
    "MaliciousServer",
    "ModelServer",
    "PublicReader",
    "Reconstruction",
    "RoundMessages",
    "Search",
    "Steered",
    "Steering",
    "TamperingChannel",
    "UnmaskingServer",
    "WorstCase",
    "collude",
    "collusion_curve",
    "detectability",
    "invert_sums",
    "rounds_needed",
    "worst_basis",
]
