"""The functions of a library that seal what a protocol declares as sealed: they are tried, and not followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Cipher:
    """An additively homomorphic cipher, as a library has it (Paillier 1999, section 3, for one)."""

    # ``words(inputs (runs, n, m)) -> (runs, n, m)``: the signed integers that are encrypted
    words: Callable[[ArrayLike], Any]
    # ``encrypt(word)``: what passes, an integer, bytes, or a tuple of such. Whoever has the public key calls it
    encrypt: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]  # ``add(one, other)``: what seals the sum of what these seal. It needs no secret key
    decrypt: Callable[[Any], Any]  # ``decrypt(sealed)``: the integer, for who has the secret key
    # the numbers of the public key that it computes modulo, or modulo a power of; of Paillier the product of primes
    public: Sequence[int]
    holders: tuple[int, ...]  # the nodes that have the secret key

    @property
    def place(self) -> str:
        """Name the place where ``encrypt`` is written."""
        code = getattr(self.encrypt, "__code__", None)
        return f"{os.path.basename(code.co_filename)}, line {code.co_firstlineno}" if code else repr(self.encrypt)
