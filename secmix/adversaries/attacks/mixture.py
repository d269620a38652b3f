"""Attacks on mixtures that are sent once: what Byzantine nodes send a server in place of their own fit.

The failures are those of Zhang 2024; the colluders search the rule for the mixture that moves it most.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import ortho_group

from secmix._base.checks import Array, Ints
from secmix.adversaries.against_rules.mixtures import LEAST_BUDGET, collude
from secmix.adversaries.attacks import mixture_failures as failures
from secmix.adversaries.attacks.attack import Attack, RoundMessages
from secmix.aggregators.mixture_rules import RejectedMixtures, gmr
from secmix.errors import SecmixError
from secmix.mixture import Mixture
from secmix.protocols.mixture.distributed_mixture import packed, unpacked

KINDS = ("mixture",)
_BUDGET = 250  # tries of the rule for each message
_MOST = 1e12  # how far a majority takes the others: further, no result would be a number


def _changed(change: Callable[[Mixture, Ints, RoundMessages], Mixture]) -> Callable[[RoundMessages], Array]:
    """Make the ``forge`` that sends ``change(own mixtures (f), all of them, messages)``."""

    def forge(messages: RoundMessages) -> Array:
        own = unpacked(messages.own, messages.protocol.components)
        return packed(change(own, np.arange(len(messages.own)), messages))

    return forge


def _mean(own: Mixture, who: Ints, messages: RoundMessages) -> Mixture:
    return failures.mean_failure(own, who, messages.rng, scale=100 * messages.scale)


def _covariance(own: Mixture, who: Ints, messages: RoundMessages) -> Mixture:
    wrong = failures.covariance_failure(own, who, messages.rng)
    return Mixture(own.weights, own.means, own.covariances + messages.scale * (wrong.covariances - own.covariances))


def _weight(own: Mixture, who: Ints, messages: RoundMessages) -> Mixture:
    return failures.weight_failure(own, who, messages.rng, concentration=1 / messages.scale)


def _component(own: Mixture, who: Ints, messages: RoundMessages) -> Mixture:
    touched = np.zeros(own.weights.shape)
    touched[who, messages.rng.integers(own.n_components, size=len(who))] = 1.0
    return failures.component_failure(own, touched, messages.rng, scale=100 * messages.scale)


def _foreign(rows: Array, scale: float, rng: np.random.Generator) -> Array:
    """Turn rows about their mean, by a rotation drawn for all runs, and move them by three standard deviations."""
    d = rows.shape[-1]
    centre, spread = rows.mean(axis=(0, 1)), np.sqrt(rows.var(axis=(0, 1)).mean())
    rotation = ortho_group.rvs(d, random_state=rng) if d > 1 else -np.eye(1)
    direction = rng.standard_normal(d)
    return np.asarray(
        (rows - centre) @ rotation.T + centre + 3 * scale * spread * direction / np.linalg.norm(direction)
    )


def _searched(messages: RoundMessages, *, undetected: bool) -> Array:
    """Search for the mixture that is worst for the protocol's own rule, and send it from all colluders.

    The search goes as far as it pays, by itself: ``scale`` adds nothing.
    """
    honest, f = unpacked(messages.honest, messages.protocol.components), len(messages.own)
    if f >= len(messages.honest):  # they are the majority: the rule follows them wherever they go
        first = unpacked(messages.own[0], messages.protocol.components)
        spread = math.sqrt(float(np.trace(first.covariances[0])))
        far = min(100 * messages.scale * spread, _MOST)
        return np.tile(packed(Mixture(first.weights, first.means + far, first.covariances)), (f, 1))
    searches = []
    for most, rng in messages.budget.searches(_BUDGET, messages.rng, LEAST_BUDGET):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RejectedMixtures)  # some that the search takes for honest may be invalid
            try:
                searches.append(
                    collude(messages.protocol.aggregate, honest, f, rng, budget=most, undetected=undetected)
                )
            except SecmixError:  # no mixture that was tried was accepted
                messages.budget.spend(most, most, certain=False)
            else:
                messages.budget.spend(searches[-1].evaluations, most, certain=searches[-1].unbounded)
    # Where no search succeeded, hide among the honest.
    worst = max(searches, key=lambda search: search.error).mixture if searches else gmr(honest).mixture
    return np.tile(packed(worst), (f, 1))


mean_failure = Attack(
    KINDS, _changed(_mean), does="Every colluder replaces the means of its mixture by noise, N(0, 100² I)."
)
"""Every component mean is drawn from N(0, (100 scale)² I)."""

covariance_failure = Attack(
    KINDS,
    _changed(_covariance),
    does="Every colluder adds a random covariance, B Bᵀ, to each covariance of its mixture.",
)
"""Each covariance gets the noise scale · B Bᵀ, B a d × d matrix of standard Gaussians."""

weight_failure = Attack(
    KINDS, _changed(_weight), does="Every colluder replaces the weights of its mixture by random ones, near equal."
)
"""Weights from a Dirichlet whose parameters are integers from 10 to 19, divided by scale: all on one component."""

component_failure = Attack(
    KINDS, _changed(_component), does="Every colluder replaces the mean of one component, drawn by lot, by noise."
)
"""The mean of one component of each colluder, drawn by lot, is drawn from N(0, (100 scale)² I)."""

foreign_data = Attack(
    KINDS, poison=_foreign, does="Every colluder fits rows of another population: turned, and moved by 3 deviations."
)
"""Colluders fit rows of another population: their own, turned about the mean and moved by 3 scale deviations."""

under_the_threshold = Attack(
    KINDS,
    lambda messages: _searched(messages, undetected=True),
    searches=True,
    does="All colluders send one mixture, the worst that a search finds among those that the rule keeps.",
)
"""The worst mixture that the rule keeps, see :func:`secmix.adversaries.collude`."""

over_the_threshold = Attack(
    KINDS,
    lambda messages: _searched(messages, undetected=False),
    searches=True,
    does="All colluders send one mixture, the worst that a search finds, whether the rule keeps it or not.",
)
"""The worst mixture, kept or not: rejected ones may still move the centre."""
