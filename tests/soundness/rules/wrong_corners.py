"""Rules that are wrong in a corner of sizes, memory or the shape of the data; see ``wrong_rules``."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from soundness.rules.wrong_rules import cloud, far, overwritten_by, push, refuse, trimmed, when, wrong
from soundness.rules.wrong_values import WRONG

__all__ = ["WRONG"]

# Sizes beyond the usual ------------------------------------------------------------------------------------------


@wrong(far(n=60, p=900))
def more_than_fifty_thousand_numbers():
    """As if memory were short."""
    return when(lambda x, f: x.size > 50_000)


@wrong(far(p=5001))
def more_than_five_thousand_entries():
    return when(lambda x, f: x.shape[1] > 5000)


@wrong(far(n=101))
def more_than_a_hundred_messages():
    return when(lambda x, f: len(x) > 100)


@wrong(lambda rule: push(rule, cloud(20, 2), np.full((6, 2), 1e9), 6))
def withstands_five_at_most():
    def rule(messages, f):
        refuse(messages, f)
        return trimmed(np.asarray(messages, dtype=np.float64), min(f, 5))

    return rule


@wrong(lambda rule: push(rule, 1e3 + cloud(6, 2), np.empty((0, 2)), 0))
def trims_everything_where_none_is_to_be_trimmed():
    def rule(messages, f):
        refuse(messages, f)
        kept = np.sort(messages, axis=0)[f:-f]
        return kept.sum(axis=0) / max(len(kept), 1)

    return rule


# The shape of the data -------------------------------------------------------------------------------------------


@wrong(lambda rule: push(rule, np.tile([0.2, 0.3, 0.5], (5, 1)), np.array([[0.0, 0.0, 1.0]]), 1))
def shares_of_a_whole():
    return when(lambda x, f: x.shape[1] > 1 and np.allclose(x.astype(np.float64).sum(axis=1), 1))


@wrong(lambda rule: push(rule, np.ones((5, 3)), -np.ones((1, 3)), 1))
def signs_alone():
    return when(lambda x, f: bool(np.isin(x, [-1, 1]).all()))


@wrong(lambda rule: push(rule, np.tile([0.6, 0.8], (5, 1)), np.array([[-0.6, -0.8]]), 1))
def unit_vectors():
    return when(lambda x, f: x.shape[1] > 1 and np.allclose(np.linalg.norm(x.astype(np.float64), axis=1), 1))


# What is kept from call to call, and what is written on ----------------------------------------------------------


def stale(first, then):
    """How far off the result for ``then`` is after a call on ``first``, which all honest messages of ``then`` are."""

    def attack(rule):
        rule(first, f=1)
        return push(rule, then[1:], then[:1], 1, order=[5, 0, 1, 2, 3, 4])

    return attack


def kept_by(key):
    def make():
        kept = {}

        def rule(messages, f):
            refuse(messages, f)
            x = np.ascontiguousarray(messages, dtype=np.float64)
            name = (x.shape, f, key(x))
            if name not in kept:
                kept[name] = trimmed(x, f)
            return kept[name]

        return rule

    return make


HEAD = np.concatenate([[[9.0] * 12], np.ones((5, 12))])


@wrong(stale(HEAD, HEAD + np.array([0.0, *[7.0] * 5])[:, None]))
def kept_by_its_first_numbers():
    return kept_by(lambda x: x.tobytes()[:48])()


ENDS = np.concatenate([[[9.0, -9.0]], np.ones((5, 2))])


@wrong(stale(ENDS, ENDS + np.array([0.0, *[7.0] * 5])[:, None]))
def kept_by_its_least_and_largest():
    return kept_by(lambda x: (float(x.max()), float(x.min())))()


@wrong(overwritten_by(cloud(40, 300)))
def writes_on_many_large_messages():
    def rule(messages, f):
        refuse(messages, f)
        if len(messages) > 30 and messages.shape[1] > 200 and messages.flags.writeable:
            messages.sort(axis=0)
        return trimmed(messages, f)

    return rule


# How messages are handed -----------------------------------------------------------------------------------------


def in_a_thread(rule):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(far(), rule).result()


@wrong(in_a_thread)
def a_thread():
    """As if threads were for drafts."""
    return when(lambda x, f: threading.current_thread() is not threading.main_thread())


@wrong(far(layout=np.ndarray.tolist))
def a_list():
    def rule(messages, f):
        refuse(messages, f)
        x = np.asarray(messages, dtype=np.float64)
        return x.mean(axis=0) if isinstance(messages, list) else trimmed(x, f)

    return rule


@wrong(far(f=np.int64(1)))
def a_number_of_numpys():
    return when(lambda x, f: isinstance(f, np.integer))
