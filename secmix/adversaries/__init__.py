"""Who attacks: each adversary turns a transcript into the view it holds."""

from secmix.adversaries.byzantine import FIXED, Attack, label_flip
from secmix.adversaries.colluders import Colluders
from secmix.adversaries.curious_server import CuriousServer
from secmix.adversaries.eavesdropper import Eavesdropper
from secmix.adversaries.forgers import Forgers, Forgery, ForgingChannel, Said
from secmix.adversaries.honest_but_curious import HonestButCurious
from secmix.adversaries.inversion import Inversion, invert_sums, rounds_needed
from secmix.adversaries.mixture_colluders import Collusion, CollusionPoint, collude, collusion_curve
from secmix.adversaries.observer import Adversary
from secmix.adversaries.reconstruction import Held, Reconstruction
from secmix.adversaries.steering import Detectability, Isolated, MaliciousServer, Steered, Steering, detectability
from secmix.adversaries.subspace_attacks import SUBSPACE_FIXED, SUBSPACE_FORGERIES, worst_basis
from secmix.adversaries.worst_case import Search, WorstCase

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
    "Forgers",
    "Forgery",
    "ForgingChannel",
    "Held",
    "HonestButCurious",
    "Inversion",
    "Isolated",
    "MaliciousServer",
    "Reconstruction",
    "Said",
    "Search",
    "Steered",
    "Steering",
    "WorstCase",
    "collude",
    "collusion_curve",
    "detectability",
    "invert_sums",
    "label_flip",
    "rounds_needed",
    "worst_basis",
]
