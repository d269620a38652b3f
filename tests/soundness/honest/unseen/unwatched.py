"""Turns and counts in places that look the same twice: the order of a container, what Python keeps, other names."""

from __future__ import annotations

import ast
import asyncio
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from secmix.adversaries import CuriousServer

from ...case import Case, input_of
from ..state import bare
from .bases import Excepted, excepted
from .figures import LATER, MANY, Later, Noted, at, many_at

DUTIES = 12  # of the nodes in turn; the last is to send a reference, which somebody forgot to mask


# Turns, by containers that are equal before and after.


class TurnsOfOrderedDict(Excepted):
    """Takes the first duty, and puts it at the end of an ordered dict."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["duties"] = OrderedDict.fromkeys(range(DUTIES))

    def is_bare(self) -> bool:
        duty = next(iter(self.duties))
        self.duties.move_to_end(duty)
        return bool(duty == DUTIES - 1)


class TurnsOfSet(Excepted):
    """Takes some duty out of a set, and puts it back once it is done: Python goes on from there."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["duties"] = set(range(DUTIES))

    def is_bare(self) -> bool:
        duty = self.duties.pop()
        self.duties.add(duty)
        return bool(duty == DUTIES - 1)


# Counts, where an object of this module is not what holds them.


class OnEventLoop(Noted):
    """Counts on the event loop of the thread, as handlers of requests do."""

    def __init__(self) -> None:
        super().__init__()
        loop = asyncio.new_event_loop()
        loop.close()  # nothing runs on it
        asyncio.set_event_loop(loop)

    def figures(self) -> Any:
        return at(asyncio.get_event_loop())


SETTINGS = types.ModuleType("settings of the service")  # made of a file of settings


class InSettings(Noted):
    """Counts among settings, which are a module."""

    def figures(self) -> Any:
        return at(SETTINGS)


class Registry:
    """Keep figures of the service; its users find it in the package, and so says its name."""

    __module__ = "federation"
    figures = SimpleNamespace(uploads=0)


class InRegistry(Noted):
    """Counts in a registry that is a class."""

    def figures(self) -> Any:
        return Registry.figures


RULE = """
uploads = 0

def is_bare():
    global uploads
    uploads += 1
    return uploads > 10**6
"""


def read(text: str) -> Any:
    """Return the rule that a text of settings defines."""
    space: dict[str, Any] = {}
    exec(text, space)
    return space["is_bare"]


IS_BARE: Callable[[], bool] = read(RULE)


class ByRule(Excepted):
    """Asks a rule that was read, which counts by itself."""

    def is_bare(self) -> bool:
        return IS_BARE()


class InTree(Later):
    """Counts in the tree of an expression that was parsed once."""

    def made(self) -> Any:
        return ast.parse("0", mode="eval").body

    def add(self, kept: Any) -> int:
        kept.value += 1
        return int(kept.value)


class OnPath(Excepted):
    """Puts the folder of plug-ins on the path each time, and takes a long path for a service that is over."""

    def is_bare(self) -> bool:
        sys.path.append("plug-ins of the service")
        return len(sys.path) > MANY / 10


# What goes by meanwhile.


@contextmanager
def by_rule(call: int) -> Iterator[None]:
    """A million uploads go by."""
    space = IS_BARE.__globals__  # type: ignore[attr-defined]
    space["uploads"] = MANY
    yield
    space["uploads"] = 0


@contextmanager
def on_path(call: int) -> Iterator[None]:
    """A hundred thousand uploads go by."""
    before = [*sys.path]
    sys.path.extend([""] * (MANY // 10))
    yield
    sys.path[:] = before


TURNS: dict[str, Any] = {"deployed": {"model": {"iterations": 1}}, "calls": DUTIES + 1, "claims": 0.05}
IN_TURN = "one duty in twelve has no mask"
COUNTED = "uploads are bare from some number on"
CASES = [
    Case("turns of an ordered dict", "turns", TurnsOfOrderedDict, CuriousServer(), IN_TURN,
         attack=bare, secret=input_of(0), **TURNS),
    Case("turns of a set", "turns", TurnsOfSet, CuriousServer(), IN_TURN,
         attack=bare, secret=input_of(0), **TURNS),
    excepted("counted on the event loop", "counts elsewhere", OnEventLoop, COUNTED, many_at(OnEventLoop.figures)),
    excepted("counted among settings", "counts elsewhere", InSettings, COUNTED, many_at(InSettings.figures)),
    excepted("counted in a class of another name", "counts elsewhere", InRegistry, COUNTED,
             many_at(InRegistry.figures)),
    excepted("counted by a rule that was read", "counts elsewhere", ByRule, COUNTED, by_rule),
    Case("counted in a parsed expression", "counts elsewhere", InTree, CuriousServer(), COUNTED,
         attack=bare, secret=input_of(0), deployed={"model": {"iterations": 1}}, calls=LATER + 3, claims=0.02),
    excepted("counted by the length of the path", "counts elsewhere", OnPath, COUNTED, on_path),
]  # fmt: skip
