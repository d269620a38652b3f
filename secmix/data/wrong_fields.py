"""Faults of a field that should hold a number, and the setting that mends each; never the value."""

from __future__ import annotations

import math
import re

_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_MARK = 'say missing = "drop", or "mean"'


def wrong_with(field: str, value: float | None, decimal: str, *, alone: bool) -> str:
    """Say why a field is no number that can be used, with ``{out}`` for how to leave its column out; "" where it is.

    ``value``: as it was read: NaN where it is missing; ``decimal``: what stands before the fraction of a number;
    ``alone``: whether the field is its row's only one, as where the delimiter is wrong.

    >>> wrong_with("1,5", None, ".", alone=False)
    'is not a number with a decimal point; say decimal = ","'
    """
    if value is not None and math.isnan(value):
        return ""
    if decimal == "," and "." in field:
        return (
            'holds a point, though decimal = ","; write thousands without one, or say decimal = "." where points stand '
            "before fractions"
        )
    if value is None and decimal == "." and _COMMA.fullmatch(field):
        return 'is not a number with a decimal point; say decimal = ","'
    if value is None and alone and (sign := next((each for each in ";\t|" if each in field), "")):
        return f"is not a number but several fields; say delimiter = {sign!r}".replace("'", '"')
    if value is None:
        return f"is not a number; if it marks a missing value, list it under missing_marks and {_MARK}; else {{out}}"
    if math.isinf(value):
        return f"is infinite, or too large for a number; list its mark under missing_marks and {_MARK}, or {{out}}"
    return ""
