"""Sum protocols: every node puts in a vector, all end with the average, and messages show more or less of the rest."""

from secmix.protocols.interfaces import ProtocolWrapper, SumProtocol, checked_inputs, checked_masks, without_average
from secmix.protocols.sums.pdmm import PDMM
from secmix.protocols.sums.plain import Plain
from secmix.protocols.sums.robust_server import RobustServer
from secmix.protocols.sums.secure_aggregation import SecureAggregation
from secmix.protocols.sums.secure_sum import SecureSum

__all__ = [
    "PDMM",
    "Plain",
    "ProtocolWrapper",
    "RobustServer",
    "SecureAggregation",
    "SecureSum",
    "SumProtocol",
    "checked_inputs",
    "checked_masks",
    "without_average",
]
