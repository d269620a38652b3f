"""Adversaries who bend the parameters so that the next sum isolates a row."""

from secmix.adversaries.steering.adversaries import Detectability, MaliciousServer, Steered, Steering, detectability
from secmix.adversaries.steering.search import Isolated

__all__ = ["Detectability", "Isolated", "MaliciousServer", "Steered", "Steering", "detectability"]
