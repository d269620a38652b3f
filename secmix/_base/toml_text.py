"""The text of a TOML file, its plain values, and the line of each key."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from secmix.errors import ScenarioError, shown

KeyPath = tuple[str | int, ...]

_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([\w-]+))\s*""")
_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]+")


def read_text(path: str | Path) -> str:
    """Read the text of a scenario's file."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"the scenario '{path}' cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise ScenarioError(f"the scenario '{path}' cannot be read: it is not UTF-8 text; save it as UTF-8") from None


def read_toml(text: str, source: str) -> dict[str, Any]:
    """Parse a TOML ``text``; numbers and nesting beyond its limits are errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(_not_toml(text, source, str(error))) from None
    except RecursionError:
        raise ScenarioError(f"{source} is nested too deeply; expected at most tables of tables") from None
    except ValueError:  # Python limits the digits it reads
        raise ScenarioError(
            f"{source} has a number with thousands of digits; write one that fits into 64 bits"
        ) from None


_AT = re.compile(r" \(at line (\d+), column \d+\)$")


def _not_toml(text: str, source: str, message: str) -> str:
    """Say what is wrong with a text that is no TOML: where, and which key is concerned."""
    message = re.sub(r"\('([^()]*?)',?\)", r"'\1'", message)  # keys as Python writes tuples
    at = _AT.search(message)
    if at is None:
        return f"{source} is not valid TOML: {message}"
    key, equals, _ = text.splitlines()[int(at[1]) - 1].partition("=")
    where, message = f"{source}, line {at[1]}", _AT.sub("", message)
    if equals and message == "Cannot overwrite a value":
        return f"{where}: {shown(key.strip())} is given twice; keep one"
    quoted = '; text stands in quotes: key = "text"' if message == "Invalid value" else ""
    return f"{where} is not valid TOML: {message[0].lower()}{message[1:]}{quoted}"


def locations(text: str) -> dict[KeyPath, int]:
    """Locate every key, table and list entry of a valid TOML ``text``: its line, counted from 1.

    If the text cannot be parsed, the locations up to that point are returned.

    >>> lines = locations('[a]\\nb = [1,\\n {c = 2}]\\n[[d]]\\n[[d]]\\ne.f = 3\\n')
    >>> lines["a", "b", 1, "c"], lines["d", 1, "e", "f"]
    (3, 6)
    """
    lines: dict[KeyPath, int] = {}
    ends = [match.start() for match in re.finditer("\n", text)]
    try:
        for path, offset in _statements(text):
            lines.setdefault(path, bisect_left(ends, offset) + 1)
    except (AttributeError, IndexError, RecursionError):
        pass
    return lines


def line_of(text: str, path: KeyPath) -> int | None:
    """Find the line of the key at ``path`` in ``text``, or of the nearest enclosing key."""
    return nearest_line(locations(text), path)


def nearest_line(known: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Find the line of the key at ``path``, or of the nearest enclosing key, among ``known`` locations."""
    return next((known[path[:k]] for k in range(len(path), 0, -1) if path[:k] in known), None)


def _statements(text: str) -> Iterator[tuple[KeyPath, int]]:
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
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


def _value(text: str, at: int, path: KeyPath) -> Generator[tuple[KeyPath, int], None, int]:
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
