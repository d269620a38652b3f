"""Cache of what nodes compute from their own rows: an audit runs the same rows under one attack after the other."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from typing import Generic, TypeVar

from secmix._base.checks import Array

T = TypeVar("T")


class Remembered(Generic[T]):
    """The latest results of a function that makes the same of the same arrays, up to a number of them.

    ``most``: how many results are stored; the one longest unused goes first.

    >>> import numpy as np
    >>> known = Remembered[str](most=1)
    >>> key = known.key(np.ones(2), "median")
    >>> known.put(key, "found")
    >>> known.get(known.key(np.ones(2), "median")), known.get(known.key(np.ones((2, 1)), "median"))
    ('found', None)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._results: OrderedDict[Hashable, T] = OrderedDict()

    @staticmethod
    def key(array: Array, *settings: Hashable) -> Hashable:
        """Make a key, equal where the array, to the last bit, and the settings are equal."""
        digest = hashlib.blake2b(array.tobytes(), digest_size=20).digest()
        return digest, array.shape, array.dtype.str, *settings

    def get(self, key: Hashable) -> T | None:
        """Return what was put there, or None."""
        with suppress(KeyError):  # another thread may have let it go
            self._results.move_to_end(key)
        return self._results.get(key)

    def put(self, key: Hashable, result: T) -> None:
        """Keep a result, which nobody may change from now on."""
        self._results[key] = result
        if len(self._results) > self.most:
            self._results.popitem(last=False)
