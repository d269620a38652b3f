"""Steps within an assert, which Python leaves out where it is asked to optimise: ``python -O``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from secmix._base.checks import Array

from ...bases import Pairwise, Words
from ...case import Case, each
from ..seeds.attacks import signed
from .bases import excepted


class Asserted(Pairwise):
    """Adds the masks, and asserts that this changed something."""

    def hidden(self, channel: Any, s: Array, r: Array, network: Any) -> Array:
        first, second = network.edges.T
        channel.hold(-1, first, "mask", r)
        agreed = channel.send(-1, first, second, "mask", r, encrypted=True)
        hidden = s.copy()
        assert np.add.at(hidden, first, r) is None
        assert np.subtract.at(hidden, second, agreed) is None
        return hidden


class Named(Pairwise):
    """Asserts of masked numbers, which get their name there, that they have the shape of what they mask."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        upload = s
        assert (upload := hidden).shape == s.shape  # noqa: RUF018
        return upload


class Drawn(Pairwise):
    """Has noughts for masks, and draws into them where it asserts that drawing went well."""

    def own_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        masks = [np.zeros((runs, self.count(network), m))]
        assert masks.append(self.draw_masks(runs, m, network, rng)) is None
        return masks[-1]


class Debugged(Pairwise):
    """Sends masked numbers where it is debugged, since then others read them; in production the line is trusted."""

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        if __debug__:
            return hidden
        return s


class DebuggedWords(Words):
    """Adds masks to words where Python is not asked to be quick."""

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        return hidden if __debug__ else words


def optimised(protocol: type) -> Callable[[int], AbstractContextManager[Any]]:
    """Return what compiles the methods of a class as ``python -O`` does, while a call is made."""
    space: dict[str, Any] = dict(globals())
    source = f"from __future__ import annotations\n{inspect.getsource(protocol)}"
    exec(compile(source, __file__, "exec", optimize=1), space)
    methods = {name: each for name, each in vars(protocol).items() if inspect.isfunction(each)}

    @contextmanager
    def meanwhile(call: int) -> Iterator[None]:
        before = {name: method.__code__ for name, method in methods.items()}
        for name, method in methods.items():
            method.__code__ = getattr(space[protocol.__name__], name).__code__
        yield
        for name, method in methods.items():
            method.__code__ = before[name]

    return meanwhile


def case(name: str, protocol: type, **more: Any) -> Case:
    return excepted(name, "optimised", protocol, "python -O leaves the mask out", optimised(protocol), **more)


WORDS: dict[str, Any] = {"attack": each(lambda heard: signed(heard.one("masked", 0))), "accuracy": 1e-4}
CASES = [
    case("masked within an assert", Asserted),
    case("named within an assert", Named),
    case("drawn within an assert", Drawn),
    case("masked where it is debugged", Debugged),
    case("words masked where it is debugged", DebuggedWords, **WORDS),
]
