"""What an adversary holds of a call beyond doubt: what it says it observes, and all that is of its own nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix.adversaries import Adversary
from secmix.auditing.soundness.runner import Call
from secmix.network import Network
from secmix.transcript import Origin, Transcript, View, collect
from secmix.transcript.messages import touching

Place = tuple[Origin, int]
"""A message, and which it is of those of the same origin in one call."""


def held(call: Call, adversary: Adversary, network: Network, corrupt: frozenset[int]) -> dict[Place, NDArray[Any]]:
    """The numbers that ``adversary`` certainly reads of ``call``: what it says it observes, and all of its own nodes.

    What corrupt nodes hold, send and are sent is theirs, whatever the adversary makes of it.
    """
    nodes = sorted(corrupt)
    numbers = np.array(nodes, dtype=np.intp)
    mine = ((block, np.flatnonzero(touching(block, numbers))) for block in call.blocks)
    rows = _placed(collect((block, which) for block, which in mine if len(which)))
    try:
        observed = _placed(adversary.observe(Transcript(list(call.blocks)), network))
    except Exception:  # made for other messages: it is taken to see nothing but its own
        observed = {}
    rows = {**observed, **rows}
    if call.results.ndim == 3:
        for node in nodes:
            if node < call.results.shape[1]:
                rows[Origin(0, -1, "result", "held", node, (node,)), 0] = call.results[:, node]
    return rows


def _placed(view: View) -> dict[Place, NDArray[Any]]:
    rows: dict[Place, NDArray[Any]] = {}
    counts: dict[Origin, int] = {}
    for origin, row in zip(view.origins, view.rows, strict=True):
        counts[origin] = counts.get(origin, -1) + 1
        rows[origin, counts[origin]] = np.asarray(row)
    return rows
