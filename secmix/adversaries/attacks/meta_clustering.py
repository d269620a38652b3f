"""Attacks on SEC by learners: flipped labels, forged functions and losses, imitation, and one face for each phase.

A colluder wants to be let into a cluster and pull it, or to have the honest ones put in wrong clusters.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.attack import Attack, RoundMessages

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
    """Multiply y, the last column, by −scale."""
    out = rows.copy()
    out[..., -1] *= -scale
    return out


def _moved(messages: RoundMessages) -> Array:
    """Raise every prediction by half the spread of the function, as far as the message shows it."""
    step = 0.5 * messages.scale * _spread(messages)
    out = messages.own.copy()
    if messages.kind == "coefficients":
        out[:, -1] += step[:, 0]
        return out
    return out + step


def _spread(messages: RoundMessages) -> Array:
    """Measure the spread (f, 1): the standard deviation of the values, or of a linear function at standardised rows."""
    if messages.kind == "coefficients":
        return np.asarray(np.linalg.norm(messages.own[:, :-1], axis=1, keepdims=True))
    return np.asarray(messages.own.std(axis=1, keepdims=True))


def _like_the_first(messages: RoundMessages) -> Array:
    """Copy what the first honest learner sends, for all colluders."""
    return np.repeat(messages.honest[:1], len(messages.own), axis=0) if len(messages.honest) else messages.own


def _far_losses(messages: RoundMessages) -> Array:
    """Make losses that put each colluder into a cluster by itself, each by another amount."""
    amounts = 1e3 * messages.scale * 10.0 ** np.arange(len(messages.own))[:, None]
    ranks = np.tile(np.arange(1.0, messages.own.shape[1] + 1), (len(messages.own), 1))
    return np.asarray(amounts * messages.rng.permuted(ranks, axis=1))


def _friendly_losses(messages: RoundMessages) -> Array:
    """Give every function the least loss, as if all were as good as one's own."""
    return np.repeat(np.min(messages.own, axis=1, keepdims=True), messages.own.shape[1], axis=1)


flipped_labels = Attack(
    _ALL, poison=_flipped, does="Colluders learn from −y and follow the protocol (Meta clustering 2022, section 6.2)."
)
forged_functions = Attack(
    FUNCTIONS | {"cluster predictions"},
    _moved,
    does="Colluders send functions higher by half their spread: where noise allows it, their cluster keeps them.",
)
imitated_learner = Attack(
    FUNCTIONS | {"losses", "cluster predictions"},
    _like_the_first,
    does="Colluders send what the first honest learner sends, its losses included: its cluster takes them in.",
)
turncoat = Attack(
    ["cluster predictions"], _moved, does="Colluders are honest until clusters are made, then predict what they like."
)
losses_far_off = Attack(
    ["losses"],
    _far_losses,
    does="Colluders announce losses that fit nobody: each takes up a cluster, and of a fixed number others must merge.",
)
losses_of_a_friend = Attack(
    ["losses"], _friendly_losses, does="Colluders announce that every function fits their rows: a bridge of clusters."
)
