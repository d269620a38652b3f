"""Result of a soundness check: passed, failed with a counterexample, or not applicable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "not applicable"]


@dataclass(frozen=True)
class Counterexample:
    """Place at which a check failed. It names places and sizes, but never a value of anybody's data."""

    where: str  # the message or result
    what: str  # what was expected and found
    entry: int | None = None  # entry of the vector

    def __str__(self) -> str:
        entry = "" if self.entry is None else f", entry {self.entry}"
        return f"{self.where}{entry}: {self.what}"


@dataclass(frozen=True)
class Check:
    """One check and its result.

    >>> counterexample = Counterexample("mask from 0 to 1", "values")
    >>> print(Check("state", "failed", "An object in use sends other messages.", counterexample))
    state: An object in use sends other messages (mask from 0 to 1: values)
    """

    name: str
    outcome: Outcome
    sentence: str  # what was checked and found, for the report
    counterexample: Counterexample | None = None  # if the check failed
    calls: int = 0  # number of calls of the protocol
    assumes: str = ""  # what a verdict assumes after this check passed; empty if nothing

    @property
    def failed(self) -> bool:
        """True if the check failed."""
        return self.outcome == "failed"

    def __str__(self) -> str:
        where = "" if self.counterexample is None else f" ({self.counterexample})"
        return f"{self.name}: {self.sentence.rstrip('.')}{where}"


@dataclass(frozen=True)
class Soundness:
    """All checks of a cell."""

    checks: list[Check]
    public: bool = False  # for a collaboration: whether all that the adversary reads is bit-identical on all rows

    @property
    def unmet_premises(self) -> list[str]:
        """Reasons why more may be known than exact evidence says; empty if every check passed."""
        return [str(check) for check in self.checks if check.failed]

    @property
    def calls(self) -> int:
        """Number of calls of the protocol."""
        return sum(check.calls for check in self.checks)


BLIND = Check(
    "metadata",
    "not applicable",
    "The adversary is declared blind to metadata.",
    assumes="The adversary is declared not to observe the number, kind, size and time of messages.",
)
"""The first check if an adversary is declared blind to metadata."""


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """Run ``check``; if it raises, count it as failed, with the kind of error but not its text.

    The text of an error in the protocol's code may contain private values.
    """
    try:
        return check()
    except Exception as error:
        return Check(name, "failed", f"The check could not be completed: {type(error).__name__}.")
