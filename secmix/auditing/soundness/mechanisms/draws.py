"""Public draws: schedules and coins that everybody hears. A rare one must not open what the usual ones keep closed.

Each of the first draws is forced to either end of its range and between the numbers in the code, all of them together
too, and the protocol is called on many fresh seeds. Where
nothing is forced, or only the bits, the generator is numpy's own: a protocol may look at what it is handed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.random import sequence
from secmix.auditing.soundness.constants import between
from secmix.auditing.soundness.masks.mixed import Mixed
from secmix.auditing.soundness.mechanisms.moves import faint
from secmix.auditing.soundness.model import Bench, Model, note_shares, read_model
from secmix.auditing.soundness.result import Check, Witness
from secmix.auditing.soundness.runner import ALLOWED

NAME = "public draws"
_TOP = 1.0 - 2.0**-53
_MESSAGES = 8_000  # over all seeds; three times as many where a call sends few
_SEEDS = (8, 240)
_OTHERS: tuple[Any, ...] = (np.random.Philox, np.random.MT19937, np.random.SFC64)
_OTHER = 10_000  # the first of the seeds of generators of another kind
ALL, _TOGETHER = -2, 8  # draws forced together: no more, for some code draws until it has another
_ONES = 2**64 - 1


@dataclass
class Count:
    """Draws so far, over a generator and all it spawned; the one to be forced, and to which end."""

    draws: int = 0
    forced: int = -1
    part: float = 0.0

    @property
    def high(self) -> bool:
        """Whether to the upper end."""
        return self.part > 0.5

    def hit(self) -> bool:
        """Whether this draw is to be forced."""
        self.draws += 1
        return self.forced == self.draws - 1 or (self.forced == ALL and self.draws <= _TOGETHER)


class Forced(np.random.Generator):
    """A generator of which one draw comes out at the end of its range."""

    count: Count

    def __init__(self, bit_generator: Any, count: Count | None = None) -> None:
        super().__init__(bit_generator)
        self.count = Count() if count is None else count

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Children whose draws count too."""
        return [Forced(child.bit_generator, self.count) for child in super().spawn(n_children)]

    def _end(self, drawn: Any, low: Any, high: Any) -> Any:
        if not self.count.hit():
            return drawn
        end = high if self.count.high else low
        if 0 < self.count.part < 1:
            end = low + self.count.part * (high - low)
        if isinstance(drawn, np.ndarray):  # of no dimension too: numpy asks for such itself
            return np.broadcast_to(end, drawn.shape).astype(drawn.dtype)
        return type(drawn)(end)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As numpy's, or 0 or 1 − 2⁻⁵³."""
        return self._end(super().random(size, dtype), 0.0, _TOP)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """As numpy's, or either end."""
        return self._end(super().uniform(low, high, size), low, np.nextafter(high, low))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """As numpy's, or the least or the largest."""
        begin, end = (0, low) if high is None else (low, high)
        drawn = super().integers(low, high, size, dtype, endpoint)
        return self._end(drawn, begin, end if endpoint else np.asarray(end) - 1)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """As numpy's, or eight deviations off."""
        drawn = super().normal(loc, scale, size)
        return self._end(drawn, np.asarray(loc) - 8 * np.asarray(scale), np.asarray(loc) + 8 * np.asarray(scale))

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """As numpy's, or eight deviations off."""
        return self._end(super().standard_normal(size, dtype), -8.0, 8.0)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """As numpy's, or in order, or backwards."""
        drawn = super().permutation(x, axis)
        if not self.count.hit():
            return drawn
        given = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
        return np.flip(given, axis) if self.count.high else given.copy()

    def choice(self, a: Any, *arguments: Any, **more: Any) -> Any:
        """As numpy's, or the first or the last each time."""
        drawn = super().choice(a, *arguments, **more)
        if not self.count.hit() or more.get("replace") is False:
            return drawn
        options = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        end = options[-1 if self.count.high else 0]
        return end if np.ndim(drawn) == 0 else np.broadcast_to(end, np.shape(drawn)).copy()

    def bytes(self, length: int) -> bytes:
        """As numpy's, or all zeros or all ones."""
        drawn = super().bytes(length)
        if not self.count.hit():
            return drawn
        return (b"\xff" if self.count.high else b"\x00") * length

    def __getattribute__(self, name: str) -> Any:
        # Distributions that have no ends here still count as draws.
        if name in ("exponential", "poisson", "binomial", "geometric", "shuffle", "permuted", "gamma", "laplace"):
            self.count.draws += 1
        return super().__getattribute__(name)


def steered(seeds: np.random.SeedSequence, place: int, part: float) -> np.random.Generator:
    """A plain generator whose word at ``place`` is this ``part`` of its range, 0 to 1; so is what is drawn from it.

    PCG64 puts out its state's two halves, one xor the other, turned (O'Neill 2014, section 6.3), and can be run back.

    Examples
    --------
    >>> rng = steered(np.random.SeedSequence(0), 2, 1.0)
    >>> rng.random(4).round(3).tolist()[2], type(rng).__name__
    (1.0, 'Generator')
    >>> steered(np.random.SeedSequence(0), 0, 0.3455).integers(1000).tolist()
    345
    """
    bits = np.random.PCG64(seeds)
    bits.advance(place + 1)
    state: Any = bits.state
    half = min(int(part * 2**32), 2**32 - 1)  # both halves alike: a draw may take one
    word, high = half << 32 | half, state["state"]["state"] >> 64
    turn = high >> 58
    state["state"]["state"] = high << 64 | (high ^ ((word << turn | word >> (64 - turn)) & _ONES))
    bits.state = state
    bits.advance(2**128 - place - 1)
    return np.random.Generator(bits)


def public_draws(bench: Bench, models: list[Model]) -> Check:
    """Every variation must be linear too; what more it gives away is noted in the bench's shares."""
    before = bench.calls
    model = models[0]
    probed = bench.probed(model.case)

    def generator(seed: int, count: Count, plain: bool = True) -> np.random.Generator:
        seeds = sequence(bench.seed, "soundness", "public draws", seed)
        if not plain:
            return Forced(np.random.PCG64(seeds), count)
        if count.forced >= 0:
            return steered(seeds, count.forced, count.part)
        kind = _OTHERS[seed % len(_OTHERS)] if seed >= _OTHER else np.random.PCG64
        return np.random.Generator(kind(seeds))

    watch = Count()
    bench.call(model.case if bench.heavy else probed, rng=generator(model.case.seed, watch, plain=False))
    if not watch.draws:
        return Check(NAME, "not applicable", "The protocol draws nothing in public.", calls=1)
    messages = max((bench.most or 1) // ALLOWED, 1)
    seeds = 2 if bench.heavy else int(np.clip((3 if messages < 100 else 1) * _MESSAGES // messages, *_SEEDS))
    first = min(watch.draws, 8 if seeds > 60 else 1 if bench.heavy else 4)
    ends = [(k, part, plain) for k in range(first) for part in (0.0, 1.0) for plain in (False, True)]
    inner = bench.protocol.inner if isinstance(bench.protocol, Mixed) else bench.protocol
    parts = between(inner)
    ends += [
        (k, part, True)
        for part in (parts if bench.light else parts[:4])
        for k in range(min(first, 3 if bench.light else 1))
    ]
    again = len(models) if bench.light else 1
    tries = [(model.case.seed, Count(forced=k, part=part), plain) for k, part, plain in ends for _ in range(again)]
    tries += [(model.case.seed, Count(forced=ALL, part=part), False) for part in parts if bench.light]
    tries += [(1000 + k, Count(), True) for k in range(seeds)]
    tries += [(_OTHER + k, Count(), True) for k in range(min(seeds, 2 * len(_OTHERS)))]
    witness: Witness | None = None
    allowed = {node: max(note_shares(bench, each)[node] for each in models) for node in bench.asked}
    more: str | None = None
    for turn, (seed, count, plain) in enumerate(tries):
        model = models[turn % len(models)]
        call = bench.call(bench.probed(model.case), rng=generator(seed, count, plain))
        where = f"public draw {count.forced} forced to {count.part:.2g} of its range"
        if count.forced == -1:
            where = "another public seed"
        if call.failure:
            witness = Witness(where, f"the call ends with {call.failure}")
            break
        other = read_model(bench, replace(model.case, seed=seed), call)
        if other.odd is not None:
            witness = Witness(where, str(other.odd))
            break
        if faint(bench, models, other):
            witness = Witness(where, "masks hide less than usual")
            break
        shares = note_shares(bench, other)
        worse = [node for node, share in shares.items() if share > allowed[node] + 1e-6]
        if worse and more is None:
            more = f"With {where}, {shares[worse[0]]:.0%} of what node {worse[0]} sends is known."
    done = bench.calls - before
    if witness is not None:
        return Check(NAME, "failed", "With other public draws the protocol is another.", witness, done)
    sentence = f"Over {done} calls with other public draws, extreme ones among them, no more was given away."
    rare = 1 - 0.05 ** (1 / seeds)  # what comes up more often would have been met with 95 % confidence
    odds = f"Public draws that come up in fewer than {rare:.2g} of the calls may give away more, unless extreme."
    return Check(NAME, "passed", more or sentence, calls=done, assumes=odds)
