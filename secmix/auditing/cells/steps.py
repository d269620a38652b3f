"""Do the steps of a cell: report which begins, and let neither failure nor want of time undo what was shown before."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from secmix.auditing.evidence.interface import CellContext, Gathered
from secmix.auditing.report import Cell, Finding
from secmix.errors import SecmixError
from secmix.kernel.state import is_protocol

T = TypeVar("T")
CellResult = tuple[Cell, list[Finding]]
SELDOM = 1.0  # seconds between results so far, which take a moment to make
LATE = "the time limit had passed"
_PACKAGE = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Word:
    """Progress of a cell while it runs."""

    share: float  # of its steps that are done
    what: str  # begins now
    so_far: CellResult | None = None  # what the cell says if it ends now, where that is new; nobody is cleared in it


Notify = Callable[[Word], None]


class Steps:
    """Reports of each step of a cell as it begins.

    ``judge(found, left)`` gives what the cell says where the steps ``left``, of ``names``, are not reached.
    """

    def __init__(
        self, names: Sequence[str], notify: Notify, judge: Callable[[list[Gathered], list[str]], CellResult]
    ) -> None:
        self._names, self._notify, self._judge = list(names), notify, judge
        self._last = time.monotonic()

    def begin(self, name: str, measured: list[Gathered], *, at_once: bool = False) -> None:
        """Say that a step begins, and, now and then or ``at_once``, what was found before it."""
        k = self._names.index(name)
        so_far = None
        if measured and (at_once or time.monotonic() > self._last + SELDOM):
            so_far = self._judge(measured, self._names[k:])
            self._last = time.monotonic()
        self._notify(Word((k + 1) / (len(self._names) + 1), name, so_far))


def attempted(
    case: CellContext, what: str, do: Callable[[], T], *, failed_matters: bool = True, late_matters: bool = True
) -> T | None:
    """Return what ``do`` returns; where it fails, or the case's time is up, note why and return None.

    What fails or is left out for time keeps every node from being cleared where that ``matters``.
    """
    if time.time() > case.deadline:
        case.unmeasured[f"{what}: {LATE}"] = late_matters
        return None
    try:
        return do()
    except BaseException as error:
        case.unmeasured[f"{what}: {why_failed(error)}"] = failed_matters
        return None


def why_failed(error: BaseException) -> str:
    """Say why something failed; an interrupt is raised again.

    The message of an error that is not ours may hold private values: only its kind is reported.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SecmixError):
        return str(error)
    if isinstance(error, MemoryError):
        return "it ran out of memory"
    return f"it failed with {type(error).__name__}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Say at which line of the user's code an error arose; nothing where it is not theirs."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_protocol(frame.filename) and not frame.filename.startswith(_PACKAGE)]
    return f" at {os.path.basename(own[-1].filename)}, line {own[-1].lineno}" if own else ""
