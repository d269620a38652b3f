"""Who holds what: a protocol run once on unit inputs and unit masks, its messages sorted by who sends and hears them.

What an agent (a node, the server, a line) holds of a linear protocol is the rows of a matrix over inputs and masks. A
QR factorisation keeps all that matters of many rows: it has the same row space and the same singular values, whichever
columns are looked at. What an agent holds outright (its input, a mask) is a unit row, and stands for its column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from secmix._base.checks import Array, Ints
from secmix.coalitions.result import Agent
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed, misfit, residue
from secmix.estimators.exact.provenance import unexplained
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Block, Channel, Transcript

_PLAIN = 1e-6  # coefficient from which on a message that is one input or mask gives it away
_OUTRIGHT = 1e-12  # what stands beside the one coefficient of a message that is an input or a mask itself


@dataclass(frozen=True)
class Holding:
    """What one agent holds.

    Attributes
    ----------
    outright : (columns,) bool
        Inputs and masks it holds as they are.
    rest : (F, columns)
        R factor of its other messages.
    strange : bool
        Whether it holds messages that are not linear in inputs and masks: it may then know more than this.
    """

    outright: np.ndarray
    rest: Array
    strange: bool


@dataclass(frozen=True)
class Recorded:
    """What every agent holds after one averaging, or after several that share their masks.

    Attributes
    ----------
    n : int
    inputs : int
        Columns of inputs, n an averaging; masks follow.
    table : (F, columns)
        Everything that was sent or held.
    strange : (F,) bool
        Rows that are not linear in inputs and masks.
    rows : dict of Agent -> (f,) int
        What nodes, the server if there is one, and lines that are not encrypted hold.
    doubts : tuple of str
        Why an agent may know more than its messages say; nothing is proven about such a protocol.
    """

    n: int
    inputs: int
    table: Array
    strange: np.ndarray
    rows: dict[Agent, Ints]
    doubts: tuple[str, ...]
    _made: dict[tuple[Agent, bool], Holding] = field(default_factory=dict)

    @property
    def players(self) -> list[int]:
        """Nodes, and the server where it takes part."""
        return sorted(agent for agent in self.rows if isinstance(agent, int))

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Lines on which something travels that is not encrypted."""
        return sorted(agent for agent in self.rows if isinstance(agent, tuple))

    @cached_property
    def open(self) -> Holding:
        """What everybody hears who hears every line that is not encrypted."""
        return _holding(self.table, self.strange, self._open)

    def of(self, agent: Agent, *, beside_open: bool) -> Holding:
        """What ``agent`` holds; ``beside_open``: only what it holds beside what travels in the open."""
        key = agent, beside_open
        if key not in self._made:
            mine = self.rows[agent]
            if beside_open:
                mine = np.setdiff1d(mine, self._open)
            self._made[key] = _holding(self.table, self.strange, mine)
        return self._made[key]

    @cached_property
    def _open(self) -> Ints:
        parts = [self.rows[line] for line in self.lines]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.intp)


def held(
    protocol: SumProtocol,
    network: Network,
    inputs: list[Array],
    rng: np.random.Generator,
    *,
    masks: Array | None = None,
) -> Recorded:
    """Run ``protocol`` on ``inputs``, one (runs, n, m) an averaging, with unit inputs and unit masks beside them.

    Parameters
    ----------
    inputs : list of (runs, n, m)
        Real ones, on which it is checked that messages are what the units say. Several averagings are read jointly,
        with the masks given in all of them.
    masks : (runs, k, m), optional
    """
    modulus, grid = SumTraits.of(protocol).modulus, SumTraits.of(protocol).grid
    probed = Probed(protocol)
    tables: list[Array] = []
    strange: list[np.ndarray] = []
    who: dict[Agent, list[int]] = {}
    doubts: list[str] = []
    count, n, times = 0, network.n, len(inputs)
    for t, real in enumerate(inputs):
        channel = Channel()
        channel.iteration = t
        probed.average(real, network, rng.spawn(1)[0], masks=masks, channel=channel)
        k = probed.seen[t][1].shape[1]
        units, runs = n + k, len(real)
        linear, values = _read(channel.transcript, runs, units, modulus)
        strange.append(misfit(linear[:, :n], linear[:, n:], values, probed.seen[t], modulus, grid) > 1.0)
        table = np.zeros((len(linear), n * times + k))
        table[:, n * t : n * (t + 1)], table[:, n * times :] = linear[:, :n], linear[:, n:]
        tables.append(table)
        for block in channel.transcript:
            ends = zip(block.sender.tolist(), block.receiver.tolist(), block.content.tolist(), strict=True)
            for sender, receiver, content in ends:
                row = count + content
                who.setdefault(sender, []).append(row)
                who.setdefault(receiver, []).append(row)
                if block.line == "plain":
                    who.setdefault((min(sender, receiver), max(sender, receiver)), []).append(row)
            count += len(block.payload)
        doubts += _hidden(channel.transcript.at(t), probed.ended[t], runs, units, modulus)
    if not count:
        raise SecmixError("the protocol sent nothing through the channel it was given: there is nothing to search")
    rows = {agent: np.unique(np.array(mine, dtype=np.intp)) for agent, mine in who.items()}
    for node in range(n):
        rows.setdefault(node, np.empty(0, dtype=np.intp))
    return Recorded(n, n * times, np.concatenate(tables), np.concatenate(strange), rows, tuple(dict.fromkeys(doubts)))


def _read(transcript: Transcript, runs: int, units: int, modulus: float | None) -> tuple[Array, Array]:
    """What the units say of every content that was sent or held, (F, units), and its values in the real runs."""
    blocks = list(transcript)
    m = blocks[0].payload.shape[2] if blocks else 1
    linear = [b.payload[:, runs:].reshape(len(b.payload), -1)[:, :units] for b in blocks]
    values = [b.payload[:, :runs] for b in blocks]
    return (
        residue(np.concatenate([np.empty((0, units)), *linear]), modulus),
        np.concatenate([np.empty((0, runs, m)), *values]),
    )


def _hidden(blocks: list[Block], ended: Array, runs: int, units: int, modulus: float | None) -> list[str]:
    """Whether the transcript of one averaging holds all that nodes know."""
    doubt = unexplained(blocks, ended, runs, units, modulus)
    return [doubt] if doubt else []


def _holding(table: Array, strange: np.ndarray, mine: Ints) -> Holding:
    odd = bool(strange[mine].any()) if len(mine) else False
    mine = mine[~strange[mine]]
    part = table[mine]
    size = np.abs(part)
    largest = size.max(axis=1, initial=0.0)
    part, size, largest = part[largest > 0], size[largest > 0], largest[largest > 0]
    # A coefficient that has all but died away gives nothing away: the criterion of the leaked subspace.
    alone = (largest > _PLAIN) & ((size > _OUTRIGHT * largest[:, None]).sum(axis=1) == 1)
    outright = np.zeros(table.shape[1], dtype=bool)
    if alone.any():
        outright[size[alone].argmax(axis=1)] = True
    return Holding(outright, squeezed(part[~alone]), odd)


def squeezed(rows: Array) -> Array:
    """Fewer rows of the same row space and singular values: the R factor, without what rounding left."""
    if not rows.size:
        return np.empty((0, rows.shape[1]))
    if len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]  # without pivoting, which is quicker on many rows
    _, r, pivots = qr(rows, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    keep = size > 1e-15 * size[0] if size[0] > 0 else np.zeros(len(size), dtype=bool)
    out = np.zeros((int(keep.sum()), rows.shape[1]))
    out[:, pivots] = r[: len(out)]
    return out
