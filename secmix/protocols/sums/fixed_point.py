"""Fixed-point numbers as words modulo a prime: what float64 messages carry exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secmix._base.checks import Array, word
from secmix.errors import DataError
from secmix.protocols.sums.shamir import Words, prime_below


@dataclass(frozen=True)
class FixedPoint:
    """Numbers with ``fraction_bits`` behind the binary point, modulo the largest prime below 2^``bits``.

    >>> code = FixedPoint(52, 24)
    >>> code.decoded(code.encoded(np.array([[[-1.5]]]))[0] % code.prime).tolist()
    [[-1.5]]
    """

    bits: int
    fraction_bits: int

    def __post_init__(self) -> None:
        word(self.bits, self.fraction_bits)

    @cached_property
    def prime(self) -> int:
        """The modulus of the words."""
        return prime_below(self.bits)

    @property
    def grid(self) -> float:
        """The number that a word of 1 stands for."""
        return 2.0**-self.fraction_bits

    def words(self, payload: Array) -> Words:
        """Convert a message to the words that it carries."""
        # A power of two: the product is as exact as the quotient.
        steps = np.multiply(payload, 2.0**self.fraction_bits, dtype=np.float64)
        return np.asarray(np.rint(steps, out=steps).astype(np.int64) % self.prime)

    def payload(self, words: Words) -> Array:
        """Convert words to the message that carries them."""
        return np.asarray(words % self.prime * self.grid)

    def encoded(self, inputs: Array) -> Words:
        """Encode inputs (runs, n, m) in steps of the grid, by node: (n, runs, m), negative ones too.

        Raises DataError if a sum may not fit.
        """
        words = np.rint(inputs / self.grid)
        largest = np.abs(words).sum(axis=1).max(initial=0.0)
        if largest >= self.prime / 2:
            raise DataError(
                f"a sum may reach {float(largest) * self.grid:.3g}, beyond ±{self.prime / 2 * self.grid:.3g}, the "
                f"range of {self.bits} bits with {self.fraction_bits} behind the point; scale the data down or lower "
                "fraction_bits"
            )
        return np.ascontiguousarray(words.transpose(1, 0, 2).astype(np.int64))

    def decoded(self, words: Words) -> Array:
        """Decode words to numbers of either sign."""
        return np.asarray(np.where(words > self.prime // 2, words - self.prime, words) * self.grid)
