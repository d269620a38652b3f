"""From the messages of one run to the rows behind them, where the messages determine them.

A *reconstruction* is a function of what an adversary holds and a line among the entry points
(``secmix.reconstructions``); the audit tries every one on the first runs and compares with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.against_rules.spending import SearchBudget
from secmix.network import Network
from secmix.transcript import Origin, View


@dataclass(frozen=True)
class KnownMessages:
    """Messages that an adversary holds of one run, and what everybody knows of the protocol.

    Attributes
    ----------
    node : int
        The honest node whose rows are wanted.
    messages : tuple of (Origin, (m,) array)
        All it holds, in the order in which it was sent; what corrupt nodes hold themselves is among it.
    count, d : int
        How many rows of how many numbers the node has.
    protocol : Any
        As it is set: its parameters are public.
    network : Network
    rng : Generator
    counts : tuple of int
        How many rows each node has.
    budget : SearchBudget
        How many starts a search may make (``budget.of(count)``), and where it counts them (``budget.spend``).
    """

    node: int
    messages: tuple[tuple[Origin, Array], ...]
    count: int
    d: int
    protocol: Any
    network: Network
    rng: np.random.Generator = field(repr=False)
    budget: SearchBudget = field(default_factory=SearchBudget, repr=False)
    counts: tuple[int, ...] = ()

    def sent_by(self, node: int, kind: str) -> list[tuple[Origin, Array]]:
        """Select the messages that ``node`` sent of one kind, in order."""
        return [pair for pair in self.messages if pair[0].sender == node and pair[0].kind == kind]


@dataclass(frozen=True)
class Reconstruction:
    """Rows, or equations on them, that a reconstruction found.

    Attributes
    ----------
    rows : (h, d) or None
        Rows of the node, up to their order; fewer than it has, if only those come out. NaN in columns that do not come
        out, the same for all rows.
    certified : bool
        Whether the function itself could tell, without the truth, that they are right.
    normals, offsets : (k, d) and (k,)
        Linear equations ``normals @ x = offsets`` that hold for *each* row x of the node: a share k/d of it is known.
    how : str
        In plain words: what was recovered, and why it could be.
    error : float
        How far a row may be off, in the units of the data, because the numbers of the messages are rounded; 0 where
        that is no more than 1e-6 of the data.
    """

    rows: Array | None
    certified: bool
    how: str
    normals: Array = field(default_factory=lambda: np.empty((0, 0)))
    offsets: Array = field(default_factory=lambda: np.empty(0))
    error: float = 0.0


Reconstructor = Callable[[KnownMessages], Reconstruction | None]
"""``reconstruct(known)``; None where it finds nothing to work on."""


def known_in_run(
    view: View,
    run: int,
    node: int,
    counts: Sequence[int],
    d: int,
    protocol: Any,
    network: Network,
    rng: np.random.Generator,
    budget: SearchBudget | None = None,
) -> KnownMessages:
    """Select the part of ``view`` that belongs to one run, for an attack on one node."""
    messages = tuple((origin, row[run]) for origin, row in zip(view.origins, view.rows, strict=True))
    given = budget or SearchBudget()
    return KnownMessages(node, messages, counts[node], d, protocol, network, rng, given, tuple(counts))
