"""Adversaries who follow the protocol and read: eavesdroppers, curious nodes, a curious server, the public."""

from secmix.adversaries.passive.curious_server import CuriousServer
from secmix.adversaries.passive.eavesdropper import Eavesdropper
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.adversaries.passive.public import PublicReader

__all__ = ["CuriousServer", "Eavesdropper", "HonestButCurious", "PublicReader"]
