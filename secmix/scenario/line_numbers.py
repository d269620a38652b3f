"""Where in a scenario's file stands what a cell is made of, and what an error is about."""

from __future__ import annotations

import itertools
import re

from secmix._base.toml_text import KeyPath, locations
from secmix.errors import DataError, NetworkError, SecmixError, brief
from secmix.scenario import Scenario

_TABLE = re.compile(r"\[(\w+)\] ")
_OF_KIND = {NetworkError: "network", DataError: "data"}


def lines_of_cells(scenario: Scenario, text: str) -> list[dict[str, int]]:
    """Return for each cell of ``scenario`` the lines of ``text`` with its protocol, its adversary and its claim.

    >>> from secmix.scenario import parse
    >>> text = "network.kind = 'cycle'\\n[sweep]\\nprotocol = [\\n {name = 'plain'},\\n {name = 'pdmm'}]\\n"
    >>> [lines["protocol"] for lines in lines_of_cells(parse(text), text)]
    [4, 5]
    """
    known = locations(text)
    tables = ("protocol", "adversary", *["claim"] * (scenario.claim is not None))
    return [{t: line for t in tables if (line := _line(known, _at(scenario, k, t)))} for k in _choices(scenario)]


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
    if line := _line(known, path):
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


def _line(known: dict[KeyPath, int], path: KeyPath) -> int | None:
    return next((known[path[:k]] for k in range(len(path), 0, -1) if path[:k] in known), None)
