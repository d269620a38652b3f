"""Parts by name: entry points of the installed packages, or ``package.module:name`` where the user allows it.

A scenario may come from anybody, and ``package.module:name`` names code that would run. An audit loads it only if its
user allowed code, and calls it only if it has the interface of its group.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from secmix._base.settings import check_settings, in_words
from secmix.errors import ScenarioError, SecmixError, cause, nearest, shown

Part = Any

_ALLOWED: ContextVar[bool] = ContextVar("secmix code allowed", default=True)
_NAMES_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SINGULAR = {
    "adversaries": "adversary",
    "attacks": "attack",
    "evidence": "evidence",
    "forgeries": "forgery",
    "datasets": "data set",
    "protocols": "protocol",
    "aggregators": "rule",
    "reconstructions": "reconstruction",
    "flower apps": "Flower app",
    "candidates": "candidate",
}
# Checked before a class is called, since calling anything else could do anything.
_METHODS = {
    "protocols": (("average", "draw_masks"), ("collaborate", "error")),
    "adversaries": (("observe", "corrupt_nodes"),),
    "candidates": (("fit", "predict"),),
}


@contextmanager
def code_allowed(allowed: bool) -> Iterator[None]:
    """Allow or refuse names like ``package.module:name`` meanwhile; outside any audit they are allowed.

    >>> with code_allowed(False):
    ...     load("protocols", "secmix.protocols:Plain")
    Traceback (most recent call last):
    ...
    secmix.errors.ScenarioError: the protocol 'secmix.protocols:Plain' names code ... --allow-code ...
    """
    token = _ALLOWED.set(allowed)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_code_allowed() -> bool:
    """Check whether names like ``package.module:name`` are loaded."""
    return _ALLOWED.get()


def names_code(value: object) -> bool:
    """Check whether ``value`` is a name like ``package.module:name``."""
    return isinstance(value, str) and _NAMES_CODE.fullmatch(value) is not None


def available(group: str) -> dict[str, EntryPoint]:
    """List the parts installed under ``secmix.<group>``, by name."""
    return dict(_installed(group, tuple(sys.path)))


@functools.cache
def _installed(group: str, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Read the entry points once, since reading the metadata of all packages is slow."""
    return {entry.name: entry for entry in sorted(entry_points(group=f"secmix.{group}"))}


def load(group: str, name: str) -> Part:
    """Load the part called ``name``: an entry point, or the object at ``package.module:name``.

    Raises ScenarioError if no part has this name, with the nearest name; if code is not allowed; if the user's module
    cannot be imported, or the object lacks the interface.

    >>> load("protocols", "plain").__name__
    'Plain'
    """
    called = _SINGULAR.get(group, group)
    if ":" in name:
        if not _ALLOWED.get():
            raise ScenarioError(
                f"the {called} {shown(name)} names code that the audit would run; if you trust the scenario, allow it "
                "with --allow-code (in Python: allow_code=True)"
            )
        return _with_interface(group, name, imported(name))
    known = available(group)
    if name not in known:
        raise ScenarioError(f"no {called} is called {shown(name)}; {nearest(name, known)}")
    return imported(known[name].value)


def imported(name: str) -> Part:
    """Import the object at ``package.module:name``, allowed or not: for names that no scenario gave."""
    module, _, attribute = name.partition(":")
    failed = f"{shown(name)} cannot be loaded: "
    if not names_code(name):
        raise ScenarioError(f"{failed}write it as package.module:name")
    try:
        member = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ScenarioError(f"{failed}there is no module {shown(error.name)} where Python looks for it") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything, including SystemExit
        raise ScenarioError(f"{failed}its module fails on import ({cause(error)})") from error
    for step in attribute.split("."):
        try:
            member = getattr(member, step)
        except AttributeError:
            raise ScenarioError(f"{failed}there is no {shown(step)} in {shown(module)}") from None
    return member


def build(group: str, spec: Mapping[str, Any]) -> Part:
    """Make the part ``spec["name"]`` with the other entries of ``spec`` as keyword arguments.

    Raises ScenarioError as :func:`load`; if a setting is unknown, missing or of a wrong kind, or the part cannot be
    made with it.
    """
    settings = dict(spec)
    name = settings.pop("name")
    part = load(group, name)
    check_settings(part, name, settings)
    try:
        return part(**settings)
    except (SecmixError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the part may raise anything
        given = ", ".join(f"{key} = {shown(value, 30)}" for key, value in list(settings.items())[:4]) or "no settings"
        raise ScenarioError(
            f"{shown(name)} cannot be made with {given} ({cause(error)}); it takes {in_words(part)}"
        ) from error


def _with_interface(group: str, name: str, part: Part) -> Part:
    """Check that ``part`` has the interface of ``group``, as far as that shows before it is called; return it."""
    if group in _METHODS:
        ways = _METHODS[group]
        if not (isinstance(part, type) and any(all(callable(getattr(part, m, None)) for m in w) for w in ways)):
            methods = " or ".join(" and ".join(way) for way in ways)
            raise ScenarioError(
                f"{shown(name)} is not a {_SINGULAR[group]}; name a class with the methods {methods}, see CONTRIBUTING"
            )
    if group == "datasets" and not _returns_dataset(part):
        raise ScenarioError(
            f"{shown(name)} is not a loader; name a function with its return type annotated, "
            "def load(...) -> secmix.data.Dataset"
        )
    return part


def _returns_dataset(part: Part) -> bool:
    if not inspect.isfunction(part):
        return False
    annotated = part.__annotations__.get("return")
    return (annotated.__name__ if isinstance(annotated, type) else str(annotated).rpartition(".")[2]) == "Dataset"
