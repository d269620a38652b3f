"""Where two results are equally good nobody can choose alike in another guise: what excuses a rule that does not.

Scores are equal but for rounding, as those of two midmost messages: moved by a last digit, the messages give the other
result too. Scores that are equal whatever the numbers are, as those of two messages that are each other's nearest, are
no excuse: a rule that then takes the first to come does depend on the order of arrival.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np

from secmix.adversaries.search.oracle import quietly
from secmix.testing.properties import Property

_NEARBY = (24, 160)  # moves by a last digit; more if most is explained


def a_tie(one: Property, lines: CodeType, arrays: dict[str, Any], failed: dict[str, Any]) -> bool:
    """Whether the rule takes the other result, too, on messages that are off by a last digit.

    ``failed`` are the names after the property's ``lines``, which ran with ``arrays``.
    """
    guise = one.only_if or one.title == "number type"
    if arrays.get("messages") is None or not guise or "expected" not in failed:
        return False
    if np.shape(failed["result"]) != np.shape(failed["expected"]):
        return False
    messages = arrays["messages"]
    if messages.dtype != np.float64:
        messages = messages.astype(np.float64)  # as it lies in memory
    rng, few = np.random.default_rng(0), 16 * np.finfo(float).eps * np.abs(messages).max(axis=0, initial=0.0)
    # Entry by entry: a rule may choose in each by itself.
    one_way = other_way = np.abs(failed["result"] - failed["expected"]) <= arrays["tolerance"]
    for tried in range(_NEARBY[1]):
        if tried == _NEARBY[0] and max(np.mean(one_way), np.mean(other_way)) < 0.9:
            return False
        moved = messages.copy(order="K")
        moved[...] += few * rng.uniform(-1.0, 1.0, messages.shape)
        widened = tried % 2 == 1 and moved.ndim == 2 and moved.shape[1] == 1
        if widened:
            # On a line, sums of distances are equal all over a region: only another dimension takes that away.
            moved = np.hstack([moved, 1e-4 * np.abs(moved).max() * rng.uniform(-1.0, 1.0, moved.shape)])
        names: dict[str, Any] = {"rule": failed["rule"], "np": np, **arrays, "messages": moved}
        try:
            quietly(lambda names=names: exec(lines, names))  # type: ignore[misc]
        except AssertionError:
            pass
        except (Exception, SystemExit):
            if widened:  # the rule, or the property's own numbers, may be for one dimension
                continue
            return False
        mine, theirs = (names[name][:1] if widened else names[name] for name in ("expected", "result"))
        one_way = one_way | (np.abs(failed["result"] - mine) <= arrays["tolerance"])
        other_way = other_way | (np.abs(failed["expected"] - theirs) <= arrays["tolerance"])
        if np.all(one_way) or np.all(other_way):
            return True
    return False
