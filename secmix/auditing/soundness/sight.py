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
from secmix.transcript import SERVER, Block, Transcript, touching

Frame = tuple[object, ...]
_LARGE = 2**22  # bytes of a call's messages that are not put side by side to be measured


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
    tops : (rows, runs)
        Largest number in any message so far, heard or not.
    coarseness : (rows,)
        Unit roundoff of the coarsest numbers so far.
    heard : int
        How many of the rows are messages; the others are results.
    """

    frames: list[Frame]
    rows: list[NDArray[Any]]
    names: list[str]
    tops: Array
    coarseness: Array
    heard: int

    def of_runs(self, runs: slice | NDArray[np.intp]) -> Seen:
        """Some runs of it."""
        return replace(self, rows=[row[runs] for row in self.rows], tops=self.tops[:, runs])

    def same_numbers(self, other: Seen) -> bool:
        """Whether the rows are the same to the last bit, and the messages as large and as coarse; frames may differ."""
        return (
            (self.heard, self.names) == (other.heard, other.names)
            and same_bits(self.tops, other.tops)
            and same_bits(self.coarseness, other.coarseness)
            and all(same_bits(*pair) for pair in zip(self.rows, other.rows, strict=True))
        )


@dataclass(frozen=True)
class _Look:
    """What is seen of every block with the same frame: the messages heard, their contents' names, and all frames."""

    heard: Ints
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
        """``call`` as the adversary sees it."""
        keys = _frames_of(call)
        self._look_at({key: block for key, block in zip(keys, call.blocks, strict=True) if key not in self._known})
        frames: list[Frame] = []
        rows: list[NDArray[Any]] = []
        names, tops, units = [], [], []
        top, unit = np.zeros(0), 0.0
        for key, block, top in zip(keys, call.blocks, _tops(call.blocks), strict=True):
            look = self._known[key]
            unit = max(unit, roundoff(block.payload.dtype))
            frames += look.frames
            rows += [block.payload[content] for content in look.contents]
            names += look.names
            tops += [top] * len(look.contents)
            units += [unit] * len(look.contents)
        heard_rows = len(rows)
        ends = [("what node {} ends with", call.results), *(("what is left of node {}'s input", k) for k in call.kept)]
        for name, table in ends:
            for node in sorted(self.corrupt) if table.ndim == 3 else []:
                if node < table.shape[1]:
                    rows.append(table[:, node])
                    names.append(name.format(node))
                    tops.append(top)
                    units.append(max(unit, roundoff(table.dtype)))
        runs = len(top) if len(top) else 1
        if any(len(each) != runs for each in tops):  # payloads of another number of runs, found out as frames
            tops = [np.full(runs, each.max(initial=0.0)) for each in tops]
        return Seen(frames, rows, names, np.array(tops).reshape(len(rows), runs), np.array(units), heard_rows)

    def overlooks(self, call: Call) -> Witness | None:
        """The first message from or to a corrupt node that the adversary does not hear."""
        nodes = np.array(sorted(self.corrupt), dtype=int)
        for block, key in zip(call.blocks, _frames_of(call), strict=True):
            heard = self._known[key].heard
            own = np.flatnonzero(touching(block, nodes))
            missed = np.setdiff1d(block.content[own], block.content[heard])
            if len(missed):
                return Witness(_name(block, int(missed[0])), "a corrupt node holds it, and the adversary does not")
        return None

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
            self._known[key] = _Look(hears, contents, names, self._frames(block, hears, notes))

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


def _frames_of(call: Call) -> Sequence[Frame]:
    return [frame_of(block) for block in call.blocks] if call.frames is None else call.frames


def _tops(blocks: Sequence[Block]) -> list[Array]:
    """The largest finite size of each run in each block and those before it, an array (runs,) for each."""
    shapes = {block.payload.shape[1:] for block in blocks}
    small = sum(block.payload.nbytes for block in blocks) < _LARGE
    if small and len(shapes) == 1 and all(len(block.payload) and block.payload.dtype == np.float64 for block in blocks):
        starts = np.cumsum([0, *(len(block.payload) for block in blocks[:-1])])
        # Over the rows first: they lie apart in memory, and are compared many numbers at a time.
        largest = np.maximum.reduceat(np.abs(np.concatenate([block.payload for block in blocks])), starts, axis=0)
        sizes = largest.max(axis=2, initial=0.0)
        return list(np.maximum.accumulate(np.where(np.isfinite(sizes), sizes, 0.0), axis=0))
    top, tops = np.zeros(0), []
    for block in blocks:
        plain = numbers(block.payload)
        ends = plain.max(axis=0, initial=0.0), plain.min(axis=0, initial=0.0)
        size = np.maximum(*map(np.abs, ends)).max(axis=1, initial=0.0)
        size = np.where(np.isfinite(size), size, 0.0)
        top = np.maximum(top, size) if top.shape == size.shape else size
        tops.append(top)
    return tops


def numbers(payload: NDArray[Any]) -> Array:
    """``payload`` as float64; what is no number becomes NaN."""
    if payload.dtype.kind not in "fiub":
        return np.full(payload.shape, np.nan)
    try:
        return np.asarray(payload, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(payload.shape, np.nan)


def roundoff(dtype: np.dtype[Any]) -> float:
    """Unit roundoff of a type of number; that of float64 for integers."""
    return float(np.finfo(dtype).eps) / 2 if dtype.kind == "f" else float(np.finfo(float).eps) / 2


def other_frames(one: Seen, other: Seen, *, prefix: bool = False) -> Witness | None:
    """The first frame in which two calls differ; with ``prefix``, only within what both have."""
    return unlike(one.frames, other.frames, prefix=prefix)


def unlike(one: Sequence[Frame], other: Sequence[Frame], *, prefix: bool = False) -> Witness | None:
    """As :func:`other_frames`, of the frames alone."""
    common = min(len(one), len(other))
    alike = one[:common] == other[:common]
    for place, (a, b) in enumerate(() if alike else zip(one, other, strict=False)):
        if a != b:
            return Witness(f"message {place} that the adversary notices", _difference(a, b))
    if not prefix and len(one) != len(other):
        return Witness("the messages that the adversary notices", "there are more of them, or fewer")
    return None


def other_numbers(one: Sequence[NDArray[Any]], other: Sequence[NDArray[Any]], names: Sequence[str]) -> Witness | None:
    """The first row in which two calls differ by a bit, as far as both go."""
    for a, b, name in zip(one, other, names, strict=False):
        if not same_bits(a, b):
            entry = None
            if a.shape == b.shape:
                differs = np.flatnonzero((a != b).any(axis=0))
                entry = int(differs[0]) if len(differs) else None
            return Witness(name, "the numbers are others, by a bit at least", entry)
    return None


def _difference(a: Frame, b: Frame) -> str:
    if len(a) != len(b):
        return "it goes in the clear in one call and encrypted in the other, or is another message"
    which = (
        "the sender",
        "the receiver",
        "the iteration",
        "the round",
        "the kind",
        "the line",
        "the length",
        "the type",
    )
    if len(a) == 7:
        which = (*which[:6], "the size", "")
    place = next(k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    return f"{which[place] if place < len(which) else 'the order of contents'} differs"


def _name(block: Block, content: int) -> str:
    sender = int(block.sender[block.content == content][0])
    who = "the server" if sender == SERVER else f"node {sender}"
    what = "held by" if block.line == "held" else "from"
    return f"'{block.kind}' {what} {who} in round {block.round}"
