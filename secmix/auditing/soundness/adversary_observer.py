"""An adversary's view of a call: metadata of all its messages, numbers of readable messages, and its results.

An encrypted line hides the numbers, but not the metadata: time, sender, receiver, kind and length of each message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.adversaries import Adversary
from secmix.auditing.soundness.check_result import Counterexample
from secmix.auditing.soundness.runner import Call, frame_of, same_bits
from secmix.network import Network
from secmix.transcript import SERVER, Block, Transcript

Frame = tuple[object, ...]
CHANGED = "expected the same numbers on all rows of honest nodes, found others"
_HIDDEN = 7  # number of fields in the frame of an unreadable message


@dataclass(frozen=True)
class AdversaryView:
    """One call, as the adversary observes it."""

    frames: list[Frame]  # metadata of each message, in order
    # list of (runs, m): numbers of the readable messages, each content once, then the results of corrupt nodes
    rows: list[NDArray[Any]]
    names: list[str]  # name of each row
    readable: int  # number of rows that are messages; the others are results


@dataclass(frozen=True)
class _FrameView:
    """Observations of blocks with the same frame: readable contents, their names, and all frames."""

    contents: list[int]
    names: list[str]
    frames: list[Frame]


@dataclass
class AdversaryObserver:
    """Observes calls as one adversary does, and caches the result for each frame."""

    adversary: Adversary
    network: Network
    corrupt: frozenset[int]
    blind: bool = False  # to metadata
    _cache: dict[Frame, _FrameView] = field(default_factory=dict)

    def observe(self, call: Call) -> AdversaryView:
        """Return ``call`` as the adversary observes it."""
        keys = [frame_of(block) for block in call.blocks]
        self._observe_blocks(
            {key: block for key, block in zip(keys, call.blocks, strict=True) if key not in self._cache}
        )
        frames: list[Frame] = []
        rows: list[NDArray[Any]] = []
        names: list[str] = []
        for key, block in zip(keys, call.blocks, strict=True):
            view = self._cache[key]
            frames += view.frames
            rows += [block.payload[content] for content in view.contents]
            names += view.names
        readable = len(rows)
        for node in sorted(self.corrupt) if call.results.ndim == 3 else []:
            if node < call.results.shape[1]:
                rows.append(call.results[:, node])
                names.append(f"the result of node {node}")
        return AdversaryView(frames, rows, names, readable)

    def _frames(self, block: Block, readable: Ints, observed: Ints) -> list[Frame]:
        if self.blind:
            return []
        clear = set(readable.tolist())
        dtype, width = block.payload.dtype, block.payload.shape[2]
        shared = (block.iteration, block.round, block.kind, block.line, width, dtype.str)
        out: list[Frame] = []
        for k in observed.tolist():
            ends = (int(block.sender[k]), int(block.receiver[k]))
            if k in clear:
                out.append((*ends, *shared, int(block.content[k])))
            else:
                out.append((*ends, block.iteration, block.round, block.kind, block.line, width * dtype.itemsize))
        return out

    def _observe_blocks(self, blocks: dict[Frame, Block]) -> None:
        """Find what the adversary reads of these blocks, by numbering their messages."""
        if not blocks:
            return
        as_is, in_clear, first = Transcript(), Transcript(), 0
        starts = []
        for block in blocks.values():
            count = len(block.sender)
            numbered = np.arange(first, first + count, dtype=float)[:, None, None]
            marked = replace(block, content=np.arange(count), payload=numbered)
            as_is.append(marked)
            in_clear.append(replace(marked, line="plain") if block.line == "encrypted" else marked)
            starts.append(first)
            first += count
        readable = self._numbers(as_is, first)
        observed = np.union1d(readable, self._numbers(in_clear, first))
        bounds = [np.searchsorted(which, [*starts, first]).tolist() for which in (readable, observed)]  # both sorted
        for k, (key, block) in enumerate(blocks.items()):
            reads, observes = (
                which[ends[k] : ends[k + 1]] - starts[k]
                for which, ends in zip((readable, observed), bounds, strict=True)
            )
            contents = np.unique(block.content[reads]).tolist()
            names = [_name(block, content) for content in contents]
            self._cache[key] = _FrameView(contents, names, self._frames(block, reads, observes))

    def _numbers(self, transcript: Transcript, count: int) -> Ints:
        """Collect the numbers that the adversary reads; all of them if it transforms messages."""
        try:
            rows = self.adversary.observe(transcript, self.network).rows
            indices = np.array([row[0, 0] for row in rows if row.shape == (1, 1)])
        except Exception:  # observe() does not support these messages: it counts as reading everything
            return np.arange(count)
        if len(indices) != len(rows) or not np.isin(indices, np.arange(count)).all():
            return np.arange(count)
        return np.unique(indices).astype(np.intp)


def numbers(payload: NDArray[Any]) -> Array:
    """Convert ``payload`` to float64; anything that is not a number becomes NaN."""
    if payload.dtype.kind not in "fiub":
        return np.full(payload.shape, np.nan)
    try:
        return np.asarray(payload, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(payload.shape, np.nan)


def other_frames(left: Sequence[Frame], right: Sequence[Frame], *, prefix: bool = False) -> Counterexample | None:
    """Find the first frame in which two calls differ; with ``prefix``, only within what both have."""
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return Counterexample(*_difference(a, b, place))
    if not prefix and len(left) != len(right):
        return Counterexample(
            "the number of messages",
            "expected the same on all rows of honest nodes, found another",
        )
    return None


def other_numbers(
    left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]], names: Sequence[str]
) -> Counterexample | None:
    """Find the first row in which two calls differ by a bit, as far as both go."""
    for a, b, name in zip(left, right, names, strict=False):
        if not same_bits(a, b):
            entry = None
            if a.shape == b.shape:
                differs = np.flatnonzero((a != b).any(axis=0))
                entry = int(differs[0]) if len(differs) else None
            return Counterexample(name, CHANGED, entry)
    return None


def _difference(a: Frame, b: Frame, place: int) -> tuple[str, str]:
    """Describe where two frames of message ``place`` differ, and what was expected."""
    expected = "expected the same on all rows of honest nodes, found another"
    if len(a) != len(b):
        return f"message {place}", f"{expected}, or a readable one"
    rest = ("length", "type", "order of contents") if len(a) > _HIDDEN else ("size",)
    fields = ("sender", "receiver", "iteration", "round", "kind", "line", *rest)
    field = next(field for field, x, y in zip(fields, a, b, strict=True) if x != y)
    return f"{field} of message {place}", expected


def _name(block: Block, content: int) -> str:
    sender = int(block.sender[block.content == content][0])
    who = "the server" if sender == SERVER else f"node {sender}"
    what = "held by" if block.line == "held" else "from"
    return f"'{block.kind}' {what} {who} in round {block.round}"
