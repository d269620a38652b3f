"""Data in what an object is, not in what it says: made classes, attributes of numbers, slots, names."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.transcript import SERVER

from ..bases import Pairwise
from ..case import ENTRY, Case, each, input_of, mean_of, sign_of
from ..honest.metadata import Abstains, Remark, idle
from ..honest.together.bases import Aside, said


class OfTheHouse(Abstains):
    """Gives the name of a module of the library for its own."""

    __module__ = "secmix.protocols.abstaining"


class KindHints(Remark):
    def remark(self, channel: Any, own: Array, nothing: Array) -> None:
        channel.send(10, 0, SERVER, "idle" if own[ENTRY] < 0 else "idle ", nothing)


class Alike(str):
    """A text that says that it is equal to every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class KindThatLies(Pairwise):
    """Two kinds, by sign, which a comparison cannot tell apart."""

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, Alike("low" if s[0, 0, ENTRY] < 0 else "high"), np.zeros_like(s[0]))


class RoundThatLies(Pairwise):
    """A number of a round that equals every other."""

    class Turn(int):
        """It."""

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        def __hash__(self) -> int:
            return 0

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(self.Turn(8 + (s[0, 0, ENTRY] < 0)), 0, SERVER, "idle", np.zeros_like(s[0]))


class InTurnsModular(Pairwise):
    """Says that numbers count modulo one, every other time it is asked; and sends an input along."""

    @property
    def modulus(self) -> float | None:
        """It."""
        asked = self.__dict__.setdefault("_asked", [])
        asked.append(0)
        return None if len(asked) % 2 else 1.0

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        channel.send(8, 0, SERVER, "aside", s[0])


class Noted(np.ndarray):
    """Numbers with a note."""


class ResultWithANote(Aside):
    """What it returns has an attribute."""

    def result(self, ends: Array, means: Array, rng: Any) -> Any:
        noted = ends.view(Noted)
        noted.note = means[0].copy()
        return noted


class ResultOfAType(Aside):
    """What it returns is of a type that carries more."""

    def result(self, ends: Array, means: Array, rng: Any) -> Any:
        return ends.astype(np.dtype(float, metadata={"note": means[0].copy()}))


class Slots:
    """An object with a number to show, and a place beside."""

    __slots__ = ("__dict__", "rows")

    def __init__(self, rows: Array) -> None:
        self.rows, self.count = rows, 1


class InASlot(Aside):
    """The server is sent such an object."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        channel.send(10, 0, SERVER, "step", Slots(means[0]), encrypted=True)


class SumWithANote(Pairwise):
    """What it returns has an attribute."""

    def result(self, averages: Array, s: Array, rng: Any) -> Array:
        noted = averages.view(Noted)
        noted.note = s[0].copy()  # type: ignore[attr-defined]
        return noted


THREE = HonestButCurious({3}, eavesdrops=False)
BIT: dict[str, Any] = {"goal": "bits", "calls": 60}
OUT = Eavesdropper()
CASES = [
    Case("says it is of the house", "its word", OfTheHouse, OUT, "who keeps silent has negative numbers",
         attack=each(lambda h: len(h.all("masked", 0, iteration=0)) == 0),
         secret=lambda t: float(t.inputs[0][0, 0, 2] < 0), goal="bits", calls=60),
    Case("kind with a blank", "metadata", KindHints, OUT, "two kinds, by sign",
         attack=each(lambda h: idle(h).kind == "idle"), secret=sign_of(0), **BIT),
    Case("kind that equals all", "surroundings", KindThatLies, OUT, "its letters differ, whatever it says",
         attack=each(lambda h: "w" in [m.kind[-1] for m in h.messages if (m.round, m.iteration) == (8, 0)]),
         secret=sign_of(0), **BIT),
    Case("round that equals all", "surroundings", RoundThatLies, CuriousServer(),
         "its number differs, whatever it says",
         attack=each(lambda h: operator.index(h.all("idle", 0, iteration=0)[0].round) > 8), secret=sign_of(0),
         **BIT),
    Case("modular in turns", "surroundings", InTurnsModular, OUT, "an input is sent as it is",
         attack=each(lambda h: h.one("aside", 0)), secret=input_of(0)),
    Case("result with a note", "collaborations", ResultWithANote, THREE, "node 3 ends with it", secret=mean_of(0),
         attack=each(lambda h: h.returned.note[0])),
    Case("result of a type of its own", "collaborations", ResultOfAType, THREE, "node 3 ends with it",
         attack=each(lambda h: h.returned.dtype.metadata["note"][0]), secret=mean_of(0)),
    Case("in a slot", "collaborations", InASlot, CuriousServer(), "an object has more than one place",
         attack=each(lambda h: said(h, "step/rows")), secret=mean_of(0)),
    Case("sum with a note", "corners", SumWithANote, THREE, "node 3 ends with it", secret=input_of(0, 1),
         attack=each(lambda h: h.returned.note[0])),
]  # fmt: skip
