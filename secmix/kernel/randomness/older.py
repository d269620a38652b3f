"""Generators of old, of a secret seed: NumPy's ``RandomState`` and Python's ``Random``. Both are the Mersenne Twister.

Seeded by a public number they are themselves: what they draw is public, and the same in every call.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from secmix.kernel.randomness.coins import SYSTEM, by_value
from secmix.kernel.randomness.draws import (
    LAWS,
    OfStream,
    is_seed,
    numbers_of,
    parameters,
    pieces_of,
    pieces_of_several,
    secretly,
    unseeded,
)
from secmix.kernel.randomness.secret_bytes import Piece, SecretBytes, as_pieces, bare
from secmix.kernel.randomness.streams import Stream, is_of_secrets, stream_of
from secmix.kernel.values.arrays import are_below
from secmix.kernel.values.current_trace import INF, may_stop, now, tracing
from secmix.kernel.values.numbers import Number

_WORD = 32  # bits of a number that seeds RandomState
_SEEDED_ALIKE = ("random.Random", "RandomState by several numbers")  # both by words of 32 bits
_Law = Callable[..., tuple[str, tuple[Any, ...], dict[str, Any]]]


def _like(name: str) -> _Law:
    return lambda *args, **kw: (name, args, kw)


class _StandsFor(type):
    """Class of classes that stand for a generator's: they make that itself where the seed is public."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.original) or type(value) is cls  # type: ignore[attr-defined]

    def __call__(cls, seed: Any = None) -> Any:
        return cls.made(seed)  # type: ignore[attr-defined]


class _Older(OfStream):
    """A generator that draws from the stream of its seed."""

    stream: Stream
    laws: ClassVar[Mapping[str, _Law]]  # by method: which method of NumPy's newer generators has this law, and of what

    def __init__(self, real: Any, label: str, pieces: Iterable[Piece], most_bits: float = INF) -> None:
        self.real, self.stream = real, stream_of(f"MT19937 of {label}", pieces, most_bits=most_bits)
        if {f"MT19937 of {each}" for each in _SEEDED_ALIKE} <= {each.key[0] for each in now().streams}:
            now().leave(f"a seed of {' and one of '.join(_SEEDED_ALIKE)}, which of the same words draw the same,")

    def __getattr__(self, name: str) -> Any:
        if name not in self.laws:
            now().leave(f".{name} of a generator with a secret seed")
        return functools.partial(self._drawn, name)

    def _drawn(self, name: str, *args: Any, **kw: Any) -> Any:
        args, kw = parameters(args, kw)
        drawn = getattr(self.real, name)(*args, **kw)
        law = self.laws[name](*args, **kw)
        return self.next_of(self.stream, (name, args, kw), lambda: secretly(law[0], drawn, *law[1:], self.stream))


class RandomStateDraws(_Older, metaclass=_StandsFor):
    """Stands for ``numpy.random.RandomState``: one number seeds it by 32 bits, several by all of theirs."""

    original = np.random.RandomState
    laws = {name: _like(name) for name in LAWS if hasattr(np.random.RandomState, name)} | {
        **{"bytes": _like("bytes"), "random_sample": _like("random"), "randint": _like("integers")},
        **{"rand": lambda *shape: ("random", (), {}), "randn": lambda *shape: ("standard_normal", (), {})},
    }

    @classmethod
    def made(cls, seed: Any) -> Any:
        if not is_seed(seed):
            seed = by_value(lambda given: given, seed)
            return cls.original() if seed is None else unseeded(lambda: cls.original(seed))
        several = list(numbers_of(seed))
        pieces = pieces_of_several(several)
        if not are_below(several, 2**_WORD):
            may_stop(f"a seed of RandomState that may have more than {_WORD} bits")
        plain: Any = [int(getattr(each, "value", each)) for each in several]
        if isinstance(seed, Number) or (isinstance(seed, np.ndarray) and seed.size == 1):
            return type.__call__(cls, unseeded(lambda: cls.original(plain[0])), "RandomState", pieces, _WORD)
        return type.__call__(cls, unseeded(lambda: cls.original(plain)), "RandomState by several numbers", pieces)


class PythonsDraws(_Older, metaclass=_StandsFor):
    """Stands for ``random.Random``: a number of any length seeds it, or bytes; the system where nothing does."""

    original = random.Random
    laws: ClassVar[Mapping[str, _Law]] = {
        **{"random": _like("random"), "uniform": _like("uniform"), "randbytes": _like("bytes")},
        **{"gauss": _like("normal"), "normalvariate": _like("normal")},
        "randrange": lambda start, stop=None, step=1: ("integers" if step == 1 else "randrange", (start, stop), {}),
        "getrandbits": lambda k: ("integers", (0, 2**k), {}),
        "randint": lambda a, b: ("integers", (a, b + 1), {}),
    }

    @classmethod
    def made(cls, seed: Any) -> Any:
        if isinstance(seed, Number):
            if bare(seed) is not None and not seed.below:
                now().leave("a seed that may be negative")
            return type.__call__(cls, cls.original(seed.value), "random.Random", pieces_of(seed))
        if isinstance(seed, SecretBytes):
            if is_of_secrets(pieces := as_pieces([seed])):
                return type.__call__(cls, cls.original(seed.plain), "random.Random by bytes", pieces)
            seed = seed.plain
        if seed is None and tracing():
            now().narrow(SYSTEM)
        return by_value(cls.original, seed)
