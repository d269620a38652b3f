"""A library of secret sharing as engineers write them, for tests of the glue around one, and its usual mistakes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from random import SystemRandom

PRIME = 2**31 - 1
_GENERATOR = SystemRandom()


def shamir(word: int, n: int, threshold: int = 3) -> list[int]:
    """Share a word by a polynomial of random coefficients."""
    if not 0 <= word < PRIME:
        raise ValueError("the word is no element of the field")
    return _values([word, *(secrets.randbelow(PRIME) for _ in range(threshold - 1))], n)


def of_generator(word: int, n: int) -> list[int]:
    """Draw the coefficients from a generator of the module's own."""
    return _values([word, *(_GENERATOR.randrange(PRIME) for _ in range(2))], n)


def not_reduced(word: int, n: int) -> list[int]:
    """Leave out the remainder: a share is a word and small multiples of the coefficients."""
    coefficients = [secrets.randbelow(PRIME) for _ in range(2)]
    return [word + sum(c * x ** (k + 1) for k, c in enumerate(coefficients)) for x in range(1, n + 1)]


def one_coefficient(word: int, n: int) -> list[int]:
    """Take one coefficient for all powers."""
    return _values([word, *[secrets.randbelow(PRIME)] * 2], n)


def until_odd(word: int, n: int) -> list[int]:
    """Draw again what is even."""
    coefficient = secrets.randbelow(PRIME)
    while coefficient % 2 == 0:
        coefficient = secrets.randbelow(PRIME)
    return _values([word, coefficient, secrets.randbelow(PRIME)], n)


def _values(coefficients: Sequence[int], n: int) -> list[int]:
    return [sum(c * pow(x, k, PRIME) for k, c in enumerate(coefficients)) % PRIME for x in range(1, n + 1)]


def interpolated(shares: Sequence[int], count: int = 3) -> int:
    """Join the first shares."""
    total = 0
    for i in range(1, count + 1):
        above = below = 1
        for j in range(1, count + 1):
            if j != i:
                above, below = above * -j % PRIME, below * (i - j) % PRIME
        total += shares[i - 1] * above * pow(below, -1, PRIME)
    return total % PRIME


def additive(word: int, n: int) -> list[int]:
    """Share a word of 64 bits as words that add up to it."""
    shares = [int.from_bytes(os.urandom(12), "little") % 2**64 for _ in range(n - 1)]
    return [*shares, (word - sum(shares)) % 2**64]


def added(shares: Sequence[int]) -> int:
    """Join additive shares."""
    return sum(shares) % 2**64
