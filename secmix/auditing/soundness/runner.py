"""A protocol called once, under watch: every message, its frame and what the nodes end with.

The record is kept apart from the transcript that the protocol can reach, and compared with it afterwards. A call is
bounded: at so many messages it ends, and an exception ends it with its kind.
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
from secmix.transcript import Block, Channel, overheard

_TURNS, _WORK = 100, 20_000  # turns that threads of a call have to end after it, and rounds of a hash in each (10 ms)
_LARGE = 2**16  # bytes that are compared where they lie, not copied first
ALLOWED = 4  # times as many messages as a reference call sent


class Runaway(SecmixError):
    """A call that sends many more messages than another did."""


class _Watch:
    """A listener that keeps what it hears of one channel, and notices any other.

    The channel is a plain one: a protocol may look at what it is handed.
    """

    def __init__(self, channel: Channel, most: int | None) -> None:
        self.channel, self.most, self.count = channel, most, 0
        self.transcript, self.recording = channel.transcript, channel.record
        self.log: list[Block] = []
        self.frames: list[tuple[object, ...]] = []
        self.ends: dict[bytes, NDArray[np.intp]] = {}  # rounds repeat who tells whom
        self.before: list[list[Block]] = []  # what went into transcripts that others took the place of
        self.silenced = self.others = self.lost = self.awaited = False

    def __call__(self, carrier: Channel, b: Block | None) -> None:
        if carrier is not self.channel:
            self.others = True
            return
        self.lost = self.lost or (b is None and self.awaited)  # what was said to pass, and was written nowhere
        self.awaited = b is None
        self.silenced = self.silenced or carrier.record != self.recording
        if carrier.transcript is not self.transcript:  # run by run, or to hide what was sent
            self.transcript = carrier.transcript
            if self.log:
                self.before.append(self.log)
                self.log, self.frames = [], []
        if b is None:
            return
        frame = frame_of(b)
        # The ends as they are in the frame: bytes, which nobody can change.
        sender, receiver, content = map(self._numbers, frame[4:7])
        self.log.append(Block(b.iteration, b.round, b.kind, b.line, sender, receiver, content, b.payload.copy()))
        self.frames.append(frame)
        self.count += len(sender)
        if self.most is not None and self.count > self.most:
            raise Runaway(f"more than {self.most} messages were sent")

    def _numbers(self, which: bytes) -> NDArray[np.intp]:
        found = self.ends.get(which)
        if found is None:
            found = self.ends[which] = np.frombuffer(which, dtype=np.intp)
        return found


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
    altered : str
        Why the transcript does not tell all that was sent; empty if it does.
    frames : tuple of tuple, or None
        Of the blocks, where they were noted as they were sent.
    left : str
        In which state the public generator was left.
    kept : tuple of arrays
        What lies about after it. Of a sum, the inputs (runs, n, m), if the call left them changed; of a collaboration,
        the rows of corrupt nodes as the call left them, and how far the channel's count of iterations has come.
    """

    blocks: tuple[Block, ...]
    results: NDArray[Any]
    failure: str = ""
    altered: str = ""
    frames: tuple[tuple[object, ...], ...] | None = None
    left: str = ""
    kept: tuple[NDArray[Any], ...] = ()

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
    failure, watch, said = "", _Watch(channel, most), len(channel.transcript.blocks)
    with overheard(watch), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        before = set(threading.enumerate())
        try:
            results = np.array(run(channel))
        except Exception as error:
            failure = type(error).__name__
        running = _still_running(before)
    written, log, frames = channel.transcript.blocks, watch.log, watch.frames
    if not watch.before:
        written = written[said:]
    altered = ""
    if watch.silenced:
        altered = "the record was switched off meanwhile"
    elif watch.others:
        altered = "something went through another channel than the one given"
    elif watch.lost or (watch.awaited and not failure):
        altered = "something was sent of which there is no record"
    elif running:
        altered = "a thread that a call started still runs after it, and what it sends then is not recorded"
    if watch.before and _put_together(written, [*watch.before, log]):
        return Call(tuple(written), results, failure, altered)
    if not watch.recording:
        written = log  # nothing is to be written
    if watch.before:
        log = [block for each in (*watch.before, log) for block in each]
        frames = [frame_of(block) for block in log]
    if not altered and (
        [frame_of(block) for block in written] != frames
        or not all(same_bits(one.payload, other.payload) for one, other in zip(written, log, strict=True))
    ):
        altered = "it says something else than was sent"
    return Call(tuple(log), results, failure, altered, tuple(frames))


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


def _put_together(together: list[Block], runs: list[list[Block]]) -> bool:
    """Whether a transcript is that of several runs, each sent by itself, side by side along its axis of runs."""
    return all(len(each) == len(together) for each in runs) and all(
        same_block(replace(one, payload=one.payload[:, run : run + 1]), other)
        for run, each in enumerate(runs)
        for one, other in zip(together, each, strict=True)
    )


def call_sum(protocol: Any, inputs: Array, network: Network, rng: np.random.Generator, *, iteration: int = 0) -> Call:
    """Call a sum protocol's ``average`` on a copy of inputs (runs, n, m), with masks of its own."""
    handed = np.copy(inputs)

    def run(channel: Channel) -> ArrayLike:
        return np.asarray(protocol.average(handed, network, rng, channel=channel)[0])

    channel = Channel()
    channel.iteration = iteration
    call = observation(run, channel)
    return call if same_bits(handed, inputs) else replace(call, kept=(handed,))


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
