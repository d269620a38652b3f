"""A protocol called once, under watch: every message, its frame and what the nodes end with.

The record is kept apart from the transcript that the protocol can reach, and compared with it afterwards. A call is
bounded: at so many messages it ends, and an exception ends it with its kind.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.transcript import Block, Channel, overheard

_LARGE = 2**16  # bytes that are compared where they lie, not copied first
ALLOWED = 4  # times as many messages as a reference call sent


class Runaway(SecmixError):
    """A call that sends many more messages than another did."""


class Recorder(Channel):
    """A channel that keeps a record of its own.

    Parameters
    ----------
    iteration : int
    most : int, optional
        Messages after which the call is ended.
    record : bool
        What the protocol is told; a record is kept anyway.
    """

    def __init__(self, iteration: int = 0, most: int | None = None, *, record: bool = True) -> None:
        super().__init__(record=record)
        self.iteration = iteration
        self.log: list[Block] = []
        self.frames: list[tuple[object, ...]] = []
        self.most, self.count = most, 0
        self.told, self.silenced = record, False
        self.begun = 0

    def begin(self) -> None:
        """As :meth:`Channel.begin`."""
        super().begin()
        self.log, self.frames = [], []
        self.begun += 1

    def _write(self, *arguments: Any) -> None:
        recording, self.record = self.record, True  # whoever switches the record off is heard nevertheless
        self.silenced = self.silenced or recording != self.told
        super()._write(*arguments)
        self.record = recording
        b = self.transcript.blocks[-1]
        frame = frame_of(b)
        # The ends as they are in the frame: bytes, which nobody can change.
        sender, receiver, content = (np.frombuffer(which, dtype=np.intp) for which in frame[4:7])
        kept = Block(b.iteration, b.round, b.kind, b.line, sender, receiver, content, b.payload.copy())
        self.log.append(kept)
        self.frames.append(frame)
        self.count += len(kept.sender)
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
    altered : str
        Why the transcript does not tell all that was sent; empty if it does.
    frames : tuple of tuple, or None
        Of the blocks, where they were noted as they were sent.
    left : str
        In which state the public generator was left.
    """

    blocks: tuple[Block, ...]
    results: NDArray[Any]
    failure: str = ""
    altered: str = ""
    frames: tuple[tuple[object, ...], ...] | None = None
    left: str = ""

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


def observation(run: Callable[[Recorder], ArrayLike], channel: Recorder) -> Call:
    """What came of ``run(channel)``, which returns what each node ends with."""
    results: NDArray[Any] = np.empty((0, 0, 0))
    failure, others = "", False

    def listener(carrier: Channel) -> None:
        nonlocal others
        others = others or carrier is not channel

    with overheard(listener), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = np.array(run(channel))
        except Exception as error:
            failure = type(error).__name__
    written = channel.transcript.blocks
    altered = ""
    if channel.begun > 1 and _ends_with(written, channel.log):  # run by run, and put together since
        return Call(tuple(written), results, failure)
    frames = [frame_of(block) for block in written]
    if frames != channel.frames or not all(
        same_bits(one.payload, other.payload) for one, other in zip(written, channel.log, strict=True)
    ):
        altered = "it says something else than was sent"
    elif channel.silenced:
        altered = "the record was switched off meanwhile"
    elif others:
        altered = "something went through another channel than the one given"
    return Call(tuple(channel.log), results, failure, altered, tuple(channel.frames))


def _ends_with(together: list[Block], last: list[Block]) -> bool:
    """Whether the transcript of several runs has the ``last`` one at the end of its axis of runs."""
    return len(together) == len(last) and all(
        same_block(replace(one, payload=one.payload[:, -1:]), other) for one, other in zip(together, last, strict=True)
    )


def call_sum(
    protocol: Any,
    inputs: Array,
    masks: Array | None,
    network: Network,
    rng: np.random.Generator,
    *,
    iteration: int = 0,
    most: int | None = None,
    record: bool = True,
    form: Callable[[Array], Any] = np.copy,
) -> Call:
    """One call of a sum protocol's ``average``; it gets copies of inputs and masks, the inputs in a ``form``."""

    def run(channel: Recorder) -> ArrayLike:
        given = None if masks is None else masks.copy()
        return np.asarray(protocol.average(form(inputs), network, rng, masks=given, channel=channel)[0])

    return replace(observation(run, Recorder(iteration, most, record=record)), left=repr(rng.bit_generator.state))


def call_alone(protocol: Any, inputs: Array, network: Network, rng: np.random.Generator, **given: Any) -> Call:
    """One call of ``average`` as in use, without masks and without a channel but those ``given``."""
    used: list[Channel] = []

    def listener(carrier: Channel) -> None:
        if not any(carrier is each for each in used):
            used.append(carrier)

    results: NDArray[Any] = np.empty((0, 0, 0))
    failure = ""
    with overheard(listener), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = np.asarray(protocol.average(inputs.copy(), network, rng, **given)[0])
        except Exception as error:
            failure = type(error).__name__
    return Call(tuple(block for channel in used for block in channel.transcript.blocks), results, failure)


def same_block(one: Block, other: Block) -> bool:
    """Whether two blocks are the same to the last bit."""
    return frame_of(one) == frame_of(other) and same_bits(one.payload, other.payload)


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
