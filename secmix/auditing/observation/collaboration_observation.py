"""Observe the runs of a collaboration: each node's messages, and the result that the adversary ends with.

Runs may send different messages, because nodes are sampled, drop out, or send longer ones. Runs in which the adversary
observes the same metadata and reads numbers in the same places form a group. Each group is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.observation.memory import fitting
from secmix.auditing.observation.observe import Seeds, sampled_rows
from secmix.auditing.observation.sum_observation import Observation
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.adversary_observer import AdversaryObserver, Frame
from secmix.auditing.soundness.runner import Call
from secmix.errors import SecmixError
from secmix.protocols.collaboration import BYTES, RunsDiffer
from secmix.protocols.released import Released
from secmix.scenario import Scenario
from secmix.transcript import Channel, Lines, Origin, Transcript, View, joined_lines, lines_of

COLUMNS = 60
"""Most numbers of a node's messages in one iteration that decoders get."""
TRIED = 5
"""Number of runs on which reconstructions are tried."""
ENOUGH = 60
"""Least number of runs of a group for decoders to be fitted on."""


@dataclass(frozen=True)
class CollaborationObservation(Observation):
    """The runs of a collaboration; if their messages differ, those of the largest group."""

    # (runs, p) or None: the result that the adversary legitimately ends with, as a participant or because it is the
    # same for all
    output: Array | None
    # view, rows_by_node: View, list of (runs, N_i, d): view and rows of the first runs, for reconstructions
    view: View
    rows_by_node: list[Array]
    runs: int  # number of runs of this group
    metadata: list[Frame]  # metadata of the messages in each of these runs; empty if the adversary is blind to it
    others: tuple[CollaborationObservation, ...] = ()  # the smaller groups, the largest first
    # number of calls on other rows in which all that the adversary reads was bit-identical; 0 if it was not
    identical_calls: int = 0
    # why decoders may miss what some runs show: too few of them are alike; empty if nothing is missed so
    few_alike: str = ""

    @property
    def groups(self) -> tuple[CollaborationObservation, ...]:
        """All groups, the largest first."""
        return (replace(self, others=()), *self.others)

    @property
    def reads_low(self) -> str:
        """Why the features are less than the adversary reads."""
        return "measured on the node's own messages: more may be known"

    @property
    def in_groups(self) -> bool:
        """True if there are smaller groups."""
        return bool(self.others)

    def holds_nothing_of(self, node: int) -> bool:
        """Check that the adversary reads no message in any run."""
        return not any(group.features[node] for group in (self, *self.others))


@dataclass(frozen=True)
class _Piece:
    """Runs of one call with the same metadata: copies of what is needed, so that transcripts can be freed."""

    key: tuple[object, ...]
    metadata: list[Frame]
    read: dict[int, tuple[Array, dict[int, Array]]]  # by node, its first row and its readable messages by iteration
    output: Array | None
    view: View  # view and rows are of the first runs
    rows_by_node: list[Array]
    runs: int
    lines: Lines


def block_size(cell: Scenario, setup: CollaborationSetup) -> int:
    """Compute the runs of a block from the messages of one run, which also checks that the parts fit together."""
    transcript = _single_run(setup, stream(cell.seed, "trial run"))
    setup.adversary.observe(transcript, setup.network)
    if (against := AdversaryTraits.of(setup.adversary).against) is not None:
        against(block.kind for block in transcript)
    return fitting(cell, transcript, 1)


def _single_run(setup: CollaborationSetup, rng: np.random.Generator) -> Transcript:
    """Record the messages of one run; try several, since nodes may fail on some rows."""
    for left in reversed(range(TRIED)):
        channel = Channel()
        try:
            _run(setup, setup.sample_rows(1, rng), rng, channel)
        except SecmixError:
            if not left:
                raise
        else:
            break
    return channel.transcript


def _run(setup: CollaborationSetup, rows_by_node: list[Array], rng: np.random.Generator, channel: Channel) -> Array:
    rows = [part.copy() for part in rows_by_node]  # a protocol may change its rows in place
    results = setup.protocol.collaborate(rows, setup.network, rng, channel=channel)
    return _checked(setup, results, len(rows_by_node[0]))


def _checked(setup: CollaborationSetup, results: Any, runs: int) -> Array:
    shape = np.shape(results)
    if len(shape) != 3 or shape[:2] != (runs, setup.network.n):
        raise SecmixError(
            f"collaborate returned an array of shape {shape}; expected (runs, n, p) = ({runs}, {setup.network.n}, "
            "p), the "
            "result at each node"
        )
    return np.asarray(results, dtype=np.float64)


def observe_collaboration(cell: Scenario, setup: CollaborationSetup, seeds: Seeds) -> CollaborationObservation:
    """Observe all runs of ``cell``, in groups."""
    blind = not AdversaryTraits.of(setup.adversary).sees_metadata
    observer = AdversaryObserver(setup.adversary, setup.network, setup.corrupt, blind)
    groups: dict[tuple[object, ...], list[_Piece]] = {}
    for rows_by_node, seed in sampled_rows(cell, setup, block_size(cell, setup), seeds):
        for piece in _pieces(setup, observer, rows_by_node, seed):
            groups.setdefault(piece.key, []).append(piece)
    ordered = sorted((_joined(pieces, setup) for pieces in groups.values()), key=lambda group: -group.runs)
    too_few = sum(group.runs for group in ordered if group.runs < ENOUGH)
    few_alike = ""
    if len(ordered) > 1 and too_few:
        few_alike = (
            f"{too_few} of {cell.runs} runs are in groups of fewer than {ENOUGH} runs with equal metadata: too few to "
            "fit decoders on"
        )
    lines = joined_lines(group.lines for group in ordered)
    return replace(ordered[0], others=tuple(ordered[1:]), few_alike=few_alike, lines=lines)


def _pieces(
    setup: CollaborationSetup, observer: AdversaryObserver, rows_by_node: list[Array], seed: np.random.SeedSequence
) -> Iterator[_Piece]:
    channel = Channel()
    try:
        results = _run(setup, rows_by_node, np.random.default_rng(seed), channel)
    except RunsDiffer as differing:
        for group in differing.groups:
            rows = [part[list(group.runs)] for part in rows_by_node]
            ends = _checked(setup, np.stack(group.results), len(group.runs))
            yield _piece(setup, observer, rows, group.transcript, ends)
        return
    yield _piece(setup, observer, rows_by_node, channel.transcript, results)


def _piece(
    setup: CollaborationSetup,
    observer: AdversaryObserver,
    rows_by_node: list[Array],
    transcript: Transcript,
    results: Array,
) -> _Piece:
    view = setup.adversary.observe(transcript, setup.network)
    metadata = observer.observe(Call(tuple(transcript), results, "")).frames
    shapes = tuple((row.shape[1], row.dtype.str) for row in view.rows)
    return _Piece(
        key=(view.origins, shapes, results.shape[2], tuple(metadata)),
        metadata=metadata,
        read=_read(setup, rows_by_node, view),
        output=_output(setup, results),
        view=View(view.origins, tuple(row[:TRIED].copy() for row in view.rows)),
        rows_by_node=[part[:TRIED].copy() for part in rows_by_node],
        runs=len(results),
        lines=lines_of(transcript, view, lambda other: setup.adversary.observe(other, setup.network)),
    )


def _joined(pieces: list[_Piece], setup: CollaborationSetup) -> CollaborationObservation:
    first = pieces[0]
    first_pieces = pieces[:TRIED]  # each has at least one run
    outputs = [piece.output for piece in pieces if piece.output is not None]
    return CollaborationObservation(
        rows={i: np.concatenate([piece.read[i][0] for piece in pieces]) for i in setup.asked},
        features={
            i: {t: np.concatenate([piece.read[i][1][t] for piece in pieces]) for t in first.read[i][1]}
            for i in setup.asked
        },
        unmet_premises=[],
        output=np.concatenate(outputs) if len(outputs) == len(pieces) else None,
        view=View(
            first.view.origins,
            tuple(
                np.concatenate(rows)[:TRIED] for rows in zip(*(piece.view.rows for piece in first_pieces), strict=True)
            ),
        ),
        rows_by_node=[
            np.concatenate(parts)[:TRIED] for parts in zip(*(piece.rows_by_node for piece in first_pieces), strict=True)
        ],
        runs=sum(piece.runs for piece in pieces),
        metadata=first.metadata,
        lines=joined_lines(piece.lines for piece in pieces),
    )


def _read(setup: CollaborationSetup, rows_by_node: list[Array], view: View) -> dict[int, Any]:
    """Collect each asked node's first row, and its own messages by iteration; those of others if it sends none."""
    read = {}
    for node in setup.asked:
        used = [origin.sender == node and origin.line != "held" for origin in view.origins]
        if not any(used):
            used = [origin.line != "held" for origin in view.origins]
        own: dict[int, list[tuple[Origin, Array]]] = {}
        for row, origin, use in zip(view.rows, view.origins, used, strict=True):
            if use:
                own.setdefault(origin.iteration, []).append((origin, row))
        features = {t: _columns(messages) for t, messages in own.items()}
        read[node] = (rows_by_node[node][:, 0].copy(), features)
    return read


def _columns(messages: list[tuple[Origin, Array]]) -> Array:
    """Select at most ``COLUMNS`` numbers (runs, p): short messages completely, then long ones in order, bytes last."""
    widths = [row.shape[1] for _, row in messages]
    last = [origin.kind.endswith(BYTES) for origin, _ in messages]
    long = [width > COLUMNS / len(messages) for width in widths]
    shares, left = np.zeros(len(messages), dtype=int), COLUMNS
    for k in sorted(range(len(messages)), key=lambda k: (last[k], long[k], k)):
        shares[k] = min(widths[k], left)
        left -= shares[k]
    return np.concatenate([row[:, :share] for (_, row), share in zip(messages, shares, strict=True)], axis=1)


def _output(setup: CollaborationSetup, results: Array) -> Array | None:
    if isinstance(setup.protocol, Released):  # what the result itself tells is the question
        return None
    if setup.corrupt:
        return results[:, min(setup.corrupt)].copy()
    same = np.allclose(results, results[:, :1], rtol=1e-9, atol=0.0)
    return results[:, 0].copy() if same else None
