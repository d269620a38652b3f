"""A bus in this process for code that is written party by party.

Each party sends, receives and gathers in its own thread. Threads take turns: each runs until it waits for a message
that was not sent yet. So the messages and their order are the same in every run, and the bus records them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import checked_inputs, checked_masks
from secmix.transcript import SERVER, Channel, Sealed, Transcript

Party = Callable[..., Any]
Frame = tuple[int, int, int, str, bool, frozenset[int] | None]
"""Round, sender, receiver, kind, whether the line is encrypted, and the holders of the key if it is sealed."""
Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


class _Stopped(BaseException):
    """Ends the threads of a run that has failed."""


@dataclass(frozen=True)
class Closed:
    """A sealed message as its receiver without the key gets it: it can be forwarded."""

    _shape: tuple[int, ...]
    _sealed: Sealed | None = field(default=None, repr=False)
    _message: _RunMessage | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _RunMessage:
    """A message of one run of a batch."""

    frame: Frame
    numbers: Any
    holders: frozenset[int] | None  # of its key, also if an earlier message sealed it
    place: int
    origin: int | None  # index of the message that this one forwards


class Endpoint:
    """One party's access to the bus.

    Attributes
    ----------
    me : int
        Its number; -1 is the server.
    others : list of int
        The other nodes, without the server.
    iteration : int
        Iteration of the fit.
    """

    def __init__(self, bus: _Bus, me: int) -> None:
        self._bus, self.me, self._round = bus, me, 0
        self.others = [node for node in range(bus.n) if node != me]
        self.iteration = bus.iteration

    def send(
        self,
        to: int,
        kind: str,
        numbers: ArrayLike | Closed,
        *,
        encrypted: bool = False,
        sealed_for: int | AbstractSet[int] | None = None,
    ) -> None:
        """Send numbers of any shape, or a sealed message, to one party; only ``sealed_for`` can read them."""
        if to == self.me or not (to == SERVER or 0 <= to < self._bus.n):
            raise SecmixError(f"{_name(self.me)} sends '{kind}' to {to}; expected one of {[*self.others, SERVER]}")
        holders = sealed_for if sealed_for is None or isinstance(sealed_for, AbstractSet) else {sealed_for}
        frame = self._round, self.me, to, kind, encrypted, None if holders is None else frozenset(holders)
        self._bus.pass_on(frame, numbers if isinstance(numbers, Closed) else np.asarray(numbers))

    def broadcast(
        self,
        kind: str,
        numbers: ArrayLike | Closed,
        *,
        encrypted: bool = False,
        sealed_for: int | AbstractSet[int] | None = None,
    ) -> None:
        """Send the same to all other nodes."""
        for node in self.others:
            self.send(node, kind, numbers, encrypted=encrypted, sealed_for=sealed_for)

    def receive(self, sender: int, kind: str) -> Any:
        """Wait for the next message of this kind from ``sender``; return its numbers, or a :class:`Closed` one."""
        round_number, numbers = self._bus.wait(self.me, sender, kind)
        self._round = max(self._round, round_number + 1)
        return numbers

    def gather(self, kind: str, senders: Sequence[int] | None = None) -> dict[int, Any]:
        """Wait for a message of this kind from each of ``senders``, by default all other nodes."""
        return {sender: self.receive(sender, kind) for sender in (self.others if senders is None else senders)}


class _Bus:
    """One run: the messages in transit, and what each party waits for."""

    def __init__(self, n: int, iteration: Any, deliver: Callable[[Frame, Any], Any], pool: Executor) -> None:
        self.n, self.iteration, self.deliver, self.pool = n, iteration, deliver, pool
        self.boxes: dict[tuple[int, int, str], deque[tuple[int, Any]]] = {}
        self.waiting: dict[int, tuple[int, int, str]] = {}
        self.results: dict[int, Any] = {}
        # Held while nobody is to go on: who releases one hands over the turn.
        self.turns: dict[int, threading.Lock] = {}
        self.begun: list[Future[None]] = []
        self.back = _acquired_lock()
        self.error: BaseException | None = None
        self.stopped = False

    def pass_on(self, frame: Frame, numbers: Any) -> None:
        """Deliver a message."""
        round_number, sender, to, kind, *_ = frame
        self.boxes.setdefault((to, sender, kind), deque()).append((round_number, self.deliver(frame, numbers)))

    def wait(self, me: int, sender: int, kind: str) -> tuple[int, Any]:
        """Wait for such a message while other parties run, and return it."""
        box = self.boxes.setdefault((me, sender, kind), deque())
        if not box:
            self.waiting[me] = me, sender, kind
            self.back.release()
            self.turns[me].acquire()
            if self.stopped:
                raise _Stopped
        return box.popleft()

    def run(self, parties: dict[int, Callable[[], Any]]) -> dict[int, Any]:
        """Run all parties to their ends, and return what each returns."""
        try:
            while self.error is None and len(self.results) < len(parties):
                self._round_of_turns(parties)
        finally:
            self.stopped = True
            for turn in self.turns.values():
                with suppress(RuntimeError):  # of who was handed the turn when an interrupt came
                    turn.release()
            wait(self.begun)
        if self.error is not None:
            raise self.error
        return self.results

    def _round_of_turns(self, parties: dict[int, Any]) -> None:
        unblocked = [k for k in parties if k not in self.results and self._may_go_on(k)]
        if not unblocked:
            waiting = [f"{_name(me)} for '{kind}' from {_name(of)}" for me, of, kind in self.waiting.values()]
            raise SecmixError(f"deadlock: all wait, {'; '.join(waiting)}; send each message that a party waits for")
        for party in unblocked:
            if self.waiting.pop(party, None) is not None:
                self.turns[party].release()
            else:
                self.turns[party] = _acquired_lock()
                self.begun.append(self.pool.submit(copy_context().run, self._follow, party, parties[party]))
            self.back.acquire()
            if self.error is not None:
                return

    def _may_go_on(self, party: int) -> bool:
        return party not in self.waiting or bool(self.boxes[self.waiting[party]])

    def _follow(self, party: int, go: Callable[[], Any]) -> None:
        try:
            self.results[party] = go()
        except _Stopped:
            return
        except (
            BaseException
        ) as error:  # also one that ends a proof; it is raised again in the thread that started the run
            self.error = error
        self.back.release()


def _acquired_lock() -> threading.Lock:
    """Make a lock that is held; a semaphore that counts to one takes several times as long."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Wire:
    """A sum protocol of parties on a bus; made by :func:`wire`."""

    def __init__(self, node: Party, server: Party | None, coins: int, draw: Draw) -> None:
        self.node, self.server, self.coins, self.draw = node, server, coins, draw

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the coins of all nodes, (runs, n c, m)."""
        return np.asarray(self.draw(rng, (runs, network.n * self.coins, m)))

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Compute the averages (runs, n, m) of ``inputs`` (runs, n, m), run by run, and record every message.

        Raises
        ------
        SecmixError
            If parties wait for messages that are never sent, or runs send different messages.
        """
        s, channel, nodes = checked_inputs(inputs, network), channel or Channel(), np.arange(network.n)
        runs, n, m = s.shape
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        coins = checked_masks(drawn, runs, n * self.coins, m).reshape(runs, n, self.coins, m)
        channel.hold(-1, nodes, "input", s.transpose(1, 0, 2))
        for k in range(self.coins):
            channel.hold(-1, nodes, "coin", coins[:, :, k].transpose(1, 0, 2))
        # Threads go from run to run: to start one takes as long as all that a party does.
        with ThreadPoolExecutor(n + 1) as pool:
            if runs == 1:
                deliver = partial(_passed, channel)
                ended = [self._run(s[0], coins[0], _Bus(n, channel.iteration, deliver, pool))]
            else:
                ended = self._batch(s, coins, channel, pool)
        return np.stack([np.stack(averages) for averages in ended]), channel.transcript

    def _run(self, s: Any, coins: Any, bus: _Bus) -> list[Any]:
        def at_node(node: int) -> Any:
            line, own = Endpoint(bus, node), (coins[node],) if self.coins else ()
            average = np.asarray(self.node(line, s[node], *own))
            if average.shape != s[node].shape:
                raise SecmixError(f"node {node} returns shape {average.shape}; expected {s[node].shape}")
            return average

        parties: dict[int, Callable[[], Any]] = {node: partial(at_node, node) for node in range(len(s))}
        if self.server is not None:
            server = self.server
            parties[SERVER] = lambda: server(Endpoint(bus, SERVER))
        averages = bus.run(parties)
        return [averages[node] for node in range(len(s))]

    def _batch(self, s: Any, coins: Any, channel: Channel, pool: Executor) -> list[list[Any]]:
        """Run each run, then send the messages of all runs together, unless the channel changes them."""
        sent: list[list[_RunMessage]] = [[] for _ in range(len(s))]
        runs = [_Bus(s.shape[1], channel.iteration, _recording(messages), pool) for messages in sent]
        ended = [self._run(s[k], coins[k], bus) for k, bus in enumerate(runs)]
        frames = [[(m.frame, m.origin, m.numbers.shape, m.numbers.dtype) for m in messages] for messages in sent]
        if other := next((run for run, own in enumerate(frames) if own != frames[0]), 0):
            raise SecmixError(
                f"run {other} of {len(s)} sends different messages than run 0; call it with one run at a time"
            )
        arrived: list[Any] = []
        for k, first in enumerate(sent[0]):
            stacked = np.stack([messages[k].numbers.reshape(-1) for messages in sent])
            arrived.append(_sent(channel, first.frame, stacked if first.origin is None else arrived[first.origin]))
            if arrived[-1].__class__ is np.ndarray and arrived[-1].tobytes() != stacked.tobytes():
                raise SecmixError(
                    f"the channel changes '{first.frame[3]}', which a batch cannot deliver; call it with one run at "
                    "a time"
                )
        return ended


def wire(
    node: Party, server: Party | None = None, *, coins: int = 0, draw: Draw | None = None, sigma: float = 1e6
) -> Wire:
    """Make a sum protocol of code that sends and receives, party by party.

    Parameters
    ----------
    node : callable
        ``node(line, vector)`` runs at each node, and returns the average (m,) that it ends with; ``line`` is an
        :class:`Endpoint`. With ``coins`` it is ``node(line, vector, coins)``, with coins (c, m) of this node.
    server : callable, optional
        ``server(line)``.
    coins : int
        Number of secret vectors that each node draws. Other draws of the code are public.
    draw : callable, optional
        ``draw(rng, shape)`` draws coins; by default they are normal, of standard deviation ``sigma``.

    Examples
    --------
    >>> def node(line, vector):
    ...     line.send(SERVER, "vector", vector)
    ...     return line.receive(SERVER, "average")
    >>> def server(line):
    ...     line.broadcast("average", sum(line.gather("vector").values()) / len(line.others))
    >>> network, rng = Network.from_edges(2, [(0, 1)]), np.random.default_rng()
    >>> averages, sent = wire(node, server).average([[[1.0], [3.0]]], network, rng)
    >>> averages.tolist(), [(block.round, block.kind) for block in sent][1:]
    ([[[2.0], [2.0]]], [(0, 'vector'), (0, 'vector'), (1, 'average'), (1, 'average')])
    """
    if coins < 0:
        raise SecmixError(f"coins = {coins}; expected at least 0")
    return Wire(node, server, coins, draw or (lambda rng, shape: rng.normal(scale=sigma, size=shape)))


def _recording(sent: list[_RunMessage]) -> Callable[[Frame, Any], Any]:
    """Make a function that delivers the messages of one run of a batch, and records them."""

    def note(frame: Frame, payload: Any) -> Any:
        before = payload._message if isinstance(payload, Closed) else None
        numbers = payload.copy() if before is None else before.numbers
        holders = frame[5] if before is None else before.holders
        sent.append(_RunMessage(frame, numbers, holders, len(sent), None if before is None else before.place))
        return numbers if holders is None or frame[2] in holders else Closed(numbers.shape, _message=sent[-1])

    return note


def _sent(channel: Channel, frame: Frame, payload: Any) -> Any:
    round_number, sender, to, kind, encrypted, holders = frame
    if holders is None:  # the usual case; another channel class may lack sealed_for
        return channel.send(round_number, sender, to, kind, payload, encrypted=encrypted)
    return channel.send(round_number, sender, to, kind, payload, encrypted=encrypted, sealed_for=holders)


def _passed(channel: Channel, frame: Frame, payload: Any) -> Any:
    shape = payload._shape if isinstance(payload, Closed) else payload.shape
    arrived = _sent(channel, frame, payload._sealed if isinstance(payload, Closed) else payload.reshape(1, -1))
    return Closed(shape, arrived) if isinstance(arrived, Sealed) else arrived[0].reshape(shape)


def _name(party: int) -> str:
    return "the server" if party == SERVER else f"node {party}"
