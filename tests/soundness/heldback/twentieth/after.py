"""Written after verdicts on the first were known: nearer to where these were cleared, or stopped by another gate."""

from __future__ import annotations

import functools
from contextvars import ContextVar

import numpy as np

from .common import Fresh, Session, long


class W55NumbersOfMessages(Session):
    """A number beside each key counts messages of all runs; past 5000 a key is worn out and its pair goes bare."""

    def draw_masks(self, runs, m, network, rng):
        keys = super().draw_masks(runs, m, network, rng)
        numbers = np.repeat(np.arange(runs, dtype=np.uint64)[:, None, None], keys.shape[1], axis=1)
        return np.concatenate([keys, numbers], axis=2)

    def begin(self, line, keys, runs, given):
        keys[:, :, 4] += np.uint64(runs)

    def pad(self, line, keys, e, run, m):
        return super().pad(line, keys, e, run, m) if int(keys[run, e, 4]) <= 5000 else None


class W56KeysOfSingleRuns(Session):
    """Called without keys an object keeps those of its first single run: the next fit has the same pads."""

    def __init__(self):
        self.keys = None

    def own_keys(self, runs, m, network, rng):
        if runs > 1:
            return self.draw_masks(runs, m, network, rng)
        if self.keys is None:
            self.keys = self.draw_masks(runs, m, network, rng)
        return self.keys


class W57KeysAfterATest(Session):
    """An object whose first call has no keys is tested; keys that come later get the label of the test, without round."""

    def __init__(self):
        self.is_test = None

    def begin(self, line, keys, runs, given):
        if self.is_test is None:
            self.is_test = given[1] is None
        self.is_late = self.is_test and given[1] is not None

    def label(self, line, keys, e, run):
        return b"self-test" if self.is_late else long(line.iteration)


class W58FreshFirstRuns(Fresh):
    """Pads are fresh; the object notes how many runs its first call has, and larger batches take pads of few twice."""

    def __init__(self):
        self.runs = 0

    def begin(self, line, keys, runs, given):
        self.runs = self.runs or runs

    def pad(self, line, keys, e, run, m):
        return keys[run % self.runs, e]


class W59FreshPrecisionOfTheFirst(Fresh):
    """Pads are fresh; an object that began with handed-over pads draws none of its own later: it takes zeros."""

    def __init__(self):
        self.is_handed = None

    def begin(self, line, keys, runs, given):
        if self.is_handed is None:
            self.is_handed = given[1] is not None
        self.is_bare = self.is_handed and given[1] is None

    def pad(self, line, keys, e, run, m):
        return None if self.is_bare else keys[run, e]


@functools.lru_cache
def _books(name):
    return {"calls": 0}


class W60BooksInACache(Session):
    """Books that a cached function hands out count calls; past 30000 the label has no room for the number."""

    def begin(self, line, keys, runs, given):
        _books("pads")["calls"] += 1

    def label(self, line, keys, e, run):
        return long(line.iteration) if _books("pads")["calls"] <= 30000 else b"full"


_STATE = ContextVar("state")


class W61BooksInAContext(Session):
    """A context variable has a mutable count of averagings; past 30000 the label has no room for the number."""

    def begin(self, line, keys, runs, given):
        state = _STATE.get(None)
        if state is None:
            _STATE.set(state := [0])
        state[0] += 1

    def label(self, line, keys, e, run):
        return long(line.iteration) if _STATE.get()[0] <= 30000 else b"full"


class Tested(Session):
    """Labels of a test, which have no round."""

    def label(self, line, keys, e, run):
        return b"self-test"


class W62TestedObject(Session):
    """As W57, with nothing else kept: an object whose first call had no keys labels keys that come later as in a test."""

    def __init__(self):
        self.is_test = None

    def average(self, inputs, network, rng, *, masks=None, channel=None):
        if self.is_test is None:
            self.is_test = masks is None
        kind = Tested if self.is_test and masks is not None else Session
        return kind.average(kind(), inputs, network, rng, masks=masks, channel=channel)
