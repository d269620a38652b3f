"""Words and numbers that reports of studies share."""

from __future__ import annotations

from secmix.estimators.estimate import wilson


def verdict(holds: bool) -> str:
    """How an item of a list of claims begins."""
    return "- **Holds.**" if holds else "- **Does not hold.**"


def share(hits: int, n: int) -> str:
    """A share in per cent with its 95 % interval."""
    if n == 0:
        return "—"
    low, high = wilson(hits, n)
    return f"{100 * hits / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def out_of(hits: int, n: int, digits: int = 2) -> str:
    """A count of repetitions with the 95 % interval of its share."""
    low, high = wilson(hits, n)
    return f"{hits} of {n} [{low:.{digits}f}, {high:.{digits}f}]"


def plus_minus(pair: list[float], digits: int = 2) -> str:
    """A mean and half of its interval."""
    value, half = pair
    if abs(value) >= 1000:
        return f"{value:.1e} ± {half:.0e}"
    return f"{value:.{digits}f} ± {half:.{digits}f}"
