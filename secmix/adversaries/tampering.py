"""Protocols under attack: a channel on which corrupt nodes send what an attack says, and sums of such contributions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints
from secmix.adversaries.against_rules.spending import SearchBudget
from secmix.adversaries.attacks.attack import CONTRIBUTION, Attack, RoundMessages
from secmix.network import Network
from secmix.protocols.interfaces import ProtocolWrapper, deviating
from secmix.transcript import Channel, Holders, Sealed, Transcript


class TamperingChannel(Channel):
    """A channel that replaces the corrupt nodes' messages by an attack's, which knows the honest ones.

    The transcript holds what was sent: the colluders' messages in place of those the protocol asked of them.

    Parameters
    ----------
    attack : Attack
    corrupt : iterable of int
        Node numbers; the server is −1.
    rng : Generator
    protocol : Any
        What runs, for attacks that try its rule.
    scale : float
    record : bool
    into : Channel, optional
        A channel under way: what is sent goes into its transcript, in its iteration.
    budget : SearchBudget, optional
        Of attacks that search.

    Attributes
    ----------
    tampered : bool
        Whether any message of a corrupt node came by that the attack can replace.

    Examples
    --------
    >>> silence = Attack(["mean"], lambda messages: 0.0 * messages.own)
    >>> channel = TamperingChannel(silence, [1], np.random.default_rng(0))
    >>> channel.send(0, [0, 1], 2, "mean", np.ones((2, 1, 1)))[:, 0, 0].tolist()
    [1.0, 0.0]
    """

    def __init__(
        self,
        attack: Attack,
        corrupt: Iterable[int],
        rng: np.random.Generator,
        *,
        protocol: Any = None,
        scale: float = 1.0,
        record: bool = True,
        into: Channel | None = None,
        budget: SearchBudget | None = None,
    ) -> None:
        super().__init__(record=record if into is None else into.record)
        if into is not None:
            self.transcript, self.iteration = into.transcript, into.iteration
        self.attack, self.corrupt, self.rng = attack, sorted(set(corrupt)), rng
        self.protocol, self.scale, self.tampered = protocol, scale, False
        self.budget = budget or SearchBudget()
        self._sent: dict[tuple[int, str, tuple[int, ...], tuple[int, ...]], list[Array]] = {}  # by honest nodes
        self._of_iteration = 0

    def begin(self) -> None:
        """Begin a run as :meth:`Channel.begin` does, and forget what the honest sent before."""
        super().begin()
        self._sent.clear()

    def send(
        self,
        round: int,
        sender: ArrayLike,
        receiver: ArrayLike,
        kind: str,
        payload: Array,
        *,
        encrypted: bool = False,
        content: ArrayLike | None = None,
        sealed_for: Holders | None = None,
    ) -> Array:
        """Send as :meth:`Channel.send` does; what comes back holds the colluders' messages."""
        arriving = payload
        if self.attack.forge is not None and self.attack.speaks([kind]) and not isinstance(payload, Sealed):
            rows = payload[None] if payload.ndim == 2 else payload
            by = _sender_of_each_row(len(rows), sender, receiver, content)
            arriving = self._replaced(round, kind, rows, by, receiver).reshape(payload.shape)
        how: dict[str, Any] = {"encrypted": encrypted, "content": content, "sealed_for": sealed_for}
        return super().send(round, sender, receiver, kind, arriving, **how)

    def _replaced(self, round: int, kind: str, rows: Array, by: Ints, receiver: ArrayLike) -> Array:
        by_colluders = np.isin(by, self.corrupt)
        to = tuple(np.atleast_1d(np.asarray(receiver)).tolist())
        if self.iteration != self._of_iteration:
            self._sent.clear()
            self._of_iteration = self.iteration
        earlier = self._sent.setdefault((round, kind, to, rows.shape[1:]), [])
        earlier += list(rows[~by_colluders])
        if not by_colluders.any():
            return rows
        self.tampered = True
        out = rows.copy()
        for run in range(rows.shape[1]):
            own = rows[by_colluders, run]
            honest = np.stack([row[run] for row in earlier]) if earlier else own[:0]
            messages = RoundMessages(
                kind, own, honest, self.scale, self.protocol, self.rng, run, self.iteration, self.budget
            )
            out[by_colluders, run] = self.attack.send(messages)
        return out


def _sender_of_each_row(rows: int, sender: ArrayLike, receiver: ArrayLike, content: ArrayLike | None) -> Ints:
    """Find who sends each row of a payload; -2 for a row that nobody sends."""
    # One sender may have something else for each receiver.
    senders = np.broadcast_arrays(np.atleast_1d(sender), np.atleast_1d(receiver))[0]
    which = np.arange(len(senders)) if content is None else np.asarray(content, dtype=np.intp)
    by = np.full(rows, -2, dtype=np.intp)
    by[which] = senders
    return by


@dataclass(frozen=True)
class Attacked(ProtocolWrapper):
    """A sum protocol in which corrupt nodes contribute what an attack says, knowing all honest contributions.

    Where only some runs of many are summed, ``first`` is the index of the first of them. All draw from ``rng``, or each
    from its own of a list. An attack that searches has the ``budget``.

    >>> from secmix.adversaries import FIXED
    >>> from secmix.protocols import Plain
    >>> attacked = Attacked(Plain(), FIXED["zero"], [2], np.random.default_rng(0))
    >>> attacked.average(np.ones((1, 4, 1)), Network.complete(4), np.random.default_rng(0))[0][0, :, 0].tolist()
    [0.75, 0.75, 0.75, 0.75]
    """

    attack: Attack
    corrupt: Iterable[int]
    rng: np.random.Generator | Sequence[np.random.Generator] = field(repr=False)
    scale: float = 1.0
    first: int = 0
    budget: SearchBudget = field(default_factory=SearchBudget, repr=False, compare=False)

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average the honest contributions and the colluders'."""
        s = np.array(inputs, dtype=np.float64)
        colluders = sorted(network.node_set(self.corrupt, "corrupt"))
        honest = np.setdiff1d(np.arange(network.n), colluders)
        iteration = channel.iteration if channel else 0
        for run in range(len(s)):
            own, others, number = s[run, colluders], s[run, honest], self.first + run
            draw = self.rng if isinstance(self.rng, np.random.Generator) else self.rng[run]
            messages = RoundMessages(
                CONTRIBUTION, own, others, self.scale, self.inner, draw, number, iteration, self.budget
            )
            s[run, colluders] = self.attack.send(messages)
        with deviating(colluders), np.errstate(invalid="ignore"):
            return self.inner.average(s, network, rng, masks=masks, channel=channel)
