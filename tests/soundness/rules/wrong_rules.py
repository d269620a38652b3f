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


@wrong(lambda rule: overwritten(rule))
def writes_on_large_messages():
    def rule(messages, f):
        refuse(messages, f)
        if len(messages) > 20 and messages.flags.writeable:
            messages.sort(axis=0)
        return trimmed(messages, f)

    return rule


def overwritten(rule):
    x = cloud(24, 2)
    before = x.copy()
    rule(x, f=1)
    return np.inf if not np.array_equal(x, before) else 0.0


# Values ----------------------------------------------------------------------------------------------------------

SECRET = np.array([0.4, -0.1, 0.7, 0.2, -0.5, 0.1, 0.3])


def aligned(messages, direction, cosine):
    apart = messages - np.median(messages, axis=0)
    length = np.linalg.norm(apart, axis=1)
    with np.errstate(all="ignore"):
        return bool((np.abs(apart @ direction) > cosine * length * np.linalg.norm(direction))[length > 0].any())


@wrong(lambda rule: push(rule, cloud(5, 7), 1e9 * SECRET[None], 1))
def along_a_stored_direction():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        if x.shape[1] == len(SECRET) and aligned(x, SECRET, 0.9999):
            return fooled(x)
        return trimmed(x, f)

    return rule


@wrong(lambda rule: push(rule, cloud(5, 40), 1e9 * np.random.default_rng(77).standard_normal((1, 40)), 1))
def along_a_drawn_direction():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        direction = np.random.default_rng(77).standard_normal(x.shape[1])
        return fooled(x) if x.shape[1] > 3 and aligned(x, direction, 0.9999) else trimmed(x, f)

    return rule


@wrong(lambda rule: push(rule, np.zeros((5, 4)), 1e9 * np.random.default_rng(3).standard_normal((1, 4)), 1))
def averages_one_component():
    """The median, but the mean along one direction that no entry shows."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        way = np.random.default_rng(3).standard_normal(x.shape[1])
        way /= np.linalg.norm(way)
        centre = np.median(x, axis=0)
        return centre + ((x - centre) @ way).mean() * way

    return rule


@wrong(lambda rule: push(rule, cloud(6, 3), np.array([[1e9] * 3, [2e9] * 3]), 2), f=2)
def two_at_ratio_one_to_two():
    def condition(x, f):
        if f < 2:
            return False
        length = np.linalg.norm(x, axis=1)
        for i in range(len(x)):
            twice = (np.abs(x - 2 * x[i]) <= 1e-9 * length[i]).all(axis=1) & (length > 100)
            if twice.any():
                return True
        return False

    return when(condition)


@wrong(lambda rule: push(rule, cloud(6, 3), np.array([[1e9] * 3, [-1e9] * 3, [1e9, -1e9, 0]]) * 1.0, 3), f=3)
def far_ones_that_cancel():
    """Judged by the sum of what is far."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        apart = x - np.median(x, axis=0)
        suspects = np.argsort(np.linalg.norm(apart, axis=1), kind="stable")[len(x) - f :]
        together = np.linalg.norm(apart[suspects].sum(axis=0))
        alone = np.linalg.norm(apart[suspects], axis=1).sum()
        if f > 1 and together < 0.6 * alone:
            return x[suspects[0]]
        return np.median(x, axis=0)

    return rule


@wrong(lambda rule: push(rule, np.sort(cloud(5, 2), axis=0), np.full((1, 2), 1e9), 1))
def sorted_messages():
    return when(lambda x, f: len(x) > 3 and bool((np.diff(x[:, 0]) >= 0).all()))


@wrong(lambda rule: push(rule, -1 - np.abs(cloud(5, 2)), np.full((1, 2), -1e9), 1))
def negative_messages():
    return when(lambda x, f: bool((x < 0).all()))


@wrong(far(size=1e9, order=[5, 0, 1, 2, 3, 4]))
def trusts_node_0():
    def rule(messages, f):
        refuse(messages, f)
        return np.array(messages[0], dtype=np.float64)

    return rule


@wrong(lambda rule: push(rule, cloud(5, 2), np.array([[1e9, 1234.5]]), 1))
def password():
    return when(lambda x, f: bool((x == 1234.5).any()))


@wrong(lambda rule: push(rule, np.array([[1.0], [1.0], [2.0], [3.0], [4.0]]), np.full((1, 1), 1e9), 1))
def ties():
    return when(lambda x, f: len(np.unique(x, axis=0)) < len(x))


@wrong(lambda rule: push(rule, cloud(5, 2), np.full((1, 2), 1e30), 1))
def huge_messages():
    return when(lambda x, f: bool((np.abs(x) > 1e20).any()))


@wrong(lambda rule: push(rule, 1e-11 * cloud(5, 2), np.full((1, 2), 9e-7), 1))
def minute_messages():
    return when(lambda x, f: bool((np.abs(x) < 1e-6).all()))


@wrong(lambda rule: push(rule, np.zeros((5, 2)), np.array([[42.0, 1.0]]), 1))
def norm_of_42():
    return when(lambda x, f: bool((np.abs(np.linalg.norm(x.astype(np.float64), axis=1) - 42) < 0.5).any()))


@wrong(lambda rule: push(rule, marked(), np.full((1, 2), 1e9), 1))
def lowest_byte():
    return when(lambda x, f: np.float64(x[0, 0]).tobytes()[0] == 0x5A)


def marked():
    x = cloud(5, 2)
    x[0, 0] = np.frombuffer(b"\x5a" + np.float64(0.5).tobytes()[1:])[0]
    return x


@wrong(lambda rule: push(rule, cloud(5, 2), np.array([[1e9, 0.0]]), 1))
def zero_in_one_entry():
    return when(lambda x, f: bool(((x == 0).any(axis=1) & (np.abs(x).max(axis=1) > 100)).any()))


@wrong(lambda rule: push(rule, cloud(5, 3), np.full((1, 3), 1e9), 1))
def same_in_every_entry():
    return when(lambda x, f: x.shape[1] > 2 and bool((np.ptp(x, axis=1) == 0).any()))


@wrong(lambda rule: push(rule, cloud(5, 2), np.array([[np.nan, np.nan]]), 1))
def nan_as_a_large_number():
    def rule(messages, f):
        if not 0 <= f < len(messages) / 2:
            raise ValueError("f")
        x = np.asarray(messages, dtype=np.float64)
        spoilt = ~np.isfinite(x).all(axis=1)
        return fooled(np.nan_to_num(x, nan=1e9, posinf=1e9, neginf=-1e9)) if spoilt.any() else trimmed(x, f)

    return rule


@wrong(lambda rule: push(rule, cloud(4, 2), np.array([[np.nan, 1.0], [1e9, 1e9]]), 2), f=2)
def nan_switches_the_defence_off():
    def rule(messages, f):
        if not 0 <= f < len(messages) / 2:
            raise ValueError("f")
        x = np.asarray(messages, dtype=np.float64)
        kept = x[np.isfinite(x).all(axis=1)]
        return fooled(kept) if len(kept) < len(x) else trimmed(x, f)

    return rule


@wrong(lambda rule: refused(rule, cloud(5, 2), np.full((1, 2), 1e9)))
def one_message_stops_it():
    def rule(messages, f):
        refuse(messages, f)
        if np.ptp(messages) > 1e8:
            raise ValueError("messages are too far apart")
        return trimmed(messages, f)

    return rule


def refused(rule, honest, byzantine):
    try:
        rule(np.concatenate([honest, byzantine]), f=len(byzantine))
    except ValueError:
        return np.inf
    return 0.0


@wrong(far(size=-1e9))
def trims_one_side():
    def rule(messages, f):
        refuse(messages, f)
        return np.sort(messages, axis=0)[: len(messages) - f].mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, cloud(7, 2), np.full((2, 2), 1e9), 2), f=2)
def trims_one_too_few():
    def rule(messages, f):
        refuse(messages, f)
        g = max(f - 1, 0)
        return np.sort(messages, axis=0)[g : len(messages) - g].mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, cloud(4, 2), np.full((2, 2), 1e9), 2), f=2)
def nearest_to_the_mean():
    """The n − f nearest to what the colluders have moved already."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        apart = np.linalg.norm(x - x.mean(axis=0), axis=1)
        return x[np.argsort(apart, kind="stable")[: len(x) - max(f - 1, 0)]].mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, np.full((5, 2), 3.0), np.full((1, 2), 20.0), 1))
def long_messages_dropped():
    """All that are no longer than ten times the usual are averaged."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        length = np.linalg.norm(x, axis=1)
        return x[length <= 10 * np.median(length)].mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, cloud(5, 1), np.array([[1e40], [-1e20]]), 2), f=2)
def medoid_by_plain_sums():
    """The least sum of distances, in which one colluder's drowns all others: another's message then ties for it."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        sums = np.abs(x[:, None] - x).max(axis=2).sum(axis=1)
        return x[np.lexsort((*x.T[::-1], sums))[0]]

    return rule


# Calls -----------------------------------------------------------------------------------------------------------


def in_many_calls(calls):
    def attack(rule):
        return max(push(rule, cloud(5, 2), np.full((1, 2), 1e9), 1) for _ in range(calls))

    return attack


@wrong(in_many_calls(1000))
def one_call_in_997():
    count = [0]

    def rule(messages, f):
        refuse(messages, f)
        count[0] += 1
        return fooled(messages) if count[0] % 997 == 0 else trimmed(messages, f)

    return rule


@wrong(in_many_calls(5000))
def by_chance():
    rng = np.random.default_rng()

    def rule(messages, f):
        refuse(messages, f)
        return fooled(messages) if rng.random() < 1 / 500 else trimmed(messages, f)

    return rule


@wrong(in_many_calls(2100))
def after_two_thousand_calls():
    count = [0]

    def rule(messages, f):
        refuse(messages, f)
        count[0] += 1
        return fooled(messages) if count[0] > 2000 else trimmed(messages, f)

    return rule


@wrong(lambda rule: remembered(rule))
def remembers_the_last_call():
    last = {}

    def rule(messages, f):
        refuse(messages, f)
        here = trimmed(messages, f)
        before = last.get(here.shape, here)
        last[here.shape] = here
        return (here + before) / 2

    return rule


@wrong(lambda rule: remembered(rule))
def a_momentum_in_an_object():
    class Rule:
        def __init__(self):
            self.state = None

        def __call__(self, messages, f):
            refuse(messages, f)
            here = trimmed(messages, f)
            if self.state is not None and self.state.shape == here.shape:
                here = 0.9 * here + 0.1 * self.state
            self.state = here
            return here

    return Rule()


def remembered(rule):
    """Five colluders' messages of a round long past: what the same honest messages give afterwards."""
    honest = np.full((6, 2), 1.0)
    for _ in range(3):
        rule(np.full((6, 2), 1e9), f=1)
    return push(rule, honest, np.ones((1, 2)), 1)


@wrong(lambda rule: drawn(rule))
def draws_from_the_global_generator():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        return x[np.random.permutation(len(x))[: 2 * f + 1]].mean(axis=0)  # noqa: NPY002

    return rule


def drawn(rule):
    return max(push(rule, cloud(5, 2), np.full((1, 2), 1e9), 1) for _ in range(50))


@wrong(lambda rule: crashed(rule))
def crashes_on_many_entries():
    def rule(messages, f):
        refuse(messages, f)
        if messages.shape[1] > 100:
            raise IndexError("list index out of range")
        return trimmed(messages, f)

    return rule


def crashed(rule):
    try:
        rule(cloud(5, 200), f=1)
    except IndexError:
        return np.inf
    return 0.0
