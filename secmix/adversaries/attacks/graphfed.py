"""Attacks on GraphFed-EM by neighbours: failures, claims of rows, imitation, and rows that are not theirs.

A message is what :func:`secmix.protocols.graphfed.aggregation.packed` makes of a mixture and its counts. All that is
sent but the first is still a mixture, so that no honest node can reject it by looking at one message.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.against_rules.ties import ranked
from secmix.adversaries.attacks.attack import Attack, RoundMessages
from secmix.adversaries.attacks.mixture_failures import Failure, covariance_failure, mean_failure, weight_failure
from secmix.mixture import Mixture
from secmix.protocols.graphfed.aggregation import NodeMessage, packed, unpacked
from secmix.protocols.graphfed.graphfed_em import KIND

__all__ = ["claim", "covariances", "imitation", "means", "rows", "shift", "weights"]

MANY = 1e6
"""How many times the rows that it has a colluder claims."""


def _mixtures(rows: Array, messages: RoundMessages) -> list[NodeMessage]:
    """Read the mixtures that ``rows`` (f, m) carry; leave out those that are none."""
    read = (unpacked(row, messages.protocol.n_components) for row in rows)
    return [each for each in read if each is not None]


def _failing(failure: Failure) -> Callable[[RoundMessages], Array]:
    """Make a forge that distorts the colluders' mixtures by ``failure``, ``scale`` times as far from their own."""

    def forge(messages: RoundMessages) -> Array:
        own = _mixtures(messages.own, messages)
        if len(own) < len(messages.own):  # a colluder has been carried off itself, and has nothing to distort
            return messages.own
        mixtures = _stacked(own)
        failed = failure(mixtures, np.arange(len(own)), messages.rng)
        means = mixtures.means + messages.scale * (failed.means - mixtures.means)
        covariances = mixtures.covariances + messages.scale * (failed.covariances - mixtures.covariances)
        return np.stack(
            [
                packed(NodeMessage(message.counts, Mixture(failed.weights[i], means[i], covariances[i])))
                for i, message in enumerate(own)
            ]
        )

    return forge


def _shifted(messages: RoundMessages, factor: float) -> Array:
    """Move each component's mean by ``scale`` times the spread of the honest means, all the same way."""
    own, honest = _mixtures(messages.own, messages), _mixtures(messages.honest, messages)
    if len(own) < len(messages.own) or not honest:
        return messages.own
    spread = np.stack([each.mixture.means for each in honest]).reshape(-1, own[0].mixture.n_features).std(axis=0)
    step = messages.scale * (spread if spread.any() else np.ones_like(spread))
    out = []
    for message in own:
        m = message.mixture
        out.append(packed(NodeMessage(factor * message.counts, Mixture(m.weights, m.means + step, m.covariances))))
    return np.stack(out)


def _imitated(messages: RoundMessages) -> Array:
    """Repeat the message of the honest node that is farthest from the others' mean, for all colluders."""
    if not len(messages.honest):
        return messages.own
    farthest = ranked(np.linalg.norm(messages.honest - messages.honest.mean(axis=0), axis=1))[0]
    return np.repeat(messages.honest[None, farthest], len(messages.own), axis=0)


def _other_rows(rows: Array, scale: float, rng: np.random.Generator) -> Array:
    """Move the rows by ten times their own spread times ``scale``, in one direction."""
    return np.asarray(rows + 10.0 * scale * rows.std(axis=(0, 1)))


def _stacked(mixtures: list[NodeMessage]) -> Mixture:
    names = ("weights", "means", "covariances")
    return Mixture(*(np.stack([getattr(each.mixture, name) for each in mixtures]) for name in names))


means = Attack([KIND], _failing(mean_failure), does="Colluders draw all means anew, far off (Zhang 2024, section 5).")
covariances = Attack(
    [KIND], _failing(covariance_failure), does="Colluders add noise B Bᵀ to covariances (Zhang 2024, section 5)."
)
weights = Attack(
    [KIND], _failing(weight_failure), does="Colluders draw mixing weights from a Dirichlet (Zhang 2024, section 5)."
)
shift = Attack(
    [KIND],
    lambda messages: _shifted(messages, 1.0),
    does="Colluders move all means the same way by the spread of the honest means: no outliers.",
)
claim = Attack(
    [KIND],
    lambda messages: _shifted(messages, MANY),
    does="As a shift, with a claim of a million times as many rows: neighbours are weighed by what they claim.",
)
imitation = Attack([KIND], _imitated, does="All colluders send what the honest node farthest out sends.")
rows = Attack([KIND], poison=_other_rows, does="Colluders follow the protocol, with rows from elsewhere.")
