"""Rules that are wrong for some values of the messages, or in some calls; see ``wrong_rules``."""

from __future__ import annotations

import numpy as np
from soundness.rules.wrong_rules import WRONG, cloud, far, fooled, push, refuse, trimmed, when, wrong

__all__ = ["WRONG"]

# Values ----------------------------------------------------------------------------------------------------------


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
