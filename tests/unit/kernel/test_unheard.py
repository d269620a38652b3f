"""Calls in use that no other trace is like: without a channel, in a batch, and threads that go on after a call."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import pytest
from unit.kernel.examples import RingSum, bare

from secmix.adversaries import CuriousServer
from secmix.kernel import clear, prove, proving
from secmix.kernel.clearance import KnownSums, Open
from secmix.kernel.tracing import trace as tracing
from secmix.network import Network
from secmix.transcript import SERVER, Channel

NETWORK = Network.complete(3)
SELDOM = 100
LATE = 3.0  # seconds, in which others are proved


class Unheard(RingSum):
    """Does something where it is given no channel."""

    def __init__(self, makes: Callable[[], Channel] = Channel) -> None:
        self.makes = makes

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if channel is None:
            channel, masks = self.makes(), self.instead(inputs, network, rng)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def instead(self, inputs: Any, network: Any, rng: Any) -> Any:
        """Return the masks of such a call."""
        return None


class KeptUnheard(Unheard):
    """Draws masks once, where nobody listens."""

    kept = None

    def instead(self, inputs: Any, network: Any, rng: Any) -> Any:
        runs, _, m = np.shape(inputs)
        if self.kept is None or self.kept.shape != (runs, network.n, m):
            self.kept = self.draw_masks(runs, m, network, rng)
        return self.kept


class Kind(Channel):
    """A channel of a class of one's own."""


class BareInBatches(RingSum):
    """Sends the inputs of several runs bare where a public coin says so, which comes seldom."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        if len(rows) > 1 and rng.integers(SELDOM) == 0:
            bare(channel, rows[:, 0])


class Opposite(RingSum):
    """Of many runs every second one has the masks of the one before, with the other sign, where it draws them."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        if masks is None:
            runs, _, m = np.shape(inputs)
            masks = self.draw_masks(runs, m, network, rng)
            if runs > SELDOM // 5:
                masks[1::2] = -masks[: runs // 2 * 2 : 2]
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class SeldomInBatches(RingSum):
    """Counts batches, and sends the rows of each hundredth bare."""

    batches = 0

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        if len(rows) > 1:
            self.batches += 1
        if self.batches == SELDOM:
            bare(channel, rows[:, 0])


class SizeOfBatches(RingSum):
    """Has no masks in batches of some size where it draws them."""

    def __init__(self, is_bare: Callable[[int], bool]) -> None:
        self.is_bare = is_bare

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        if masks is None and self.is_bare(runs):
            masks = np.zeros((runs, network.n, m))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class GuardedInBatches(RingSum):
    """Hides an error that only batches meet."""

    @property
    def is_small(self) -> bool:
        if len(self.rows) > 1 and np.abs(self.rows).max() > SELDOM:
            raise AttributeError("rows are too large")
        return True

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.rows = rows
        self.seen = hasattr(self, "is_small")
        del self.rows


class Waiting(RingSum):
    """Leaves out what does not come in time."""

    def __init__(self, wait: Callable[[], Any]) -> None:
        self.wait = wait

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.wait()


class Later(RingSum):
    """Sends something once there is time for it, by a thread."""

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        def send() -> None:
            time.sleep(LATE)
            channel.send(3, 0, SERVER, "later", np.ones((1, 1)), encrypted=True)

        self.start(send)

    def start(self, send: Callable[[], None]) -> None:
        threading.Thread(target=send).start()


class ByATaskOfAPool(Later):
    def start(self, send: Callable[[], None]) -> None:
        ThreadPoolExecutor(1).submit(send)


class ByAThreadOfAThread(Later):
    def start(self, send: Callable[[], None]) -> None:
        first = threading.Thread(target=threading.Thread(target=send).start)
        first.start()
        first.join()


def cleared(protocol: Any) -> Open | KnownSums:
    inputs = np.random.default_rng(0).normal(size=(3, 1, NETWORK.n, 2))
    return clear(prove(protocol, NETWORK, inputs), NETWORK, CuriousServer())


def reason(protocol: Any) -> str:
    found = cleared(protocol)
    return found.reason if isinstance(found, Open) else "; ".join(found.covers)


def test_a_channel_of_its_own_carries_what_is_followed() -> None:
    assert not reason(Unheard())


def test_a_channel_of_another_class_is_not_followed() -> None:
    assert "a message on another channel than the one given" in reason(Unheard(Kind))


@pytest.mark.parametrize("limit", ["_MUCH", "_MANY"])
def test_of_long_calls_without_a_channel_two_are_followed_unless_they_keep_something(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unheard: list[int] = []

    def counted(protocol: Any, network: Any, inputs: Any, **kw: Any) -> Any:
        if kw.get("ways") == tracing.Way(is_heard=False):
            unheard.append(len(inputs))
        return tracing.follow(protocol, network, inputs, **kw)

    monkeypatch.setattr(proving, "follow", counted)
    monkeypatch.setattr(proving, "_MOST_HANDED", 1)  # an object is not used again in larger batches
    monkeypatch.setattr(proving, limit, 0)
    assert not reason(Unheard())
    known = cleared(KeptUnheard())
    assert isinstance(known, KnownSums)
    assert max(known.exact.values()) > 0.9
    assert unheard == [2, 2, 3]


@pytest.mark.build
@pytest.mark.parametrize("protocol", [Opposite, KeptUnheard, BareInBatches])
def test_sums_over_runs_and_calls_are_worked_out(protocol: Any) -> None:
    known = cleared(protocol())
    assert isinstance(known, KnownSums)
    assert max(known.exact.values()) > 0.9


@pytest.mark.parametrize("protocol", [Later, ByATaskOfAPool, ByAThreadOfAThread])
def test_what_goes_on_after_the_call_ends_the_proof(protocol: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_TURN", 0.1)
    assert "a thread goes on after the call" in reason(protocol())


def late() -> threading.Thread:
    thread = threading.Thread(target=time.sleep, args=[0.001])
    thread.start()
    return thread


def of_pool(ask: Callable[[Any], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return ask(pool.submit(int))


def of_queue(ask: Callable[[Any], Any]) -> Any:
    items: queue.Queue[int] = queue.Queue()
    items.put(3)
    return ask(items)


async def at_most(seconds: float) -> None:
    await asyncio.wait_for(asyncio.sleep(0.0), seconds)


LIMITED: dict[str, Callable[[], Any]] = {
    "a thread": lambda: late().join(timeout=60.0),
    "a result": lambda: of_pool(lambda future: future.result(60.0)),
    "several results": lambda: of_pool(lambda future: wait([future], 60.0)),
    "a queue": lambda: of_queue(lambda items: items.get(True, 60.0)),
    "a queue that is asked once": lambda: of_queue(lambda items: items.get_nowait()),
    "a queue that is asked once, by name": lambda: of_queue(lambda items: items.get(block=False)),
    "a task": lambda: asyncio.run(at_most(60.0)),
}


@pytest.mark.build
@pytest.mark.parametrize("name", LIMITED)
def test_a_wait_with_a_limit_of_time_hangs_on_the_clock(name: str) -> None:
    assert "the clock, by a wait with a limit of time" in reason(Waiting(LIMITED[name]))


UNLIMITED: dict[str, Callable[[], Any]] = {
    "a thread": lambda: late().join(),
    "a result": lambda: of_pool(lambda future: future.result()),
    "a queue": lambda: of_queue(lambda items: items.get()),
    "a sleep": lambda: asyncio.run(asyncio.sleep(0.001)),
}


@pytest.mark.build
@pytest.mark.parametrize("name", UNLIMITED)
def test_a_wait_without_a_limit_does_not(name: str) -> None:
    assert not reason(Waiting(UNLIMITED[name]))


class FirstABatch(RingSum):
    """Is bare in single runs of an object whose first call was a batch."""

    first = 0

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.first = self.first or len(inputs)
        if self.first > 1 and len(inputs) == 1:
            masks = np.zeros((1, network.n, np.shape(inputs)[2]))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class FirstUnheard(RingSum):
    """Is bare on channels of an object whose first call had none."""

    is_test: bool | None = None

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.is_test = channel is None if self.is_test is None else self.is_test
        if self.is_test and channel is not None:
            masks = np.zeros((len(inputs), network.n, np.shape(inputs)[2]))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


@pytest.mark.parametrize("protocol", [FirstABatch(), FirstUnheard()], ids=["a batch", "unheard"])
def test_what_a_first_call_of_another_kind_leaves_narrows_the_claim(protocol: Any) -> None:
    found = cleared(protocol)
    assert isinstance(found, Open) or found.covers


class Buffered(RingSum):
    """Works in a buffer for each number of runs, which it clears."""

    def __init__(self) -> None:
        self.buffers: dict[int, Any] = {}

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        buffer = self.buffers.setdefault(len(inputs), np.zeros(np.shape(inputs)))
        buffer.fill(0.0)
        return super().average(inputs, network, rng, masks=masks, channel=channel)


def test_buffers_are_the_same_in_the_end_whichever_call_is_the_first() -> None:
    assert not reason(Buffered())


def test_what_batches_leave_is_kept() -> None:
    assert "what the protocol keeps from call to call" in reason(SeldomInBatches())


@pytest.mark.parametrize("is_bare", [lambda runs: runs == 2, lambda runs: runs > 20 and runs % 2 == 0])
def test_sizes_that_have_no_masks_are_found(is_bare: Callable[[int], bool]) -> None:
    known = cleared(SizeOfBatches(is_bare))
    assert isinstance(known, KnownSums)
    assert max(known.exact.values()) > 0.9


def test_guards_that_batches_alone_meet_end_the_proof() -> None:
    assert "a guard that calls of one run on a channel do not meet" in reason(GuardedInBatches())


def test_an_error_of_large_batches_ends_the_proof() -> None:
    class Small(RingSum):
        def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
            if len(rows) > 400:
                raise ValueError("too many runs")

    assert "a call in use ends in ValueError: too many runs" in reason(Small())


def test_what_other_threads_start_meanwhile_is_theirs() -> None:
    asked, done = threading.Event(), threading.Event()

    def serve() -> None:
        asked.wait()
        of_pool(lambda future: future.result())
        done.set()

    class Served(RingSum):
        def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
            asked.set()
            done.wait()

    server = threading.Thread(target=serve)
    server.start()
    fit = tracing.follow(Served(), NETWORK, [np.ones((1, NETWORK.n, 2))], looks=False)
    server.join()
    assert not fit.error
    assert [*fit.trace.threads, *fit.trace.tasks] == []
