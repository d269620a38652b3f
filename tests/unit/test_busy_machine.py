"""The checks answer alike on a busy machine: they count work, and no clock and no time-out decides.

How many cases a check of a protocol tries, its user may limit by time; without a limit no clock decides that either.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from itertools import count

import numpy as np
import pytest
from example_protocols import Pairwise

from secmix.adversaries import CuriousServer
from secmix.aggregators import krum
from secmix.auditing.counterexamples.instance import ProtocolInstance
from secmix.auditing.soundness.runner import record_call
from secmix.network import Network
from secmix.testing import check_aggregator, check_protocol
from secmix.transcript import Channel


@pytest.fixture
def _busy(monkeypatch):
    """A machine on which a million seconds pass between any two looks at the clock, and every time-out has run out."""
    join = threading.Thread.join
    monkeypatch.setattr(
        threading.Thread, "join", lambda thread, timeout=None: join(thread) if timeout is None else None
    )
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, count(2.0**32, 1e6).__next__)
        monkeypatch.setattr(time, f"{name}_ns", count(2**62, 10**15).__next__)


def a_little():
    for _ in range(20):
        hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000)


def left_behind(work):
    """A call that starts a thread for ``work`` and does not wait for it."""

    def run(channel):
        threading.Thread(target=work, daemon=True).start()
        return np.zeros((1, 3, 1))

    return record_call(run, Channel()).unrecorded


@pytest.mark.usefixtures("_busy")
def test_a_thread_that_ends_after_a_little_work_is_no_doubt():
    assert left_behind(a_little) == ""


def test_a_thread_that_goes_on_is_one():
    done = threading.Event()
    try:
        assert "runs after it" in left_behind(done.wait)
    finally:
        done.set()


class LeavesThreads(Pairwise):
    """Leaves a thread behind in each call, which goes on."""

    done = threading.Event()

    def average(self, s, network, rng, *, masks=None, channel=None):
        threading.Thread(target=self.done.wait, daemon=True).start()
        return super().average(s, network, rng, masks=masks, channel=channel)


def test_an_object_that_leaves_threads_behind_is_not_waited_for_again(monkeypatch):
    turns = count()
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", lambda *_: next(turns))
    instance = ProtocolInstance(LeavesThreads(), Network.complete(3), CuriousServer(), 0)
    try:
        instance.single_calls({0: np.ones((3, 20, 1))})  # two objects
        assert 200 <= next(turns) < 240
    finally:
        LeavesThreads.done.set()


def answers():
    network = Network.complete(3)
    return (
        check_aggregator(krum, f=1, examples=1, budget=100, seed=0),
        check_protocol(Pairwise(), network=network, seconds=math.inf, seed=0),
    )


@pytest.mark.build
def test_the_kit_answers_whatever_the_clock_says(request):
    idle = answers()
    request.getfixturevalue("_busy")
    assert answers() == idle
