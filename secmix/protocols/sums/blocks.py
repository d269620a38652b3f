"""Averaging very many runs in bounded memory: a block of runs at a time, each with its own random stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from secmix._base.checks import Array, integer
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import SumProtocol, checked_inputs
from secmix.transcript import Block, Channel, Transcript

T = TypeVar("T")

# A protocol holds its inputs and masks in a few forms at once: as drawn, as sent, as updated, and the
# temporaries of an update. The benchmarks measure this for every protocol enrolled in the tests.
_COPIES = 7


def average_in_blocks(
    protocol: SumProtocol,
    inputs: Array,
    network: Network,
    rng: np.random.Generator,
    *,
    observe: Callable[[Transcript], T] | None = None,
    memory: int = 512 * 2**20,
    runs_per_block: int = 64,
) -> tuple[Array, list[T]]:
    """Average ``inputs`` (runs, n, m) in blocks; return averages (runs, n, m), and ``observe(transcript)`` by block.

    Parameters
    ----------
    protocol : sum protocol
    inputs : (runs, n, m)
    network : Network
    rng : Generator
        Each block of runs draws from a stream of its own, split off in order.
    observe : function of a Transcript, optional
        Called with the transcript of each block, which is then dropped; return what is to be kept, such as
        some features of an adversary's view. Without it nothing is recorded.
    memory : int
        Bytes that a block may take beside ``inputs`` and the averages. It decides whether the work is done,
        never what comes out.
    runs_per_block : int
        Runs that share a stream, and with it a schedule. Together with the seed it fixes the result.

    Raises
    ------
    SecmixError
        If a block, or its transcript, does not fit in ``memory``; the message says what it takes.

    Examples
    --------
    >>> from secmix import Network
    >>> from secmix.protocols import PDMM
    >>> inputs = np.arange(600.0).reshape(200, 3, 1)
    >>> averages, _ = average_in_blocks(PDMM(sigma=10.0), inputs, Network.cycle(3), np.random.default_rng(0))
    >>> averages[-1, :, 0].round(6).tolist()
    [598.0, 598.0, 598.0]
    """
    s = checked_inputs(inputs, network)
    integer(memory, "memory")
    size = min(integer(runs_per_block, "runs_per_block"), len(s))
    needed = _bytes(protocol, network, size, s.shape[2])
    if needed > memory:
        fits = size * memory // needed
        remedy = f"lower runs_per_block to {fits} or less, or raise memory" if fits else "raise memory"
        raise SecmixError(
            f"a block of {size} runs takes about {_mib(needed)}, more than the {_mib(memory)} allowed; {remedy}"
        )
    averages = np.empty_like(s)
    observed: list[T] = []
    starts = range(0, len(s), size)
    for start, stream in zip(starts, rng.spawn(len(starts)), strict=True):
        block = slice(start, start + size)
        channel = Channel(record=False) if observe is None else _Channel(memory - needed, size)
        averages[block], transcript = protocol.average(s[block], network, stream, channel=channel)
        if observe is not None:
            observed.append(observe(transcript))
    return averages, observed


def _bytes(protocol: SumProtocol, network: Network, runs: int, m: int) -> int:
    """Estimate the bytes that ``runs`` runs of m numbers take, without a transcript."""
    masks = protocol.draw_masks(1, 1, network, np.random.default_rng(0)).shape[1]
    return int(_COPIES * (network.n + masks) * runs * m * 8)  # float64


def _mib(size: int) -> str:
    return f"{size / 2**20:.3g} MiB"


class _Transcript(Transcript):
    """A transcript that refuses to outgrow ``room`` bytes."""

    def __init__(self, room: int, runs: int) -> None:
        super().__init__()
        self.room, self.runs, self.taken = room, runs, 0

    def append(self, block: Block) -> None:
        self.taken += block.payload.nbytes
        if self.taken > self.room:
            raise SecmixError(
                f"the transcript of {self.runs} runs outgrows the {_mib(self.room)} of memory left for it, "
                f"in round {block.round}; lower runs_per_block or raise memory"
            )
        super().append(block)


class _Channel(Channel):
    """A channel that writes into such a transcript."""

    def __init__(self, room: int, runs: int) -> None:
        super().__init__()
        self.transcript = _Transcript(room, runs)
