"""Errors that say what was given, what is allowed and how to mend it: in one line that is safe to print."""

from __future__ import annotations

import difflib
import re
import reprlib
import traceback
from collections.abc import Iterable
from datetime import date, time
from pathlib import Path
from typing import Any

MOST = 290
"""Characters of an error; with the name of the command before it, at most 300."""

# Control characters break XML and terminals; bidirectional overrides let a label read as something it is not;
# lone surrogates cannot be written as UTF-8 at all.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")

_shortly = reprlib.Repr()
_shortly.maxstring = _shortly.maxother = _shortly.maxlong = 60
_shortly.maxlevel, _shortly.maxdict, _shortly.maxlist = 3, 3, 6


class SecmixError(ValueError):
    """Something in the input is wrong; the message says what, and what would be right.

    The message is one line of at most ``MOST`` characters without control characters, whatever it was made from.

    Attributes
    ----------
    key : tuple of str and int
        Where in the scenario the fault is, as far as it is known there, such as ("protocol", "sigma").
    cell : int or None
        In which cell of its sweep, counted from 0.
    """

    key: tuple[str | int, ...] = ()
    cell: int | None = None

    def __init__(self, message: str = "") -> None:
        super().__init__(brief(str(message)))


class NetworkError(SecmixError):
    """The network cannot carry what is asked of it (not connected, no Hamiltonian cycle, ...)."""


class DataError(SecmixError):
    """The data cannot be used as they are (not finite, constant, too few rows, ...)."""


class ScenarioError(SecmixError):
    """A scenario that does not say what it means: unknown keys, wrong types, impossible values."""


class NotConverged(SecmixError):
    """A protocol stopped short of its tolerance; ``residual`` says by how much."""

    def __init__(self, message: str, residual: float) -> None:
        super().__init__(message)
        self.residual = residual

    def __reduce__(self) -> tuple[type[NotConverged], tuple[str, float]]:
        return type(self), (str(self), self.residual)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint in words: the nearest known name, or the first of all.

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


def one_line(text: str) -> str:
    """``text`` in one line, with U+FFFD in place of each character that cannot be shown as itself.

    >>> one_line("red\\x1b[31m\\nand more")
    'red\\ufffd[31m and more'
    """
    return " ".join(UNSEEN.sub("\ufffd", re.sub(r"\s+", " ", text)).split())


def brief(text: str, most: int = MOST) -> str:
    """``text`` in one line that is safe to print, its middle left out where it is longer than ``most``.

    What was given stands at the beginning, how to mend it at the end.

    >>> brief("given " * 50 + "mend it so", 40)
    'given given given given giv … mend it so'
    """
    line = one_line(text)
    if len(line) <= most:
        return line
    tail = min(most // 3, 100)
    cut = line[-tail:]
    # From the beginning of a word, where there is one.
    cut = cut[cut.index(" ") + 1 :] if " " in cut[:-1] else cut
    return f"{line[: most - len(cut) - 3].rstrip()} … {cut}"


def shown(value: Any, most: int = 60) -> str:
    """``value`` as Python writes it, shortened: never more than ``most`` characters, whatever it is.

    >>> shown("a" * 100, 12), shown(2**20000)
    ("'aaa...aaaa'", 'a whole number of 20001 bits')
    """
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 160:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = str(value) if isinstance(value, date | time) else one_line(_shortly.repr(value))
    except Exception:  # a repr of the user's own may fail in any way, and so does that of a list of huge numbers
        text = f"a {type(value).__name__}"
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-(most - 3 - half) :]}"


def cause(error: BaseException) -> str:
    """What kind of error it is and where it was raised; its own words may hold private values, or say nothing.

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError as error:
    ...     cause(error)
    'ZeroDivisionError in <doctest ...>, line 2'
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
