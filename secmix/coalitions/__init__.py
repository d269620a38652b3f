"""Who would have to collude: smallest coalitions and fewest tapped lines, with proofs, and what would mend it."""

from secmix.coalitions.case import Case
from secmix.coalitions.result import Agent, Exposure, Least, NodeExposure, Proof
from secmix.coalitions.rows import Equations
from secmix.coalitions.search import least_coalitions

__all__ = ["Agent", "Case", "Equations", "Exposure", "Least", "NodeExposure", "Proof", "least_coalitions"]
