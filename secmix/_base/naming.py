"""Names of nodes in place of their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ONE = re.compile(r"\b([Nn]ode) (\d+)\b(?!\.\d)")
_SEVERAL = re.compile(r"\b[Nn]odes (\d+(?:(?:, | and | to )\d+)*)\b(?!\.\d)")
_RANGE = re.compile(r"\b(\d+) to (\d+)\b")
_LISTED = re.compile(r"(?<=[\[{])\d+(?:, ?\d+)*(?=[\]}])")
_LINE = re.compile(r"\bfrom (\d+|the server) to ((?:\d+|the server)(?:(?:, | and )(?:\d+|the server))*)(?![\w–])")
_LINES = re.compile(r"\blines? ((?:\d+|server)–(?:\d+|server)(?:(?:, | and )(?:\d+|server)–(?:\d+|server))*)")
_ORDER = re.compile(r"(?<=together: )\d+(?:, \d+)+")
_NUMBER = re.compile(r"\d+")


def label(node: int, names: Sequence[str]) -> str:
    """Name a node, or number it if it has no name; −1 is the server.

    >>> label(1, ["Bern", "St. Gallen"]), label(1, []), label(-1, [])
    ('St. Gallen', '1', 'server')
    """
    if node < 0:
        return "server"
    return names[node] if node < len(names) else str(node)


def called(node: int, names: Sequence[str]) -> str:
    """Name a node in a sentence.

    >>> called(1, ["Bern", "St. Gallen"]), called(1, []), called(1, ["10", "20"])
    ('St. Gallen', 'node 1', 'node 20')
    """
    name = label(node, names)
    return f"node {name}" if name.isdigit() else name


def named(text: str, names: Sequence[str]) -> str:
    """Replace the numbers of nodes in a sentence of a report by names.

    >>> named("Node 1 leaks; of nodes 0, 1 and 2 the sum over {0, 1} is known", ["Bern", "St. Gallen", "Chur"])
    'St. Gallen leaks; of Bern, St. Gallen and Chur the sum over {Bern, St. Gallen} is known'
    >>> named("y from 0 to 1 and 2, round 1", ["Bern", "St. Gallen", "Chur"])
    'y from Bern to St. Gallen and Chur, round 1'
    """
    if not names:
        return text

    def of_number(match: re.Match[str]) -> str:
        return label(int(match.group()), names)

    def of_line(match: re.Match[str]) -> str:
        if not _all_known(match[0], names):
            return match[0]
        return _NUMBER.sub(of_number, match[0])

    def of_several(match: re.Match[str]) -> str:
        kind = "nodes " if any(name.isdigit() for name in names) else ""
        return kind + _NUMBER.sub(of_number, _spread(match[1])) if _all_known(match[1], names) else match[0]

    text = _ONE.sub(lambda m: called(int(m[2]), names) if int(m[2]) < len(names) else m[0], text)
    text = _SEVERAL.sub(of_several, text)
    text = _LINES.sub(lambda m: _NUMBER.sub(of_number, m[0]) if _all_known(m[1], names) else m[0], text)
    text = _ORDER.sub(lambda m: _NUMBER.sub(of_number, m[0]) if _all_known(m[0], names) else m[0], text)
    text = _LISTED.sub(lambda m: _NUMBER.sub(of_number, m[0]) if _all_known(m[0], names) else m[0], text)
    return _LINE.sub(of_line, text)


def _spread(numbers: str) -> str:
    """List all numbers of each range: between names there are no others."""
    return _RANGE.sub(lambda m: ", ".join(map(str, range(int(m[1]), int(m[2]) + 1))), numbers)


def _all_known(numbers: str, names: Sequence[str]) -> bool:
    return all(int(number) < len(names) for number in _NUMBER.findall(numbers))


def within(items: Sequence[str], most: int) -> str:
    """Join as many items as fit into ``most`` characters, one at least, and count those that are left.

    >>> within(["Bern", "St. Gallen", "Chur"], 19), within(["Bern", "St. Gallen", "Chur"], 18)
    ('Bern and 2 more', 'Bern and 2 more')
    >>> within(["Bern", "St. Gallen", "Chur"], 22), within(["Universitätsklinikum"], 5)
    ('Bern, St. Gallen, Chur', 'Universitätsklinikum')
    """
    for count in range(len(items), 1, -1):
        left = len(items) - count
        text = ", ".join(items[:count]) + (f" and {left} more" if left else "")
        if len(text) <= most:
            return text
    return ", ".join(items) if len(items) < 2 else f"{items[0]} and {len(items) - 1} more"
