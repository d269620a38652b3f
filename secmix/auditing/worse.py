"""Say what is worse than before: one definition, for a baseline and for two reports side by side."""

from __future__ import annotations

import math

from secmix.auditing.cell_parts import FAULTS, Coalitions, NodeSummary, PrivacyClaim, Robustness, Standing, Verdict
from secmix.auditing.decide import ORDER

LEAKAGE = 0.01  # estimates of a share of the variance differ by as much between seeds
_ERROR, _SMALL = 0.05, 1e-3
"""Found errors that differ by less, relative to the smaller or in honest spreads, differ by the luck of the search: on
the same messages other random numbers move what it finds by up to 4.4 % (Krum, three of the eleven nodes of
colluders-worst-case; trimmed mean and median by nothing, geometric median by 2.2 %, Multi-Krum by 1.7 %)."""
_ROUNDING = 1e-9  # of fractions of the nodes
STANDINGS: tuple[Standing, ...] = (
    "revealed",
    "partly leaked",
    "inconclusive",
    "bounded by noise",
    "no more than the output itself reveals",
    "corrupt",
)
"""Worst first."""
_UNLIKE = {"inconclusive", "corrupt"}  # what may be better or worse than others


def is_worse(old: Verdict, new: Verdict) -> bool:
    """Say whether a verdict is worse than one before; what an audit says nothing against is not.

    >>> is_worse("holds", "inconclusive"), is_worse("violated", "inconclusive"), is_worse("not asked", "holds")
    (True, False, False)
    """
    return new in FAULTS and ORDER.index(new) > ORDER.index(old)


def leaks_more(old: NodeSummary, new: NodeSummary, tolerance: float = LEAKAGE) -> bool:
    """Say whether a node is worse off: its verdict, what is known of it, or how much by more than ``tolerance``."""
    if is_worse(old.verdict, new.verdict) or new.worst > old.worst + tolerance:
        return True
    if new.standing == "revealed":
        return old.standing != "revealed"
    alike = not {old.standing, new.standing} & _UNLIKE
    return alike and STANDINGS.index(new.standing) < STANDINGS.index(old.standing)


def fewer_suffice(old: Coalitions, new: Coalitions) -> bool:
    """Say whether a smaller coalition exposes somebody."""
    if is_worse(old.verdict, new.verdict):
        return True
    return new.least is not None and (old.least is None or new.least < old.least)


def claims_less(old: PrivacyClaim, new: PrivacyClaim) -> bool:
    """Say whether a claim of differential privacy is kept less: its verdict is worse, or more of epsilon is seen."""
    was, now = (max((as_number(node.seen) for node in claim.nodes), default=0.0) for claim in (old, new))
    return is_worse(old.verdict, new.verdict) or (now > was and differ(was, now))


def is_less_robust(old: Robustness, new: Robustness) -> bool:
    """Say whether colluders can do more to the result: by the verdict, the breakdown, or an error that grew."""
    if is_worse(old.verdict, new.verdict) or breaks_sooner(old, new):
        return True
    before = {point.colluders: point.found for point in old.points}
    errors = [(before[point.colluders], point.found) for point in new.points if point.colluders in before]
    return any(differ(was, found) and as_number(found) > as_number(was) for was, found in errors)


def breaks_sooner(old: Robustness, new: Robustness) -> bool:
    """Say whether fewer colluders push the result without bound than before."""
    broke, breaks = (any(point.found is None for point in found.points) for found in (old, new))
    return breaks and (not broke or new.breakdown < old.breakdown - _ROUNDING)


def differ(old: float | None, new: float | None) -> bool:
    """Say whether two errors that a search found differ by more than its luck; None is without bound.

    >>> differ(0.2, 0.205), differ(0.2, 0.22), differ(2e-16, 5e-16), differ(0.2, None)
    (False, True, False, True)
    """
    if old is None or new is None:
        return old is not new
    return abs(new - old) > max(_ERROR * min(old, new), _SMALL)


def as_number(error: float | None) -> float:
    """Return an error as a number; None is without bound."""
    return math.inf if error is None else error
