"""The lines of ``nvflare.jsonl``, read and checked: they may come from anybody.

``participant``: name, server, secure, nvflare. ``filter``: id, class, parents, chain, keys, source, arguments.
``message``: file, chain, direction, task, task_id, tag, ends (sender and receiver, null if not told), peer_is_server,
code, time, shapes and opaque (by path), history. ``passage``: filter, key, and either ``refused`` (the kind of error)
or what :func:`secmix.recording.nvflare.changes.change` found. ``end``: nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from secmix._base import safe_files
from secmix.errors import DataError

FILE = "nvflare.jsonl"
_MOST, _MOST_LINES, _LONGEST = 256 * 2**20, 1_000_000, 10_000
Line = Mapping[str, Any]
_Check = Callable[[Any], bool]


def read_lines(place: Path) -> dict[str, list[Line]]:
    """Read ``place`` / nvflare.jsonl; return its lines by what they are of. An incomplete last line is left out.

    Raises DataError if it cannot be read, or a line is not of this format.
    """
    try:
        content = safe_files.read_regular(place / FILE, follow=False, most=_MOST)
    except OSError as error:
        raise DataError(f"cannot read {place / FILE}: {error.strerror or type(error).__name__}") from None
    lines_of: dict[str, list[Line]] = {what: [] for what in _FORMS}
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if number > _MOST_LINES or not _is_line(line):
            raise DataError(f"line {number} of {place / FILE} is damaged; record the run again")
        lines_of[line["is"]].append(line)
    if not lines_of["participant"]:
        raise DataError(f"{place / FILE} is damaged: it names no participant; record the run again")
    return lines_of


def _is_line(line: Any) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("is"), str) or line["is"] not in _FORMS:
        return False
    form = _REFUSAL if line["is"] == "passage" and "refused" in line else _FORMS[line["is"]]
    return all(key in line and check(line[key]) for key, check in form.items())


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _text_or_none(value: Any) -> bool:
    return value is None or _text(value)


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _magnitude(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)  # a diverged model is not finite


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _one_of(*values: str) -> _Check:
    return lambda value: value in values


def _list_of(check: _Check, length: int | None = None) -> _Check:
    return lambda value: isinstance(value, list) and len(value) in (length or len(value),) and all(map(check, value))


def _by_name(check: _Check) -> _Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _argument(value: Any) -> bool:
    if isinstance(value, dict):
        return set(value) == {"pattern"} and _text(value["pattern"])
    single = isinstance(value, str | int | float)
    return single or _list_of(lambda each: isinstance(each, str | int | float))(value)


_CHAIN, _TEXTS = _one_of("task_data", "task_result"), _list_of(_text)
_REFUSAL: dict[str, _Check] = {"filter": _text, "key": _text, "refused": _text}
_FORMS: dict[str, dict[str, _Check]] = {
    "participant": {"name": _text, "server": _truth, "secure": _truth, "nvflare": _text},
    "filter": {
        **{"id": _text, "class": _text, "parents": _TEXTS, "chain": _CHAIN, "keys": _TEXTS},
        **{"source": _one_of("job", "site"), "arguments": _by_name(_argument)},
    },
    "message": {
        **{"file": _text, "chain": _CHAIN, "direction": _one_of("in", "out"), "task": _text, "task_id": _text_or_none},
        **{"tag": _text, "ends": _list_of(_text_or_none, 2), "peer_is_server": _truth, "code": _text, "time": _number},
        **{"shapes": _by_name(_list_of(_count)), "opaque": _TEXTS, "history": _TEXTS},
    },
    "passage": {
        **{"filter": _text, "key": _text, "changed": _truth, "numbers": _count, "single": _count},
        **{"nonzero": _list_of(_count, 2), "moved": _count, "same": _count, "largest": _magnitude},
        **{"removed": _TEXTS, "left": _TEXTS, "sealed": _count, "steps": _magnitude, "claims": _TEXTS},
        **{"withheld": _by_name(_text)},
    },
    "end": {},
}
