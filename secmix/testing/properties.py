"""What a robust rule owes its users, each property as the very lines that the printed counterexample runs."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from secmix.adversaries.search.oracle import quietly


@dataclass(frozen=True)
class Property:
    """A promise.

    Attributes
    ----------
    title : str
    promise : str
        One sentence, for the message.
    needs : tuple of str
        The names that ``lines`` use beside ``rule`` and ``np``.
    lines : str
        Python that fails with an AssertionError where the promise is broken.
    only_if : str
        The equivariance without which it is not promised, if any.
    calls : int
        How many results of the rule the lines look at.
    most : int or None
        In how many cases it is tried at most, and small ones only, where it takes long.
    """

    title: str
    promise: str
    needs: tuple[str, ...]
    lines: str
    only_if: str = ""
    calls: int = 1
    most: int | None = None


ELSEWHERE = "whenever and wherever"
_CLOSE = "assert np.abs(result - expected).max() <= tolerance, (result, expected)"
_REACH = """
result = np.asarray(rule(messages, f=f), dtype=np.float64)
error = np.linalg.norm(result - honest.mean(axis=0))
spread = np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()
assert error <= allowed * spread * (1 + 1e-6) + tolerance, (error, allowed * spread)
"""

PROPERTIES = (
    Property(
        "shape", "n messages of p entries give one vector of p finite entries, and the messages stay as they were.",
        ("messages", "f"),
        """
before = messages.copy()
result = np.asarray(rule(messages, f=f))
assert result.shape == messages.shape[1:], result.shape
assert np.isfinite(result).all(), result
assert np.array_equal(messages, before), "the rule changed its input"
""",
    ),
    Property(
        "consensus", "what all honest nodes agree on is the result, whatever the others say.",
        ("messages", "agreed", "f", "tolerance"),
        f"""
result, expected = np.asarray(rule(messages, f=f), dtype=np.float64), agreed
{_CLOSE}
""",
    ),
    Property(
        "f limits", "an f that no rule can withstand, or that is no number of nodes, is refused with a ValueError.",
        ("messages", "f"),
        """
try:
    result = rule(messages, f=f)
except ValueError:
    pass
else:
    raise AssertionError(f"f = {f} of {len(messages)} messages was accepted: {result}")
""",
    ),
    Property(
        "not finite", "NaN and infinity are refused with a ValueError, or count as Byzantine; never are they averaged.",
        ("messages", "agreed", "f", "tolerance"),
        f"""
try:
    result, expected = np.asarray(rule(messages, f=f), dtype=np.float64), agreed
except ValueError:
    pass
else:
    assert np.isfinite(result).all(), result
    {_CLOSE}
""",
    ),
    Property(
        "within reach", "the result is no further from the honest mean than the bound allows.",
        ("messages", "honest", "f", "allowed", "tolerance"),
        _REACH,
    ),
    Property(
        "no memory", "the same messages give the same result, whatever the rule was given in between.",
        ("messages", "other", "f", "tolerance"),
        f"""
import copy
result = np.array(rule(messages, f=f), dtype=np.float64)
rule(other, f=f)
for expected in (rule(messages, f=f), copy.deepcopy(rule)(messages, f=f)):
    {_CLOSE}
""",
        calls=3,
    ),
    Property(
        "number type", "the same numbers in another type, or lying otherwise in memory, give the same result.",
        ("messages", "f", "tolerance"),
        f"""
result = np.asarray(rule(messages, f=f), dtype=np.float64)
expected = np.asarray(rule(np.array(messages, dtype=np.float64, order="C"), f=f))
{_CLOSE}
""",
        calls=2,
    ),
    Property(
        "however handed", "in a thread, with f of numpy's type, or in lists if it takes those, the result is the same.",
        ("messages", "f", "tolerance"),
        f"""
import contextvars
from concurrent.futures import ThreadPoolExecutor
result = np.array(rule(messages, f=f), dtype=np.float64)
with ThreadPoolExecutor(1) as pool:
    handed = [pool.submit(contextvars.copy_context().run, lambda: rule(messages, f=f)).result()]
for given, number in ((messages, np.int64(f)), (np.array(messages, dtype=np.float64).tolist(), f)):
    try:
        handed.append(rule(given, f=number))
    except (TypeError, ValueError, AttributeError):
        pass
for expected in handed:
    {_CLOSE}
""",
        calls=4,
    ),
    Property(
        ELSEWHERE, "another day, in another environment, and called by a protocol, the rule gives the same result.",
        ("messages", "f", "tolerance"),
        f"""
import itertools, os, time
from unittest import mock
from secmix.protocols import RobustServer
from secmix.testing.watching import callers_asked, words_of
asked = callers_asked(rule)
assert not asked, "its code asks who calls it, so that what it does for others cannot be judged: " + ", ".join(asked)
result = np.array(rule(messages, f=f), dtype=np.float64)
found = [RobustServer(rule, f=f).aggregate(messages)]
names = ("time", "monotonic", "perf_counter", "process_time")
clocks = {{name: itertools.count(2.0**32, 2.0**20).__next__ for name in names}}
clocks |= {{name + "_ns": itertools.count(2**62, 2**50).__next__ for name in names}}
for settings in ({{}}, dict.fromkeys(words_of(rule), "0")):
    with mock.patch.multiple(time, **clocks), mock.patch.object(os, "environ", settings):
        found.append(rule(messages, f=f))
for expected in found:
    {_CLOSE}
""",
        calls=4,
        most=20,
    ),
    Property(
        "more entries", "entries that all messages share change nothing in the others.",
        ("messages", "common", "f", "tolerance"),
        f"""
longer = np.hstack([messages, np.tile(common, (len(messages), 1))])
result = np.array(rule(longer, f=f))
expected = np.concatenate([rule(messages, f=f), common])
{_CLOSE}
""",
        "embedding",
        calls=2,
    ),
    Property(
        "permutation", "the order in which the messages arrive does not matter.",
        ("messages", "order", "f", "tolerance"),
        f"""
result, expected = np.array(rule(messages[order], f=f)), np.array(rule(messages, f=f))
{_CLOSE}
""",
        "permutation",
        calls=2,
    ),
    Property(
        "translation", "messages moved by a vector give a result moved by it.",
        ("messages", "shift", "f", "tolerance"),
        f"""
result, expected = np.array(rule(messages + shift, f=f)), np.array(rule(messages, f=f)) + shift
{_CLOSE}
""",
        "translation",
        calls=2,
    ),
    Property(
        "scale", "messages times a factor above 0 give the result times it, however large or small.",
        ("messages", "factor", "f", "tolerance"),
        f"""
result, expected = np.asarray(rule(messages * factor, f=f)) / factor, np.asarray(rule(messages, f=f))
{_CLOSE}
""",
        "scale",
        calls=2,
    ),
    Property(
        "orthogonal", "messages that are turned give a result that is turned, in more dimensions too.",
        ("messages", "axis", "f", "tolerance"),
        f"""
wide = np.hstack([messages, np.zeros((len(messages), len(axis) - messages.shape[1]))])
def mirrored(a):
    return a - 2 * np.outer(a @ axis, axis).reshape(a.shape) / (axis @ axis)
result = np.array(rule(mirrored(wide), f=f))
expected = mirrored(np.pad(rule(messages, f=f), (0, len(axis) - messages.shape[1])))
{_CLOSE}
""",
        "orthogonal",
        calls=2,
    ),
)  # fmt: skip

REPEATED = Property(
    "every call", "what all honest nodes agree on is the result in every call, not in most.",
    ("n", "p", "f", "calls", "seed"),
    """
rng = np.random.default_rng(seed)
for call in range(calls):
    if call % 2 == 0:
        agreed = rng.standard_normal(p)
        sent = agreed + 10.0 ** rng.uniform(0, 9) * rng.standard_normal((f, p))
        order = np.roll(np.arange(n), f) if call % 4 else rng.permutation(n)
    else:  # the colluders send the same again, in the same places; the others agree on something else
        agreed = np.where(np.arange(p) == rng.integers(p), rng.standard_normal(p), agreed)
    messages = np.concatenate([np.tile(agreed, (n - f, 1)), sent])[order]
    result = np.asarray(rule(messages, f=f), dtype=np.float64)
    assert np.abs(result - agreed).max() <= 1e-7 * max(np.abs(agreed).max(), 1), (call, result, agreed)
""",
)  # fmt: skip
"""Held many times over: a fault that shows in one call of many."""

WORST = Property(
    "worst case", "colluders who know the honest messages and the rule push it no further than the bound allows.",
    ("messages", "honest", "f", "allowed", "tolerance"),
    _REACH,
)  # fmt: skip
"""What the worst-case search must not break; found by search and not drawn."""

BY_TITLE = {one.title: one for one in (*PROPERTIES, REPEATED, WORST)}

_NEARBY = (24, 160)  # moves by a few digits; more if most is explained
_EPS = float(np.finfo(float).eps)


def a_tie(one: Property, lines: CodeType, arrays: dict[str, Any], failed: dict[str, Any]) -> bool:
    """Return whether the rule takes the other result, too, on messages that are off by a last digit, or half of them.

    Of two results that are equally good, as two midmost messages are, nobody can choose alike in another guise. Scores
    that are equal whatever the numbers are, as those of two messages that are each other's nearest, are no excuse: a
    rule that then takes the first to come does depend on the order of arrival.

    ``failed`` are the names after the property's ``lines``, which ran with ``arrays``.
    """
    guise = one.only_if or one.title in ("number type", "however handed", ELSEWHERE)
    if arrays.get("messages") is None or not guise or "expected" not in failed:
        return False
    if np.shape(failed["result"]) != np.shape(failed["expected"]):
        return False
    messages = arrays["messages"]
    if messages.dtype != np.float64:
        messages = messages.astype(np.float64)  # as it lies in memory
    rng, largest = np.random.default_rng(0), np.abs(messages).max(axis=0, initial=0.0)
    # Entry by entry: a rule may choose in each by itself.
    one_way = other_way = np.abs(failed["result"] - failed["expected"]) <= arrays["tolerance"]
    for tried in range(_NEARBY[1]):
        if tried == _NEARBY[0] and max(np.mean(one_way), np.mean(other_way)) < 0.9:
            return False
        moved = messages.copy(order="K")
        # Scores that are sums of squares part only where messages do by half of their digits.
        few = (16 * _EPS if tried % 4 < 2 else 4 * _EPS**0.5) * largest
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
