"""How neighbours lie to GraphFed-EM's nodes: failures, claims of rows, imitation, and rows that are not theirs.

A message is what :func:`secmix.protocols.graphfed.aggregation.packed` makes of a mixture and its counts. All lies but
the first are still mixtures, so that no honest node can reject them by looking at one message.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.mixture_failures import Failure, covariance_failure, mean_failure, weight_failure
from secmix.adversaries.forgers import Forgery, RoundMessages
from secmix.mixture import Mixture
from secmix.protocols.graphfed.aggregation import NodeMessage, packed, unpacked
from secmix.protocols.graphfed.graphfed_em import KIND

__all__ = ["claim", "covariances", "imitation", "means", "rows", "shift", "weights"]

MANY = 1e6
"""How many times the rows it has a liar claims."""


def _mixtures(messages: Array, said: RoundMessages) -> list[NodeMessage]:
    """What the messages (f, m) say; those that are no mixture are left out."""
    told = (unpacked(message, said.protocol.n_components) for message in messages)
    return [each for each in told if each is not None]


def _failing(failure: Failure) -> Callable[[RoundMessages], Array]:
    """The colluders' mixtures as ``failure`` leaves them, ``scale`` times as far from their own."""

    def forge(said: RoundMessages) -> Array:
        own = _mixtures(said.own, said)
        if len(own) < len(said.own):  # a colluder has been carried off itself, and has nothing to distort
            return said.own
        mixtures = _stacked(own)
        failed = failure(mixtures, np.arange(len(own)), said.rng)
        means = mixtures.means + said.scale * (failed.means - mixtures.means)
        covariances = mixtures.covariances + said.scale * (failed.covariances - mixtures.covariances)
        return np.stack(
            [
                packed(NodeMessage(told.counts, Mixture(failed.weights[i], means[i], covariances[i])))
                for i, told in enumerate(own)
            ]
        )

    return forge


def _shifted(said: RoundMessages, factor: float) -> Array:
    """Each component's mean moved by ``scale`` times the spread of the honest means, all the same way."""
    own, honest = _mixtures(said.own, said), _mixtures(said.honest, said)
    if len(own) < len(said.own) or not honest:
        return said.own
    spread = np.stack([told.mixture.means for told in honest]).reshape(-1, own[0].mixture.n_features).std(axis=0)
    step = said.scale * (spread if spread.any() else np.ones_like(spread))
    out = []
    for told in own:
        m = told.mixture
        out.append(packed(NodeMessage(factor * told.counts, Mixture(m.weights, m.means + step, m.covariances))))
    return np.stack(out)


def _imitated(said: RoundMessages) -> Array:
    """The message of the honest node that is farthest from the others' mean, from all colluders."""
    if not len(said.honest):
        return said.own
    farthest = int(np.argmax(np.linalg.norm(said.honest - said.honest.mean(axis=0), axis=1)))
    return np.repeat(said.honest[None, farthest], len(said.own), axis=0)


def _other_rows(rows: Array, scale: float, rng: np.random.Generator) -> Array:
    """Ten times their own spread away, in one direction."""
    return np.asarray(rows + 10.0 * scale * rows.std(axis=(0, 1)))


def _stacked(told: list[NodeMessage]) -> Mixture:
    names = ("weights", "means", "covariances")
    return Mixture(*(np.stack([getattr(each.mixture, name) for each in told]) for name in names))


means = Forgery([KIND], _failing(mean_failure), does="Colluders draw all means anew, far off (Zhang 2024, section 5).")
covariances = Forgery(
    [KIND], _failing(covariance_failure), does="Colluders add noise B Bᵀ to covariances (Zhang 2024, section 5)."
)
weights = Forgery(
    [KIND], _failing(weight_failure), does="Colluders draw mixing weights from a Dirichlet (Zhang 2024, section 5)."
)
shift = Forgery(
    [KIND],
    lambda said: _shifted(said, 1.0),
    does="Colluders move all means the same way by the spread of the honest means: no outliers.",
)
claim = Forgery(
    [KIND],
    lambda said: _shifted(said, MANY),
    does="As a shift, with a claim of a million times as many rows: neighbours are weighed by what they claim.",
)
imitation = Forgery([KIND], _imitated, does="All colluders say what the honest node farthest out says.")
rows = Forgery([KIND], poison=_other_rows, does="Colluders follow the protocol, with rows from elsewhere.")
