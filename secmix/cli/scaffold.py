"""The scenario that ``secmix init`` writes: the main example, about the user's data and network where they are named.

What a file holds stands in the scenario as settings with a comment. No value of the data does.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from secmix._base import plugins
from secmix._base.safe_files import read_regular
from secmix.cli.network_file import read_network
from secmix.data.delimited import DelimitedTable, decoded, number, read_table
from secmix.errors import DataError, SecmixError, one_line, shown
from secmix.scenario import Scenario, parse

_NODES = 5  # of the example's network
_SHOWN_NODES = 30
_LINES = 50  # that show the delimiter
_IDENTIFIERS = {"id", "index", "nr", "no", "number", "row", "key", "uuid", "patient", "patient_id", "subject"}
_LAST = re.compile(r"(?<=\n)    \{ name = [^\n]*\n(?=\]\nadversary)")  # line of the sweep over protocols
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


@dataclass
class DescribedFile:
    """A file described by settings of a table, each with a comment."""

    settings: list[tuple[str, Any, str]]
    summary: str
    rows: int = 0
    columns: int = 0
    nodes: int = _NODES
    more: list[str] = field(default_factory=list)


def first_scenario(path: Path, csv: Path | None = None, network: Path | None = None) -> tuple[str, list[str]]:
    """Return the text of a scenario for the file ``path``, and remarks on the files it was made from.

    Raises SecmixError if a file cannot be read, or holds nothing to audit.
    """
    from secmix.scenario.catalogue import find

    text = find("passive-neighbours").path.read_text(encoding="utf-8")
    if csv is None and network is None:
        return text, []
    graph = None if network is None else network_of(network)
    nodes = _NODES if graph is None else graph.nodes
    data = None if csv is None else data_of(csv, path.parent, nodes)
    described = [file for file in (data, graph) if file is not None]
    remarks = [line for file in described for line in (file.summary, *file.more)]
    text = re.sub(r"\A(#[^\n]*\n)+", "", text).lstrip()
    text = re.sub(r"^description = .*\n", "", text, flags=re.M)
    corrupt = [1, 3] if nodes >= 5 else [1]
    who = _curious(corrupt, graph)
    text = text.replace('title = "Two curious neighbours"', f'title = "{who}"')
    text = text.replace('corrupt = [1, 3], label = "Curious nodes 1 and 3"', f'corrupt = {corrupt}, label = "{who}"')
    if data is not None:
        text = _with_table(text, "data", data)
    if graph is not None:
        text = _with_table(text, "network", graph)
    head = "# Written by secmix init. secmix validate says whether it can be audited; secmix audit audits it.\n\n"
    return _without_what_fails(_with_all_sums(head + text), path, remarks), remarks


def _curious(corrupt: Sequence[int], graph: DescribedFile | None) -> str:
    names = next((value for key, value, _ in graph.settings if key == "names"), ()) if graph is not None else ()
    if names and not any(set('"\\') & set(names[node]) for node in corrupt):
        return f"Curious {' and '.join(one_line(names[node]) for node in corrupt)}"
    return f"Curious node{'s' * (len(corrupt) > 1)} {' and '.join(map(str, corrupt))}"


def _with_all_sums(text: str) -> str:
    """Return the scenario with every installed sum protocol that takes no settings, after those that it sweeps."""
    swept = {spec["name"] for spec in parse(text).sweep["protocol"]}
    lines = "".join(
        f'    {{ {tomli_w.dumps({"name": name}).strip()}, label = "{name.replace("_", " ").capitalize()}" }},\n'
        for name in plugins.available("protocols")
        if name not in swept and _sums(name)
    )
    return _LAST.sub(lambda last: last[0] + lines, text)


def _sums(name: str) -> bool:
    try:
        part = plugins.build("protocols", {"name": name})
    except SecmixError:  # one package that is broken hides no other
        return False
    return callable(getattr(part, "average", None)) and callable(getattr(part, "draw_masks", None))


def _without_what_fails(text: str, path: Path, remarks: list[str]) -> str:
    """Turn protocols that cannot run on this network or these data into comments of the scenario."""
    from secmix.auditing.engine.run_cell import try_out
    from secmix.auditing.setup import PreparedData
    from secmix.scenario.resolve import rebased

    scenario = parse(text, f"'{path}'")
    cells = [rebased(cell, path.parent) for cell in scenario.cells()]
    prepared_data: dict[str, PreparedData] = {}
    left = 0
    first: SecmixError | None = None
    for spec in scenario.sweep["protocol"]:
        of_protocol: Sequence[Scenario] = [cell for cell in cells if cell.protocol.name == spec["name"]]
        try:
            try_out(of_protocol[-1], None, prepared=prepared_data)
            left += 1
        except SecmixError as error:
            first = first or error
            pattern = rf'^    (\{{ name = "{spec["name"]}".*)$'
            why = one_line(str(error)).replace("\\", "/")
            text = re.sub(pattern, rf"    # \1  {why}", text, flags=re.M)
            remarks.append(f"left out {spec['name']}: {error}")
    if not left and first is not None:
        raise first
    return text


def data_of(csv: Path, folder: Path, nodes: int) -> DescribedFile:
    """Describe a delimited file by settings of ``[data]``, with the path as it is from ``folder``."""
    content, encoding = _decoded(csv)
    delimiter = _delimiter(content)
    table, header = _table(csv, delimiter, encoding)
    decimal = _decimal(table, delimiter)
    used, dropped, gaps = [], [], 0
    columns = [[row[j] for row in table.rows] for j in range(len(table.names))]
    for j, fields in enumerate(columns):
        why = _no_measurement(table.names[j], fields, decimal)
        if why:
            dropped.append((table.names[j], why))
        else:
            used.append(j)
    if not used:
        raise DataError(f"no column of '{csv}' holds numbers that differ; is the delimiter {delimiter!r} right?")
    for row in table.rows:
        gaps += any(number(row[j], decimal) != number(row[j], decimal) for j in used)  # NaN alone differs from itself
    usable = len(table.rows) - gaps
    settings: list[tuple[str, Any, str]] = [("name", "csv", "")]
    settings.append(("path", relative(csv, folder), "from the folder of this file"))
    if delimiter != ",":
        settings.append(("delimiter", delimiter, ""))
    if decimal != ".":
        settings.append(("decimal", decimal, ""))
    if encoding is not None:
        settings.append(("encoding", encoding, "a guess: look at the names of the columns"))
    if header is not None or not table.headed:
        words = "the first line is a row" if not table.headed else "the first line names the columns"
        settings.append(("header", table.headed, words))
    if dropped:
        settings.append(("drop", [name for name, _ in dropped], "; ".join(f"{name}: {why}" for name, why in dropped)))
    if gaps:
        drop = usable >= max(len(table.rows) // 2, nodes)
        words = f'{gaps} of {len(table.rows)} rows lack values; or "{"mean" if drop else "drop"}"'
        settings.append(("missing", "drop" if drop else "mean", words))
        usable = usable if drop else len(table.rows)
    if usable < nodes:
        raise DataError(f"'{csv}' has {usable} rows for {nodes} nodes; each node needs one at least")
    if len(used) > 2:
        settings.append(("features", 2, f"principal components of {len(used)} columns; leave out to keep the columns"))
    rows_per_node = max(1, min(10, usable // nodes))
    settings.append(("rows_per_node", rows_per_node, f"drawn anew in each run from {usable} rows"))
    without = f", without {', '.join(name for name, _ in dropped)}" if dropped else ""
    summary = f"{shown(str(csv))}: {usable} rows, {len(used)} columns of numbers{without}"
    return DescribedFile(settings, summary, usable, len(used))


def network_of(path: Path) -> DescribedFile:
    """Describe the network of a file by settings of ``[network]``."""
    network = read_network(path)
    names, edges = network.names, network.edges
    settings = [("nodes", len(names), ""), ("edges", [list(edge) for edge in edges], "")]
    named = any(name != str(k) for k, name in enumerate(names))
    settings += [("names", list(names), "")] * named
    called = [f"{k} {shown(name)}" if named else name for k, name in enumerate(names)]
    lines = [f"{one_line(names[a])}–{one_line(names[b])}" for a, b in edges]
    summary = f"{shown(str(path))}: {len(names)} nodes, {len(edges)} line{'s' * (len(edges) != 1)} between them"
    more = [*network.notes, f"nodes: {_first(called)}", f"lines: {_first(lines)}"]
    return DescribedFile(settings, summary, nodes=len(names), more=more)


def _first(names: Sequence[str]) -> str:
    left = len(names) - _SHOWN_NODES
    return ", ".join(names[:_SHOWN_NODES]) + (f" and {left} more, in the scenario" if left > 0 else "")


def _with_table(text: str, name: str, described: DescribedFile) -> str:
    lines = [f"[{name}]"]
    for key, value, words in described.settings:
        written = toml_line(key, value)
        lines.append(f"{written:<30} # {one_line(words)}" if words else written)
    table = "\n".join(lines) + "\n\n"
    return re.sub(rf"^\[{name}\][^\n]*\n(?:(?!\[).*\n)*", lambda _: table, text, flags=re.M)


def toml_line(key: str, value: Any) -> str:
    """Write a value on one line, lists too."""
    if isinstance(value, list):
        return f"{key} = [{', '.join(toml_line('x', each).partition(' = ')[2] for each in value)}]"
    return tomli_w.dumps({key: value}).strip()


def relative(file: Path, folder: Path) -> str:
    if file.is_absolute():
        return str(file)
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # on another drive
        return str(file.absolute())


def _decoded(path: Path) -> tuple[str, str | None]:
    """Return the text, and the encoding where it must be named."""
    cannot = f"the data file '{path}' cannot be read: "
    try:
        content = read_regular(path, most=2**31)
    except OSError as error:
        raise DataError(f"{cannot}{error.strerror or type(error).__name__}") from None
    try:
        return decoded(content, None, cannot), None
    except DataError:
        return decoded(content, "cp1252", cannot), "cp1252"


def _delimiter(text: str) -> str:
    """Return the separator that every line has equally often, at least once."""
    lines = [line for line in text[:1_000_000].splitlines() if line.strip()][:_LINES]
    counts = {sign: {line.count(sign) for line in lines} for sign in ";\t|,"}
    candidates = {sign: min(count) for sign, count in counts.items() if len(count) == 1 and min(count) > 0}
    return max(candidates, key=lambda sign: candidates[sign]) if candidates else ","


def _table(path: Path, delimiter: str, encoding: str | None) -> tuple[DelimitedTable, bool | None]:
    """Return the fields, and whether the first line names columns, where that must be said."""
    try:
        return read_table(path, delimiter, None, encoding), None
    except DataError:
        pass
    bare = read_table(path, delimiter, False, encoding)
    first, rest = bare.rows[0], bare.rows[1:21]
    # A row of values looks like the rows below it; a line of names does not.
    alike = all(
        (number(field, ",") is None) == (number(row[j], ",") is None) for j, field in enumerate(first) for row in rest
    )
    return (bare, False) if alike else (read_table(path, delimiter, True, encoding), True)


def _decimal(table: DelimitedTable, delimiter: str) -> str:
    if delimiter == ",":
        return "."
    fields = [field for row in table.rows[:_LINES] for field in row]
    return "," if sum(map(bool, map(_DECIMAL_COMMA.fullmatch, fields))) > sum("." in f for f in fields) else "."


def _no_measurement(name: str, fields: list[str], decimal: str) -> str:
    """Say why a column cannot be used; nothing where it can."""
    values = [number(field, decimal) for field in fields]
    if any(value is None for value in values):
        return "not in numbers"
    there = [value for value in values if value is not None and value == value]
    if len(set(there)) < 2:
        return "constant" if there else "empty"
    steps = {b - a for a, b in itertools.pairwise(there)}
    if name.strip().lower() in _IDENTIFIERS or (len(there) > 2 and steps == {1.0}):
        return "numbers the rows"
    return ""


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet.

    Raises SecmixError if it is there, or cannot be written.
    """
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SecmixError(f"'{path}' exists already; name another file") from None
    except OSError as error:
        raise SecmixError(f"'{path}' cannot be written: {error.strerror or error}") from None
