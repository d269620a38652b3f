"""What else a call may hang on, and is noted: draws of the system's, and how floating-point errors are reported."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from secmix.kernel.state import now, tracing

SYSTEM = "coins of the system"


def noted(f: Callable[..., Any], what: str) -> Callable[..., Any]:
    """Note that what a function returns may be other in the next call: a claim covers what was traced."""

    def call(*args: Any, **kw: Any) -> Any:
        if tracing():
            now().narrow(what)
        return f(*args, **kw)

    return call


class SeededRandom(random.Random):
    """A generator of Python's, which the system seeds where nothing else does: that is noted."""

    def __init__(self, seed: Any = None) -> None:
        if seed is None and tracing():
            now().narrow(SYSTEM)
        super().__init__(seed)


def _reporting(kw: dict[str, Any], *args: Any) -> None:
    """Note that numbers may decide what is raised, kept or called: of floating-point errors, or of warnings."""
    if tracing() and any(each not in ("ignore", "warn", False, None) for each in (*kw.values(), *args)):
        now().narrow("floating-point errors or warnings that are raised, recorded or handed on")


def _stating(f: Callable[..., Any], *args: Any, **kw: Any) -> Any:
    _reporting(kw, *args)
    return f(*args, **kw)


def _filtering(f: Callable[..., Any]) -> Callable[..., Any]:
    def filter_(action: Any, *args: Any, **kw: Any) -> Any:
        _reporting({}, action == "error")
        return f(action, *args, **kw)

    return filter_


class _Catching(warnings.catch_warnings):
    def __init__(self, **kw: Any) -> None:
        _reporting({}, kw.get("record", False), kw.get("action") == "error")
        super().__init__(**kw)


ERRORS: dict[str, Any] = {name: partial(_stating, getattr(np, name)) for name in ("errstate", "seterr", "seterrcall")}
WARNINGS: dict[str, Any] = {name: _filtering(getattr(warnings, name)) for name in ("simplefilter", "filterwarnings")}
WARNINGS["catch_warnings"] = _Catching
