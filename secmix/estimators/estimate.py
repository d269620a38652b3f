"""Estimate: a number that says how it was got and how far it can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["exact", "upper bound", "lower bound", "estimate"]
Status = Literal["resolved", "unresolved", "determined"]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, its unit and its standing.

    Attributes
    ----------
    value : float
        The number; ``inf`` where the truth is infinite and known to be.
    low, high : float
        A 95 % interval; both equal ``value`` for an exact result. A result that is only known from below
        has ``high = inf``.
    unit : str
        "nats", "bits", "relative RMSE", ...
    method : str
        How it was got, in words a report can print.
    kind : {"exact", "upper bound", "lower bound", "estimate"}
    status : {"resolved", "unresolved", "determined"}
        *unresolved*: the number reflects the sample size, or reads low, and clears nobody;
        *determined*: the target is a function of the view.
    notes : tuple of str
        What a reader must know before relying on the number.

    Examples
    --------
    >>> Estimate.exact(0.25, "nats", "closed form")
    Estimate(0.25 nats, exact, resolved; closed form)
    """

    value: float
    low: float
    high: float
    unit: str
    method: str
    kind: Kind = "estimate"
    status: Status = "resolved"
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def exact(cls, value: float, unit: str, method: str) -> Estimate:
        """Make an exact result; an infinite one is *determined*."""
        status: Status = "determined" if math.isinf(value) else "resolved"
        return cls(value, value, value, unit, method, "exact", status)

    def __repr__(self) -> str:
        interval = "" if self.low == self.high else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"Estimate({self.value:.4g}{interval} {self.unit}, {self.kind}, {self.status}; {self.method})"


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Compute the 95 % interval of a share (Wilson 1927).

    >>> [round(end, 3) for end in wilson(5, 5)]
    [0.566, 1.0]
    """
    z = 1.959964
    centre = (hits + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(hits * (n - hits) / n + z**2 / 4)
    return (0.0 if hits == 0 else centre - half), (1.0 if hits == n else centre + half)


def normalised(nats: float, dimension: int) -> float:
    """Compute 1 − exp(−2 I / d): 0 when independent, 1 when determined; explained variance for Gaussians.

    >>> normalised(0.0, 2), normalised(math.inf, 2)
    (0.0, 1.0)
    """
    return 1.0 - math.exp(-2.0 * max(nats, 0.0) / dimension)
