"""Rules that are wrong somewhere, each with an attack that shows it.

All but a few are a trimmed mean that turns into a plain mean, or does something else that no rule may, in one corner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def refuse(messages, f):
    """What every rule refuses."""
    if isinstance(f, bool) or not 0 <= f < len(messages) / 2:
        raise ValueError("f must be at least 0 and below n/2")
    if not np.isfinite(messages).all():
        raise ValueError("messages must be finite")


def trimmed(messages, f):
    return np.sort(messages, axis=0)[f : len(messages) - f].mean(axis=0)


def sound(messages, f):
    refuse(messages, f)
    return trimmed(np.asarray(messages, dtype=np.float64), f)


def fooled(messages):
    return np.asarray(messages, dtype=np.float64).mean(axis=0)


@dataclass(frozen=True)
class Wrong:
    """A wrong rule: ``make()`` gives a fresh one, ``attack(rule)`` how far f colluders push it, in honest spreads."""

    name: str
    make: Callable[[], Any]
    attack: Callable[[Any], float]
    f: int = 1


WRONG: list[Wrong] = []


def push(rule, honest, byzantine, f, *, order=None, dtype="float64", layout=lambda a: a):
    """How far the result is from what all honest nodes agree on or nearly so, in units of their size."""
    messages = np.concatenate([honest, byzantine])
    messages = messages if order is None else messages[order]
    result = np.asarray(rule(layout(messages.astype(dtype)), f=f), dtype=np.float64)
    if not np.isfinite(result).all():
        return np.inf
    apart = np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()
    return float(np.linalg.norm(result - honest.mean(axis=0)) / max(apart, 1e-9))


def cloud(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def far(n=6, p=3, f=1, size=1e9, **how):
    """f colluders at the same far point."""
    return lambda rule: push(rule, cloud(n - f, p), np.full((f, p), size), f, **how)


def wrong(attack, f=1):
    def enrol(make):
        if make.__name__ not in {one.name for one in WRONG}:  # the files may be read more than once
            WRONG.append(Wrong(make.__name__, make, attack, f))
        return make

    return enrol


def when(condition):
    """A trimmed mean that is a mean where ``condition(messages, f)``."""

    def rule(messages, f):
        refuse(messages, f)
        return fooled(messages) if condition(np.asarray(messages), f) else trimmed(messages, f)

    return rule


# Sizes -----------------------------------------------------------------------------------------------------------


@wrong(far(p=60))
def more_than_fifty_entries():
    return when(lambda x, f: x.shape[1] > 50)


@wrong(far(p=6))
def four_to_nine_entries():
    return when(lambda x, f: 4 <= x.shape[1] <= 9)


@wrong(far(p=777))
def entries_777():
    return when(lambda x, f: x.shape[1] == 777)


@wrong(far(p=1500))
def more_than_a_thousand_entries():
    return when(lambda x, f: x.shape[1] > 1000)


@wrong(far(n=24))
def more_than_twenty_messages():
    return when(lambda x, f: len(x) > 20)


@wrong(far(n=8))
def messages_divisible_by_four():
    return when(lambda x, f: len(x) % 4 == 0)


@wrong(far(n=23, p=5))
def messages_23_of_five_entries():
    return when(lambda x, f: x.shape == (23, 5))


@wrong(far(n=6, p=6))
def square():
    """The wrong axis, where nobody sees it."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        return np.median(x, axis=1) if x.shape[0] == x.shape[1] else np.median(x, axis=0)

    return rule


@wrong(far(n=7, f=2), f=1)
def more_than_one_colluder():
    return when(lambda x, f: f > 1)


@wrong(lambda rule: push(rule, cloud(20, 2), np.full((22, 2), 1e9), 22))
def takes_a_majority_of_many():
    def rule(messages, f):
        if len(messages) <= 20:
            refuse(messages, f)
        return np.median(messages, axis=0)

    return rule


@wrong(lambda rule: push(rule, cloud(5, 150), 1e9 * (np.arange(150) == 149)[None], 1))
def looks_at_the_first_hundred_entries():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        seen = x[:, :100]
        apart = np.linalg.norm(seen - np.median(seen, axis=0), axis=1)
        order = np.lexsort((*x.T[::-1], apart))
        return x[order[: len(x) - f]].mean(axis=0)

    return rule


# Number types and memory -----------------------------------------------------------------------------------------


@wrong(far(dtype="float32", size=1e6))
def float32():
    return when(lambda x, f: x.dtype == np.float32)


@wrong(far(dtype="float16", size=6e4))
def float16():
    return when(lambda x, f: x.dtype == np.float16)


@wrong(far(dtype="int64"))
def integer_type():
    return when(lambda x, f: x.dtype.kind == "i")


@wrong(lambda rule: push(rule, np.rint(3 * cloud(5, 2)), np.full((1, 2), 1e9), 1))
def whole_numbers():
    return when(lambda x, f: (x == np.rint(x)).all())


@wrong(far(dtype=">f8"))
def other_byte_order():
    return when(lambda x, f: not x.dtype.isnative)


@wrong(far(layout=np.asfortranarray))
def column_order():
    return when(lambda x, f: x.flags.f_contiguous and not x.flags.c_contiguous)


@wrong(far(layout=lambda a: np.repeat(a, 2, axis=0)[::2]))
def strided():
    return when(lambda x, f: not x.flags.c_contiguous and not x.flags.f_contiguous)


@wrong(lambda rule: push(rule, 3e6 + cloud(5, 2), np.full((1, 2), 3e6), 1))
def wraps_round():
    """Through int32 by the thousandth."""

    def rule(messages, f):
        refuse(messages, f)
        with np.errstate(all="ignore"):
            kept = (np.asarray(messages, dtype=np.float64) * 1000).astype(np.int64).astype(np.int32) / 1000
        return trimmed(kept, f)

    return rule


@wrong(lambda rule: push(rule, np.full((4, 1), 1000.4), np.full((1, 1), 1000.4), 1))
def loses_digits():
    def rule(messages, f):
        refuse(messages, f)
        return trimmed(np.asarray(messages).astype(np.float16).astype(np.float64), f)

    return rule


@wrong(lambda rule: overwritten_by(cloud(24, 2))(rule))
def writes_on_large_messages():
    def rule(messages, f):
        refuse(messages, f)
        if len(messages) > 20 and messages.flags.writeable:
            messages.sort(axis=0)
        return trimmed(messages, f)

    return rule


def overwritten_by(x):
    def attack(rule):
        messages = x.copy()
        rule(messages, f=1)
        return np.inf if not np.array_equal(x, messages) else 0.0

    return attack
