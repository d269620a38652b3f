"""Threshold secret sharing of whole vectors over a prime field (Shamir 1979, How to share a secret).

The secret is the value at 0 of a polynomial of degree t − 1, a share its value at 1, 2, .... A polynomial is fixed here
by the secret and its first t − 1 shares, which are drawn; this is the same distribution as of drawn coefficients, and
the other shares are combinations with small integer coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]

_AT_ONCE = 32  # terms whose sum is divided in one go
_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # decide every number below 2^64 (Sorenson, Webster 2017)


@lru_cache(maxsize=64)
def prime_below(bits: int) -> int:
    """Find the largest prime below 2^bits.

    >>> prime_below(8), 2**52 - prime_below(52)
    (251, 47)
    """
    candidate: int = 2**bits - 1
    while not _is_prime(candidate):
        candidate -= 2
    return candidate


def share_coefficients(threshold: int, shares: int) -> list[list[int]]:
    """Compute the coefficients (shares, threshold) of each share in the secret and the drawn shares.

    Lagrange's formula on the points 0 … t − 1; its values at integers are integers.

    >>> share_coefficients(3, 4)
    [[0, 1, 0], [0, 0, 1], [1, -3, 3], [3, -8, 6]]
    """
    rows = []
    for x in range(1, shares + 1):
        if x < threshold:
            rows.append([int(i == x) for i in range(threshold)])
        else:
            signs = [(-1) ** (threshold - 1 - i) for i in range(threshold)]
            rows.append([signs[i] * comb(x, i) * comb(x - i - 1, threshold - 1 - i) for i in range(threshold)])
    return rows


def recovery_coefficients(points: Sequence[int], prime: int) -> list[int]:
    """Compute the coefficients with which shares at ``points`` add up to the secret, modulo ``prime``.

    >>> recovery_coefficients([1, 2, 3], 251)
    [3, 248, 1]
    """
    out = []
    for i in points:
        above = below = 1
        for j in points:
            if j != i:
                above, below = above * j % prime, below * (j - i) % prime
        out.append(above * pow(below, -1, prime) % prime)
    return out


def weighted_sums(rows: Sequence[Sequence[int]], words: Words, prime: int) -> Words:
    """Compute Σ_j c_ij w_j modulo ``prime`` for each row c_i, (rows, ...), exact for words (count, ...) below 2^52.

    >>> weighted_sums([[-1, 2**51]], np.array([[5], [4]]), 251).tolist() == [[(-5 + 2**53) % 251]]
    True
    """
    flat = words.reshape(len(words), prod(words.shape[1:]))
    total = np.zeros((len(rows), flat.shape[1]), dtype=np.int64)
    for start in range(0, len(words), _AT_ONCE):
        part = flat[start : start + _AT_ONCE]
        centred = np.array([[_centred(c, prime) for c in row[start : start + _AT_ONCE]] for row in rows])
        # Sums and products wrap around at 2^64, and so does what is taken off. What is left is small in truth: of 32
        # terms below 2^51 the quotient is off by less than 300 (half a unit a term, and eight each time one is added).
        quotients = np.rint(centred / prime @ part.astype(np.float64)).astype(np.int64)
        total += centred @ part - quotients * np.int64(prime)
        total %= prime
    return total.reshape(len(rows), *words.shape[1:])


def _centred(factor: int, prime: int) -> int:
    return (factor + prime // 2) % prime - prime // 2


def _is_prime(number: int) -> bool:
    """Test for a prime as Miller and Rabin do; with these witnesses the test is exact for numbers of 64 bits."""
    if number < 2 or any(number % p == 0 for p in _WITNESSES):
        return number in _WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for witness in _WITNESSES:
        x = pow(witness, odd, number)
        if x not in (1, number - 1) and all((x := x * x % number) != number - 1 for _ in range(twos - 1)):
            return False
    return True
