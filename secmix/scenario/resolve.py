"""Resolve what an audit is asked of: a scenario by object, dict, file or name, and what a call changes in it.

Paths of data files and projects in a scenario's file start from the folder that it is in.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from secmix._base.toml_text import KeyPath, locations, nearest_line, read_text
from secmix.errors import (
    DataError,
    NetworkError,
    ScenarioError,
    SecmixError,
    brief,
)
from secmix.scenario.accepted import read_accepted
from secmix.scenario.catalogue import find
from secmix.scenario.scenario import Scenario, from_dict, parse
from secmix.scenario.settings import PartSpec, PolicySpec
from secmix.scenario.table_files import faults_named, read_table

AS_IT_WAS_RUN = "scenario.toml"
"""The scenario as it was run, beside the report."""
_PATHS = {"data": "path", "protocol": "project"}
_APP = "flower_app"
_TABLE = re.compile(r"\[(\w+)\] ")
_OF_KIND = {NetworkError: "network", DataError: "data"}


def resolve(source: Scenario | Mapping[str, Any] | str | Path) -> tuple[Scenario, str, str | None]:
    """Return a scenario, the name by which the command line finds it again, and its text if it is a file.

    The paths in such a file start from the folder that it is in.
    """
    if isinstance(source, Scenario):
        return source, AS_IT_WAS_RUN, None
    if isinstance(source, Mapping):
        return from_dict(source), AS_IT_WAS_RUN, None
    if not isinstance(source, (str, Path)):
        raise ScenarioError(
            "a scenario is a path, the name of a catalogue entry, a dict or a Scenario; given a "
            f"{type(source).__name__}"
        )
    path = Path(source)
    if path.exists() or path.suffix == ".toml":
        text = read_text(path)
        return parse(text, f"'{path}'"), str(source), text
    return find(str(source)).scenario, str(source), None


def home_of(name: str, text: str | None) -> Path:
    """Return where the paths of a scenario start from that ``resolve`` found."""
    return Path() if text is None else Path(name).parent


def combinations(source: Scenario | Mapping[str, Any] | str | Path) -> list[Scenario]:
    """Return every cell of a scenario, its paths as they are from here."""
    scenario, name, text = resolve(source)
    return [rebased(cell, home_of(name, text)) for cell in scenario.cells()]


def cell_at(cells: Sequence[Scenario], cell: int) -> int:
    """Return the place of a cell that is counted from 1."""
    if not 1 <= cell <= len(cells):
        raise ScenarioError(f"there is no cell {cell}: the scenario has {len(cells)}, counted from 1")
    return cell - 1


def read_policy(path: str | Path) -> PolicySpec:
    """Read the limits in a TOML file, at its top or under ``[policy]``."""
    content = read_table(path, "policy")
    with faults_named(f"the policy '{path}'", "policy", PolicySpec):
        return PolicySpec.model_validate(content.get("policy", content))


def with_changes(
    scenario: Scenario,
    protocols: Mapping[str, Any] | None,
    adversaries: Mapping[str, Any] | None,
    numbers: Mapping[str, int | None],
    policy: PolicySpec | str | Path | None,
    accepted: str | Path | None,
) -> Scenario:
    content = scenario.to_dict()
    for table, objects in (("protocol", protocols), ("adversary", adversaries)):
        if objects:
            content.setdefault("sweep", {})[table] = [{"name": label, "label": label} for label in objects]
    content.update({key: number for key, number in numbers.items() if number is not None})
    if policy is not None:
        chosen = policy if isinstance(policy, PolicySpec) else read_policy(policy)
        content["policy"] = chosen.model_dump(exclude_none=True)
    if accepted is not None:
        more = [entry.model_dump(exclude_none=True) for entry in read_accepted(accepted)]
        content["accepted"] = [*content.get("accepted", []), *more]
    return with_known_adversaries(from_dict(content))


def with_known_adversaries(scenario: Scenario) -> Scenario:
    """Return a scenario whose claim names adversaries of its own; one of none is an error."""
    swept = [each if isinstance(each, Mapping) else {"name": str(each)} for each in scenario.sweep.get("adversary", [])]
    adversaries = [PartSpec.model_validate(each) for each in swept] or [scenario.adversary]
    if scenario.claim is not None and (fault := scenario.claim.unknown(adversaries)):
        error = ScenarioError(f"[claim] against: {fault}")
        error.key = ("claim", "against")
        raise error
    return scenario


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


def rebased(scenario: Scenario, folder: str | Path, start: str | Path = ".") -> Scenario:
    """Return ``scenario``, whose paths start from ``folder``, with paths that start from ``start``."""
    if Path(folder) == Path(start):
        return scenario
    if Path(start) == Path("."):
        return with_paths(scenario, lambda path: os.path.join(folder, path))
    return with_paths(scenario, lambda path: path if os.path.isabs(path) else _relative(Path(folder, path), start))


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


def lines_of_cells(scenario: Scenario, text: str) -> list[dict[str, int]]:
    """Return for each cell of ``scenario`` the lines of ``text`` with its protocol, its adversary and its claim.

    >>> from secmix.scenario import parse
    >>> text = "network.kind = 'cycle'\\n[sweep]\\nprotocol = [\\n {name = 'plain'},\\n {name = 'pdmm'}]\\n"
    >>> [lines["protocol"] for lines in lines_of_cells(parse(text), text)]
    [4, 5]
    """
    known = locations(text)
    tables = ("protocol", "adversary", *["claim"] * (scenario.claim is not None))
    return [{t: line for t in tables if (line := nearest_line(known, _at(scenario, k, t)))} for k in _choices(scenario)]


def located(error: SecmixError, scenario: Scenario, text: str, source: str) -> SecmixError:
    """Return ``error`` with the line of the scenario's file that it is about, as far as it tells."""
    known = locations(text)
    choices = _choices(scenario)
    chosen = choices[error.cell] if error.cell is not None and error.cell < len(choices) else {}
    named = error.key[:1] or ((match[1],) if (match := _TABLE.match(str(error))) else ())
    tables = [str(named[0])] if named else list(type(scenario).model_fields)
    # Of the keys that stand in the file, the first that the message names; else the table it is about.
    paths = [(*_at(scenario, chosen, tables[0]), *error.key[1:])] if error.key[1:] else []
    words = re.findall(r"\w+", str(error))
    paths += [(*_at(scenario, chosen, table), word) for word in words for table in tables]
    path = next((path for path in paths if path in known), None)
    if path is None:
        fallback = named or (_OF_KIND[kind] for kind in _OF_KIND if isinstance(error, kind))
        path = _at(scenario, chosen, str(next(iter(fallback), "")))
        path = (*path, "name") if (*path, "name") in known else path
    if line := nearest_line(known, path):
        error.args = (brief(f"'{source}', line {line}: {error}"), *error.args[1:])
    return error


def _choices(scenario: Scenario) -> list[dict[str, int]]:
    """Yield which of the values of each swept setting a cell has, in the order of the cells."""
    counts = [range(len(values)) for values in scenario.sweep.values()]
    return [dict(zip(scenario.sweep, chosen, strict=True)) for chosen in itertools.product(*counts)]


def _at(scenario: Scenario, chosen: dict[str, int], table: str) -> KeyPath:
    if table not in scenario.sweep:
        return (table,)
    return ("sweep", table, chosen[table]) if table in chosen else ("sweep", table)
