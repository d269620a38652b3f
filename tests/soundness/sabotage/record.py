"""Protocols that send, and see to it that what records or listens does not tell."""

from __future__ import annotations

import contextvars
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER, Channel, Transcript, listening, unrelated

from ..bases import Pairwise
from ..case import Case, each, input_of, mean_of
from ..honest import channel as channels
from ..honest.longer import fits
from ..honest.together.bases import Medians, by_the_step
from ..honest.together.collaborations import Means, open_step


class Erased(Pairwise):
    """Takes a message out of the transcript again."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.transcript.blocks.pop()


class Rewritten(Pairwise):
    """Writes zeros over a message in the transcript."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.transcript.blocks[-1].payload[...] = 0


class Relabelled(Pairwise):
    """Calls a plain line encrypted, afterwards."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, 1, "aside", s[0])
        object.__setattr__(channel.transcript.blocks[-1], "line", "encrypted")


class Replaced(Pairwise):
    """Puts an older transcript back in the channel's place."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        kept = Transcript(list(channel.transcript.blocks))
        channel.send(8, 0, SERVER, "aside", s[0])
        channel.transcript = kept


class Readdressed(Pairwise):
    """The transcript has another receiver than the message."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, 2, "aside", s[0], encrypted=True)
        object.__setattr__(channel.transcript.blocks[-1], "receiver", np.array([3]))


class InAnotherContext(Pairwise):
    """Reports from a context of its own, in which nobody listens."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        contextvars.Context().run(lambda: Channel().send(8, 0, SERVER, "report", s[0]))


class Wire(Channel):
    """A channel that keeps no books."""

    def _write(self, *arguments: Any) -> None:
        pass


class OverAWire(Pairwise):
    """Reports over a channel of a class of its own."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        Wire().send(8, 0, SERVER, "report", s[0])


class InContext(Pairwise):
    """In another context it says that nobody of this one is to listen."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        import contextvars

        from secmix.transcript import unrelated

        def report() -> None:
            with unrelated():
                Channel().send(8, 0, SERVER, "aside", s[0])

        contextvars.Context().run(report)


class StruckOut(Means):
    """Says it aloud, and strikes it out."""

    def after(self, channel: Any, means: Array, rng: Any) -> None:
        channel.send(10, 0, SERVER, "step", means[0])
        channel.transcript.blocks.pop()


class Unrelated(Medians):
    """Says that what it sends is no business of those who listen."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        with unrelated():
            self.tell(Channel(), means, True)


class ListensItself(Medians):
    """Listens in the place of who listened before."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        with listening(lambda carrier, block: None):
            self.tell(Channel(), means, True)


class PassesItself(Medians):
    """Puts a method of its own where the channel writes."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel._pass = lambda round, sender, receiver, kind, payload, *more: payload
        self.tell(channel, means, True)
        del channel._pass


SENT: dict[str, Any] = {"attack": by_the_step, "secret": mean_of(0)}
OUT = Eavesdropper()
CASES = [
    Case("erased", "channel", Erased, CuriousServer(), "what is erased was heard", attack=each(channels.aside),
         secret=input_of(0)),
    Case("rewritten", "channel", Rewritten, OUT, "what is written over was heard", attack=each(channels.aside),
         secret=input_of(0)),
    Case("relabelled", "channel", Relabelled, OUT, "the line was open", attack=each(channels.aside),
         secret=input_of(0)),
    Case("replaced", "channel", Replaced, CuriousServer(), "the transcript is an older one",
         attack=each(channels.aside), secret=input_of(0)),
    Case("readdressed", "channel", Readdressed, HonestButCurious({2}), "node 2 was told", attack=each(channels.aside),
         secret=input_of(0)),
    Case("report in another context", "surroundings", InAnotherContext, CuriousServer(),
         "a context hears nothing of another", attack=each(lambda h: h.one("report", 0)), secret=input_of(0)),
    Case("report over a wire", "surroundings", OverAWire, OUT, "a channel of another class writes nothing down",
         attack=each(lambda h: h.one("report", 0)), secret=input_of(0)),
    Case("unrelated context", "fits", InContext, OUT, "a line is heard whatever is said of it",
         attack=fits.aside(),
         secret=input_of(0)),
    Case("struck out", "collaborations", StruckOut, OUT, "what is struck out was heard",
         attack=each(open_step), secret=mean_of(0)),
    Case("none of their business", "collaborations", Unrelated, OUT, "a line is heard whatever is said of it", **SENT),
    Case("a listener of its own", "collaborations", ListensItself, OUT, "a line is heard whoever listens", **SENT),
    Case("a channel that is passed by", "collaborations", PassesItself, OUT,
         "what is sent is heard, written or not", **SENT),
]  # fmt: skip
