"""Flower's Grid on the audit's channel.

``TaskIdentity``, which says in whose name a message is made, is private in Flower, and ids of messages are set past
their class: see :mod:`secmix.protocols.flower.names`. flwr is imported in functions, so that this module loads without
it.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.errors import SecmixError, cause
from secmix.protocols.flower.names import flower
from secmix.protocols.flower.records import copied, model_of, sections, with_numbers
from secmix.protocols.flower.system import drawing_from
from secmix.transcript import SERVER, Channel

_numpy_bits: Any = np.random  # not exported by name
_RUN = 1
_PATIENCE = 5  # times in a row that a strategy may ask who is there
_WAITS = (
    "the server app waits for more nodes than the {} of the network; lower min_available_nodes (min_available_clients) "
    "of its strategy, or use more nodes"
)

Answer = Callable[[int, Any], Any]


@dataclass
class Speech:
    """The states of the process-wide generators when one party speaks.

    NumPy's is a bit generator of its own, since saving and setting its state takes a thousand times as long as
    exchanging it. The second of two normal numbers, which NumPy stores beside it, is dropped.
    """

    python: Any
    numpy: Any
    system: random.Random
    torch: Any = None


def speech(seed: int, draws: int | None = None) -> Speech:
    """Make the states that ``seed`` gives; those of NumPy and torch from ``draws``, where it is given."""
    draws = seed if draws is None else draws
    torch = sys.modules.get("torch")
    state = torch.Generator().manual_seed(draws).get_state() if torch is not None else None
    return Speech(random.Random(seed).getstate(), np.random.MT19937(draws), random.Random(f"system {draws}"), state)


@contextlib.contextmanager
def leaving_no_trace() -> Iterator[None]:
    """Restore NumPy's process-wide generator afterwards."""
    bits, state = _numpy_bits.get_bit_generator(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        _numpy_bits.set_bit_generator(bits)
        np.random.set_state(state)  # noqa: NPY002


@contextlib.contextmanager
def nobody_joins() -> Iterator[None]:
    """Raise an error where Flower's old client manager waits for more nodes than there are: it would wait for a day."""
    manager = flower("SimpleClientManager")
    waiting = manager.wait_for

    def wait_for(self: Any, num_clients: int, timeout: int = 0) -> bool:
        if len(self.clients) < num_clients:
            raise SecmixError(_WAITS.format(len(self.clients)))
        return True

    manager.wait_for = wait_for
    try:
        yield
    finally:
        manager.wait_for = waiting


@contextlib.contextmanager
def speaking(node: int, own: Speech) -> Iterator[None]:
    """Make messages in the name of ``node``, 0 for the server, and draw from the states ``own``."""
    identity, torch = flower("TaskIdentity"), sys.modules.get("torch")
    named = identity._node_id
    identity.task_id, identity.run_id, identity.node_id = _RUN, _RUN, node
    before = random.getstate(), _numpy_bits.get_bit_generator(), torch.get_rng_state() if torch else None
    random.setstate(own.python)
    _numpy_bits.set_bit_generator(own.numpy)
    if torch is not None and own.torch is not None:
        torch.set_rng_state(own.torch)
    try:
        with drawing_from(own.system):
            yield
    finally:
        own.python, own.numpy = random.getstate(), _numpy_bits.get_bit_generator()
        if torch is not None:
            own.torch = torch.get_rng_state()
            torch.set_rng_state(before[2])
        random.setstate(before[0])
        _numpy_bits.set_bit_generator(before[1])
        identity._node_id = named


def context(node: int, run_config: Any, node_config: Any) -> Any:
    """Make the context of an app: what it knows of where it runs."""
    return flower("Context")(_RUN, node, dict(node_config), flower("RecordDict")(), dict(run_config))


class ChannelGrid:
    """A flwr Grid: sends messages through a channel, a block for each part of one, and lets clients answer in order."""

    def __init__(self, channel: Channel, n: int, answer: Answer, own: Speech) -> None:
        flower("Grid").register(ChannelGrid)  # an abstract class: what has its methods is one
        self.channel, self.n, self.answer, self.own = channel, n, answer, own
        self.received: dict[int, Array] = {}
        self._run = flower("Run").create_empty(_RUN)
        self._replies: dict[str, Any] = {}
        self._count = self._asked = 0
        self._thread = threading.get_ident()
        self._failed: dict[str, str] = {}  # by kind of message, how the first client failed
        self._answers: set[str] = set()  # kinds that a client has answered
        self._addressed: set[int] = set()  # nodes
        self._in_vain: dict[int, str] = {}  # nodes of messages that nobody answered, with how the first one failed

    def at_the_server(self) -> Any:
        """Make messages and draw in the server's name, for the length of a ``with`` block."""
        return speaking(0, self.own)

    @property
    def ends(self) -> Array:
        """The last arrays that each node received, (n, p); NaN for a node that the server never asked."""
        if not self.received or len({len(v) for v in self.received.values()}) > 1:
            raise SecmixError(
                "what every node ends with is the last model that the server sends it: this app sends no node any, or "
                "models of different sizes"
            )
        none = np.full_like(next(iter(self.received.values())), np.nan)
        return np.stack([self.received.get(i, none) for i in range(self.n)])

    @property
    def unanswered(self) -> str:
        """The first client's failure, where nobody answered but with errors; empty where somebody did.

        Nobody answered a kind of message, or each node was sent messages at least once that nobody answered: SecAgg+
        gives all its messages one kind, and its clients answer some before they train.
        """
        of_kind = next((how for kind, how in self._failed.items() if kind not in self._answers), "")
        lost = bool(self._addressed) and self._addressed <= set(self._in_vain)
        return of_kind or (next(iter(self._in_vain.values())) if lost else "")

    def set_run(self, run: Any) -> None:
        """Set the run, as Flower does."""
        self._run = run

    @property
    def run(self) -> Any:
        """The run, as Flower set it."""
        return self._run

    def create_message(
        self, content: Any, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Any:
        """Make a message in the server's name."""
        return flower("Message")(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """Return the ids of the nodes, 1 to n.

        Raises SecmixError if the strategy asks time and again: it waits for more nodes than there are.
        """
        # A thread of Flower's old interface asks every five seconds who is there, after the end too: it does not wait.
        waiting = threading.get_ident() == self._thread
        self._asked += waiting
        if waiting and self._asked > _PATIENCE:
            raise SecmixError(_WAITS.format(self.n))
        return list(range(1, self.n + 1))

    def get_nodes(self) -> Iterable[Any]:
        """List the nodes, as Flower describes them."""
        return [flower("NodeInfo")(node_id=node) for node in self.get_node_ids()]

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str]:
        """Deliver messages, in the order of their nodes, and keep what the nodes answer."""
        message_of = flower("Message")
        self._asked = 0
        outgoing = list(messages)
        answers = []
        for message in sorted(outgoing, key=lambda each: each.metadata.dst_node_id):
            self._count += 1
            node = message.metadata.dst_node_id - 1
            if not 0 <= node < self.n:
                raise SecmixError(f"a message to node id {node + 1}, which does not exist; ids run from 1 to {self.n}")
            message.metadata.__dict__["_message_id"] = f"m{self._count}"
            kind = message.metadata.message_type
            arrived = self._sent(0, SERVER, node, kind, message.content)
            model = model_of(arrived)
            if len(model):
                self.received[node] = model
            answers.append((node, kind, message, self._answered(node, message_of(arrived, metadata=message.metadata))))
        self._addressed |= {node for node, *_ in answers}
        if answers and all(reply.has_error() for *_, reply in answers):
            node, kind, _, reply = answers[0]
            how = f"node {node} answers '{kind}' with {reply.error.reason}"
            self._in_vain = {**dict.fromkeys((node for node, *_ in answers), how), **self._in_vain}
        for node, kind, message, reply in answers:
            if reply.has_error():  # the server gets the code, and the strategy goes on without that node
                self._failed.setdefault(kind, f"node {node} answers '{kind}' with {reply.error.reason}")
                code = np.array([[float(reply.error.code)]])
                self.channel.send(1, node, SERVER, f"{kind} reply: error", code, encrypted=True)
                self._replies[message.metadata.message_id] = reply
                continue
            self._answers.add(kind)
            back = message_of(self._sent(1, node, SERVER, f"{kind} reply", reply.content), metadata=reply.metadata)
            self._replies[message.metadata.message_id] = back
        self.channel.iteration += 1
        return [message.metadata.message_id for message in outgoing]

    def _answered(self, node: int, message: Any) -> Any:
        """Ask the client; where its app raises an exception, return an error message, as Flower's nodes do."""
        try:
            return self.answer(node, message)
        except SecmixError:
            raise
        except Exception as error:  # the user's code; its words may hold private values, and stay here
            code = flower("ErrorCode").CLIENT_APP_RAISED_EXCEPTION
            return flower("Message")(flower("Error")(code=code, reason=cause(error)), reply_to=message)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        """Take the answers to these messages, each once."""
        return [self._replies.pop(each) for each in message_ids if each in self._replies]

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Iterable[Any]:
        """Deliver messages and take the answers at once; nobody is late."""
        return self.pull_messages(self.push_messages(messages))

    def _sent(self, round: int, sender: int, receiver: int, kind: str, content: Any) -> Any:
        """Send ``content`` and return what arrives: a copy, with the numbers that the channel delivers."""
        arrived = copied(content)
        for section in sections(content):
            payload = section.numbers[None]
            got = self.channel.send(round, sender, receiver, f"{kind}: {section.name}", payload, encrypted=True)
            if not np.array_equal(got, payload, equal_nan=True):
                with_numbers(arrived, section, got[0])
        return arrived
