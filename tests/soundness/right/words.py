"""Right protocols of whole words: their numbers wrap around, and nothing but the average follows from them."""

from __future__ import annotations

import secrets
import sys
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.wrap import ShareSum

from ..bases import Pairwise, Words
from ..honest.shares import PRIME, join
from .published import BONAWITZ, PERFECT, right


class Warns(Words):
    """Notes where a number is below zero, and does nothing about it."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        self.__dict__["warned"] = bool(s[0].min() < 0)
        return hidden


class Rounded(Pairwise):
    """Sends masked numbers in single precision."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return hidden.astype(np.float32).astype(float)


def split(word: int, n: int) -> list[int]:
    """Share a number by a polynomial of degree two, with a coefficient for each power."""
    first, second = secrets.randbelow(PRIME), secrets.randbelow(PRIME)
    return [(word + first * x + second * x**2) % PRIME for x in range(1, n + 1)]


def shared() -> ShareSum:
    """Make a protocol of that, with the coins of this module."""
    return ShareSum(split, join, modulus=PRIME, coins=sys.modules[__name__])


SHAMIR = "Shamir 1979, How to share a secret: two shares of three are uniform, whatever the number is"
BRANCH = "a branch on a secret, which decides what is noted"
SINGLE = "sums in single precision are not followed"
CASES = [
    right("words for a server", Words, CuriousServer(), BONAWITZ),
    right("words for a neighbour", Words, HonestButCurious({1}), PERFECT),
    right("words and a note", Warns, CuriousServer(), BONAWITZ, undecided=BRANCH),
    right("sent in single precision", Rounded, CuriousServer(), BONAWITZ, undecided=SINGLE),
    right("shares of numbers, for two nodes", shared, HonestButCurious({1, 2}), SHAMIR),
    right("shares of numbers, for the server", shared, CuriousServer(), SHAMIR),
]
