"""Known messages of each agent: one run on unit inputs and unit masks, its messages sorted by sender and receiver.

In a linear protocol, the messages that an agent (a node, the server, a line) knows are rows of a matrix over inputs and
masks. The R factor of a QR factorisation represents many rows by few: it has the same row space and the same singular
values for every selection of columns. An input or a mask that is known outright is a unit row, and stands for its
column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import qr

from secmix._base.checks import Array, Ints
from secmix.auditing.exposure.coalitions.result import Agent
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed, misfit, residue
from secmix.estimators.exact.presumed import unexplained
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits
from secmix.transcript import Block, Channel, Transcript

_PLAIN = 1e-6  # a message with a single coefficient above this reveals that input or mask
_OUTRIGHT = 1e-12  # largest other coefficient of a message that is an input or a mask itself


@dataclass(frozen=True)
class HeldMessages:
    """Messages that one agent knows."""

    outright: np.ndarray  # (columns,) bool: inputs and masks that it knows outright
    rest: Array  # (F, columns): R factor of its other messages
    strange: bool  # whether some messages are not linear in inputs and masks: the agent may then know more than this


@dataclass(frozen=True)
class Recorded:
    """Messages that every agent knows after one averaging, or after several that share their masks."""

    n: int
    inputs: int  # columns of inputs, n an averaging; masks follow
    table: Array  # (F, columns): everything that was sent or held
    strange: np.ndarray  # (F,) bool: rows that are not linear in inputs and masks
    # Agent -> (f,): rows of ``table`` that nodes, the server (if there is one) and unencrypted lines know
    rows: dict[Agent, Ints]
    # why an agent may know more than its messages say; nothing is proven about such a protocol
    unmet_premises: tuple[str, ...]
    _cache: dict[tuple[Agent, bool], HeldMessages] = field(default_factory=dict)

    @property
    def players(self) -> list[int]:
        """Nodes, and the server where it takes part."""
        return sorted(agent for agent in self.rows if isinstance(agent, int))

    @property
    def lines(self) -> list[tuple[int, int]]:
        """Lines that carry unencrypted messages."""
        return sorted(agent for agent in self.rows if isinstance(agent, tuple))

    @cached_property
    def open(self) -> HeldMessages:
        """Messages that an eavesdropper on every unencrypted line reads."""
        return _holding(self.table, self.strange, self._open)

    def of(self, agent: Agent, *, beside_open: bool) -> HeldMessages:
        """Return what ``agent`` knows; with ``beside_open`` only what it knows besides unencrypted messages."""
        key = agent, beside_open
        if key not in self._cache:
            rows = self.rows[agent]
            if beside_open:
                rows = np.setdiff1d(rows, self._open)
            self._cache[key] = _holding(self.table, self.strange, rows)
        return self._cache[key]

    @cached_property
    def _open(self) -> Ints:
        parts = [self.rows[line] for line in self.lines]
        return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.intp)


def record_messages(
    protocol: SumProtocol,
    network: Network,
    inputs: list[Array],
    rng: np.random.Generator,
    *,
    masks: Array | None = None,
) -> Recorded:
    """Run ``protocol`` on ``inputs``, one (runs, n, m) an averaging, together with unit inputs and unit masks.

    ``inputs``, list of (runs, n, m): real inputs, on which the messages are compared with what the units predict.
    Several averagings are read jointly, with ``masks`` in all of them. ``masks`` (runs, k, m).
    """
    modulus, grid = SumTraits.of(protocol).modulus, SumTraits.of(protocol).grid
    probed = Probed(protocol)
    tables: list[Array] = []
    strange: list[np.ndarray] = []
    rows_of: dict[Agent, list[int]] = {}
    unmet_premises: list[str] = []
    count, n, times = 0, network.n, len(inputs)
    for t, real in enumerate(inputs):
        channel = Channel()
        channel.iteration = t
        probed.average(real, network, rng.spawn(1)[0], masks=masks, channel=channel)
        k = probed.recorded[t][1].shape[1]
        units, runs = n + k, len(real)
        linear, values = _read(channel.transcript, runs, units, modulus)
        strange.append(misfit(linear[:, :n], linear[:, n:], values, probed.recorded[t], modulus, grid) > 1.0)
        table = np.zeros((len(linear), n * times + k))
        table[:, n * t : n * (t + 1)], table[:, n * times :] = linear[:, :n], linear[:, n:]
        tables.append(table)
        for block in channel.transcript:
            ends = zip(block.sender.tolist(), block.receiver.tolist(), block.content.tolist(), strict=True)
            for sender, receiver, content in ends:
                row = count + content
                rows_of.setdefault(sender, []).append(row)
                rows_of.setdefault(receiver, []).append(row)
                if block.line == "plain":
                    rows_of.setdefault((min(sender, receiver), max(sender, receiver)), []).append(row)
            count += len(block.payload)
        unmet_premises += _hidden(channel.transcript.at(t), probed.ended[t], runs, units, modulus)
    if not count:
        raise SecmixError("average() sent no message through its channel; send every message with channel.send")
    rows = {agent: np.unique(np.array(numbers, dtype=np.intp)) for agent, numbers in rows_of.items()}
    for node in range(n):
        rows.setdefault(node, np.empty(0, dtype=np.intp))
    premises = tuple(dict.fromkeys(unmet_premises))
    return Recorded(n, n * times, np.concatenate(tables), np.concatenate(strange), rows, premises)


def _read(transcript: Transcript, runs: int, units: int, modulus: float | None) -> tuple[Array, Array]:
    """Read the coefficients (F, units) of all contents that were sent or held, and their values in the real runs."""
    blocks = list(transcript)
    m = blocks[0].payload.shape[2] if blocks else 1
    linear = [b.payload[:, runs:].reshape(len(b.payload), -1)[:, :units] for b in blocks]
    values = [b.payload[:, :runs] for b in blocks]
    return (
        residue(np.concatenate([np.empty((0, units)), *linear]), modulus),
        np.concatenate([np.empty((0, runs, m)), *values]),
    )


def _hidden(blocks: list[Block], ended: Array, runs: int, units: int, modulus: float | None) -> list[str]:
    """Check that the transcript of one averaging contains all that nodes know; return the reason if it does not."""
    reason = unexplained(blocks, ended, runs, units, modulus)
    return [reason] if reason else []


def _holding(table: Array, strange: np.ndarray, rows: Ints) -> HeldMessages:
    nonlinear = bool(strange[rows].any()) if len(rows) else False
    part = table[rows[~strange[rows]]]
    size = np.abs(part)
    largest = size.max(axis=1, initial=0.0)
    part, size, largest = part[largest > 0], size[largest > 0], largest[largest > 0]
    # A coefficient below _PLAIN reveals nothing: the same criterion as for the leaked subspace.
    alone = (largest > _PLAIN) & ((size > _OUTRIGHT * largest[:, None]).sum(axis=1) == 1)
    outright = np.zeros(table.shape[1], dtype=bool)
    if alone.any():
        outright[size[alone].argmax(axis=1)] = True
    return HeldMessages(outright, squeezed(part[~alone]), nonlinear)


def squeezed(rows: Array) -> Array:
    """Reduce ``rows`` to fewer with the same row space and singular values: the R factor, without rounding errors."""
    if not rows.size:
        return np.empty((0, rows.shape[1]))
    if len(rows) > rows.shape[1]:
        rows = np.linalg.qr(rows, mode="r")  # type: ignore[assignment]  # without pivoting, which is quicker on many rows
    _, r, pivots = qr(rows, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(np.diag(r))
    nonzero = size > 1e-15 * size[0] if size[0] > 0 else np.zeros(len(size), dtype=bool)
    out = np.zeros((int(nonzero.sum()), rows.shape[1]))
    out[:, pivots] = r[: len(out)]
    return out
