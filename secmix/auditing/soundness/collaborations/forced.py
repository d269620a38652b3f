"""Generators of which one draw comes out at an end of its range: a rare coin must not open what the usual ones hide.

Where nothing is forced, or only the bits, the generator is NumPy's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_TOP = 1.0 - 2.0**-53
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
