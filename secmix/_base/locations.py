"""The line of each key and list entry of a TOML text, since ``tomllib`` returns values only."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Generator, Iterator

Path = tuple[str | int, ...]

_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))\s*""")
_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def locations(text: str) -> dict[Path, int]:
    """Locate every key, table and list entry of a valid TOML ``text``: its line, counted from 1.

    If the text cannot be parsed, the locations up to that point are returned.

    >>> lines = locations('[a]\\nb = [1,\\n {c = 2}]\\n[[d]]\\n[[d]]\\ne.f = 3\\n')
    >>> lines["a", "b", 1, "c"], lines["d", 1, "e", "f"]
    (3, 6)
    """
    lines: dict[Path, int] = {}
    ends = [match.start() for match in re.finditer("\n", text)]
    try:
        for path, offset in _statements(text):
            lines.setdefault(path, bisect_left(ends, offset) + 1)
    except (AttributeError, IndexError, RecursionError):
        pass
    return lines


def line_of(text: str, path: Path) -> int | None:
    """Find the line of the key at ``path`` in ``text``, or of the nearest enclosing key."""
    known = locations(text)
    return next((known[path[:k]] for k in range(len(path), 0, -1) if path[:k] in known), None)


def _statements(text: str) -> Iterator[tuple[Path, int]]:
    table: Path = ()
    counts: dict[Path, int] = {}
    at = _skipped(text, 0)
    while at < len(text):
        if text[at] == "[":
            several = text.startswith("[[", at)
            keys, end = _keys(text, at + 1 + several)
            table = ()
            for k, key in enumerate(keys):
                table += (key,)
                if several and k == len(keys) - 1:
                    counts[table] = counts.get(table, -1) + 1
                yield table, at
                if table in counts:  # the latest table of an array of tables
                    table += (counts[table],)
                    yield table, at
            at = end + 1 + several
        else:
            keys, end = _keys(text, at)
            path = table
            for key in keys:
                path += (key,)
                yield path, at
            at = yield from _value(text, _skipped(text, end + 1), path)
        at = _skipped(text, at)


def _value(text: str, at: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    """Yield the locations within the value that begins at ``at``; return where it ends."""
    if text[at] == "[":
        at, index = _skipped(text, at + 1), 0
        while text[at] != "]":
            yield (*path, index), at
            at = _skipped(text, (yield from _value(text, at, (*path, index))))
            at = _skipped(text, at + 1) if text[at] == "," else at
            index += 1
        return at + 1
    if text[at] == "{":
        at = _skipped(text, at + 1)
        while text[at] != "}":
            keys, end = _keys(text, at)
            inner = path
            for key in keys:
                inner += (key,)
                yield inner, at
            at = _skipped(text, (yield from _value(text, _skipped(text, end + 1), inner)))
            at = _skipped(text, at + 1) if text[at] == "," else at
        return at + 1
    token = _STRING.match(text, at) or _PLAIN.match(text, at)
    return token.end()  # type: ignore[union-attr]


def _keys(text: str, at: int) -> tuple[list[str], int]:
    """Parse a dotted key: its parts, and where it ends."""
    keys: list[str] = []
    while True:
        match = _KEY.match(text, at)
        quoted, literal, bare = match.groups()  # type: ignore[union-attr]
        if quoted is not None:
            quoted = str(tomllib.loads(f'k = "{quoted}"')["k"])
        keys.append(next(part for part in (quoted, literal, bare) if part is not None))
        at = match.end()  # type: ignore[union-attr]
        if text[at] != ".":
            return keys, at
        at += 1


def _skipped(text: str, at: int) -> int:
    return _SKIP.match(text, at).end()  # type: ignore[union-attr]
