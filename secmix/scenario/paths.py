"""Paths of data files and projects: those in a scenario's file start from the folder that file is in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from secmix.scenario import Scenario, from_dict

_PATHS = {"data": "path", "protocol": "project"}
_APP = "flower_app"


def with_paths(scenario: Scenario, change: Callable[[str], str]) -> Scenario:
    """Return ``scenario`` with each path of a data file or project changed, those of its sweep too.

    >>> from secmix.scenario import parse
    >>> text = "network.kind = 'cycle'\\n[data]\\nname = 'csv'\\npath = 'rows.csv'\\n"
    >>> with_paths(parse(text), lambda path: f"old/{path}").data.settings
    {'path': 'old/rows.csv'}
    """
    content = scenario.to_dict()
    changed = {**content, **{table: in_table(table, content[table], change) for table in _PATHS}}
    sweep: dict[str, list[Any]] = content.get("sweep", {})
    if sweep:
        changed["sweep"] = {
            key: [_moved(value, change) for value in values]
            if key == "data.path"
            else [in_table(key, value, change) for value in values]
            for key, values in sweep.items()
        }
    return scenario if changed == content else from_dict(changed)


def seen_from(scenario: Scenario, folder: str | Path, here: str | Path = ".") -> Scenario:
    """Return ``scenario``, whose paths start from ``folder``, with paths that start from ``here``."""
    if Path(folder) == Path(here):
        return scenario
    if Path(here) == Path("."):
        return with_paths(scenario, lambda path: os.path.join(folder, path))
    return with_paths(scenario, lambda path: path if os.path.isabs(path) else _relative(Path(folder, path), here))


def _relative(path: Path, here: str | Path) -> str:
    try:
        return os.path.relpath(path, here)
    except ValueError:  # on another drive
        return os.path.abspath(path)


def in_table(name: str, table: Any, change: Callable[[str], str]) -> Any:
    """Return a table of a scenario with its path changed, if it has one."""
    key = _PATHS.get(name)
    if key is None or not isinstance(table, Mapping) or key not in table:
        return table
    if name == "protocol" and table.get("name") != _APP:  # what others call so may be no path
        return table
    return {**table, key: _moved(table[key], change)}


def _moved(path: Any, change: Callable[[str], str]) -> Any:
    return change(path) if isinstance(path, str) and path else path
