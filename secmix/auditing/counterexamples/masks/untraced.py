"""Short seeds where no trace says what they are made of: folded by exclusive or, mixed, or computed in any other way.

What generators are made of is recorded in calls in use. A seed of at most 32 bits that the adversary does not know is
tried: the code itself computes the masks of each value, with inputs of zero. As in :mod:`tried`, a sample of values
shows whether the right one is the only one that makes numbers small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.counterexamples.affine import WORDS, AffineReading, DirectDecoding, centred, decode_directly
from secmix.auditing.counterexamples.direct_reading import DirectReading
from secmix.auditing.counterexamples.finding import in_all_runs
from secmix.auditing.counterexamples.masks.replayed_fits import recorded_seeds
from secmix.auditing.counterexamples.masks.tried import LOOKED_AT, MISTAKEN, SAMPLE, duration, mistaken, tried_by_sample
from secmix.auditing.report import Finding
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.numbers_read import Place, numbers_read
from secmix.auditing.soundness.runner import record_call
from secmix.kernel.values.current_trace import Place as Line
from secmix.transcript import Channel

_STREAM = ("soundness", "untraced seeds")
_RECORDED = 12  # calls in which a seed of more bits would show: it is below 2^32 in all with a chance of 2^-12
_RUNS, _LEAST = 80, 40  # half of them judge
_SHORT = 32  # bits
_MOST_SECRETS = 80  # vectors of masks, each of which is drawn anew once
_CODE_SIZED = 2**16  # smaller numbers occur in messages anyway
_NOTHING = np.empty((0, 0))

Numbers = tuple[int, ...]
Seeds = list[tuple[Line, str, Numbers]]


@dataclass(frozen=True)
class ShortSeed:
    """A number of few bits that generators are made of."""

    values: Numbers  # in each recorded call
    at: tuple[int, int]  # the first generator of a call that is made of it, and which of its numbers it is
    # line, maker: where and by which class or function the first generator is made
    line: Line
    maker: str

    def of(self, seeds: Seeds) -> int | None:
        """Return its value in another call; None if that makes fewer generators."""
        generator, place = self.at
        numbers = seeds[generator][2] if generator < len(seeds) else ()
        return numbers[place] if place < len(numbers) else None

    @property
    def bits(self) -> int:
        """The number of bits that its values have."""
        return max(value.bit_length() for value in self.values)

    def __str__(self) -> str:
        return f"a seed of {self.bits} bits ({self.maker}, {self.line})"


@dataclass(frozen=True)
class _Call:
    """One call: what the adversary reads, and what generators were made of."""

    rows: Mapping[Place, NDArray[Any]]
    seeds: Seeds


@dataclass(frozen=True)
class UntracedSeeds:
    """The short seeds of a protocol in use, and what its adversary makes of them."""

    reading: DirectReading
    protocol: Any

    def findings(self, missed: list[str]) -> list[Finding]:
        """Compute the inputs of nodes whose masks follow from one short seed that the adversary does not know."""
        calls = [self._call(run, self._secrets(run)) for run in range(min(_RECORDED, self._runs))]
        seeds = short_seeds([call.seeds for call in calls])
        if not seeds or self._runs < _LEAST:
            return []
        unknown = self._unknown(seeds, calls)
        collected = [finding for node in self.reading.nodes if (finding := self._of_node(node, unknown, calls[0]))]
        if not collected:
            missed += [f"{seed} was not tried alone: other masks are with it" for seed in unknown[:1]]
        return collected

    @property
    def _iteration(self) -> int:
        return next(iter(self.reading.inputs))

    @property
    def _inputs(self) -> Array:
        """Inputs of all runs (n, runs, m)."""
        return self.reading.inputs[self._iteration]

    @property
    def _runs(self) -> int:
        return min(_RUNS, int(self._inputs.shape[1]))

    def _secrets(self, run: int, again: int | None = None) -> Any:
        """Draw the masks (1, k, w) of a run, and one of them once more if it is named."""
        instance, m = self.reading.instance, self._inputs.shape[2]
        draws = [
            deep_copy(self.protocol).draw_masks(1, m, instance.network, stream(instance.seed, *_STREAM, run, which))
            for which in ((0,) if again is None else (0, 1))
        ]
        masks = np.array(draws[0])
        if again is not None:
            masks[:, again] = np.asarray(draws[1])[:, again]
        return masks

    def _call(self, run: int, masks: Any, *, zeros: bool = False, instead: Mapping[int, int] | None = None) -> _Call:
        """Call the protocol on the inputs of a run, or zeros, with some seeds replaced by others."""
        instance, seeds = self.reading.instance, Seeds()
        inputs = np.ascontiguousarray(self._inputs[:, run : run + 1].transpose(1, 0, 2), dtype=float)
        channel, rng = Channel(), stream(instance.seed, *_STREAM, "coins", run)
        channel.iteration = self._iteration
        protocol = deep_copy(self.protocol)

        def average(line: Channel) -> Any:
            vectors = 0 * inputs if zeros else inputs.copy()
            return protocol.average(vectors, instance.network, rng, masks=np.array(masks), channel=line)[0]

        with recorded_seeds(lambda *seed: seeds.append(seed), _replacing(instead or {})):
            call = record_call(average, channel)
        corrupt = instance.adversary.corrupt_nodes(instance.network)
        return _Call({} if call.failure else numbers_read(call, instance.adversary, instance.network, corrupt), seeds)

    def _unknown(self, seeds: Sequence[ShortSeed], calls: Sequence[_Call]) -> list[ShortSeed]:
        """Select the seeds that the adversary neither reads nor computes from masks that it reads."""
        masks = self._secrets(0)
        if masks.ndim != 3 or masks.shape[1] > _MOST_SECRETS:
            return []
        read = {number for call in calls[:1] for rows in call.rows.values() for number in rows.ravel().tolist()}
        known, hidden = set[int](), set[int]()
        for secret in range(masks.shape[1]):
            again = {number for *_, numbers in self._call(0, self._secrets(0, secret)).seeds for number in numbers}
            changed = {seed.values[0] for seed in seeds if seed.values[0] not in again}
            (known if set(masks[0, secret].tolist()) <= read else hidden).update(changed)
        known = (known - hidden) | {number for number in read if number >= _CODE_SIZED}
        return [seed for seed in seeds if seed.values[0] not in known]

    def _of_node(self, node: int, unknown: Sequence[ShortSeed], call: _Call) -> Finding | None:
        """Test the messages of a node that have the masks of one unknown seed."""
        for seed, places in self._behind(node, unknown, call).items():
            for place in places:
                if (values := self._without_masks(place, seed)) is None:
                    continue
                reading = AffineReading(str(place[0]), "a number", node, values, np.ones(values.shape[1]))
                truth = self._inputs[:, : self._runs].transpose(1, 0, 2)
                decoded = decode_directly(truth, [reading], [node], self.reading.honest, self._runs // 2)
                if node in decoded:
                    return self._finding(node, decoded[node], _in_words(seed, place))
        return None

    def _finding(self, node: int, decoded: DirectDecoding, how: str) -> Finding:
        return in_all_runs(
            self.reading.case.about(node),
            decoded.runs,
            [f"{how}; shown in {decoded.runs} of {decoded.runs} runs", *self.reading.reasons[:1]],
            method=f"what the code makes of a guessed seed, in {decoded.runs} runs that were not fitted on",
            complete=decoded.complete,
        )

    def _behind(self, node: int, unknown: Sequence[ShortSeed], call: _Call) -> dict[ShortSeed, list[Place]]:
        """Find the messages of a node that change with one unknown seed and no other."""
        sent = [place for place, rows in call.rows.items() if place[0].sender == node and rows.dtype.kind in "iuf"]
        changed: dict[Place, list[ShortSeed]] = {place: [] for place in sent if place[0].line != "held"}
        for seed in unknown:
            other = self._call(0, self._secrets(0), instead={seed.values[0]: seed.values[0] ^ 1})  # no more bits
            for place, seeds in changed.items():
                if place not in other.rows or not np.array_equal(other.rows[place], call.rows[place]):
                    seeds.append(seed)
        one = [(seeds[0], place) for place, seeds in changed.items() if len(seeds) == 1]
        return {seed: [place for of, place in one if of == seed] for seed, _ in one}

    def _without_masks(self, place: Place, seed: ShortSeed) -> Array | None:
        """Subtract the masks of the seed that makes numbers smallest; None if others may do so too."""
        used = [self._call(run, self._secrets(run)) for run in range(self._runs)]
        right = [value for call in used if (value := seed.of(call.seeds)) is not None]
        if len(right) < len(used):
            return None
        sample = stream(seed.bits, "soundness", "seeds").integers(2**seed.bits, size=SAMPLE)
        candidates = np.array([*sample.tolist(), *right])
        blank = [self._blank(run, place, value, candidates[0].item()) for run, value in enumerate(right)]
        masks = [self._blank(0, place, right[0], value) for value in candidates.tolist()]
        rows = [call.rows.get(place, _NOTHING) for call in used]
        if len({(row.shape, row.dtype) for row in (*rows, *blank, *masks)}) > 1:
            return None
        for modulus in self._moduli(rows[0].dtype):
            left = _less(np.concatenate(rows), np.concatenate(blank), modulus)
            mask_steps = _less(np.concatenate(masks), masks[0], modulus)
            size = np.abs(centred(_less(left[None], mask_steps[:, None], modulus), modulus))[:, :, :LOOKED_AT]
            wrong = mistaken(size.max(axis=2), candidates, np.array(right), size.shape[2])
            if wrong * 2.0**seed.bits < MISTAKEN:
                return centred(_less(left, mask_steps[SAMPLE:], modulus), modulus)
        return None

    def _blank(self, run: int, place: Place, value: int, instead: int) -> NDArray[Any]:
        """Return what is read of a message on inputs of zero, with another value of a seed."""
        return self._call(run, self._secrets(run), zeros=True, instead={value: instead}).rows.get(place, _NOTHING)

    def _moduli(self, kind: np.dtype[Any]) -> list[int]:
        """List the moduli of a message: that of its words, and those in which masks may vanish; 0 for floats."""
        if kind.kind == "f":
            return [0]
        steps = {int(step) for step in self.reading.steps if step == int(step) and _CODE_SIZED < step < 2**62}
        return [256**kind.itemsize, *sorted(steps)]


def short_seeds(calls: Sequence[Seeds]) -> list[ShortSeed]:
    """Find the numbers of few bits that vary from call to call, alone in what a generator is made of.

    >>> short_seeds([[(None, "default_rng", (7, 0))], [(None, "default_rng", (9, 0))]])[0].bits
    4
    """
    if len({tuple(len(numbers) for *_, numbers in seeds) for seeds in calls}) != 1:
        return []
    by_numbers: dict[Numbers, ShortSeed] = {}
    for generator, (line, maker, _) in enumerate(calls[0]):
        columns = list(zip(*(seeds[generator][2] for seeds in calls), strict=True))
        varying = [place for place, column in enumerate(columns) if len(set(column)) > 1]
        if len(varying) == 1 and all(0 <= value < 2**_SHORT for value in columns[varying[0]]):
            values = columns[varying[0]]
            by_numbers.setdefault(values, ShortSeed(values, (generator, varying[0]), line, maker))
    return list(by_numbers.values())


def _replacing(instead: Mapping[int, int]) -> Callable[[str, Any], Any]:
    """Make a function that replaces numbers in what a generator is made of."""

    def replace(seed: Any) -> Any:
        if isinstance(seed, (list, tuple)):
            return [replace(each) for each in seed]
        if isinstance(seed, np.ndarray):
            return [replace(each) for each in seed.tolist()]
        return instead.get(int(seed), seed) if isinstance(seed, (int, np.integer)) else seed

    return lambda name, args: tuple(map(replace, args))


def _less(rows: Any, others: Any, modulus: int) -> NDArray[Any]:
    """Subtract numbers, modulo ``modulus`` where it is not 0."""
    if not modulus:
        return np.asarray(rows - others)
    if modulus == WORDS:
        return np.asarray(rows.astype(np.uint64) - others.astype(np.uint64))
    return np.asarray((rows.astype(np.int64) % modulus - others.astype(np.int64) % modulus) % modulus)


def _in_words(seed: ShortSeed, place: Place) -> str:
    return (
        f"its masks follow from {seed}: {tried_by_sample(duration(2.0**seed.bits))}; '{place[0].kind}' without its "
        "masks is its input; draw seeds of at least 128 bits"
    )
