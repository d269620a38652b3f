"""Who knows what: nodes of unequal weight, adversaries that hide what they hold, nodes that nobody asked about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.protocols import PDMM, Plain, SecureSum
from secmix.transcript import View

from ..bases import Modular, Pairwise
from ..case import Case, each, input_of
from .scale import Aside


def share_of_total(kind: str, rows: list[int], counted: float = 1.0) -> Any:
    """The part of a known total that falls to node 0 by its rows."""
    return each(lambda h: h.one(kind) * counted * rows[0] / sum(rows))


def share_of_result(rows: list[int], corrupt: int) -> Any:
    """The same of what a corrupt node ends with, less its own input."""
    rest = sum(rows) - rows[corrupt]
    return each(lambda h: (5 * h.ended[0][corrupt][0] - h.one("input", corrupt)) * rows[0] / rest)


def unequal(rows: list[int], limit: float = 0.8, data: str = "gaussian") -> dict[str, Any]:
    """A scenario with these rows."""
    return {
        "data": {"name": data, "rows_per_node": rows} | ({} if data == "gaussian" else {"features": 2}),
        "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": limit},
    }


LARGE = [200, 5, 5, 5, 5]
BESIDE = [60, 200, 5, 5, 5]
TWO = [120, 120, 5, 5, 5]


class _Own(HonestButCurious):
    """The corrupt node 1 and 3, as a stranger describes them."""


class Blind(_Own):
    """Shows nothing."""

    def observe(self, transcript: Any, network: Any) -> View:
        return View((), ())


class Deaf(_Own):
    """Leaves out one kind."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        keep = [i for i, origin in enumerate(view.origins) if origin.kind != "running sum"]
        return View(tuple(view.origins[i] for i in keep), tuple(view.rows[i] for i in keep))


class Few(_Own):
    """Remembers three messages."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        return View(view.origins[:3], view.rows[:3])


class Vague(_Own):
    """Remembers thousands only."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        return View(view.origins, tuple(1e3 * np.round(row / 1e3) for row in view.rows))


class Noisy(_Own):
    """Remembers with an error."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        rng = np.random.default_rng(5)
        return View(view.origins, tuple(row + rng.normal(scale=1e3, size=row.shape) for row in view.rows))


class Zeroed(_Own):
    """Remembers that there were messages, not what."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        return View(view.origins, tuple(0 * row for row in view.rows))


@dataclass(frozen=True)
class Tired(HonestButCurious):
    """Listens to the first two transcripts of its life."""

    heard: list[int] = field(default_factory=list)

    def observe(self, transcript: Any, network: Any) -> View:
        self.heard.append(0)
        return super().observe(transcript, network) if len(self.heard) < 2 else View((), ())


class Speaker(_Own):
    """Shows what it says, not what it is told."""

    def observe(self, transcript: Any, network: Any) -> View:
        view = super().observe(transcript, network)
        keep = [i for i, origin in enumerate(view.origins) if origin.sender in (1, 3)]
        return View(tuple(view.origins[i] for i in keep), tuple(view.rows[i] for i in keep))


def between(corrupt: tuple[int, int] = (1, 3)) -> Any:
    """Node 2 stands between two corrupt ones: what came out of it less what went in."""
    return each(lambda h: h.one("running sum", 2, corrupt[1]) - h.one("running sum", corrupt[0], 2))


def insiders(name: str, adversary: type[HonestButCurious], why: str) -> Case:
    """A corrupt pair about node 2, whose class does not show what they hold."""
    return Case(name, "adversaries", lambda: SecureSum(cycle=(0, 1, 2, 3, 4)),
                adversary({1, 3}, eavesdrops=False), why, node=2, attack=between(), secret=input_of(2),
                ears=HonestButCurious({1, 3}, eavesdrops=False))  # fmt: skip


CASES = [
    Case("secure sum, unequal rows", "unequal nodes", lambda: SecureSum(sigma=1e3), HonestButCurious({2}),
         "the permitted sum is nine tenths of node 0", attack=share_of_result(LARGE, 2), secret=input_of(0),
         goal="share", calls=80, settings=unequal(LARGE)),
    Case("modular sum, unequal rows", "unequal nodes", lambda: SecureSum(arithmetic="modular"), HonestButCurious({2}),
         "the permitted sum is nine tenths of node 0", attack=share_of_result(LARGE, 2), secret=input_of(0),
         goal="share", calls=80, settings=unequal(LARGE)),
    Case("PDMM, unequal rows", "unequal nodes", lambda: PDMM(sigma=1e3), HonestButCurious({2}),
         "the permitted sum is nine tenths of node 0", attack=share_of_result(LARGE, 2), secret=input_of(0),
         goal="share", calls=40, settings=unequal(LARGE)),
    Case("server's average, unequal rows", "unequal nodes", Pairwise, Eavesdropper(),
         "the average is nine tenths node 0", attack=share_of_total("average", LARGE, 5.0), secret=input_of(0),
         goal="share", calls=80, settings=unequal(LARGE, data="breast_cancer")),
    Case("large node beside a corrupt one", "unequal nodes", Modular, HonestButCurious({1}),
         "without what is corrupt, node 0 is four fifths of the rest", attack=share_of_result(BESIDE, 1),
         secret=input_of(0), goal="share", calls=120, settings=unequal(BESIDE, 0.7)),
    Case("two large nodes", "unequal nodes", Pairwise, Eavesdropper(), "each of two large nodes is half of the average",
         attack=share_of_total("average", TWO, 5.0), secret=input_of(0), goal="share", calls=400,
         settings=unequal(TWO, 0.4)),
    insiders("blind", Blind, "who takes part holds what it sends and is sent"),
    insiders("deaf to a kind", Deaf, "who takes part holds what it sends and is sent"),
    insiders("forgets", Few, "who takes part holds what it sends and is sent"),
    insiders("vague", Vague, "who takes part holds the numbers, not their thousands"),
    insiders("noisy", Noisy, "who takes part holds the numbers as they are"),
    insiders("zeros", Zeroed, "who takes part holds the numbers as they are"),
    insiders("tired", Tired, "who takes part does so in every call"),
    insiders("speaks only", Speaker, "who takes part holds what it is sent"),
    Case("node not asked about", "questions", Aside, Eavesdropper(), "the policy is of all nodes, the question of one",
         attack=each(lambda h: h.one("aside", 0)), secret=input_of(0),
         settings={"measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6], "nodes": [1]}}),
    Case("plain, not asked about", "questions", Plain, HonestButCurious({3}), "the policy is of all nodes", node=2,
         attack=each(lambda h: h.one("input", 2)), secret=input_of(2),
         settings={"measure": {"evidence": ["structure"], "nodes": [3, 0]}, "network": {"kind": "complete",
         "nodes": 5}}),
]  # fmt: skip
