"""Paillier's cipher as a library has it (Paillier 1999, section 4, scheme 1 with base n + 1), and wrong ones."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Paillier:
    """A key of two primes, which need not be safe ones."""

    p: int
    q: int

    @property
    def n(self) -> int:
        """The public key."""
        return self.p * self.q

    def encrypt(self, word: Any, r: int | None = None) -> int:
        """Seal a signed whole number."""
        r = secrets.randbelow(self.n - 1) + 1 if r is None else r
        return (1 + self.n * word) * pow(r, self.n, self.n**2) % self.n**2

    def add(self, one: int, other: int) -> int:
        """Seal the sum."""
        return one * other % self.n**2

    def decrypt(self, sealed: int) -> int:
        """Open it."""
        order = math.lcm(self.p - 1, self.q - 1)
        found = (pow(sealed, order, self.n**2) - 1) // self.n * pow(order, -1, self.n) % self.n
        return found - self.n if found > self.n // 2 else found


SMALL = Paillier(2**89 - 1, 2**107 - 1)
"""Of Mersenne primes, for tests that take no time; far too short for use."""
LARGE = Paillier(2**61 - 1, 2**2203 - 1)
"""As long as keys in use, and of no use: one factor is short, and everybody knows both."""
