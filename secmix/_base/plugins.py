"""Parts by name: entry points of the installed packages, or ``package.module:name``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from secmix.errors import ScenarioError, nearest

Part = Any


def available(group: str) -> dict[str, EntryPoint]:
    """The parts installed under ``secmix.<group>``, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=f"secmix.{group}"))}


def load(group: str, name: str) -> Part:
    """The part called ``name``: an entry point's, or the object at ``package.module:name``.

    Raises
    ------
    ScenarioError
        If there is none, with the nearest name, or if the user's module cannot be imported.

    Examples
    --------
    >>> load("protocols", "plain").__name__
    'Plain'
    """
    if ":" in name:
        return _imported(name)
    known = available(group)
    if name not in known:
        raise ScenarioError(f"no {group.removesuffix('s')} is called '{name}'; {nearest(name, known)}")
    return _imported(known[name].value)


def _imported(name: str) -> Part:
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    except Exception as error:  # a user's own module may fail in any way
        raise ScenarioError(f"'{name}' cannot be loaded: {type(error).__name__}: {error}") from error
    return found


def build(group: str, spec: Mapping[str, Any]) -> Part:
    """The part ``spec["name"]`` made with the other entries of ``spec`` as keyword arguments."""
    settings = dict(spec)
    name = settings.pop("name")
    part = load(group, name)
    check_settings(part, name, settings)
    return part(**settings)


def check_settings(part: Part, name: str, settings: Mapping[str, Any]) -> None:
    """Unknown or missing settings of a part are errors that name the right ones."""
    import inspect

    if not callable(part):
        raise ScenarioError(f"'{name}' is no class or function but {type(part).__name__}; name what makes the part")
    parameters = dict(inspect.signature(part).parameters)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    parameters = {key: p for key, p in parameters.items() if p.kind is not p.VAR_POSITIONAL}
    for key in settings:
        if key not in parameters:
            raise ScenarioError(f"'{name}' has no setting '{key}'; {nearest(key, parameters)}")
    missing = [k for k, p in parameters.items() if p.default is p.empty and k not in settings]
    if missing:
        raise ScenarioError(f"'{name}' needs the setting(s) {', '.join(missing)}")
