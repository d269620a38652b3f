"""Networks in files: an edge list, an adjacency matrix or GraphML, with the names that the nodes have there.

A file that may be read in two ways is an error, or the way it was read stands in the notes.
"""

from __future__ import annotations

import csv
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np

from secmix._base.checks import Array
from secmix._base.safe_files import read_regular
from secmix.data.delimited import decoded, number
from secmix.errors import DataError, NetworkError, shown

_MOST_BYTES = 2**28
_MOST_LINES = 1_000_000
_SNIFFED_LINES = 50
_MOST_NAMED = 8  # in an error, or a note
_ARROW = "\x1f"
"""Stands for a dash or an arrow between blanks, as in "St. Gallen - Bern"."""
_ARROWS = re.compile(r"\s+(?:<?[-=]+>?|[–—→↔])\s+")
_DELIMITERS = f";\t|,{_ARROW} "  # blanks last: names of places hold them
_SOURCES = {"source", "from", "src", "start", "node1", "node_1", "node_a", "from_node", "von"}
_TARGETS = {"target", "to", "dst", "end", "node2", "node_2", "node_b", "to_node", "nach"}


@dataclass(frozen=True)
class NetworkFile:
    """A connected network with named nodes."""

    names: tuple[str, ...]  # what the file calls node 0, 1, …
    edges: tuple[tuple[int, int], ...]  # pairs of neighbours, each once, smaller number first
    notes: tuple[str, ...]  # how the file was read, where that is no matter of course


@dataclass(frozen=True)
class _Rows:
    """The fields of every line that is no remark, with the number of that line."""

    fields: list[list[str]]
    numbers: list[int]


def read_network(path: Path) -> NetworkFile:
    """Read the network in ``path``, whose form is found from its content.

    Raises NetworkError if the file cannot be read, is no network, or some of its nodes cannot reach the others.
    """
    cannot = f"the network '{path}' cannot be read: "
    text, notes = _text(path, cannot)
    try:
        graph = _graphml(text) if text.lstrip().startswith("<") else _delimited(text, notes)
    except NetworkError as error:
        raise NetworkError(f"{cannot}{error}") from None
    if len(graph) < 2:
        raise NetworkError(f"{cannot}it names fewer than two nodes; write a pair of neighbours a line")
    loops = nx.number_of_selfloops(graph)
    if loops:
        notes.append(f"left out: {loops} line{'s' * (loops > 1)} from a node to itself")
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    _refuse_unreachable(graph, path)
    names = list(graph)
    if all(name.isdecimal() and len(name) < 10 for name in names):
        names.sort(key=int)  # numbers that are all there, from 0, stay as they are
    place = {name: k for k, name in enumerate(names)}
    edges = sorted({(min(place[a], place[b]), max(place[a], place[b])) for a, b in graph.edges})
    return NetworkFile(tuple(names), tuple(edges), tuple(notes))


def _text(path: Path, cannot: str) -> tuple[str, list[str]]:
    """Return the file's text, and a note where its encoding had to be guessed."""
    try:
        content = read_regular(path, most=_MOST_BYTES)
    except OSError as error:
        raise NetworkError(f"{cannot}{error.strerror or type(error).__name__}") from None
    try:
        text, notes = decoded(content, None, cannot), []
    except DataError as error:
        if b"\0" in content:
            raise NetworkError(str(error)) from None
        text = content.decode("cp1252", errors="replace")
        notes = ["it is not UTF-8 and was read as cp1252: check the names"]
    return unicodedata.normalize("NFC", text), notes  # else one name in two spellings makes two nodes


def _graphml(text: str) -> nx.Graph:
    try:
        graph = nx.Graph(nx.parse_graphml(text))
    except (nx.NetworkXException, ElementTree.ParseError, KeyError, ValueError, StopIteration) as error:
        raise NetworkError(f"it begins as XML but is not GraphML ({shown(str(error))})") from None
    for key in ("label", "name"):
        labels = {node: str(label).strip() for node, label in graph.nodes(data=key) if label is not None}
        if len(set(labels.values())) == len(graph):
            return nx.relabel_nodes(graph, labels)
    return graph


def _delimited(text: str, notes: list[str]) -> nx.Graph:
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise NetworkError(f"it has more than {_MOST_LINES} lines")
    remarks = sum(line.lstrip().startswith("#") for line in lines)
    if remarks:
        notes.append(f"left out: {remarks} line{'s' * (remarks > 1)} that begin{'s' * (remarks == 1)} with #")
    rows = _rows(lines)
    if not rows.fields:
        return nx.Graph()
    return _matrix(rows.fields, notes) or _edge_list(rows, notes)


def _rows(lines: Sequence[str]) -> _Rows:
    """Return the fields by the delimiter and the quotes that split each of the first lines into equally many.

    Where there is no such delimiter, the error is about the one that splits most of these lines.
    """
    single = not any('"' in line for line in lines) and any(line.lstrip().startswith("'") for line in lines)
    best, most = (",", '"'), -1
    for quote in ["'"] * single + ['"']:
        for delimiter in _DELIMITERS:
            pairs, fits = _pairs_among_the_first(lines, delimiter, quote)
            if fits:
                if delimiter not in (_ARROW, " ") and _pairs_among_the_first(lines, _ARROW, quote)[1]:
                    raise NetworkError(
                        "its lines may be split at dashes, or at commas or the like; put names in quotes"
                    )
                return _checked(lines, delimiter, quote)
            if pairs > most:
                best, most = (delimiter, quote), pairs
    return _checked(lines, *best)


def _pairs_among_the_first(lines: Sequence[str], delimiter: str, quote: str) -> tuple[int, bool]:
    """Count the first lines with two fields or more, and tell whether all of them have equally many."""
    try:
        sample = [row for _, row in islice(_fields(lines, delimiter, quote), _SNIFFED_LINES)]
    except NetworkError:
        return -1, False
    pairs = sum(len(row) > 1 for row in sample)
    return pairs, pairs == len(sample) and len({len(row) for row in sample}) == 1


def _checked(lines: Sequence[str], delimiter: str, quote: str) -> _Rows:
    if delimiter != " ":
        for k, line in enumerate(lines, 1):
            if _remark(line, quote):
                raise NetworkError(f"line {k} holds a #; put the name in quotes, or the remark in a line of its own")
    rows = _Rows([], [])
    for k, row in _fields(lines, delimiter, quote):
        if len(row) < 2:
            raise _no_pair(k)
        if rows.fields and len(row) != len(rows.fields[0]):
            raise NetworkError(
                f"line {k} has {len(row)} fields, line {rows.numbers[0]} has {len(rows.fields[0])}; put a comma "
                "between the names, and names that hold a comma in quotes"
            )
        rows.numbers.append(k)
        rows.fields.append(row)
    if delimiter == " ":
        _refuse_names_with_blanks(rows)
    return rows


def _refuse_names_with_blanks(rows: _Rows) -> None:
    """Refuse more words than two at the blanks of a line unless they are weights, or networkx's dictionaries."""
    later = list(zip(rows.numbers, rows.fields, strict=True))[len(rows.fields) > 1 :]
    for k, row in later:
        if len(row) > 2 and not _is_number(row[2]) and not row[2].startswith("{"):
            raise NetworkError(
                f"line {k} has {len(row)} words, and blanks may be within a name or between two; put a comma between "
                "the names"
            )


def _fields(lines: Sequence[str], delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that holds any."""
    reader = csv.reader(
        (_as_csv(line, delimiter, quote) for line in lines),
        delimiter=delimiter,
        quotechar=quote,
        skipinitialspace=True,
        strict=True,
    )
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise NetworkError(f"line {reader.line_num} is not a line of a CSV file ({error}); check its quotes") from None


def _as_csv(line: str, delimiter: str, quote: str) -> str:
    line = line.strip(" \r") if delimiter == "\t" else line.strip()
    if line.startswith("#"):
        return ""
    if delimiter == _ARROW:
        parts = re.split(f"({quote}[^{quote}]*{quote})", line)  # every second one is in quotes
        return "".join(part if k % 2 else _ARROWS.sub(_ARROW, part) for k, part in enumerate(parts))
    if delimiter != " ":
        return line
    remark = _remark(line, quote)
    return (line[: remark.start()] if remark else line).replace("\t", " ").rstrip()


def _remark(line: str, quote: str) -> re.Match[str] | None:
    """Find a remark behind the fields of a line: a # outside of quotes, after a blank."""
    if line.lstrip().startswith("#"):
        return None
    return re.search(r"\s#", re.sub(f"{quote}[^{quote}]*{quote}", lambda quoted: "x" * len(quoted[0]), line))


def _no_pair(k: int) -> NetworkError:
    return NetworkError(
        f"line {k} is not a pair of neighbours; write two names or numbers a line, with a comma between them"
    )


def _matrix(fields: list[list[str]], notes: list[str]) -> nx.Graph | None:
    """Return the graph of an adjacency matrix, with or without names above and at the left; None of other files."""
    for above, left in ((1, 1), (1, 0), (0, 1), (0, 0)):
        n = len(fields) - above
        if n != len(fields[0]) - left or n < (2 if left else 3):
            continue
        on_top, at_left = fields[0][left:], [row[0] for row in fields[above:]]
        names = on_top if above else at_left if left else list(map(str, range(n)))
        weights = _weights([row[left:] for row in fields[above:]])
        if weights is None or len(set(names)) < n or (above and left and on_top != at_left):
            continue
        # Whoever writes the names twice, or four and more columns of nothing but numbers, means a matrix.
        is_meant = bool(above and left) or (not above and n > 3 and (not left or not any(map(_is_number, names))))
        uneven = np.argwhere((weights != 0) != (weights.T != 0))
        if len(uneven) and is_meant:
            a, b = (shown(names[k]) for k in uneven[0])
            raise NetworkError(
                f"its adjacency matrix is not symmetric: {a} and {b}; give both directions, or a list of neighbours "
                "with two columns"
            )
        if len(uneven) or (weights.diagonal().any() and not is_meant):
            continue
        notes.append(f"read as an adjacency matrix of {n} nodes")
        return nx.relabel_nodes(nx.from_numpy_array(weights != 0), dict(enumerate(names)))
    return None


def _weights(fields: list[list[str]]) -> Array | None:
    """Return the numbers in the fields, 0 where one is empty; None where something else stands there."""
    values = [[number(field, "," if "," in field else ".") for field in row] for row in fields]
    if any(value is None for row in values for value in row):
        return None
    weights: Array = np.nan_to_num(np.array(values, dtype=float), posinf=np.inf, neginf=-np.inf)
    if np.isinf(weights).any():
        raise NetworkError("its adjacency matrix holds an infinite number; write 0 where there is no line")
    return weights


def _edge_list(rows: _Rows, notes: list[str]) -> nx.Graph:
    head = rows.fields[0]
    words = [name.lower() for name in head]
    known = [next((j for j, word in enumerate(words) if word in ends), None) for ends in (_SOURCES, _TARGETS)]
    is_known = None not in known
    a, b = (known[0] or 0, known[1] or 0) if is_known else (0, 1)
    pairs = [(row[a], row[b]) for row in rows.fields]
    for k, pair in zip(rows.numbers, pairs, strict=True):
        if not all(pair):
            raise _no_pair(k)
    if _is_header(pairs) and (is_known or len(pairs) > 1):
        del pairs[0]
        notes.append(f"line {rows.numbers[0]} was read as the names of columns, {_listed(head)}: no other has them")
    if len(head) > 2:
        which = f"columns {shown(head[a])} and {shown(head[b])}" if is_known else "the first two"
        notes.append(f"read were {which} of {len(head)} columns")
    graph = nx.Graph(pairs)
    again = len(pairs) - graph.number_of_edges()
    if again:
        notes.append(f"left out: {again} line{'s' * (again > 1)} given twice")
    return graph


def _is_header(pairs: list[tuple[str, str]]) -> bool:
    """Tell a line of column names: two words that no other line has, whose nodes could reach nobody else."""
    names = {name for pair in pairs[1:] for name in pair}
    return names.isdisjoint(pairs[0]) and not any(map(_is_number, pairs[0]))


def _is_number(name: str) -> bool:
    return number(name) is not None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(shown, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _refuse_unreachable(graph: nx.Graph, path: Path) -> None:
    pieces = list(nx.connected_components(graph))
    largest = max(pieces, key=len)
    apart = [name for name in graph if name not in largest]
    if apart:
        raise NetworkError(
            f"the network '{path}' is not connected: {_listed(apart)} cannot reach the other {len(largest)} nodes; add "
            "a line between them"
        )
