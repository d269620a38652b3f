"""Attacks on model updates: what clients send back in federated averaging, in Flower apps too.

An update is a model, or in Flower one array of it. Where the server averages by rows, a client also says how many rows
it has, and nothing checks that: see :mod:`secmix.adversaries.attacks.claims`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.attack import Attack, RoundMessages

UPDATES = ("update", "train reply: *")
"""What a client of :class:`~secmix.protocols.FederatedRegression` sends, and of a Flower app."""


def model_part(messages: RoundMessages) -> slice:
    """Select the entries that are parameters of a model: not the count that ends an update, nor metrics of Flower."""
    if messages.kind == "update":
        return slice(None, -1)
    return slice(None) if "/" in messages.kind else slice(0)


def _on_models(forged: Callable[[Array, Array, float], Array]) -> Callable[[RoundMessages], Array]:
    """Make a forge that applies ``forged(own (f, p), honest (h, p), scale)`` to models and leaves all else."""

    def forge(messages: RoundMessages) -> Array:
        part, out = model_part(messages), np.array(messages.own, dtype=np.float64)
        honest = np.asarray(messages.honest, dtype=np.float64)
        out[:, part] = forged(out[:, part], honest[:, part], messages.scale)
        return out

    return forge


def _inner_product(own: Array, honest: Array, scale: float) -> Array:
    mean = (honest if len(honest) else own).mean(axis=0)
    return np.repeat(-0.1 * scale * mean[None], len(own), axis=0)


def _alike(own: Array, honest: Array, scale: float) -> Array:
    known = honest if len(honest) > 1 else own
    return np.repeat((known.mean(axis=0) - scale * known.std(axis=0))[None], len(own), axis=0)


update_far = Attack(
    UPDATES,
    _on_models(lambda own, honest, scale: own + scale * (1.0 + np.abs(own))),
    does="Colluders send models far off, all to the same side, by twice the size of their own.",
)
update_reversed = Attack(
    UPDATES,
    _on_models(lambda own, honest, scale: -scale * own),
    does="Colluders send their own model with its sign turned (Li et al. 2019, RSA, section 5).",
)
update_inner_product = Attack(
    UPDATES,
    _on_models(_inner_product),
    does="Colluders send a tenth of the mean model, its sign turned (Xie et al. 2020, inner product manipulation).",
)
update_alike = Attack(
    UPDATES,
    _on_models(_alike),
    does="Colluders send the mean model less a standard deviation, entry by entry (Baruch et al. 2019).",
)
