"""The runs of a collaboration, seen through the adversary: each node's messages, and what the adversary ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.observation.observation import Observation
from secmix.auditing.observation.observe import Seeds, deals, fitting
from secmix.auditing.setup import CollaborationSetup
from secmix.data import deal
from secmix.errors import SecmixError
from secmix.scenario import Scenario
from secmix.transcript import Channel, View

COLUMNS = 60
"""Numbers of a node's messages in one iteration that decoders get."""
TRIED = 5
"""Runs on which reconstructions are tried."""
_Seen = dict[int, tuple[Array, dict[int, Array]]]  # by node, its first row and what is held of it by iteration


@dataclass(frozen=True)
class CollaborationObservation(Observation):
    """The runs of a collaboration.

    Attributes
    ----------
    output : (runs, p) or None
        What the adversary ends with by right, being a participant or because all end with the same.
    view, rows_by_node : View, list of (runs, N_i, d)
        Of the first runs, for reconstructions.
    """

    output: Array | None
    view: View
    rows_by_node: list[Array]

    @property
    def reads_low(self) -> str:
        """The features of a node are its own messages."""
        return "measured on the node's own messages: more may be known"


def block_size(cell: Scenario, setup: CollaborationSetup) -> int:
    """Runs in a block, from what a single run sends. Running it finds out whether the parts fit together."""
    rng = stream(cell.seed, "trial run")
    channel = Channel()
    _run(setup, deal(setup.rows, setup.counts, 1, rng), rng, channel)
    setup.adversary.observe(channel.transcript, setup.network)
    if (against := AdversaryTraits.of(setup.adversary).against) is not None:
        against(block.kind for block in channel.transcript)
    return fitting(cell, channel.transcript, 1)


def _run(setup: CollaborationSetup, rows_by_node: list[Array], rng: np.random.Generator, channel: Channel) -> Array:
    results = setup.protocol.collaborate(rows_by_node, setup.network, rng, channel=channel)
    shape = np.shape(results)
    if len(shape) != 3 or shape[:2] != (len(rows_by_node[0]), setup.network.n):
        raise SecmixError(
            f"collaborate returned an array of shape {shape}; due is what each node ends with, (runs, n, p) = "
            f"({len(rows_by_node[0])}, {setup.network.n}, p)"
        )
    return np.asarray(results, dtype=np.float64)


def watch(cell: Scenario, setup: CollaborationSetup, seeds: Seeds) -> CollaborationObservation:
    """All runs of ``cell``."""
    blocks: list[tuple[_Seen, Array | None]] = []
    for rows_by_node, seed in deals(cell, setup, block_size(cell, setup), seeds):
        few, seen, output = _block(setup, rows_by_node, seed)
        if not blocks:
            view, first = few, [part[:TRIED] for part in rows_by_node]
        blocks.append((seen, output))
    rows = {i: np.concatenate([seen[i][0] for seen, _ in blocks]) for i in setup.asked}
    features = {
        i: {t: np.concatenate([seen[i][1][t] for seen, _ in blocks]) for t in blocks[0][0][i][1]} for i in setup.asked
    }
    outputs = [output for _, output in blocks]
    output = None if any(o is None for o in outputs) else np.concatenate([o for o in outputs if o is not None])
    return CollaborationObservation(
        rows=rows,
        features=features,
        doubts=[],
        output=output,
        view=view,
        rows_by_node=first,
    )


def _block(
    setup: CollaborationSetup, rows_by_node: list[Array], seed: np.random.SeedSequence
) -> tuple[View, _Seen, Array | None]:
    """Copies of what is needed of a block, lest the whole transcript stay in memory behind it."""
    channel = Channel()
    results = _run(setup, rows_by_node, np.random.default_rng(seed), channel)
    view = setup.adversary.observe(channel.transcript, setup.network)
    few = View(view.origins, tuple(row[:TRIED].copy() for row in view.rows))
    return few, _seen(setup, rows_by_node, view), _output(setup, results)


def _seen(setup: CollaborationSetup, rows_by_node: list[Array], view: View) -> _Seen:
    """Each asked node's first row, and its own messages by iteration; those of others where it sends none."""
    seen = {}
    for node in setup.asked:
        used = [origin.sender == node and origin.line != "held" for origin in view.origins]
        if not any(used):
            used = [origin.line != "held" for origin in view.origins]
        mine: dict[int, list[Array]] = {}
        for row, origin, use in zip(view.rows, view.origins, used, strict=True):
            if use:
                mine.setdefault(origin.iteration, []).append(row)
        features = {t: np.concatenate(rows, axis=1)[:, :COLUMNS].copy() for t, rows in mine.items()}
        seen[node] = (rows_by_node[node][:, 0].copy(), features)
    return seen


def _output(setup: CollaborationSetup, results: Array) -> Array | None:
    if setup.corrupt:
        return results[:, min(setup.corrupt)]
    same = np.allclose(results, results[:, :1], rtol=1e-9, atol=0.0)
    return results[:, 0] if same else None
