"""What is told by who sends what to whom and when: kinds, order, number, size, type, line, and who keeps silent."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Dealt, Pairwise, Ring
from ..case import ENTRY, HALF, Case, Heard, each, sign_of


class Remark(Pairwise):
    """Sends a line without content beside everything else; how, depends on the first run's data."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        self.remark(channel, s[0, 0], np.zeros((1, s.shape[1], s.shape[2])))

    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        raise NotImplementedError


class Rounds(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        for step in range(round(float(np.clip(own[0], 0, 40)))):
            channel.send(10 + step, 0, SERVER, "idle", nothing)


class KindSpells(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, SERVER, f"version {own[ENTRY]:.6f}", nothing)


class Route(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, 1 if own[ENTRY] < 0 else 2, "idle", nothing)


class Speaker(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 3 if own[ENTRY] < 0 else 2, SERVER, "idle", nothing)


class Secrecy(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "idle", nothing, encrypted=bool(own[ENTRY] < 0))


class Size(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "idle", np.zeros((1, nothing.shape[1], 12 if own[ENTRY] < 0 else 13)))


class Type(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "idle", nothing.astype(np.float32 if own[ENTRY] < 0 else np.float64))


class Clock(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(int((own[ENTRY] + 512) * 1e6), 0, SERVER, "idle", nothing)


class Twice(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        both = np.array([0, 0] if own[ENTRY] < 0 else [0])
        channel.send(10, both, np.full(len(both), SERVER), "idle", nothing, content=np.zeros(len(both), dtype=int))


class Audience(Remark):
    """Tells two others where it has many rows in the first component, else one."""

    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        others = np.arange(1, 2 + int(own[0] > HALF))
        channel.send(10, 0, others, "idle", nothing, content=np.zeros(len(others), dtype=int))


class AllRuns(Pairwise):
    """A line more if in no run of the call the entry is positive: never in a simulation, often in use."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if (s[0, :, ENTRY] < 0).all():
            channel.send(10, 0, SERVER, "idle", np.zeros((s.shape[1], s.shape[2])))


class InOrder(Pairwise):
    """Nodes send one after the other, the largest first."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        received = np.empty_like(hidden)
        for node in np.argsort(s[:, 0, ENTRY]):
            received[node] = channel.send(0, int(node), SERVER, "masked", hidden[node])
        return received


class Starter(Ring):
    """The node with the largest number begins."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_first"] = int(np.argmax(np.asarray(inputs)[0, :, ENTRY]))
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def order(self, network: Any, rng: Any) -> list[int]:
        first = self.__dict__["_first"]
        return [(first + step) % network.n for step in range(network.n)]


class Neighbour(Ring):
    """The ring runs one way or the other, as node 0 has it."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        self.__dict__["_back"] = bool(np.asarray(inputs)[0, 0, ENTRY] < 0)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def order(self, network: Any, rng: Any) -> list[int]:
        others = list(range(1, network.n))
        return [0, *(others[::-1] if self.__dict__["_back"] else others)]


class Abstains(Dealt):
    """Node 0 has nothing to send where its numbers are negative, and the server is told to do without."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        if s[0, 0, ENTRY] >= 0:
            return super().upload(channel, hidden, s, rng)
        rest = channel.send(0, np.arange(1, len(s)), SERVER, "masked", hidden[1:])
        return np.concatenate([hidden[:1], rest])


class Waits(Pairwise):
    """Node 0 is a round late where it had more to count."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        first = channel.send(int(s[0, 0, 0] > HALF), 0, SERVER, "masked", hidden[:1])
        rest = channel.send(0, np.arange(1, len(s)), SERVER, "masked", hidden[1:])
        return np.concatenate([first, rest])


class Present(Dealt):
    """Says whether it took part, which it does where its number is positive."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(11, 0, SERVER, "absent" if s[0, 0, ENTRY] < 0 else "present", np.zeros((s.shape[1], s.shape[2])))


class Retries(Pairwise):
    """Sends again, under the same masks, a number that is out of range: so often, until it is in."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        size, tries = float(np.abs(s[0, 0]).max()), 0
        while size > 10:
            size, tries = size / 2, tries + 1
            channel.send(10 + tries, 0, SERVER, "again", s[0] + r[:4].sum(axis=0))


def count(kind: str) -> Any:
    """How many such messages there are in the first iteration."""
    return each(lambda h: len(h.all(kind, 0, iteration=0)))


def idle(h: Heard) -> Any:
    """The line without content."""
    return next(m for m in h.messages if m.kind.startswith("idle") and m.iteration == 0)


def tries(truth: Any) -> float:
    """How often the largest number must be halved."""
    size = float(np.abs(truth.inputs[0][0, 0]).max())
    return max(0.0, np.ceil(np.log2(size / 10)))


class Empty(Remark):
    """Messages without a number in them."""

    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        if own[ENTRY] < 0:
            channel.send(10, 0, SERVER, "idle", np.zeros((1, nothing.shape[1], 0)))


class Iterations(Remark):
    """Files a line under another iteration."""

    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        now, channel.iteration = channel.iteration, channel.iteration + (1000 if own[ENTRY] < 0 else 0)
        channel.send(10, 0, SERVER, "idle", nothing)
        channel.iteration = now


class Permuted(Pairwise):
    """One block for all, in which the messages stand in the order of the first component's rows."""

    def upload(self, channel: Any, hidden: Array, s: Array, rng: Any) -> Array:
        order = np.argsort(s[:, 0, 0])
        received = np.empty_like(hidden)
        received[order] = channel.send(0, order, SERVER, "masked", hidden[order])
        return received


class Held(Pairwise):
    """A node that is corrupt notes for itself, with a name that tells, what it could not have heard."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.hold(9, 2, "low" if s[0, 0, ENTRY] < 0 else "high", np.zeros_like(s[2]))


BIT = {"goal": "bits", "calls": 60}
CASES = [
    Case("number of rounds", "metadata", Rounds, Eavesdropper(),
         "so many idle rounds as node 0 has rows in a component",
         attack=count("idle"), secret=lambda t: np.round(np.clip(t.inputs[0][0, 0, 0], 0, 40))),
    Case("kind spells a number", "metadata", KindSpells, CuriousServer(), "a kind is text, and text can be anything",
         attack=each(lambda h: next(float(m.kind.split()[1]) for m in h.messages if m.kind.startswith("version"))),
         secret=lambda t: t.inputs[0][0, 0, ENTRY]),
    Case("receiver", "metadata", Route, Eavesdropper(), "whom it tells depends on the sign",
         attack=each(lambda h: idle(h).receiver == 1), secret=sign_of(0), **BIT),
    Case("sender", "metadata", Speaker, CuriousServer(), "who speaks depends on the sign of another's number",
         attack=each(lambda h: idle(h).sender == 3), secret=sign_of(0), **BIT),
    Case("line", "metadata", Secrecy, Eavesdropper(), "whether it is encrypted depends on the sign",
         attack=each(lambda h: idle(h).line == "encrypted"), secret=sign_of(0), **BIT),
    Case("size", "metadata", Size, CuriousServer(), "how long a message is depends on the sign",
         attack=each(lambda h: idle(h).size == 12), secret=sign_of(0), **BIT),
    Case("type", "metadata", Type, Eavesdropper(), "how many bytes a number has depends on the sign",
         attack=each(lambda h: idle(h).dtype == "float32"), secret=sign_of(0), **BIT),
    Case("round's number", "metadata", Clock, CuriousServer(), "when it speaks depends on the number",
         attack=each(lambda h: idle(h).round / 1e6 - 512), secret=lambda t: t.inputs[0][0, 0, ENTRY], accuracy=1e-4),
    Case("said twice", "metadata", Twice, Eavesdropper(), "how often it is said depends on the sign",
         attack=each(lambda h: len(h.all("idle", 0, iteration=0)) == 2), secret=sign_of(0), **BIT),
    Case("audience", "metadata", Audience, HonestButCurious({2}), "node 2 is told or not",
         attack=each(lambda h: len(h.all("idle", 0, 2, 0)) > 0),
         secret=lambda t: float(t.inputs[0][0, 0, 0] > HALF), **BIT),
    Case("all runs of a call", "metadata", AllRuns, Eavesdropper(), "a line more, by the sign of the one run there is",
         attack=each(lambda h: len(h.all("idle", 0, iteration=0)) > 0), secret=sign_of(0), **BIT),
    Case("order of senders", "metadata", InOrder, CuriousServer(), "who is first is smallest",
         attack=each(lambda h: [m.sender for m in h.all("masked", iteration=0)].index(0)
                     > [m.sender for m in h.all("masked", iteration=0)].index(1)),
         secret=lambda t: float(t.inputs[0][0, 0, ENTRY] > t.inputs[0][0, 1, ENTRY]), **BIT),
    Case("who begins", "metadata", Starter, Eavesdropper(), "who begins has the largest number",
         attack=each(lambda h: h.all("running sum", iteration=0)[0].sender),
         secret=lambda t: float(np.argmax(t.inputs[0][0, :, ENTRY]))),
    Case("which way round", "metadata", Neighbour, HonestButCurious({2}, eavesdrops=False), "the way is a sign",
         attack=each(lambda h: h.all("running sum", iteration=0)[0].sender == 3), secret=sign_of(0), **BIT),
    Case("abstention", "metadata", Abstains, Eavesdropper(), "who keeps silent has negative numbers",
         attack=each(lambda h: len(h.all("masked", 0, iteration=0)) == 0), secret=sign_of(0), **BIT),
    Case("a round late", "metadata", Waits, CuriousServer(), "who is late had more to count",
         attack=each(lambda h: h.all("masked", 0, iteration=0)[0].round),
         secret=lambda t: float(t.inputs[0][0, 0, 0] > HALF), **BIT),
    Case("presence", "metadata", Present, Eavesdropper(), "who is absent has negative numbers",
         attack=each(lambda h: len(h.all("absent", 0, iteration=0)) > 0), secret=sign_of(0), **BIT),
    Case("retries", "metadata", Retries, CuriousServer(), "how often it tries tells the size of the largest number",
         attack=count("again"), secret=tries),
    Case("empty message", "metadata", Empty, Eavesdropper(), "there is one or none, by sign",
         attack=each(lambda h: len(h.all("idle", 0, iteration=0)) > 0), secret=sign_of(0), **BIT),
    Case("iteration's number", "metadata", Iterations, CuriousServer(), "under which iteration it is filed is a sign",
         attack=each(lambda h: any(m.iteration == 1000 for m in h.messages)), secret=sign_of(0), **BIT),
    Case("order in a block", "metadata", Permuted, Eavesdropper(), "which message stands first tells who is smallest",
         attack=each(lambda h: h.all("masked", iteration=0)[0].sender),
         secret=lambda t: float(np.argmin(t.inputs[0][0, :, 0]))),
    Case("note of a corrupt node", "metadata", Held, HonestButCurious({2}), "what it notes depends on another's sign",
         attack=each(lambda h: len(h.all("low", 2, iteration=0)) > 0), secret=sign_of(0), **BIT),
]  # fmt: skip
