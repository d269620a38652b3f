"""Smallest coalitions and fewest tapped lines that expose a node, with proofs, and the edges that prevent them."""

from secmix.coalitions.query import CoalitionQuery
from secmix.coalitions.result import Agent, Exposure, Least, NodeExposure, Proof
from secmix.coalitions.rows import Equations
from secmix.coalitions.search import least_coalitions

__all__ = ["Agent", "CoalitionQuery", "Equations", "Exposure", "Least", "NodeExposure", "Proof", "least_coalitions"]
