"""Secret sharing of single numbers as it should be: fewer nodes than join a share learn nothing but the sum."""

from __future__ import annotations

import secrets
import sys

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.wrap import ShareSum

from ..honest.shares import PRIME, join
from .published import right


def split(word: int, n: int) -> list[int]:
    """Share a number by a polynomial of degree two, with a coefficient for each power."""
    first, second = secrets.randbelow(PRIME), secrets.randbelow(PRIME)
    return [(word + first * x + second * x**2) % PRIME for x in range(1, n + 1)]


def protocol() -> ShareSum:
    """Make the protocol, with the coins of this module."""
    return ShareSum(split, join, modulus=PRIME, coins=sys.modules[__name__])


SHAMIR = "Shamir 1979, How to share a secret: two shares of three are uniform, whatever the number is"
CASES = [
    right("shares of numbers, for two nodes", protocol, HonestButCurious({1, 2}), SHAMIR),
    right("shares of numbers, for the server", protocol, CuriousServer(), SHAMIR),
]
