"""A lie about weight: who averages by numbers of rows believes what clients say they have.

FedAvg (McMahan et al. 2017, Algorithm 1) weighs a model by the rows that its client claims, and so do rules that choose
models by their distances and average the chosen ones, as MultiKrum does. A model that nothing sets apart from
honest ones then becomes the result.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.attacks.attack import Attack, RoundMessages
from secmix.adversaries.attacks.updates import UPDATES
from secmix.protocols.collaboration import BYTES

_TIMES = 10.0


def _claimed(messages: RoundMessages) -> Array:
    """Multiply claims of rows by ten times ``scale``: an update's count, integers among Flower metrics."""
    out = np.array(messages.own, dtype=np.float64)
    if messages.kind == "update":
        out[:, -1] *= _TIMES * messages.scale
    elif "/" not in messages.kind and not messages.kind.endswith(BYTES):
        out = np.where((out == np.round(out)) & (out >= 1), _TIMES * messages.scale * out, out)
    return out


def _other_targets(rows: Array, scale: float, rng: np.random.Generator) -> Array:
    """Turn targets, in the last column, about the middle of what the node has."""
    out = rows.copy()
    y = rows[..., -1]
    out[..., -1] = -scale * y if rows.shape[1] == 1 else y.min(axis=1, keepdims=True) + y.max(axis=1, keepdims=True) - y
    return out


update_claims = Attack(
    UPDATES, _claimed, does="Colluders train honestly and claim ten times the rows, which weigh the average."
)
update_flipped_targets = Attack(
    UPDATES, poison=_other_targets, does="Colluders learn from rows with their targets turned about the middle."
)
update_flipped_claims = Attack(
    UPDATES,
    _claimed,
    _other_targets,
    does="Colluders learn from turned targets, and claim ten times the rows for what comes of it.",
)
