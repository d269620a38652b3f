"""Smallest coalitions and fewest tapped lines that expose a node, with proofs, and the edges that prevent them."""

from secmix.auditing.exposure.coalitions.query import CoalitionQuery
from secmix.auditing.exposure.coalitions.result import Agent, Exposure, Least, NodeExposure, ProofOfLeast
from secmix.auditing.exposure.coalitions.row_equations import RowEquations
from secmix.auditing.exposure.coalitions.search import least_coalitions

__all__ = [
    "Agent",
    "CoalitionQuery",
    "Exposure",
    "Least",
    "NodeExposure",
    "ProofOfLeast",
    "RowEquations",
    "least_coalitions",
]
