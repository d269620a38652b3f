"""Short seeds: the adversary tries all of them, and takes the one that makes numbers small.

Seeds of up to 16 bits are all tried here. Of longer ones, up to 32 bits, a sample shows what a try of all finds: the
seed of a run makes numbers so small that no other does. What is left is the time that trying takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream as generator
from secmix.auditing.counterexamples.masks.expanding import (
    Seed,
    Values,
    assigned,
    expanded,
    sequence,
    unknown,
    value_of,
    variables,
)
from secmix.auditing.counterexamples.masks.relations import Known, Relation, Row, relations
from secmix.kernel.randomness.streams import Stream
from secmix.kernel.values.current_trace import INF, following

_MOST = 2**16
"""Most streams that are expanded to try all values of a seed; one takes about 25 microseconds."""
_SECONDS = 25e-6
_SHORT = 2**32
SAMPLE = 2**10
"""Seeds beside the right one that stand for all others, where these are too many to try."""
MISTAKEN = 0.01
"""Most other seeds of all that may pass for the right one, as expected from the sample."""
LOOKED_AT = 3
"""Numbers that distinguish seeds."""
_PLAIN = 2**8  # factor by which they must be smaller than with other seeds
_WORDS = 2**64


@dataclass(frozen=True)
class Guess:
    """A short seed: what it depends on, and the streams that follow from it."""

    seed: Seed  # a draw, or bytes
    values: int  # number of values of the seed
    streams: tuple[Stream, ...]

    @property
    def draws(self) -> frozenset[int]:
        """The masks that follow from the seed."""
        return frozenset(v for stream in self.streams for v in stream.numbers)

    @property
    def is_tried(self) -> bool:
        """True if an audit tries all values."""
        return self.values * len(self.streams) <= 4 * _MOST and self.values <= _MOST

    @property
    def duration(self) -> str:
        """The time that trying all values takes."""
        return duration(self.values * len(self.streams))

    @property
    def trials(self) -> str:
        """The values that were tried, in words."""
        if self.is_tried:
            return f"all {self.values:,} were tried"
        return tried_by_sample(self.duration)

    def __str__(self) -> str:
        bits = f"a seed of {np.log2(self.values):.0f} bits"
        return f"{bits} was not tried, which would take about {self.duration} ({self.streams[0].place})"


def duration(streams: float) -> str:
    """Return the time that expanding so many streams takes."""
    seconds = streams * _SECONDS
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def tried_by_sample(takes: str) -> str:
    """Say that the right seed was told from a sample of others, and how long trying all takes."""
    return f"the right one was told from {SAMPLE:,} others, and trying all takes about {takes}"


def guesses(known: Known) -> list[Guess]:
    """Find the short seeds: unknown draws, or bytes, that alone determine some streams."""
    behind: dict[Seed, list[Stream]] = defaultdict(list)
    most: dict[Seed, int] = {}
    with following(known.trace):
        for stream in known.streams.values():
            left = unknown(stream, known.trace, {})
            if len(left) == 1 and left[0][0] not in known.values and 0 < left[0][1] <= _SHORT:
                behind[left[0][0]].append(stream)
                most[left[0][0]] = max(most.get(left[0][0], 0), left[0][1])
    return [Guess(v, most[v], tuple(streams)) for v, streams in behind.items()]


@dataclass(frozen=True)
class Tables:
    """Masks with the values of a seed that are tried, computed once for all streams that are made alike."""

    known: Known
    # variable -> values in all runs: the seeds of the runs, of which those that are too long to be tried are
    # sampled around
    actual: Mapping[int, Sequence[Any]]
    cache: dict[Any, list[Array]] = field(default_factory=dict)

    def candidates(self, guess: Guess) -> Any:
        """List the seeds that are tried: all, or a sample and then those of the runs; none if these are not known."""
        if guess.is_tried:
            return np.arange(guess.values)
        sample = generator(guess.values, "soundness", "seeds").integers(guess.values, size=SAMPLE)
        right = self.right(guess)
        return np.concatenate([sample, right]) if len(right) else right

    def right(self, guess: Guess) -> Any:
        """List the seeds of the runs; none if these are not known."""
        runs = len(next(iter(self.actual.values()), []))
        of_runs = ({v: values[k] for v, values in self.actual.items()} for k in range(runs))
        try:
            seeds = [value_of(guess.seed, self.known.trace, of_run) % guess.values for of_run in of_runs]
        except (KeyError, ValueError, AttributeError):
            seeds = []
        return np.array(seeds, int)

    def of(self, guess: Guess, wanted: Iterable[int]) -> dict[int, Array]:
        """Select the wanted masks (values,), of those that are first in their streams."""
        masks: dict[int, Array] = {}
        with following(self.known.trace):
            for number in dict.fromkeys(self.known.trace.variables[v].stream for v in wanted):
                stream = self.known.streams[number]
                key = _alike(stream, guess), () if guess.is_tried else guess.seed
                if key not in self.cache:
                    self.cache[key] = self._tried(stream, guess)
                masks |= dict(zip(variables(stream), self.cache[key], strict=False))
        return masks

    def _tried(self, stream: Stream, guess: Guess) -> list[Array]:
        values: Values = {}
        sequences = []
        for value in self.candidates(guess).tolist():
            values |= assigned(guess.seed, value)
            sequences.append(sequence(stream, self.known.trace, values)[:LOOKED_AT])
        return [np.array(x, np.uint64 if isinstance(x[0], int) else float) for x in zip(*sequences, strict=False)]


def _alike(stream: Stream, guess: Guess) -> Any:
    """Describe what a stream is made of, whichever draw, or bytes, the seed is."""
    of_bytes = {} if isinstance(guess.seed, int) else {piece: ("the seed", k) for k, piece in enumerate(guess.seed)}
    seeds = [guess.seed if piece[0] == "draw" else ("draw", guess.seed) for piece in stream.key[1:]]
    return (
        tuple(
            (piece[0], "the seed", *piece[2:]) if len(piece) > 1 and piece[1] == seed else of_bytes.get(piece, piece)
            for piece, seed in zip(stream.key[1:], seeds, strict=True)
        ),
        stream.key[0],
        repr([asked for asked, _ in stream.draws]),
        tuple(stream.reads),
    )


def tried(known: Known, rows: Sequence[Row], node: int, guess: Guess, tables: Tables) -> Iterator[Relation]:
    """Yield numbers of a node's data, with the best seed in each run."""
    of_node = relations(known.trace, rows, known, node, guess.draws)
    masked = [relation for relation in of_node if relation.masks and len(relation.rows) == 1]
    masks = tables.of(guess, [v for relation in masked[:LOOKED_AT] for v in relation.masks])
    compared = [relation for relation in masked[:LOOKED_AT] if relation.masks.keys() <= masks.keys()]
    if len(compared) < 2 or len({relation.modulus for relation in compared}) > 1:
        return
    size = np.max([_left(relation, masks) for relation in compared], axis=0)  # (candidates, runs)
    candidates = tables.candidates(guess)
    if guess.is_tried:
        is_distinguished = bool((np.median(size, axis=0) > _PLAIN * size.min(axis=0)).all())
    else:
        several = len({tuple(relation.masks.items()) for relation in compared})
        is_distinguished = mistaken(size, candidates, tables.right(guess), several) * guess.values < MISTAKEN
    if is_distinguished:
        yield from _without(masked, known, guess, candidates[size.argmin(axis=0)].tolist())


def mistaken(size: Array, candidates: Any, right: Any, several: int) -> float:
    """Estimate how often another seed makes numbers as small as the right one does, in the worst run.

    ``size`` (candidates, runs) is that of the largest of ``several`` numbers, whose masks are draws of their own. Near
    zero these have a density, so others are below t with a probability that goes by t to the power of ``several``; the
    smallest of the sample says which.
    """
    runs = np.arange(size.shape[1])
    own = size[len(candidates) - len(right) + runs, runs]
    others = np.where(candidates[:, None] == right[None], np.inf, size).min(axis=0)
    with np.errstate(divide="ignore"):
        shares = (own / others) ** several / len(candidates)
    return float(shares.max())


def _left(relation: Relation, draws: dict[int, Any]) -> Array:
    """Compute the size of a number without the masks of each seed (values, runs)."""
    if relation.modulus == INF:
        masks = np.sum([float(c) * draws[v] for v, c in relation.masks.items()], axis=0)
        return np.asarray(np.abs(np.array(relation.values, float)[None] - masks[:, None]))
    modulus = int(relation.modulus)
    kind: Any = np.uint64 if modulus == _WORDS else object
    values = np.array([int(value) % modulus for value in relation.values], kind)
    masks = np.sum([draws[v].astype(kind) * _as(kind, int(c) % modulus) for v, c in relation.masks.items()], axis=0)
    off = values[None] - masks[:, None]
    off = off if modulus == _WORDS else off % modulus
    other = (np.uint64(0) - off) if modulus == _WORDS else modulus - off
    return np.asarray(np.minimum(off, other), dtype=float)


def _as(kind: Any, value: int) -> Any:
    return np.uint64(value) if kind is np.uint64 else value


def _without(masked: Sequence[Relation], known: Known, guess: Guess, best: Sequence[int]) -> Iterator[Relation]:
    """Yield all relations without the masks of the best seeds."""
    draws: list[dict[int, Any]] = []
    with following(known.trace):
        for k, seed in enumerate(best):
            values = {v: x[k] for v, x in known.values.items()} | assigned(guess.seed, seed)
            draws.append({v: x for stream in guess.streams for v, x in expanded(stream, known.trace, values).items()})
    for relation in masked:
        if relation.masks.keys() <= draws[0].keys():
            terms = relation.masks.items()
            left = [value - sum(c * draws[k][v] for v, c in terms) for k, value in enumerate(relation.values)]
            yield replace(relation, values=left, masks={})
