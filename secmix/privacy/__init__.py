"""What noise proves, and what runs prove of noise: bounds from above by theorems, bounds from below by counting."""

from secmix.privacy.accounting import releases_epsilon
from secmix.privacy.explained import explained_variance_bound, explained_variance_bound_of, information_bound
from secmix.privacy.families import NoiseFamily, family_of, family_of_laws
from secmix.privacy.gaussian_mechanism import gaussian_delta, gaussian_epsilon, gaussian_mu
from secmix.privacy.lower_bound import (
    LowerBound,
    epsilon_lower_bound,
    epsilon_lower_bound_of,
    reading_ceiling,
)
from secmix.privacy.releases import clip, gaussian, laplace

__all__ = [
    "LowerBound",
    "NoiseFamily",
    "clip",
    "epsilon_lower_bound",
    "epsilon_lower_bound_of",
    "explained_variance_bound",
    "explained_variance_bound_of",
    "family_of",
    "family_of_laws",
    "gaussian",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "information_bound",
    "laplace",
    "reading_ceiling",
    "releases_epsilon",
]
