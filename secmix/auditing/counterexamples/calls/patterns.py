"""Calls of a protocol in long use: hundreds in a row, batches of many sizes, without a channel, on unusual inputs.

Two instances make the same calls on different inputs, with different masks. If masks are passed to the protocol, its
other draws are the same in both: those coins are public. Messages on any channel are recorded, also before an error.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix import transcript
from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.counterexamples.instance import ProtocolInstance
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.numbers_read import Place, numbers_read
from secmix.auditing.soundness.runner import Call, Watch, record_call
from secmix.kernel.values.current_trace import Place as Line
from secmix.kernel.values.current_trace import here
from secmix.transcript import Block, Channel, Origin

_LISTENERS = (os.path.dirname(transcript.__file__), __file__)
_FIT = 12  # calls on one channel, like the iterations of a fit
_EXAMINED = 8  # runs of a batch that are examined
_MESSAGES = 50_000  # of all calls of a pattern
_SIZES = (2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 30, 32, 34, 48, 50, 64, 65, 100, 120, 128, 150, 200, 256, 500, 1000, 1009)


@dataclass(frozen=True)
class Pattern:
    """A way to use a protocol."""

    name: str
    sizes: tuple[int, ...]  # number of runs of each call, in order
    # hands_masks, has_channel, is_unlike: whether masks and a channel are passed to the protocol, and whether one node
    # has an unusual input
    hands_masks: bool = False
    has_channel: bool = True
    is_unlike: bool = False

    @property
    def is_batches(self) -> bool:
        """True if its calls have different numbers of runs."""
        return max(self.sizes) > 1


PATTERNS = (
    Pattern("calls in a row, with given masks", (1,) * 1000, hands_masks=True),
    Pattern("calls in a row", (1,) * 1300),
    Pattern("without a channel", (1,) * 24, has_channel=False),
    Pattern("batches", _SIZES),
    Pattern("unusual inputs", (1,) * 240, is_unlike=True),
)
"""In this order, so that a leak in ordinary calls is not attributed to an unusual pattern."""

UNLIKE: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("a thousand times as large as usual", lambda own, other: 1e3 * own),
    ("thirty times as large as usual", lambda own, other: 30.0 * own),
    ("a thousandth as large as usual", lambda own, other: 1e-3 * own),
    ("larger by 1,000 than usual", lambda own, other: own + 1e3),
    ("smaller by 1,000 than usual", lambda own, other: own - 1e3),
    ("above zero", lambda own, other: np.abs(own) + 1.0),
    ("below zero", lambda own, other: -np.abs(own) - 1.0),
    ("of integers above zero", lambda own, other: np.abs(np.rint(8.0 * own)) + 1.0),
    ("that of another node", lambda own, other: other),
)
"""The input (runs, m) of one node, made of its own and that of the next node."""


@dataclass(frozen=True)
class Run:
    """One run of a call."""

    # call, size: number of its call, and number of runs of that call
    call: int
    size: int
    inputs: Array  # (n, m)
    rows: Mapping[Place, NDArray[Any]]  # Place -> (w,): the numbers that the adversary reads
    special: str = ""  # what is unusual about a node's input; empty if nothing is


class _Recorder(Watch):
    """Records the messages on any channel, and the line of the protocol that sends each kind."""

    def __init__(self, channel: Channel, lines: dict[str, Line]) -> None:
        super().__init__(channel)
        self.lines = lines

    def __call__(self, carrier: Channel, block: Block | None) -> None:
        self.others |= carrier is not self.channel
        if block is not None:
            self.log.append(replace(block, payload=block.payload.copy()))
            if block.kind not in self.lines:
                self.lines[block.kind] = _line()


@dataclass(frozen=True)
class LongUse:
    """A protocol in long use, and the inputs of its nodes."""

    instance: ProtocolInstance
    inputs: Array  # (n, runs, m)
    first: int  # iteration of the first call of a fit
    lines: dict[str, Line]  # str -> line: lines that send each kind of message, as far as calls were made

    def runs(self, pattern: Pattern, copy: int) -> list[Run]:
        """Make all calls of one instance, up to a limit on messages, and return their runs."""
        protocol, channel, runs, messages = deep_copy(self.instance.protocol), Channel(), list[Run](), 0
        coins = stream(self.instance.seed, "soundness", "long use", pattern.name, "coins", copy)
        for number, size in enumerate(pattern.sizes):
            if number % _FIT == 0:
                channel = Channel()
            channel.iteration = self.first + number % _FIT
            inputs, special = self._inputs(pattern, copy, number, size)
            names = ("soundness", "long use", pattern.name, number)
            arguments: dict[str, Any] = {"channel": channel} if pattern.has_channel else {}
            if pattern.hands_masks:
                coins = stream(self.instance.seed, *names)
                arguments["masks"] = stream(self.instance.seed, *names, "masks", copy)
            call = self._call(protocol, inputs, coins, channel, arguments)
            if call is None:
                break
            runs += self._runs_of(call, Run(number, size, inputs, {}, special))
            messages += call.messages
            if messages > _MESSAGES or call.leaves_thread:
                break
        return runs

    def _inputs(self, pattern: Pattern, copy: int, number: int, size: int) -> tuple[Array, str]:
        """Combine inputs (size, n, m) of the audited runs anew; return them, and what is unusual about them."""
        rng = stream(self.instance.seed, "soundness", "long use", "inputs", pattern.name, copy, number)
        chosen = rng.integers(self.inputs.shape[1], size=(size, len(self.inputs)))
        inputs = np.ascontiguousarray(self.inputs[np.arange(len(self.inputs)), chosen], dtype=float)
        if not pattern.is_unlike:
            return inputs, ""
        corrupt = self.instance.adversary.corrupt_nodes(self.instance.network)
        honest = [node for node in range(len(self.inputs)) if node not in corrupt]
        place = number % len(honest)
        node, other = honest[place], honest[(place + 1) % len(honest)]
        what, change = UNLIKE[number // len(honest) % len(UNLIKE)]
        inputs[:, node] = change(inputs[:, node], inputs[:, other])
        return inputs, f"the input of node {node} is {what}"

    def _call(
        self, protocol: Any, inputs: Array, coins: np.random.Generator, channel: Channel, arguments: dict[str, Any]
    ) -> Call | None:
        """Make one call, with masks drawn from the given generator; return None if none can be drawn."""
        network = self.instance.network
        if "masks" in arguments:
            try:
                masks = protocol.draw_masks(len(inputs), inputs.shape[2], network, arguments["masks"])
            except Exception:  # the protocol's code may raise anything
                return None
            arguments = {**arguments, "masks": masks}

        def in_use(_: Channel) -> Array:
            with np.errstate(all="warn"):  # a protocol may turn warnings into errors
                averages: Array = protocol.average(inputs.copy(), network, coins, **arguments)[0]
            return averages

        # Output of hundreds of calls is not shown.
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return record_call(in_use, channel, watch=_Recorder(channel, self.lines))

    def _runs_of(self, call: Call, batch: Run) -> Iterator[Run]:
        """Yield the runs of a call with the numbers that are read; equal origins of any iteration are numbered."""
        network = self.instance.network
        rows = numbers_read(call, self.instance.adversary, network, self.instance.adversary.corrupt_nodes(network))
        fits, counts = dict[Place, NDArray[Any]](), Counter[Origin]()
        for (origin, _), row in rows.items():
            if row.ndim == 2 and len(row) == batch.size:
                without_iteration = origin._replace(iteration=0)
                fits[without_iteration, counts[without_iteration]] = row
                counts[without_iteration] += 1
        for run in range(min(batch.size, _EXAMINED)):
            yield replace(batch, inputs=batch.inputs[run], rows={place: row[run] for place, row in fits.items()})


def _line() -> Line:
    """Locate the line of the protocol that sends, behind those of the channel and of this file."""
    place = here()
    frames = [(place.file, place.line), *place.callers]
    return next((Line(*frame) for frame in frames if not frame[0].startswith(_LISTENERS)), Line("unknown", 0))
