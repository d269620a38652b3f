"""Report the progress of a cell: which step begins, and what the cell says if it ends there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from secmix.auditing.evidence.interface import Gathered
from secmix.auditing.report import Cell, Finding

CellResult = tuple[Cell, list[Finding]]
SELDOM = 1.0  # seconds between results so far, which take a moment to make


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
