"""The runs of a collaboration, seen through the adversary: each node's messages, and what the adversary ends with.

Runs whose messages differ, by who is sampled, who drops out, how long a message is, are put into groups: in a group the
adversary notices the same messages and holds numbers of the same places. Each group is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.observation.lines import Lines, joined, lines_of
from secmix.auditing.observation.observation import Observation
from secmix.auditing.observation.observe import Seeds, deals, fitting
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.runner import Call
from secmix.auditing.soundness.sight import Eyes, Frame
from secmix.errors import SecmixError
from secmix.protocols.collaboration import BYTES, RunsDiffer
from secmix.scenario import Scenario
from secmix.transcript import Channel, Origin, Transcript, View

COLUMNS = 60
"""Numbers of a node's messages in one iteration that decoders get."""
TRIED = 5
"""Runs on which reconstructions are tried."""
ENOUGH = 60
"""Runs of a group from which on it is judged by what needs repetitions; no decoder is fitted on fewer."""


@dataclass(frozen=True)
class CollaborationObservation(Observation):
    """The runs of a collaboration; where their messages differ, those of the largest group.

    Attributes
    ----------
    output : (runs, p) or None
        What the adversary ends with by right, being a participant or because all end with the same.
    view, rows_by_node : View, list of (runs, N_i, d)
        Of the first runs, for reconstructions.
    runs : int
        Of this group.
    noticed : list of tuple
        The messages that the adversary notices in each of them, without their numbers; none where it is blind to that.
    others : tuple of CollaborationObservation
        The smaller groups, the largest first.
    same_in : int
        In how many calls on other rows all that the adversary reads was the same to the last bit; 0 where it was not.
    """

    output: Array | None
    view: View
    rows_by_node: list[Array]
    runs: int
    noticed: list[Frame]
    others: tuple[CollaborationObservation, ...] = ()
    same_in: int = 0

    @property
    def groups(self) -> tuple[CollaborationObservation, ...]:
        """All groups, the largest first."""
        return (replace(self, others=()), *self.others)

    @property
    def reads_low(self) -> str:
        """The features of a node are its own messages."""
        return "measured on the node's own messages: more may be known"

    def holds_nothing_of(self, node: int) -> bool:
        """Whether the adversary holds no message in any run."""
        return not any(group.features[node] for group in (self, *self.others))


@dataclass(frozen=True)
class _Piece:
    """Runs that came of one call and look alike: copies of what is needed, lest all transcripts stay in memory."""

    key: tuple[object, ...]
    noticed: list[Frame]
    seen: dict[int, tuple[Array, dict[int, Array]]]  # by node, its first row and what is held of it by iteration
    output: Array | None
    view: View  # of the first runs, as are the rows
    rows_by_node: list[Array]
    runs: int
    lines: Lines


def block_size(cell: Scenario, setup: CollaborationSetup) -> int:
    """Runs in a block, from what a single run sends. Running it finds out whether the parts fit together."""
    transcript = _single_run(setup, stream(cell.seed, "trial run"))
    setup.adversary.observe(transcript, setup.network)
    if (against := AdversaryTraits.of(setup.adversary).against) is not None:
        against(block.kind for block in transcript)
    return fitting(cell, transcript, 1)


def _single_run(setup: CollaborationSetup, rng: np.random.Generator) -> Transcript:
    """Return what one run sends. Nodes may fail on some rows: only where every run that is tried fails, this does."""
    for left in reversed(range(TRIED)):
        channel = Channel()
        try:
            _run(setup, setup.deal(1, rng), rng, channel)
        except SecmixError:
            if not left:
                raise
        else:
            break
    return channel.transcript


def _run(setup: CollaborationSetup, rows_by_node: list[Array], rng: np.random.Generator, channel: Channel) -> Array:
    given = [part.copy() for part in rows_by_node]  # a protocol may work on its rows where they lie
    results = setup.protocol.collaborate(given, setup.network, rng, channel=channel)
    return _checked(setup, results, len(rows_by_node[0]))


def _checked(setup: CollaborationSetup, results: Any, runs: int) -> Array:
    shape = np.shape(results)
    if len(shape) != 3 or shape[:2] != (runs, setup.network.n):
        raise SecmixError(
            f"collaborate returned an array of shape {shape}; due is what each node ends with, (runs, n, p) = "
            f"({runs}, {setup.network.n}, p)"
        )
    return np.asarray(results, dtype=np.float64)


def watch(cell: Scenario, setup: CollaborationSetup, seeds: Seeds) -> CollaborationObservation:
    """All runs of ``cell``, in groups."""
    blind = not AdversaryTraits.of(setup.adversary).sees_metadata
    eyes = Eyes(setup.adversary, setup.network, setup.corrupt, blind)
    groups: dict[tuple[object, ...], list[_Piece]] = {}
    for rows_by_node, seed in deals(cell, setup, block_size(cell, setup), seeds):
        for piece in _pieces(setup, eyes, rows_by_node, seed):
            groups.setdefault(piece.key, []).append(piece)
    found = sorted((_joined(pieces, setup) for pieces in groups.values()), key=lambda group: -group.runs)
    few = sum(group.runs for group in found if group.runs < ENOUGH)
    doubts = []
    if len(found) > 1 and few:
        doubts = [
            f"{few} of {cell.runs} runs sent messages like those of fewer than {ENOUGH} runs: too few to be judged by "
            "what needs repetitions"
        ]
    lines = joined(group.lines for group in found)
    return replace(found[0], others=tuple(found[1:]), doubts=doubts, lines=lines)


def _pieces(
    setup: CollaborationSetup, eyes: Eyes, rows_by_node: list[Array], seed: np.random.SeedSequence
) -> Iterator[_Piece]:
    channel = Channel()
    try:
        results = _run(setup, rows_by_node, np.random.default_rng(seed), channel)
    except RunsDiffer as differing:
        for group in differing.groups:
            rows = [part[list(group.runs)] for part in rows_by_node]
            ends = _checked(setup, np.stack(group.results), len(group.runs))
            yield _piece(setup, eyes, rows, group.transcript, ends)
        return
    yield _piece(setup, eyes, rows_by_node, channel.transcript, results)


def _piece(
    setup: CollaborationSetup, eyes: Eyes, rows_by_node: list[Array], transcript: Transcript, results: Array
) -> _Piece:
    view = setup.adversary.observe(transcript, setup.network)
    noticed = eyes.see(Call(tuple(transcript), results, "")).frames
    shapes = tuple((row.shape[1], row.dtype.str) for row in view.rows)
    return _Piece(
        key=(view.origins, shapes, results.shape[2], tuple(noticed)),
        noticed=noticed,
        seen=_seen(setup, rows_by_node, view),
        output=_output(setup, results),
        view=View(view.origins, tuple(row[:TRIED].copy() for row in view.rows)),
        rows_by_node=[part[:TRIED].copy() for part in rows_by_node],
        runs=len(results),
        lines=lines_of(transcript, view),
    )


def _joined(pieces: list[_Piece], setup: CollaborationSetup) -> CollaborationObservation:
    first = pieces[0]
    few = pieces[:TRIED]  # each holds one run at least
    outputs = [piece.output for piece in pieces if piece.output is not None]
    return CollaborationObservation(
        rows={i: np.concatenate([piece.seen[i][0] for piece in pieces]) for i in setup.asked},
        features={
            i: {t: np.concatenate([piece.seen[i][1][t] for piece in pieces]) for t in first.seen[i][1]}
            for i in setup.asked
        },
        doubts=[],
        output=np.concatenate(outputs) if len(outputs) == len(pieces) else None,
        view=View(
            first.view.origins,
            tuple(np.concatenate(rows)[:TRIED] for rows in zip(*(piece.view.rows for piece in few), strict=True)),
        ),
        rows_by_node=[
            np.concatenate(parts)[:TRIED] for parts in zip(*(piece.rows_by_node for piece in few), strict=True)
        ],
        runs=sum(piece.runs for piece in pieces),
        noticed=first.noticed,
        lines=joined(piece.lines for piece in pieces),
    )


def _seen(setup: CollaborationSetup, rows_by_node: list[Array], view: View) -> dict[int, Any]:
    """Each asked node's first row, and its own messages by iteration; those of others where it sends none."""
    seen = {}
    for node in setup.asked:
        used = [origin.sender == node and origin.line != "held" for origin in view.origins]
        if not any(used):
            used = [origin.line != "held" for origin in view.origins]
        mine: dict[int, list[tuple[Origin, Array]]] = {}
        for row, origin, use in zip(view.rows, view.origins, used, strict=True):
            if use:
                mine.setdefault(origin.iteration, []).append((origin, row))
        features = {t: _columns(messages) for t, messages in mine.items()}
        seen[node] = (rows_by_node[node][:, 0].copy(), features)
    return seen


def _columns(messages: list[tuple[Origin, Array]]) -> Array:
    """At most ``COLUMNS`` numbers of them, (runs, p): short messages whole, then long ones in order, bytes last."""
    widths = [row.shape[1] for _, row in messages]
    last = [origin.kind.endswith(BYTES) for origin, _ in messages]
    long = [width > COLUMNS / len(messages) for width in widths]
    shares, left = np.zeros(len(messages), dtype=int), COLUMNS
    for k in sorted(range(len(messages)), key=lambda k: (last[k], long[k], k)):
        shares[k] = min(widths[k], left)
        left -= shares[k]
    return np.concatenate([row[:, :share] for (_, row), share in zip(messages, shares, strict=True)], axis=1)


def _output(setup: CollaborationSetup, results: Array) -> Array | None:
    if setup.corrupt:
        return results[:, min(setup.corrupt)].copy()
    same = np.allclose(results, results[:, :1], rtol=1e-9, atol=0.0)
    return results[:, 0].copy() if same else None
