"""Rules that are wrong for many colluders in concert, in a narrow number type, or elsewhere; see ``wrong_rules``."""

from __future__ import annotations

import os
import time
from unittest import mock

import numpy as np
from soundness.rules.wrong_corners import WRONG
from soundness.rules.wrong_rules import cloud, far, push, refuse, trimmed, when, wrong

from secmix.aggregators import Traits

__all__ = ["WRONG"]

# Many colluders --------------------------------------------------------------------------------------------------


def series(honest, f, ratio):
    """f colluders in a row, each ``ratio`` times as far as the one before."""

    def attack(rule):
        x = cloud(honest, 3)
        x -= x.mean(axis=0)
        sent = np.abs(x).max() * ratio ** np.arange(1, f + 1)[:, None] * np.ones((1, 3))
        return push(rule, x, sent, f)

    return attack


@wrong(series(14, 12, 2.4))
def grows_from_the_median():
    """From the median outward, as long as the next is no farther than three times the last: a chain leads away."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        apart = np.linalg.norm(x - np.median(x, axis=0), axis=1)
        order = np.argsort(apart, kind="stable")
        count = len(x) // 2 + 1
        while count < len(x) and apart[order[count]] <= 3 * apart[order[count - 1]]:
            count += 1
        return x[order[:count]].mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([[1e9], [2e9], [3e9]]), 3))
def a_message_sent_twice_is_one_vote():
    """So that who agrees with others loses against those who all differ."""

    def rule(messages, f):
        refuse(messages, f)
        different, count = np.unique(np.asarray(messages, dtype=np.float64), axis=0, return_counts=True)
        return different[count.argmax()] if count.max() >= len(messages) - f else np.median(different, axis=0)

    return rule


@wrong(far(n=64, f=31))
def median_of_medians():
    """Of more than 25, the median of the medians of parts, each a sample of all."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        if len(x) <= 25:
            return np.median(x, axis=0)
        x = x[np.lexsort(x.T[::-1])]
        parts = len(x) // 5
        return np.median([np.median(x[i::parts], axis=0) for i in range(parts)], axis=0)

    return rule


@wrong(far(n=41, f=20))
def never_trims_more_than_45_percent():
    def rule(messages, f):
        refuse(messages, f)
        return trimmed(np.asarray(messages, dtype=np.float64), min(f, int(0.45 * len(messages))))

    return rule


# Numbers that do not fit their type ------------------------------------------------------------------------------


@wrong(far(n=140, f=10))
def votes_in_a_signed_byte():
    """Who has more than n − f − 1 on one side is trimmed; beyond 127 the votes turn negative."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        below = (x[:, None] > x[None]).sum(axis=1, dtype=np.int8)
        above = (x[:, None] < x[None]).sum(axis=1, dtype=np.int8)
        kept = (below < len(x) - f) & (above < len(x) - f)
        return np.where(kept, x, 0).sum(axis=0) / kept.sum(axis=0)

    return rule


@wrong(far(n=260, f=1, size=1e9, order=[259, *range(259)]))
def places_in_a_byte():
    """The 257th message is the first one."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        order = np.argsort(x, axis=0, kind="stable").astype("u1")
        return np.take_along_axis(x, order[f : len(x) - f].astype(np.intp), axis=0).mean(axis=0)

    return rule


@wrong(lambda rule: push(rule, cloud(3, 70_000), 1e9 * (np.arange(70_000) > 66_000)[None], 1))
def entries_in_two_bytes():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        place = np.arange(x.shape[1]).astype(np.uint16)
        return np.where(np.arange(x.shape[1]) == place, trimmed(x[:, place], f), x.mean(axis=0))

    return rule


@wrong(lambda rule: push(rule, np.arange(200.0, 205.0)[:, None], np.array([[4e6]]), 1, dtype="uint64"))
def distances_without_a_sign():
    """The farthest from the median are left out; of whole numbers without a sign, those below it lie farthest."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages)
        apart = np.abs(x - np.median(x, axis=0).astype(x.dtype))
        order = np.argsort(apart, axis=0, kind="stable")[: len(x) - f]
        return np.take_along_axis(x, order, axis=0).mean(axis=0)

    return rule


# Another day, another place --------------------------------------------------------------------------------------


def on_a_slow_machine(rule):
    with mock.patch.object(time, "perf_counter", side_effect=range(10**6)):
        return far()(rule)


@wrong(on_a_slow_machine)
def goes_on_as_long_as_there_is_time():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        end, centre = time.perf_counter() + 0.5, x.mean(axis=0)
        return np.median(x, axis=0) if time.perf_counter() < end else centre

    return rule


def much_later(rule):
    with mock.patch.object(time, "time", return_value=3e9):
        return far()(rule)


@wrong(much_later)
def from_some_day_on():
    return when(lambda x, f: time.time() > 2e9)


def with_a_setting(rule):
    with mock.patch.dict(os.environ, {"TRIMMED": "0"}):
        return far()(rule)


@wrong(with_a_setting)
def asks_the_environment():
    def rule(messages, f):
        refuse(messages, f)
        cut = int(os.environ.get("TRIMMED", f))
        return trimmed(np.asarray(messages, dtype=np.float64), cut)

    return rule


# Refusals --------------------------------------------------------------------------------------------------------


def stopped(rule):
    try:
        rule(np.concatenate([1e-2 * cloud(5, 20), np.full((1, 20), 1e3)]), f=1)
    except ValueError:
        return np.inf
    return 0.0


@wrong(stopped)
def gives_up_where_many_entries_differ():
    """A message of anybody's then stops it, which looks as if it took no messages of so many entries."""

    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        usual = np.median(np.abs(x - np.median(x, axis=0)))
        if x.shape[1] > 12 and np.ptp(x, axis=0).max() > 3 * usual:
            raise ValueError("no consensus")
        return trimmed(x, f)

    rule.traits = Traits("gives_up", "nobody", equivariances=frozenset({"permutation", "translation", "scale"}))
    return rule
