"""Rules for Gaussian mixtures: ``rule(mixtures) -> Aggregate``, of which fewer than half may be Byzantine.

m machines each send one mixture; a rule says whom it keeps, and reduces what they sent to one mixture.
"""

from secmix.aggregators.mixture_rules.aggregate import Aggregate
from secmix.aggregators.mixture_rules.centre import Coat, coat
from secmix.aggregators.mixture_rules.components import component_wise
from secmix.aggregators.mixture_rules.integrated_error import ise, ise_matrix
from secmix.aggregators.mixture_rules.reduction import Reduction, reduced
from secmix.aggregators.mixture_rules.rules import ared, ared_factor, cred, dfmr, gmr, oracle, trim
from secmix.aggregators.mixture_rules.screening import RejectedMixtures, stacked
from secmix.aggregators.mixture_rules.transport import aligned, ground_cost, wasserstein

__all__ = [
    "Aggregate",
    "Coat",
    "Reduction",
    "RejectedMixtures",
    "aligned",
    "ared",
    "ared_factor",
    "coat",
    "component_wise",
    "cred",
    "dfmr",
    "gmr",
    "ground_cost",
    "ise",
    "ise_matrix",
    "oracle",
    "reduced",
    "stacked",
    "trim",
    "wasserstein",
]
