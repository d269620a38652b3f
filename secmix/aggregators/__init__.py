"""Robust aggregation rules: ``rule(messages (n, p), f=...) -> (p,)``, of which at most f messages are Byzantine.

Messages that are not finite are rejected, counted as Byzantine and reported (``RejectedMessages``). Each rule
refuses an f that its theory does not cover; ``traits_of(rule)`` says what it claims and where it comes from.
"""

from secmix.aggregators.named import rule_label, rule_named
from secmix.aggregators.screened_messages import RejectedMessages, Screened, screened
from secmix.aggregators.traits import TRAITS, Traits, is_ours, traits_of
from secmix.aggregators.vector_rules.clipping import centered_clipping
from secmix.aggregators.vector_rules.coordinatewise import coordinate_median, meamed, mean, trimmed_mean
from secmix.aggregators.vector_rules.diameter import mda
from secmix.aggregators.vector_rules.geometric_median import geometric_median
from secmix.aggregators.vector_rules.grouping import bucketing, median_of_means, nnm
from secmix.aggregators.vector_rules.selection import bulyan, krum, multi_krum

__all__ = [
    "TRAITS",
    "RejectedMessages",
    "Screened",
    "Traits",
    "bucketing",
    "bulyan",
    "centered_clipping",
    "coordinate_median",
    "geometric_median",
    "is_ours",
    "krum",
    "mda",
    "meamed",
    "mean",
    "median_of_means",
    "multi_krum",
    "nnm",
    "rule_label",
    "rule_named",
    "screened",
    "traits_of",
    "trimmed_mean",
]
