"""Threshold secret sharing of whole vectors over a prime field (Shamir 1979, How to share a secret).

The secret is the value at 0 of a polynomial of degree t − 1, a share its value at 1, 2, .... A polynomial is fixed here
by the secret and its first t − 1 shares, which are drawn; this is the same distribution as of drawn coefficients, and
the other shares are combinations with small whole coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.int64]

_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)  # decide every number below 2^64 (Sorenson, Webster 2017)


def prime_below(bits: int) -> int:
    """The largest prime below 2^bits.

    Examples
    --------
    >>> prime_below(8), 2**52 - prime_below(52)
    (251, 47)
    """
    candidate: int = 2**bits - 1
    while not _is_prime(candidate):
        candidate -= 2
    return candidate


def share_coefficients(threshold: int, shares: int) -> list[list[int]]:
    """What each of ``shares`` shares is made of: coefficients (shares, threshold) of the secret and the drawn shares.

    Lagrange's formula on the points 0 … t − 1; its values at whole points are whole.

    Examples
    --------
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
    """The coefficients with which shares at ``points`` add up to the secret, modulo ``prime``.

    Examples
    --------
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


def combined(coefficients: Sequence[int], words: Sequence[Words] | Words, prime: int) -> Words:
    """Σ c_i w_i modulo ``prime``, exact for words below 2^52.

    Examples
    --------
    >>> combined([-1, 2**51], [np.array([5]), np.array([4])], 251).tolist() == [(-5 + 2**53) % 251]
    True
    """
    total = np.zeros_like(words[0])
    for place, (factor, word) in enumerate(zip(coefficients, words, strict=True)):
        factor %= prime
        if factor == 0:
            continue
        # Both products wrap around at 2^64, and so does their difference, which is between -2 and 2 primes in truth:
        # the quotient is off by two units of rounding of a number below 2^51, and by a half.
        factor -= prime * (factor > prime // 2)
        quotient = np.rint(word * (factor / prime)).astype(np.int64)
        total = total + (word * np.int64(factor) - quotient * np.int64(prime))
        if place % 256 == 255:  # so many are still far below 2^63
            total %= prime
    return total % prime


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test, which these witnesses make exact for numbers of 64 bits."""
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
