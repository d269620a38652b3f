"""Errors that say what was given, what is expected and the remedy: in one line that is safe to print."""

from __future__ import annotations

import difflib
import re
import reprlib
import traceback
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

MOST = 290
"""Most characters of an error; with the name of the command before it, at most 300."""

# Control characters break XML and terminals; bidirectional overrides let a label read as something it is not;
# lone surrogates cannot be written as UTF-8 at all.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

_shortly = reprlib.Repr()
_shortly.maxstring = _shortly.maxother = _shortly.maxlong = 60
_shortly.maxlevel, _shortly.maxdict, _shortly.maxlist = 3, 3, 6


class SecmixError(ValueError):
    """The input is wrong; the message says what was given, what is expected, and the remedy.

    The message is one line of at most ``MOST`` characters without control characters. ``key``: location of the fault in
    the scenario, as far as it is known, such as ("protocol", "sigma"); ``cell``: cell of the sweep, counted from 0.
    """

    key: tuple[str | int, ...] = ()
    cell: int | None = None

    def __init__(self, message: str = "") -> None:
        super().__init__(brief(str(message)))


class NetworkError(SecmixError):
    """The network does not meet a requirement (not connected, no Hamiltonian cycle, ...)."""


class DataError(SecmixError):
    """The data cannot be used (not finite, constant, too few rows, ...)."""


class ScenarioError(SecmixError):
    """The scenario is not valid: unknown keys, wrong types, impossible values."""


class NotConverged(SecmixError):
    """A protocol stopped before it reached its tolerance; ``residual`` is its distance."""

    def __init__(self, message: str, residual: float) -> None:
        super().__init__(message)
        self.residual = residual

    def __reduce__(self) -> tuple[type[NotConverged], tuple[str, float]]:
        return type(self), (str(self), self.residual)


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, or list the first of all.

    >>> nearest("pdm", ["pdmm", "plain"])
    "did you mean 'pdmm'?"
    >>> nearest("pdm", [])
    'there is none to choose from'
    """
    known = sorted(known)
    close = difflib.get_close_matches(name[:100], known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    if not known:
        return "there is none to choose from"
    return "known: " + ", ".join(known[:16]) + (f" and {len(known) - 16} more" if len(known) > 16 else "")


_EXPECTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a table"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), "a list"),
    **{"too_short": "a list with at least one entry", "string_too_short": "a text that is not empty"},
    **{"int_type": "a whole number", "float_type": "a number", "bool_type": "true or false"},
    "string_type": 'a text, in quotes: "..."',
}


def expected(fault: Mapping[str, Any]) -> str:
    """Say in plain words what Pydantic expected.

    >>> expected({"type": "int_type", "msg": "Input should be a valid integer"})
    'expected a whole number'
    """
    if fault["type"] == "is_instance_of" and fault["ctx"]["class"] == "Sequence":
        return "expected a list"
    if fault["type"] in _EXPECTED:
        return f"expected {_EXPECTED[fault['type']]}"
    reason = str(fault["msg"]).removeprefix("Value error, ")
    return reason[:1].lower() + reason[1:]


def first_fault(faults: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return which of the faults that Pydantic lists is told: a key of another name is why one is missing.

    >>> first_fault([{"type": "missing"}, {"type": "extra_forbidden"}])["type"]
    'extra_forbidden'
    """
    return next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])


def one_line(text: str) -> str:
    """Put ``text`` into one line, with U+FFFD for each character that cannot be shown as itself.

    >>> one_line("red\\x1b[31m\\nand more")
    'red\\ufffd[31m and more'
    """
    return " ".join(UNSEEN.sub("\ufffd", re.sub(r"\s+", " ", text)).split())


def brief(text: str, most: int = MOST) -> str:
    """Shorten ``text`` to one line that is safe to print, by leaving out its middle beyond ``most`` characters.

    The beginning says what was given, the end gives the remedy.

    >>> brief("given " * 50 + "mend it so", 40)
    'given given given given … mend it so'
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    tail = min(most // 3, 100)
    cut = line[-tail:]
    # Start at a word, if there is one.
    cut = cut[cut.index(" ") + 1 :] if " " in cut[:-1] else cut
    head = line[: most - len(cut) - 3]
    # End at a word, if one ends in the second half.
    words, _, part = head.rpartition(" ")
    head = words if len(part) < len(head) / 2 and line[len(head)] != " " else head
    return f"{head.rstrip()} … {cut}"


def shown(value: Any, most: int = 60) -> str:
    """Format ``value`` as Python writes it, shortened to ``most`` characters.

    >>> shown("a" * 100, 12), shown(2**20000)
    ("'aaa...aaaa'", 'an integer of 20001 bits')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 160:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = str(value) if isinstance(value, date | time) else one_line(_shortly.repr(value))
    except Exception:  # a user's repr may raise anything, and so does that of a list of huge numbers
        text = f"a {type(value).__name__}"
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-(most - 3 - half) :]}"


_OF_CODE = (NameError, AttributeError, ImportError, TypeError)
"""Kinds of errors whose messages name what code is made of, and hold no numbers."""


def kind_of(error: BaseException) -> str:
    """Name the kind of error, with its message where that is about code; any other may contain private values.

    >>> kind_of(NameError("name 'maks' is not defined")), kind_of(ValueError("3.14 is too large"))
    ("NameError (name 'maks' is not defined)", 'ValueError')
    """
    return f"{type(error).__name__} ({str(error)[:200]})" if isinstance(error, _OF_CODE) else type(error).__name__


def cause(error: BaseException) -> str:
    """Name the kind of error and where it was raised; its own message may contain private values.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     cause(error)
    'ZeroDivisionError in <doctest ...>, line 2'
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
