"""Parts by name: entry points of the installed packages, or ``package.module:name`` where the user allows it.

A scenario may come from anybody, and ``package.module:name`` names code that would run. An audit loads it only if its
user allowed code, and calls it only if it has the interface of its group. The settings of a part are checked against
its signature before it is made with them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from secmix.errors import ScenarioError, SecmixError, cause, expected, nearest, shown

Part = Any

_ALLOWED: ContextVar[bool] = ContextVar("secmix code allowed", default=True)
_NAMES_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SINGULAR = {
    "adversaries": "adversary",
    "attacks": "attack",
    "evidence": "evidence",
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
_ROUNDS = 100_000
_COUNTED = (
    "components",
    "n_components",
    "starts",
    "n_init",
    "max_iterations",
    "iterations",
    "n_rounds",
    "local_steps",
    "max_sweeps",
    "points",
    "max_clusters",
)
"""Settings of built-in parts that are counts; each is at most ``_ROUNDS``, so that every audit ends."""


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


def build(group: str, spec: Mapping[str, Any], own: Iterable[str] = ()) -> Part:
    """Make the part ``spec["name"]`` with the other entries of ``spec`` as keyword arguments.

    ``own`` are keys of its table that are no settings of a part: of an unknown setting one of them may be meant.

    Raises ScenarioError as :func:`load`; if a setting is unknown, missing or of a wrong kind, or the part cannot be
    made with it.
    """
    settings = dict(spec)
    name = settings.pop("name")
    part = load(group, name)
    check_settings(part, name, settings, own)
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


def check_settings(part: Any, name: str, settings: Mapping[str, Any], own: Iterable[str] = ()) -> None:
    """Check settings of a part against its signature; raise for an unknown, missing or mistyped one.

    Raises ScenarioError with the setting at fault in ``key``.
    """
    if (fault := next(faults_of_settings(part, name, settings, own), None)) is not None:
        raise fault


def faults_of_settings(
    part: Any, name: str, settings: Mapping[str, Any], own: Iterable[str] = ()
) -> Iterator[ScenarioError]:
    """Yield an error for every setting that is unknown, missing or mistyped; ``own`` as in :func:`build`."""
    if not callable(part):
        kind = type(part).__name__
        yield ScenarioError(f"{shown(name)} is a {kind}, expected a class or function that makes the part")
        return
    parameters = parameters_of(part)
    if parameters is not None:
        for key in settings:
            if key not in parameters:
                yield _at(key, f"{shown(name)} has no setting {shown(key)}; {nearest(key, {*parameters, *own})}")
        missing = [k for k, p in parameters.items() if p.default is p.empty and k not in settings]
        if missing:
            yield ScenarioError(f"{shown(name)} needs the setting(s) {', '.join(missing)}")
    # Annotations of parts from elsewhere may be looser or stricter than what they accept.
    if str(getattr(part, "__module__", "")).startswith("secmix."):
        yield from _of_wrong_kind(part, name, settings)


def in_words(part: Any) -> str:
    """Render the settings of ``part``, as its signature gives them, in a line.

    >>> def part(sigma: float, *, seed: int = 0): ...
    >>> in_words(part)
    'sigma: float, seed: int = 0'
    """
    try:
        parameters = inspect.signature(part).parameters.values()
    except (TypeError, ValueError):  # written in C
        return "what its documentation says"
    return ", ".join(str(p).replace("'", "") for p in parameters) or "no settings"


def parameters_of(part: Any) -> dict[str, inspect.Parameter] | None:
    """Read the parameters by name; None if any name is accepted, or if the signature is unknown."""
    try:
        parameters = dict(inspect.signature(part).parameters)
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return None
    return {key: p for key, p in parameters.items() if p.kind is not p.VAR_POSITIONAL}


def takes(part: Any, key: str) -> bool:
    """Check whether ``key`` is a setting of ``part`` by its signature."""
    return key in (parameters_of(part) or {})


def hints_of(part: Any) -> dict[str, Any]:
    """Read the annotations of the constructor of ``part``; empty if they cannot be resolved at run time."""
    try:
        return typing.get_type_hints(getattr(part, "__init__") if isinstance(part, type) else part)  # noqa: B009
    except Exception:
        return {}


def _of_wrong_kind(part: Any, name: str, settings: Mapping[str, Any]) -> Iterator[ScenarioError]:
    hints = hints_of(part)
    for key, value in settings.items() if hints else ():
        if key in _COUNTED and isinstance(value, int) and value > _ROUNDS:
            yield _at(key, f"{shown(name)}: {key} can be at most {_ROUNDS}; given {shown(value)}")
        elif key in hints and (fault := _mistyped(hints[key], value)):
            yield _at(key, f"{shown(name)}: {key}: {fault}; given {shown(value)}")


def _mistyped(hint: Any, value: Any) -> str | None:
    """Explain why ``value``, as TOML writes it, is not of the annotated type; None if it is, or cannot be checked."""
    try:
        kind: TypeAdapter[Any] = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except Exception:  # a type that cannot be checked, such as an array
        return None
    try:
        _read(kind.validate_python(value, strict=True))
    except ValidationError as error:
        try:  # TOML has lists only, where a tuple may be expected
            _read(kind.validate_json(json.dumps(value), strict=True))
        except (ValidationError, TypeError, ValueError):
            return _explained(error.errors()[0])
    return None


def _explained(error: Any) -> str:
    """Say what is expected, and at which entries of a list."""
    places = "".join(f"[{step}]" for step in error["loc"] if isinstance(step, int))
    return f"{expected(error)}{f' at {places}' if places else ''}"


def _read(value: Any) -> None:
    if isinstance(value, Iterator):  # pydantic checks an iterator only as it is consumed
        for _ in value:
            pass


def _at(key: str, message: str) -> ScenarioError:
    error = ScenarioError(message)
    error.key = (key,)
    return error
