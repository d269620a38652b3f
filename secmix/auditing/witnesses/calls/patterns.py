"""Calls of a protocol in long use: hundreds in a row, in batches of many sizes, without a channel, on odd inputs.

Two instances make the same calls on other inputs, with other masks. Where masks are handed to the protocol, whatever
else it draws is the same in both: those coins are public. What is sent on any channel is heard, also before an error.
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
from secmix.auditing.soundness.holding import Place, held
from secmix.auditing.soundness.runner import Call, fresh, observation
from secmix.auditing.witnesses.usage import Service
from secmix.kernel.state import Place as Line
from secmix.kernel.state import here
from secmix.transcript import Block, Channel, Origin, listening

_HEARS = (os.path.dirname(transcript.__file__), __file__)
_FIT = 12  # calls that one channel carries, as the iterations of a fit
_KEPT = 8  # runs of a batch that are looked at
_MESSAGES = 50_000  # of all calls of a pattern
_SIZES = (2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 30, 32, 34, 48, 50, 64, 65, 100, 120, 128, 150, 200, 256, 500, 1000, 1009)


@dataclass(frozen=True)
class Pattern:
    """A way to use a protocol.

    Attributes
    ----------
    name : str
    sizes : tuple of int
        How many runs each call has, in order.
    hands_masks, has_channel, is_unlike : bool
        Whether the protocol is handed masks, and a channel, and whether one node has an input unlike those of others.
    """

    name: str
    sizes: tuple[int, ...]
    hands_masks: bool = False
    has_channel: bool = True
    is_unlike: bool = False

    @property
    def is_batches(self) -> bool:
        """Say whether its calls differ in how many runs they have."""
        return max(self.sizes) > 1


PATTERNS = (
    Pattern("calls in a row, with masks that are handed to it", (1,) * 1000, hands_masks=True),
    Pattern("calls in a row", (1,) * 1300),
    Pattern("without a channel", (1,) * 24, has_channel=False),
    Pattern("batches", _SIZES),
    Pattern("inputs unlike all others", (1,) * 240, is_unlike=True),
)
"""In this order: what shows in ordinary calls is not to be put down to something else."""

UNLIKE: tuple[tuple[str, Callable[[Array, Array], Array]], ...] = (
    ("a thousand times as large as usual", lambda own, other: 1e3 * own),
    ("thirty times as large as usual", lambda own, other: 30.0 * own),
    ("a thousandth as large as usual", lambda own, other: 1e-3 * own),
    ("larger by 1,000 than usual", lambda own, other: own + 1e3),
    ("smaller by 1,000 than usual", lambda own, other: own - 1e3),
    ("above nought", lambda own, other: np.abs(own) + 1.0),
    ("below nought", lambda own, other: -np.abs(own) - 1.0),
    ("of whole numbers above nought", lambda own, other: np.abs(np.rint(8.0 * own)) + 1.0),
    ("that of another node", lambda own, other: other),
)
"""What the input (runs, m) of one node is, from its own and that of the next node."""


@dataclass(frozen=True)
class Run:
    """One run of a call.

    Attributes
    ----------
    call, size : int
        Which call it is of, and how many runs that has.
    inputs : (n, m)
    rows : dict of Place -> (w,)
        The numbers that the adversary reads.
    special : str
        In which way the input of a node is unlike that of others; empty for none.
    """

    call: int
    size: int
    inputs: Array
    rows: Mapping[Place, NDArray[Any]]
    special: str = ""


@dataclass
class _Ear:
    """Keeps what passes on any channel, and the line of the protocol that sends each kind."""

    blocks: list[Block]
    lines: dict[str, Line]

    def __call__(self, carrier: Channel, block: Block | None) -> None:
        if block is not None:
            self.blocks.append(replace(block, payload=block.payload.copy()))
            if block.kind not in self.lines:
                self.lines[block.kind] = _line()


@dataclass(frozen=True)
class LongUse:
    """A protocol in use, and what its nodes put in.

    Attributes
    ----------
    service : Service
    inputs : (n, runs, m)
    first : int
        Iteration of the first call of a fit.
    lines : dict of str -> line
        Where each kind of message is sent, as far as calls were made.
    """

    service: Service
    inputs: Array
    first: int
    lines: dict[str, Line]

    def runs(self, pattern: Pattern, instance: int) -> list[Run]:
        """Return the runs of all calls of one instance, as far as they send no more than many messages."""
        protocol, channel, found, messages = fresh(self.service.protocol), Channel(), list[Run](), 0
        coins = stream(self.service.seed, "soundness", "long use", pattern.name, "coins", instance)
        for number, size in enumerate(pattern.sizes):
            if number % _FIT == 0:
                channel = Channel()
            channel.iteration = self.first + number % _FIT
            inputs, special = self._inputs(pattern, instance, number, size)
            names = ("soundness", "long use", pattern.name, number)
            handed: dict[str, Any] = {"channel": channel} if pattern.has_channel else {}
            if pattern.hands_masks:
                coins = stream(self.service.seed, *names)
                handed["masks"] = stream(self.service.seed, *names, "masks", instance)
            call = self._call(protocol, inputs, coins, channel, handed)
            if call is None:
                break
            found += self._heard(call, Run(number, size, inputs, {}, special))
            messages += call.messages
            if messages > _MESSAGES or "thread" in call.untold:
                break
        return found

    def _inputs(self, pattern: Pattern, instance: int, number: int, size: int) -> tuple[Array, str]:
        """Return inputs (size, n, m), those of the audited runs combined anew, and what is special about them."""
        rng = stream(self.service.seed, "soundness", "long use", "inputs", pattern.name, instance, number)
        chosen = rng.integers(self.inputs.shape[1], size=(size, len(self.inputs)))
        inputs = np.ascontiguousarray(self.inputs[np.arange(len(self.inputs)), chosen], dtype=float)
        if not pattern.is_unlike:
            return inputs, ""
        corrupt = self.service.adversary.corrupt_nodes(self.service.network)
        honest = [node for node in range(len(self.inputs)) if node not in corrupt]
        place = number % len(honest)
        node, other = honest[place], honest[(place + 1) % len(honest)]
        what, change = UNLIKE[number // len(honest) % len(UNLIKE)]
        inputs[:, node] = change(inputs[:, node], inputs[:, other])
        return inputs, f"the input of node {node} is {what}"

    def _call(
        self, protocol: Any, inputs: Array, coins: np.random.Generator, channel: Channel, handed: dict[str, Any]
    ) -> Call | None:
        """Return one call, masks being drawn from the generator that is handed; nothing where none can be drawn."""
        network, ear = self.service.network, _Ear([], self.lines)
        if "masks" in handed:
            try:
                masks = protocol.draw_masks(len(inputs), inputs.shape[2], network, handed["masks"])
            except Exception:  # a stranger's code may fail in any way
                return None
            handed = {**handed, "masks": masks}

        def in_use(_: Channel) -> Array:
            with np.errstate(all="warn"):  # a protocol may make errors of warnings
                ended: Array = protocol.average(inputs.copy(), network, coins, **handed)[0]
            return ended

        # What it prints hundreds of times is shown nobody.
        with listening(ear), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            call = observation(in_use, channel)
        return replace(call, blocks=tuple(ear.blocks))

    def _heard(self, call: Call, made: Run) -> Iterator[Run]:
        """Yield the runs of a call, ``made`` being all of them; those alike are counted, of any iteration."""
        network = self.service.network
        rows = held(call, self.service.adversary, network, self.service.adversary.corrupt_nodes(network))
        fits, counts = dict[Place, NDArray[Any]](), Counter[Origin]()
        for (origin, _), row in rows.items():
            if row.ndim == 2 and len(row) == made.size:
                alike = replace(origin, iteration=0)
                fits[alike, counts[alike]] = row
                counts[alike] += 1
        for run in range(min(made.size, _KEPT)):
            yield replace(made, inputs=made.inputs[run], rows={place: row[run] for place, row in fits.items()})


def _line() -> Line:
    """Return the line of the protocol that sends, not those of the channel and of who hears it."""
    place = here()
    frames = [(place.file, place.line), *place.callers]
    return next((Line(*each) for each in frames if not each[0].startswith(_HEARS)), Line("unknown", 0))
