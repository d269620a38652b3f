"""How learners lie in SEC: flipped labels, forged functions and losses, imitation, and one face for each phase.

A colluder wants to be let into a cluster and pull it, or to have the honest ones put in wrong clusters.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.forgers import Forgery, RoundMessages

__all__ = [
    "flipped_labels",
    "forged_functions",
    "imitated_learner",
    "losses_far_off",
    "losses_of_a_friend",
    "turncoat",
]

FUNCTIONS = frozenset({"coefficients", "model values", "predictions"})
_ALL = FUNCTIONS | {"losses", "cluster predictions"}


def _flipped(rows: Array, scale: float, rng: np.random.Generator) -> Array:
    """y, the last column, times −scale."""
    out = rows.copy()
    out[..., -1] *= -scale
    return out


def _moved(said: RoundMessages) -> Array:
    """Every prediction higher by half the spread of the function, as far as the message shows it."""
    step = 0.5 * said.scale * _spread(said)
    out = said.own.copy()
    if said.kind == "coefficients":
        out[:, -1] += step[:, 0]
        return out
    return out + step


def _spread(said: RoundMessages) -> Array:
    """(f, 1): the standard deviation of the values, or of a linear function at standardised rows."""
    if said.kind == "coefficients":
        return np.asarray(np.linalg.norm(said.own[:, :-1], axis=1, keepdims=True))
    return np.asarray(said.own.std(axis=1, keepdims=True))


def _like_the_first(said: RoundMessages) -> Array:
    """What the first honest learner says, from all colluders."""
    return np.repeat(said.honest[:1], len(said.own), axis=0) if len(said.honest) else said.own


def _far_losses(said: RoundMessages) -> Array:
    """Losses that make each colluder a cluster by itself, each by another amount."""
    amounts = 1e3 * said.scale * 10.0 ** np.arange(len(said.own))[:, None]
    places = np.tile(np.arange(1.0, said.own.shape[1] + 1), (len(said.own), 1))
    return np.asarray(amounts * said.rng.permuted(places, axis=1))


def _friendly_losses(said: RoundMessages) -> Array:
    """To find everybody's function as good as one's own: the least loss, for all."""
    return np.repeat(np.min(said.own, axis=1, keepdims=True), said.own.shape[1], axis=1)


flipped_labels = Forgery(
    _ALL, poison=_flipped, does="Colluders learn from −y and follow the protocol (Meta clustering 2022, section 6.2)."
)
forged_functions = Forgery(
    FUNCTIONS | {"cluster predictions"},
    _moved,
    does="Colluders send functions higher by half their spread: where noise allows it, their cluster keeps them.",
)
imitated_learner = Forgery(
    FUNCTIONS | {"losses", "cluster predictions"},
    _like_the_first,
    does="Colluders say what the first honest learner says, its losses included: its cluster takes them in.",
)
turncoat = Forgery(
    ["cluster predictions"],
    _moved,
    does="Colluders are honest until clusters are made, then predict what they like.",
)
losses_far_off = Forgery(
    ["losses"],
    _far_losses,
    does="Colluders announce losses that fit nobody: each takes up a cluster, and of a fixed number others must merge.",
)
losses_of_a_friend = Forgery(
    ["losses"], _friendly_losses, does="Colluders announce that every function fits their rows: a bridge of clusters."
)
