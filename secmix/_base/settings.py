"""Settings of a part, checked against its signature before the part is made with them."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from secmix.errors import ScenarioError, nearest, shown

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


def check_settings(part: Any, name: str, settings: Mapping[str, Any]) -> None:
    """Check settings of a part against its signature; raise for an unknown, missing or mistyped one.

    Raises ScenarioError with the setting at fault in ``key``.
    """
    if (fault := next(faults_of_settings(part, name, settings), None)) is not None:
        raise fault


def faults_of_settings(part: Any, name: str, settings: Mapping[str, Any]) -> Iterator[ScenarioError]:
    """Yield an error for every setting that is unknown, missing or mistyped."""
    if not callable(part):
        kind = type(part).__name__
        yield ScenarioError(f"{shown(name)} is a {kind}, expected a class or function that makes the part")
        return
    parameters = parameters_of(part)
    if parameters is not None:
        for key in settings:
            if key not in parameters:
                yield _at(key, f"{shown(name)} has no setting {shown(key)}; {nearest(key, parameters)}")
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
            yield _at(key, f"{shown(name)}: {key}: {fault[0].lower() + fault[1:]}; given {shown(value)}")


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
            return str(error.errors()[0]["msg"])
    return None


def _read(value: Any) -> None:
    if isinstance(value, Iterator):  # pydantic checks an iterator only as it is consumed
        for _ in value:
            pass


def _at(key: str, message: str) -> ScenarioError:
    error = ScenarioError(message)
    error.key = (key,)
    return error
