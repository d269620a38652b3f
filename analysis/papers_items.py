"""What the page on the five papers is made of: verdicts, rows and papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.study import Numbers

REPRODUCED, DIFFERS, IMPOSSIBLE, MISSING, PROOF, NONE = (
    "reproduced",
    "differs",
    "impossible here",
    "not yet run",
    "a proof",
    "no result",
)
SCHEME = (NONE, "a drawing of the method")


@dataclass(frozen=True)
class Row:
    """An item of a paper.

    Attributes
    ----------
    item, theirs : str
        What it is, and what the paper says.
    judged : function of the study's numbers, or (verdict, words)
        Verdict and our number. A part that the numbers lack (KeyError) makes it *not yet run*.
    """

    item: str
    theirs: str
    judged: Callable[[Numbers], tuple[str, str]] | tuple[str, str]


@dataclass(frozen=True)
class Paper:
    """A paper, the folder of its report, and its rows."""

    name: str
    folder: str
    rows: tuple[Row, ...]


def when(holds: bool, words: str) -> tuple[str, str]:
    """Reproduced or differs."""
    return (REPRODUCED if holds else DIFFERS), words


def about(pair: list[float], digits: int = 2) -> str:
    """Mean and 95 % interval, of a mean and half of its width."""
    return f"{pair[0]:.{digits}f} [{pair[0] - pair[1]:.{digits}f}, {pair[0] + pair[1]:.{digits}f}]"
