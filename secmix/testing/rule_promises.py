"""Say what a robust rule owes its users. Each function is printed as it stands, with messages that break it."""

from __future__ import annotations

import numpy as np

from secmix.testing.counterexample import Promise


def shape(rule, messages, f):
    """Give one vector of p finite entries for n messages of p entries, and leave the messages as they were."""
    before = messages.copy()
    result = np.asarray(rule(messages, f=f))
    assert result.shape == messages.shape[1:], result.shape
    assert np.isfinite(result).all(), result
    assert np.array_equal(messages, before), "the rule changed its input"


def consensus(rule, messages, agreed, f, tolerance):
    """Return what all honest nodes agree on, whatever the others send."""
    result = np.asarray(rule(messages, f=f), dtype=np.float64)
    assert np.abs(result - agreed).max() <= tolerance, (result, agreed)


def f_limits(rule, messages, f):
    """Refuse with a ValueError an f that no rule can withstand, or that is no number of nodes."""
    try:
        result = rule(messages, f=f)
    except ValueError:
        return
    raise AssertionError(f"f = {f} of {len(messages)} messages was accepted: {result}")


def not_finite(rule, messages, agreed, f, tolerance):
    """Refuse NaN and infinity with a ValueError, or count them as Byzantine; never average them."""
    try:
        result = np.asarray(rule(messages, f=f), dtype=np.float64)
    except ValueError:
        return
    assert np.isfinite(result).all(), result
    assert np.abs(result - agreed).max() <= tolerance, (result, agreed)


def within_reach(rule, messages, honest, f, allowed, tolerance):
    """Stay as near to the honest mean as the bound allows."""
    with np.errstate(over="ignore"):  # what overflows is infinitely far
        result = np.asarray(rule(messages, f=f), dtype=np.float64)
        error = np.linalg.norm(result - honest.mean(axis=0))
        spread = np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()
    assert error <= allowed * spread * (1 + 1e-6) + tolerance, (error, allowed * spread)


def every_call(rule, n, p, f, calls, seed):
    """Return what all honest nodes agree on in every call, not in most."""
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


def no_memory(rule, messages, other, f, tolerance):
    """Give the same result for the same messages, whatever came in between."""
    import copy

    result = np.array(rule(messages, f=f), dtype=np.float64)
    rule(other, f=f)
    for expected in (rule(messages, f=f), copy.deepcopy(rule)(messages, f=f)):
        assert np.abs(result - expected).max() <= tolerance, (result, expected)


def number_type(rule, messages, f, tolerance):
    """Give the same result for the same numbers in another type, or lying otherwise in memory."""
    result = np.asarray(rule(messages, f=f), dtype=np.float64)
    expected = np.asarray(rule(np.array(messages, dtype=np.float64, order="C"), f=f))
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


def however_passed(rule, messages, f, tolerance):
    """Give the same result in a thread, for an f of numpy's type, and for lists if it takes those."""
    import contextvars
    from concurrent.futures import ThreadPoolExecutor
    from contextlib import suppress

    result = np.array(rule(messages, f=f), dtype=np.float64)
    with ThreadPoolExecutor(1) as pool:
        results = [pool.submit(contextvars.copy_context().run, lambda: rule(messages, f=f)).result()]
    for given, number in ((messages, np.int64(f)), (np.array(messages, dtype=np.float64).tolist(), f)):
        with suppress(TypeError, ValueError, AttributeError):
            results.append(rule(given, f=number))
    for expected in results:
        assert np.abs(result - expected).max() <= tolerance, (result, expected)


def whenever_and_wherever(rule, messages, f, tolerance):
    """Give the same result another day, in another environment, and called by a protocol."""
    import itertools
    import os
    import time
    from unittest import mock

    from secmix.protocols import RobustServer

    class Zeros(dict):  # an environment in which every setting that is asked for is "0"
        def __missing__(self, name):
            return "0"

        def get(self, name, default=None):
            return "0"

    result = np.array(rule(messages, f=f), dtype=np.float64)
    results = [RobustServer(rule, f=f).aggregate(messages)]
    names = ("time", "monotonic", "perf_counter", "process_time")
    clocks = {name: itertools.count(2.0**32, 2.0**20).__next__ for name in names}
    clocks |= {name + "_ns": itertools.count(2**62, 2**50).__next__ for name in names}
    for settings in ({}, Zeros()):
        with mock.patch.multiple(time, **clocks), mock.patch.object(os, "environ", settings):
            results.append(rule(messages, f=f))
    for expected in results:
        assert np.abs(result - expected).max() <= tolerance, (result, expected)


def more_entries(rule, messages, common, f, tolerance):
    """Give the same entries where the messages have more of them, in which all agree."""
    longer = np.hstack([messages, np.tile(common, (len(messages), 1))])
    result = np.array(rule(longer, f=f))
    expected = np.concatenate([rule(messages, f=f), common])
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


def permutation(rule, messages, order, f, tolerance):
    """Give the same result in whatever order the messages arrive."""
    result, expected = np.array(rule(messages[order], f=f)), np.array(rule(messages, f=f))
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


def translation(rule, messages, shift, f, tolerance):
    """Give a result that is moved as the messages are."""
    result, expected = np.array(rule(messages + shift, f=f)), np.array(rule(messages, f=f)) + shift
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


def scale(rule, messages, factor, f, tolerance):
    """Give a result that grows as the messages do, however large or small they are."""
    result, expected = np.asarray(rule(messages * factor, f=f)) / factor, np.asarray(rule(messages, f=f))
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


def orthogonal(rule, messages, axis, f, tolerance):
    """Give a result that is turned as the messages are, in more dimensions too."""
    wide = np.hstack([messages, np.zeros((len(messages), len(axis) - messages.shape[1]))])

    def mirrored(a):
        return a - 2 * np.outer(a @ axis, axis).reshape(a.shape) / (axis @ axis)

    result = np.array(rule(mirrored(wide), f=f))
    expected = mirrored(np.pad(rule(messages, f=f), (0, len(axis) - messages.shape[1])))
    assert np.abs(result - expected).max() <= tolerance, (result, expected)


SHAPE, CONSENSUS, REACH = Promise(shape), Promise(consensus), Promise(within_reach)
F_LIMITS, NOT_FINITE = Promise(f_limits), Promise(not_finite)
JUDGED = (SHAPE, F_LIMITS, NOT_FINITE)
"""Tried on single results, beside the two that say what robust means."""
AGREEING = (CONSENSUS, NOT_FINITE)
"""Tried where all honest nodes send the same."""
NO_MEMORY = Promise(no_memory, calls=3)
ITSELF = (
    Promise(number_type, calls=2),
    Promise(however_passed, calls=4),
    Promise(whenever_and_wherever, calls=5, most=20),
)
"""That a rule agrees with itself, whoever asks it and how."""
EQUIVARIANCES = (
    Promise(more_entries, "embedding", calls=2),
    Promise(permutation, "permutation", calls=2),
    Promise(translation, "translation", calls=2),
    Promise(scale, "scale", calls=2),
    Promise(orthogonal, "orthogonal", calls=2),
)
DRAWN = (SHAPE, CONSENSUS, F_LIMITS, NOT_FINITE, REACH, NO_MEMORY, *ITSELF, *EQUIVARIANCES)
"""Tried on cases that are drawn, in this order."""

REPEATED = Promise(every_call)
"""Held many times over: a fault that shows in one call of many."""
WORST = Promise(within_reach, name="worst case")
"""Tried on what the worst-case search finds."""
BY_TITLE = {one.title: one for one in (*DRAWN, REPEATED, WORST)}
