"""One recorded call of a protocol: every message, and the result at each node.

Messages are recorded when they are sent, whatever the protocol does to its transcript. A call ends at a limit of
messages, or with the kind of its exception.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.transcript import Block, Channel, listening

_TURNS, _WORK = 100, 20_000  # turns that threads have to end after a call, and rounds of a hash in each (10 ms)
_LARGE = 2**16  # larger arrays are compared without a copy
ALLOWED = 4  # limit of messages, relative to a reference call


class Runaway(SecmixError):
    """Raised when a call sends many more messages than another did."""


class Watch:
    """A listener that records the messages of one channel, and notices any other."""

    def __init__(self, channel: Channel, most: int | None = None) -> None:
        self.channel, self.most, self.count = channel, most, 0
        self.log: list[Block] = []
        self.others = False

    def __call__(self, carrier: Channel, block: Block | None) -> None:
        if carrier is not self.channel:
            self.others = True
        elif block is not None:
            self.log.append(replace(block, payload=block.payload.copy()))
            self.count += len(block.sender)
            if self.most is not None and self.count > self.most:
                raise Runaway(f"more than {self.most} messages were sent")


@dataclass(frozen=True)
class Call:
    """Record of one call."""

    blocks: tuple[Block, ...]  # as they were sent, whatever the protocol did to its transcript
    results: NDArray[Any]  # (runs, n, p): result of each node; empty if the call failed
    failure: str = ""  # kind of the error that ended it; empty if none did
    unrecorded: str = ""  # why the blocks are not all messages; empty if they are
    leaves_thread: bool = False  # whether a thread that it started runs after it

    @property
    def messages(self) -> int:
        """Number of messages that were sent or held."""
        return sum(len(block.sender) for block in self.blocks)


def record_call(
    run: Callable[[Channel], ArrayLike],
    channel: Channel,
    most: int | None = None,
    *,
    watch: Watch | None = None,
    waits: bool = True,
) -> Call:
    """Record ``run(channel)``, which returns the results of all nodes; stop it after ``most`` messages, if given.

    A ``watch`` of one's own records in place of the usual one. Unless it ``waits``, threads that the call started have
    one turn to end, which takes a hundredth of the time.
    """
    results: NDArray[Any] = np.empty((0, 0, 0))
    failure, unrecorded, watch = "", "", watch or Watch(channel, most)
    with listening(watch), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        before = set(threading.enumerate())
        try:
            results = np.array(run(channel))
        except Exception as error:
            failure = type(error).__name__
        running = _still_running(before, _TURNS if waits else 1)
    if watch.others:
        unrecorded = "a message went through a channel that the audit does not record"
    elif running:
        unrecorded = "a thread that the call started runs after it, and its messages are not recorded"
    return Call(tuple(watch.log), results, failure, unrecorded, running)


def _still_running(before: set[threading.Thread], turns: int) -> bool:
    """Check whether a thread that did not exist ``before`` continues to run.

    Threads may end within a fixed amount of work, not within a time, since a loaded machine slows both.
    """
    started = [thread for thread in threading.enumerate() if thread not in before]
    for _ in range(turns):
        if not any(thread.is_alive() for thread in started):
            return False
        hashlib.pbkdf2_hmac("sha256", b"", b"", _WORK)  # other threads run meanwhile
    return True


def call_sum(
    protocol: Any,
    inputs: Array,
    network: Network,
    rng: np.random.Generator,
    *,
    iteration: int = 0,
    waits: bool = True,
) -> Call:
    """Call ``average`` of a sum protocol on a copy of inputs (runs, n, m), with masks that it draws itself."""
    channel = Channel()
    channel.iteration = iteration
    return record_call(
        lambda line: protocol.average(np.copy(inputs), network, rng, channel=line)[0], channel, waits=waits
    )


def same_block(left: Block, right: Block) -> bool:
    """Check whether two blocks are bit-identical."""
    return frame_of(left) == frame_of(right) and same_bits(left.payload, right.payload)


def same_blocks(left: Sequence[Block], right: Sequence[Block]) -> bool:
    """Check whether the same messages were sent, in the same order, bit for bit."""
    return len(left) == len(right) and all(map(same_block, left, right))


def same_bits(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Check whether two arrays are bit-identical, including signs of zeros and NaN."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype == object:
        return bool(left.tolist() == right.tolist())
    if left.nbytes > _LARGE:
        first, second = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (left, right))
        return bool(np.array_equal(first, second))
    return np.ascontiguousarray(left).tobytes() == np.ascontiguousarray(right).tobytes()


def frame_of(block: Block) -> tuple[Any, ...]:
    """Return all of a block but its numbers and the number of runs; the type of its numbers is included."""
    payload = block.payload
    return (
        block.iteration,
        block.round,
        block.kind,
        block.line,
        np.asarray(block.sender).tobytes(),
        np.asarray(block.receiver).tobytes(),
        np.asarray(block.content).tobytes(),
        payload.shape[0],
        payload.shape[2],
        payload.dtype.str,
    )
