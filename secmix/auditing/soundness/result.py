"""What a soundness check found: passed, failed with a witness, or not applicable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "not applicable"]


@dataclass(frozen=True)
class Witness:
    """Where a check failed. It names places and sizes, never a value of anybody's data.

    Attributes
    ----------
    where : str
        Which message, or which result.
    what : str
        What differed.
    entry : int or None
        Which entry of the vector.
    """

    where: str
    what: str
    entry: int | None = None

    def __str__(self) -> str:
        entry = "" if self.entry is None else f", entry {self.entry}"
        return f"{self.where}{entry}: {self.what}"


@dataclass(frozen=True)
class Check:
    """One mechanism and what it found.

    Attributes
    ----------
    name : str
    outcome : {"passed", "failed", "not applicable"}
    sentence : str
        What was tried and found, for the report.
    witness : Witness or None
        Of a check that failed.
    calls : int
        How often the protocol was called for it.
    assumes : str
        What a verdict still assumes after this check passed; empty if nothing worth a line.

    Examples
    --------
    >>> print(Check("state", "failed", "A used object sends other messages.", Witness("mask from 0 to 1", "values")))
    state: A used object sends other messages (mask from 0 to 1: values)
    """

    name: str
    outcome: Outcome
    sentence: str
    witness: Witness | None = None
    calls: int = 0
    assumes: str = ""

    @property
    def failed(self) -> bool:
        """Whether it found something."""
        return self.outcome == "failed"

    def __str__(self) -> str:
        where = "" if self.witness is None else f" ({self.witness})"
        return f"{self.name}: {self.sentence.rstrip('.')}{where}"


@dataclass(frozen=True)
class Soundness:
    """All checks of a cell.

    Attributes
    ----------
    checks : list of Check
    public : bool
        Of a collaboration: whether what the adversary hears, if anything, is to the last bit the same on all rows.
    """

    checks: list[Check]
    public: bool = False

    @property
    def doubts(self) -> list[str]:
        """Why more may be known than the exact evidence says; empty where every check passed."""
        return [str(check) for check in self.checks if check.failed]

    @property
    def calls(self) -> int:
        """How often the protocol was called."""
        return sum(check.calls for check in self.checks)

    @property
    def assumptions(self) -> list[str]:
        """What the verdict rests on, in at most five lines."""
        return [check.assumes for check in self.checks if check.assumes and not check.failed][:5]


BLIND = Check(
    "metadata",
    "not applicable",
    "The adversary is declared blind to metadata.",
    assumes="The adversary is declared not to see how many messages there are, of which kind, size and time.",
)
"""What stands first where an adversary is declared blind."""


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """``check()``; one that cannot be completed counts as failed, with the kind of error but not its text.

    The text of an error in a stranger's code may hold private values.
    """
    try:
        return check()
    except Exception as error:
        return Check(name, "failed", f"The check could not be completed: {type(error).__name__}.")
