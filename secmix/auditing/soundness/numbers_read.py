"""Numbers that an adversary certainly reads in a call: messages it observes, and all its own nodes know."""

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
"""An origin, and the index among the messages of that origin in one call."""


def numbers_read(
    call: Call, adversary: Adversary, network: Network, corrupt: frozenset[int]
) -> dict[Place, NDArray[Any]]:
    """Collect the numbers that ``adversary`` certainly reads: what it observes, and all of its own nodes.

    What corrupt nodes hold, send and receive counts, whatever ``adversary.observe`` returns.
    """
    nodes = sorted(corrupt)
    numbers = np.array(nodes, dtype=np.intp)
    own = ((block, np.flatnonzero(touching(block, numbers))) for block in call.blocks if nodes)
    rows = _placed(collect((block, which) for block, which in own if len(which)))
    try:
        observed = _placed(adversary.observe(Transcript(list(call.blocks)), network))
    except Exception:  # observe() does not support these messages: only those of its nodes count
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
