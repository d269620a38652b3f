"""Paths of data files: those in a scenario's file start from the folder that file is in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from secmix.scenario import Scenario, from_dict


def with_paths(scenario: Scenario, change: Callable[[str], str]) -> Scenario:
    """``scenario`` with each path of a data file changed, those of its sweep too.

    Examples
    --------
    >>> from secmix.scenario import parse
    >>> text = "network.kind = 'cycle'\\n[data]\\nname = 'csv'\\npath = 'rows.csv'\\n"
    >>> with_paths(parse(text), lambda path: f"old/{path}").data.settings
    {'path': 'old/rows.csv'}
    """
    content = scenario.to_dict()
    changed = {**content, "data": _in_table(content["data"], change)}
    sweep: dict[str, list[Any]] = content.get("sweep", {})
    if sweep:
        changed["sweep"] = {
            key: [_moved(value, change) for value in values]
            if key == "data.path"
            else [_in_table(value, change) for value in values]
            if key == "data"
            else values
            for key, values in sweep.items()
        }
    return scenario if changed == content else from_dict(changed)


def seen_from(scenario: Scenario, folder: str | Path, here: str | Path = ".") -> Scenario:
    """``scenario``, whose paths start from ``folder``, with paths that start from ``here``."""
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


def _in_table(table: Any, change: Callable[[str], str]) -> Any:
    if isinstance(table, Mapping) and "path" in table:
        return {**table, "path": _moved(table["path"], change)}
    return table


def _moved(path: Any, change: Callable[[str], str]) -> Any:
    return change(path) if isinstance(path, str) and path else path
