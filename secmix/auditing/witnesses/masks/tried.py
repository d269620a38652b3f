"""Short seeds: the adversary tries them all, and takes the one with which numbers come out small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.witnesses.masks.expanding import expanded, sequence, unknown, variables
from secmix.auditing.witnesses.masks.relations import Known, Relation, Row, relations
from secmix.kernel.state import INF, following
from secmix.kernel.streams import Stream

_MOST = 2**16
"""Streams that are expanded to try all values of a seed: one takes some 25 microseconds."""
_SECONDS = 25e-6
_SHORT = 2**32
_LOOKED_AT = 3  # numbers by which a seed is told from the others
_PLAIN = 2**8  # by so much they are smaller than with other seeds, for the right one to be told
_WORDS = 2**64


@dataclass(frozen=True)
class Guess:
    """A draw that is a short seed, and the streams that follow from it.

    Attributes
    ----------
    seed : int
        The variable.
    values : int
        How many there are.
    streams : tuple of Stream
    """

    seed: int
    values: int
    streams: tuple[Stream, ...]

    @property
    def draws(self) -> frozenset[int]:
        """Return the masks that follow."""
        return frozenset(v for stream in self.streams for v in stream.numbers)

    @property
    def is_tried(self) -> bool:
        """Say whether all values are tried in an audit."""
        return self.values * len(self.streams) <= 4 * _MOST and self.values <= _MOST

    def __str__(self) -> str:
        seconds = self.values * len(self.streams) * _SECONDS
        often = f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
        bits = f"a seed of {np.log2(self.values):.0f} bits"
        return f"{bits} was not tried, which takes about {often} ({self.streams[0].place})"


def guesses(known: Known) -> list[Guess]:
    """Return the short seeds: draws of which alone some streams are made that are not known."""
    behind: dict[int, list[Stream]] = defaultdict(list)
    most: dict[int, int] = {}
    with following(known.trace):
        for stream in known.streams.values():
            left = unknown(stream, known.trace, {})
            if len(left) == 1 and left[0][0] not in known.values and 0 < left[0][1] <= _SHORT:
                behind[left[0][0]].append(stream)
                most[left[0][0]] = max(most.get(left[0][0], 0), left[0][1])
    return [Guess(v, most[v], tuple(streams)) for v, streams in behind.items()]


@dataclass(frozen=True)
class Tables:
    """Hold masks with every value of a seed, worked out once for all streams that are made alike."""

    known: Known
    made: dict[Any, list[Array]] = field(default_factory=dict)

    def of(self, guess: Guess, wanted: Iterable[int]) -> dict[int, Array]:
        """Return the masks (values,) that are wanted, of those that stand first in their streams."""
        found: dict[int, Array] = {}
        with following(self.known.trace):
            for number in dict.fromkeys(self.known.trace.variables[v].stream for v in wanted):
                stream = self.known.streams[number]
                key = _alike(stream, guess)
                if key not in self.made:
                    self.made[key] = self._tried(stream, guess)
                found |= dict(zip(variables(stream), self.made[key], strict=False))
        return found

    def _tried(self, stream: Stream, guess: Guess) -> list[Array]:
        values: dict[int, Any] = {}
        made = []
        for value in range(guess.values):
            values[guess.seed] = value
            made.append(sequence(stream, self.known.trace, values)[:_LOOKED_AT])
        return [np.array(of, np.uint64 if isinstance(of[0], int) else float) for of in zip(*made, strict=False)]


def _alike(stream: Stream, guess: Guess) -> Any:
    """Return of what a stream is made, whichever draw the seed is."""
    here = [guess.seed if piece[0] == "draw" else ("draw", guess.seed) for piece in stream.key[1:]]
    return (
        tuple(
            (piece[0], "the seed", *piece[2:]) if len(piece) > 1 and piece[1] == seed else piece
            for piece, seed in zip(stream.key[1:], here, strict=True)
        ),
        stream.key[0],
        repr([asked for asked, _ in stream.draws]),
        tuple(stream.reads),
    )


def tried(known: Known, rows: Sequence[Row], node: int, guess: Guess, tables: Tables) -> Iterator[Relation]:
    """Yield what comes out of a node's data with the seed that fits best in each run."""
    of_node = relations(known.trace, rows, known, node, guess.draws)
    found = [each for each in of_node if each.masks and len(each.rows) == 1]
    made = tables.of(guess, [v for each in found[:_LOOKED_AT] for v in each.masks])
    looked_at = [each for each in found[:_LOOKED_AT] if each.masks.keys() <= made.keys()]
    if len(looked_at) < 2 or len({each.modulus for each in looked_at}) > 1:
        return
    size = np.max([_left(each, made) for each in looked_at], axis=0)  # (values, runs)
    if (np.median(size, axis=0) > _PLAIN * size.min(axis=0)).all():
        yield from _without(found, known, guess, size.argmin(axis=0).tolist())


def _left(relation: Relation, made: dict[int, Any]) -> Array:
    """Return how large a number is without the masks of each seed (values, runs)."""
    if relation.modulus == INF:
        masks = np.sum([float(c) * made[v] for v, c in relation.masks.items()], axis=0)
        return np.asarray(np.abs(np.array(relation.values, float)[None] - masks[:, None]))
    modulus = int(relation.modulus)
    kind: Any = np.uint64 if modulus == _WORDS else object
    values = np.array([int(value) % modulus for value in relation.values], kind)
    masks = np.sum([made[v].astype(kind) * _as(kind, int(c) % modulus) for v, c in relation.masks.items()], axis=0)
    off = values[None] - masks[:, None]
    off = off if modulus == _WORDS else off % modulus
    other = (np.uint64(0) - off) if modulus == _WORDS else modulus - off
    return np.asarray(np.minimum(off, other), dtype=float)


def _as(kind: Any, value: int) -> Any:
    return np.uint64(value) if kind is np.uint64 else value


def _without(found: Sequence[Relation], known: Known, guess: Guess, best: Sequence[int]) -> Iterator[Relation]:
    """Yield all relations without the masks of the seeds that were found."""
    made: list[dict[int, Any]] = []
    with following(known.trace):
        for k, seed in enumerate(best):
            values = {v: of[k] for v, of in known.values.items()} | {guess.seed: seed}
            made.append({v: x for stream in guess.streams for v, x in expanded(stream, known.trace, values).items()})
    for each in found:
        if each.masks.keys() <= made[0].keys():
            left = [value - sum(c * made[k][v] for v, c in each.masks.items()) for k, value in enumerate(each.values)]
            yield replace(each, values=left, masks={})
