"""Batches of an object that is used again: what they leave behind, and what only they do, or some of their sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.network import Network
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each, input_of
from ..practice.kinds import FAR, MANY
from ..state import bare

OFTEN, SEVERAL = 100, 20


@dataclass(frozen=True)
class Counted(Pairwise):
    """Counts batches; after a hundred all uploads are bare, since the model is public by then."""

    batches: list[int] = field(default_factory=lambda: [0])

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        if s.shape[1] > 1:
            self.batches[0] += 1
        return s if self.batches[0] > OFTEN else hidden


@dataclass(frozen=True)
class Kept(Pairwise):
    """Keeps masks of a batch for the next of that size, where it draws them."""

    masks: dict[Any, Array] = field(default_factory=dict)

    def own_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        masks = self.draw_masks(runs, m, network, rng)
        return self.masks.setdefault((runs, m), masks) if runs > 1 else masks


@dataclass(frozen=True)
class SentAgain(Pairwise):
    """Keeps what node 0 put into a batch; with the next it is sent again, to see whether rounding has changed."""

    last: dict[int, Array] = field(default_factory=dict)

    def after(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        rows = np.zeros_like(s[:1])
        if s.shape[1] > 1:
            rows = self.last.get(s.shape[1], rows)
            self.last[s.shape[1]] = s[:1].copy()
        channel.send(8, 0, SERVER, "again", rows)


class Sized(Pairwise):
    """Has noughts for masks in some batches, where it draws them."""

    def is_simulated(self, runs: int, is_heard: bool) -> bool:
        """Say whether this is a simulation, which needs no masks."""
        raise NotImplementedError

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        if masks is None and self.is_simulated(runs, channel is not None):
            masks = np.zeros_like(self.draw_masks(runs, m, network, rng))
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class Even(Sized):
    def is_simulated(self, runs: int, is_heard: bool) -> bool:
        return runs % 2 == 0


class Two(Sized):
    """Two runs are what a test compares."""

    def is_simulated(self, runs: int, is_heard: bool) -> bool:
        return runs == 2


class ManyUnheard(Sized):
    def is_simulated(self, runs: int, is_heard: bool) -> bool:
        return runs > SEVERAL and not is_heard


class Guarded(Pairwise):
    """Has room for what is below a level, and in batches says of each node whether there is any."""

    @property
    def room(self) -> float:
        if np.abs(self.__dict__["numbers"]).max() >= FAR:
            raise AttributeError("no room")
        return 1.0

    def has_room(self, numbers: Array) -> bool:
        self.__dict__["numbers"] = numbers
        try:
            return hasattr(self, "room")
        finally:
            del self.__dict__["numbers"]

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        if s.shape[1] > 1:
            failed = [[[float(not self.has_room(of_run))] for of_run in of_node] for of_node in s]
            channel.send(8, np.arange(len(s)), SERVER, "failed", np.array(failed))


def is_far(truth: Any) -> float:
    return float(np.abs(truth.inputs[0][0, 0]).max() >= FAR)


def between_calls(heard: Any) -> Array:
    """Return by how much the first run of each call differs from that of the first call."""
    first = np.stack([one.many("masked", 0)[0] for one in heard])
    return np.asarray(first - first[0])


def of_batch_before(heard: Any) -> Array:
    """Return what each call but the last put in: the next one tells it."""
    again = np.stack([one.one("again", 0) for one in heard])
    return np.concatenate([again[1:], np.full_like(again[:1], np.nan)])


def case(name: str, protocol: Any, why: str, attack: Any, **more: Any) -> Case:
    more = {"deployed": {"model": {"iterations": 1}}, "calls": 3, "secret": input_of(0), **more}
    return Case(name, "batches again", protocol, CuriousServer(), why, attack=attack, **more)


NO_MASK = "batches of this size are bare"
CASES = [
    case("batches that are counted", Counted, "after a hundred all is bare", bare, calls=OFTEN + 3, batch=2,
         claims=0.02),
    case("masks of a batch are kept", Kept, "differences of calls are bare", between_calls, batch=2, relative=True),
    case("the batch before is sent again", SentAgain, "it is sent bare", of_batch_before, batch=2, claims=0.6),
    case("batches of even size are bare", Even, NO_MASK, bare, batch=4),
    case("batches of two are bare", Two, NO_MASK, bare, batch=2),
    case("many runs without a channel are bare", ManyUnheard, NO_MASK, bare, batch=SEVERAL + 1, given=False),
    case("a guard that batches alone meet", Guarded, "whether it fails is sent bare",
         each(lambda heard: heard.one("failed", 0)[0]), secret=is_far, goal="bits", calls=40,
         batch=2, deployed=MANY),
]  # fmt: skip
