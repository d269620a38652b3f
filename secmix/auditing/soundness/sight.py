"""What an adversary sees of a call: the frames of the messages it notices, the numbers of those it hears, its results.

An encrypted line hides the numbers. That a message passes, when, from whom to whom, of which kind and how long it
is, it does not hide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.adversaries import Adversary
from secmix.auditing.soundness.result import Witness
from secmix.auditing.soundness.runner import Call, frame_of, same_bits
from secmix.network import Network
from secmix.transcript import SERVER, Block, Transcript

Frame = tuple[object, ...]
CHANGED = "expected the same numbers on all rows of honest nodes, found others"
_HIDDEN = 7  # fields of the frame of a message that cannot be read


@dataclass(frozen=True)
class Seen:
    """One call through the adversary's eyes.

    Attributes
    ----------
    frames : list of tuple
        One for each message that is noticed, in order.
    rows : list of (runs, m)
        The numbers of the messages heard, each content once, then what corrupt nodes end with.
    names : list of str
        What each row is.
    heard : int
        How many of the rows are messages; the others are results.
    """

    frames: list[Frame]
    rows: list[NDArray[Any]]
    names: list[str]
    heard: int


@dataclass(frozen=True)
class _Look:
    """What is seen of every block with the same frame: the contents heard, their names, and all frames."""

    contents: list[int]
    names: list[str]
    frames: list[Frame]


@dataclass
class Eyes:
    """What one adversary notices and hears, worked out block by block and kept."""

    adversary: Adversary
    network: Network
    corrupt: frozenset[int]
    blind: bool = False  # to all but the numbers
    _known: dict[Frame, _Look] = field(default_factory=dict)

    def see(self, call: Call) -> Seen:
        """Return ``call`` as the adversary sees it."""
        keys = [frame_of(block) for block in call.blocks]
        self._look_at({key: block for key, block in zip(keys, call.blocks, strict=True) if key not in self._known})
        frames: list[Frame] = []
        rows: list[NDArray[Any]] = []
        names: list[str] = []
        for key, block in zip(keys, call.blocks, strict=True):
            look = self._known[key]
            frames += look.frames
            rows += [block.payload[content] for content in look.contents]
            names += look.names
        heard_rows = len(rows)
        for node in sorted(self.corrupt) if call.results.ndim == 3 else []:
            if node < call.results.shape[1]:
                rows.append(call.results[:, node])
                names.append(f"what node {node} ends with")
        return Seen(frames, rows, names, heard_rows)

    def _frames(self, block: Block, heard: Ints, noticed: Ints) -> list[Frame]:
        if self.blind:
            return []
        clear = set(heard.tolist())
        dtype, width = block.payload.dtype, block.payload.shape[2]
        shared = (block.iteration, block.round, block.kind, block.line, width, dtype.str)
        out: list[Frame] = []
        for k in noticed.tolist():
            ends = (int(block.sender[k]), int(block.receiver[k]))
            if k in clear:
                out.append((*ends, *shared, int(block.content[k])))
            else:
                out.append((*ends, block.iteration, block.round, block.kind, block.line, width * dtype.itemsize))
        return out

    def _look_at(self, blocks: dict[Frame, Block]) -> None:
        """Numbered messages in place of the blocks' own show which the adversary gets to see."""
        if not blocks:
            return
        as_is, in_clear, first = Transcript(), Transcript(), 0
        places = []
        for block in blocks.values():
            count = len(block.sender)
            numbered = np.arange(first, first + count, dtype=float)[:, None, None]
            marked = replace(block, content=np.arange(count), payload=numbered)
            as_is.append(marked)
            in_clear.append(replace(marked, line="plain") if block.line == "encrypted" else marked)
            places.append(first)
            first += count
        heard = self._numbers(as_is, first)
        noticed = np.union1d(heard, self._numbers(in_clear, first))
        bounds = [np.searchsorted(which, [*places, first]).tolist() for which in (heard, noticed)]  # both in order
        for k, (key, block) in enumerate(blocks.items()):
            hears, notes = (
                which[ends[k] : ends[k + 1]] - places[k] for which, ends in zip((heard, noticed), bounds, strict=True)
            )
            contents = np.unique(block.content[hears]).tolist()
            names = [_name(block, content) for content in contents]
            self._known[key] = _Look(contents, names, self._frames(block, hears, notes))

    def _numbers(self, transcript: Transcript, count: int) -> Ints:
        """The numbers that the adversary reads; all, where it does not take messages as they are."""
        try:
            rows = self.adversary.observe(transcript, self.network).rows
            found = np.array([row[0, 0] for row in rows if row.shape == (1, 1)])
        except Exception:  # made for other messages: it is taken to see everything
            return np.arange(count)
        if len(found) != len(rows) or not np.isin(found, np.arange(count)).all():
            return np.arange(count)
        return np.unique(found).astype(np.intp)


def numbers(payload: NDArray[Any]) -> Array:
    """``payload`` as float64; what is no number becomes NaN."""
    if payload.dtype.kind not in "fiub":
        return np.full(payload.shape, np.nan)
    try:
        return np.asarray(payload, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(payload.shape, np.nan)


def other_frames(one: Sequence[Frame], other: Sequence[Frame], *, prefix: bool = False) -> Witness | None:
    """Return the first frame in which two calls differ; with ``prefix``, only within what both have."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return Witness(f"message {place} that the adversary notices", _difference(a, b))
    if not prefix and len(one) != len(other):
        return Witness(
            "the messages that the adversary notices",
            "expected as many on all rows of honest nodes, found more or fewer",
        )
    return None


def other_numbers(one: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]], names: Sequence[str]) -> Witness | None:
    """The first row in which two calls differ by a bit, as far as both go."""
    for a, b, name in zip(one, other, names, strict=False):
        if not same_bits(a, b):
            entry = None
            if a.shape == b.shape:
                differs = np.flatnonzero((a != b).any(axis=0))
                entry = int(differs[0]) if len(differs) else None
            return Witness(name, CHANGED, entry)
    return None


def _difference(a: Frame, b: Frame) -> str:
    if len(a) != len(b):
        return "expected the same message on all rows of honest nodes, found another or one in the clear"
    rest = ("length", "type", "order of contents") if len(a) > _HIDDEN else ("size",)
    fields = ("sender", "receiver", "iteration", "round", "kind", "line", *rest)
    field = next(field for field, x, y in zip(fields, a, b, strict=True) if x != y)
    return f"expected the same {field} on all rows of honest nodes, found another"


def _name(block: Block, content: int) -> str:
    sender = int(block.sender[block.content == content][0])
    who = "the server" if sender == SERVER else f"node {sender}"
    what = "held by" if block.line == "held" else "from"
    return f"'{block.kind}' {what} {who} in round {block.round}"
