"""Secret sharing of single numbers, wrapped as a library's would be, with the slips of those who write it."""

from __future__ import annotations

import secrets
import sys
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.transcript import SERVER, Channel
from secmix.wrap import ShareSum

from ..case import ENTRY, Case, Deployed, Heard, each, input_of

PRIME, LONG = 2**31 - 1, 2**61 - 1
UNIT = 2.0**-16


def _values(coefficients: list[int], points: range, prime: int) -> list[int]:
    return [sum(c * x**k for k, c in enumerate(coefficients)) % prime for x in points]


def _joined(shares: list[int], points: range, prime: int) -> int:
    """Join the first three shares, by Lagrange's formula."""
    total = 0
    for i, x in enumerate(points[:3]):
        above = below = 1
        for other in points[:3]:
            if other != x:
                above, below = above * -other % prime, below * (x - other) % prime
        total += shares[i] * above * pow(below, -1, prime)
    return total % prime


def one_coefficient(word: int, n: int) -> list[int]:
    """Take one coefficient for both powers."""
    coefficient = secrets.randbelow(PRIME)
    return _values([word, coefficient, coefficient], range(1, n + 1), PRIME)


def from_zero(word: int, n: int) -> list[int]:
    """Count parties from zero: the share of the first is the number itself."""
    return _values([word, secrets.randbelow(PRIME), secrets.randbelow(PRIME)], range(n), PRIME)


def small(word: int, n: int) -> list[int]:
    """Draw coefficients of 20 bits for a field of 61."""
    return _values([word, secrets.randbelow(2**20), secrets.randbelow(2**20)], range(1, n + 1), LONG)


def not_reduced(word: int, n: int) -> list[int]:
    """Forget the prime."""
    coefficients = [word, secrets.randbelow(PRIME), secrets.randbelow(PRIME)]
    return [sum(c * x**k for k, c in enumerate(coefficients)) for x in range(1, n + 1)]


class ThroughTheServer:
    """Nodes have no lines to each other: a server passes their shares on, over encrypted lines."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: np.random.Generator) -> Array:
        """Draw all shares of a node but its own, (runs, n (n - 1), m)."""
        return rng.normal(scale=1e6, size=(runs, network.n * (network.n - 1), m))

    def average(
        self, inputs: Any, network: Any, rng: np.random.Generator, *, masks: Any = None, channel: Any = None
    ) -> tuple[Array, Any]:
        """Deal, add up, and tell the sum."""
        s, channel = np.asarray(inputs, dtype=float).transpose(1, 0, 2), channel or Channel()
        n, runs, m = s.shape
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        nodes, dealt = np.arange(n), masks.transpose(1, 0, 2)
        sender, to = np.nonzero(~np.eye(n, dtype=bool))
        channel.hold(-1, nodes, "input", s)
        channel.hold(-1, sender, "share", dealt)
        sums = s.copy()
        np.subtract.at(sums, sender, dealt)
        passed = channel.send(0, sender, SERVER, "share", dealt, encrypted=True, **self.key(to))
        arrived = channel.send(1, SERVER, to, "share of another", passed, encrypted=True)
        np.add.at(sums, to, arrived)
        mean = channel.send(2, nodes, SERVER, "sum of shares", sums).mean(axis=0)[None]
        mean = channel.send(3, SERVER, nodes, "average", mean, content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript

    def key(self, to: Array) -> dict[str, Any]:
        """Seal for nobody."""
        return {}


def join(shares: list[int]) -> int:
    """Join shares at 1, 2, 3."""
    return _joined(shares, range(1, 4), PRIME)


def join_long(shares: list[int]) -> int:
    """Join shares of the larger field."""
    return _joined(shares, range(1, 4), LONG)


def join_from_zero(shares: list[int]) -> int:
    """Take the share at zero, which is the sum."""
    return shares[0]


def wrapped(split: Any, join: Any, **more: Any) -> Any:
    """Return what makes the protocol, with the coins of this module."""
    return lambda: ShareSum(split, join, coins=sys.modules[__name__], **{"modulus": PRIME} | more)


def _signed(residues: Array, modulus: float) -> Array:
    return residues - modulus * np.round(residues / modulus)


def two_shares(heard: Heard) -> Array:
    """Take the coefficient off: what nodes 1 and 2 have is the word and 6 or 12 times it."""
    return _signed(2 * heard.one("share", 0, 1) - heard.one("share", 0, 2), PRIME * UNIT)


def bare(heard: Heard) -> Array:
    """Read the share at zero."""
    return _signed(heard.one("share", 1, 0), PRIME * UNIT)


def hardly_hidden(heard: Heard) -> Array:
    """Read a share as it is: what hides the word is small."""
    words = heard.all("share", 0, 1)[0].numbers[0].astype(object)  # type: ignore[index]
    return np.array([word - LONG * (word > LONG // 2) for word in words], dtype=float) * 2.0**-40


def parity(heard: Heard) -> float:
    """Take the first coefficient off: what nodes 1 and 2 have is off the word by a multiple of 6."""
    two, three = (round(float(heard.one("share", 0, k)[ENTRY]) / UNIT) for k in (1, 2))
    return float((3 * two - 2 * three) % 2)


def parity_of_word(truth: Deployed) -> float:
    """Say whether the word is odd."""
    return float(round(float(truth.inputs[0][0, 0, ENTRY]) / UNIT) % PRIME % 2)


def passed_on(heard: Heard) -> Array:
    """Take from what node 0 sends in the end what it was sent, and add what it dealt."""

    def total(*ends: Any) -> Any:
        return sum(message.numbers[0] for message in heard.all(*ends, 0))  # type: ignore[index]

    return np.asarray(heard.one("sum of shares", 0) + total("share", 0, SERVER) - total("share of another", SERVER, 0))


NAME = "secret sharing"
CASES = [
    Case("one coefficient for all powers", NAME, wrapped(one_coefficient, join), HonestButCurious({1, 2}),
         "two shares tell the number", attack=each(two_shares), secret=input_of(0), accuracy=2e-5),
    Case("parties from zero", NAME, wrapped(from_zero, join_from_zero), HonestButCurious({0}),
         "the share at zero is the number", node=1, attack=each(bare), secret=input_of(1), accuracy=2e-5),
    Case("coefficients of 20 bits", NAME, wrapped(small, join_long, modulus=LONG, fraction_bits=40),
         HonestButCurious({1}), "a share is all but the number", attack=each(hardly_hidden), secret=input_of(0),
         accuracy=1e-3),
    Case("shares not reduced", NAME, wrapped(not_reduced, join), HonestButCurious({1, 2}),
         "two shares tell the rest of the number by 6", attack=each(parity), secret=parity_of_word, goal="bits"),
    Case("shares through the server", NAME, ThroughTheServer, CuriousServer(), "it passes on all shares but one",
         attack=each(passed_on), secret=input_of(0), accuracy=1e-6),
]  # fmt: skip
