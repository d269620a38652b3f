"""A protocol called once, under watch: every message, and what the nodes end with.

A call is what was sent, whatever becomes of the transcript that the protocol can reach. It is bounded: at so many
messages it ends, and an exception ends it with its kind.
"""

from __future__ import annotations

import copy
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

_TURNS, _WORK = 100, 20_000  # turns that threads of a call have to end after it, and rounds of a hash in each (10 ms)
_LARGE = 2**16  # bytes that are compared where they lie, not copied first
ALLOWED = 4  # times as many messages as a reference call sent


class Runaway(SecmixError):
    """A call that sends many more messages than another did."""


class _Watch:
    """A listener that keeps what it hears of one channel, and notices any other."""

    def __init__(self, channel: Channel, most: int | None) -> None:
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
    """What came of one call.

    Attributes
    ----------
    blocks : tuple of Block
        As they were sent, whatever became of the transcript since.
    results : (runs, n, p)
        What each node ends with; empty where the call failed.
    failure : str
        The kind of error that ended it; empty for none.
    untold : str
        Why the blocks are not all that was sent; empty if they are.
    """

    blocks: tuple[Block, ...]
    results: NDArray[Any]
    failure: str = ""
    untold: str = ""

    @property
    def messages(self) -> int:
        """How many messages were sent or held."""
        return sum(len(block.sender) for block in self.blocks)


def fresh(protocol: Any) -> Any:
    """A deep copy of ``protocol``; a shallow one where parts of it (a lock, a file) cannot be copied, or the object.

    What a copy shares with the object is seen by the check of state, like all else that outlives a call.
    """
    for how in (copy.deepcopy, copy.copy):
        try:
            return how(protocol)
        except Exception:  # an object may refuse in any way
            continue
    return protocol


def observation(run: Callable[[Channel], ArrayLike], channel: Channel, most: int | None = None) -> Call:
    """What came of ``run(channel)``, which returns what each node ends with; ended at ``most`` messages, if given."""
    results: NDArray[Any] = np.empty((0, 0, 0))
    failure, untold, watch = "", "", _Watch(channel, most)
    with listening(watch), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        before = set(threading.enumerate())
        try:
            results = np.array(run(channel))
        except Exception as error:
            failure = type(error).__name__
        running = _still_running(before)
    if watch.others:
        untold = "something went through another channel than the one given"
    elif running:
        untold = "a thread that a call started still runs after it, and what it sends then is not recorded"
    return Call(tuple(watch.log), results, failure, untold)


def _still_running(before: set[threading.Thread]) -> bool:
    """Return whether a thread that was not there ``before`` goes on, as one that reports later.

    Threads may end while a fixed amount of work is done, not within a time: a loaded machine slows both alike.
    """
    started = [thread for thread in threading.enumerate() if thread not in before]
    for _ in range(_TURNS):
        if not any(thread.is_alive() for thread in started):
            return False
        hashlib.pbkdf2_hmac("sha256", b"", b"", _WORK)  # other threads run meanwhile
    return True


def call_sum(protocol: Any, inputs: Array, network: Network, rng: np.random.Generator, *, iteration: int = 0) -> Call:
    """Call a sum protocol's ``average`` on a copy of inputs (runs, n, m), with masks of its own."""
    channel = Channel()
    channel.iteration = iteration
    return observation(lambda line: protocol.average(np.copy(inputs), network, rng, channel=line)[0], channel)


def same_block(one: Block, other: Block) -> bool:
    """Whether two blocks are the same to the last bit."""
    return frame_of(one) == frame_of(other) and same_bits(one.payload, other.payload)


def same_blocks(one: Sequence[Block], other: Sequence[Block]) -> bool:
    """Whether the same was sent, in the same order, to the last bit."""
    return len(one) == len(other) and all(map(same_block, one, other))


def same_bits(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two arrays are the same to the last bit, signs of zeros and NaN included."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return bool(one.tolist() == other.tolist())
    if one.nbytes > _LARGE:
        first, second = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (one, other))
        return bool(np.array_equal(first, second))
    return np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


def frame_of(block: Block) -> tuple[Any, ...]:
    """All but the numbers and how many runs they are of, the type of number included."""
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
