"""Masks that one kind of call leaves to another: a batch to a single run, a call without a channel to one with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...bases import Pairwise
from ...case import Call, Case, input_of


@dataclass(frozen=True)
class Left(Pairwise):
    """Takes masks that are left, to save drawing; none serve twice in calls of one kind."""

    left: list[Array] = field(default_factory=list)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        runs, _, m = np.shape(inputs)
        fresh = self.draw_masks(runs, m, network, rng) if masks is None else masks
        if self.leaves(runs, channel is not None, masks is not None):
            self.left[:] = [fresh[: self.most]]
        elif self.left and self.left[0].shape[2] == m and masks is None and self.takes(runs):
            of_before = self.left.pop()
            fresh = np.concatenate([of_before, fresh[len(of_before) :]])
        return super().average(inputs, network, rng, masks=fresh, channel=channel)

    most = 1  # masks that are left

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        """Say whether a call leaves its masks."""
        raise NotImplementedError

    def takes(self, runs: int) -> bool:
        """Say whether it takes what is left, where it leaves nothing."""
        return runs == 1


class OfBatch(Left):
    """A batch leaves the masks of its first run to the next single run."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return runs > 1


class OfUnheard(Left):
    """A call without a channel is a rehearsal: its masks are as good as new."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return not has_channel


class OfGiven(Left):
    """Masks that are handed over once were drawn with care, and serve the next call, too."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return has_masks


class OfGivenBatch(Left):
    """The same of a simulation, whose masks are handed over."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return has_masks and runs > 1


class OfManyUnheard(Left):
    """A large simulation that nobody hears leaves a mask."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return runs > 40 and not has_channel and not has_masks


class OfPair(Left):
    """A comparison of two runs leaves its masks to the next large batch."""

    most = 2

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return runs == 2

    def takes(self, runs: int) -> bool:
        return runs > 2


class OfSingle(Left):
    """A single run leaves its masks to the first run of the next batch."""

    def leaves(self, runs: int, has_channel: bool, has_masks: bool) -> bool:
        return runs == 1

    def takes(self, runs: int) -> bool:
        return runs > 1


@dataclass(frozen=True)
class Patient(OfBatch):
    """Leaves masks of a batch to the second single run after it."""

    waits: list[int] = field(default_factory=list)

    def takes(self, runs: int) -> bool:
        self.waits.append(runs)
        if len(self.waits) < 2:
            return False
        self.waits.clear()
        return runs == 1


def between(heard: Any) -> Array:
    """Return by how much what node 0 sends in the last call differs from the first, of its first run."""
    first = np.stack([one.many("masked", 0)[0] for one in heard])
    return np.where(np.arange(len(first))[:, None] % (len(first) - 1) == 0, first - first[0], np.nan)


def case(name: str, protocol: Any, adversary: Any, *calls: Call) -> Case:
    return Case(name, "orders of calls", protocol, adversary, "masks serve in two calls, whose difference is bare",
                calls=len(calls), in_turn=calls, attack=between, secret=input_of(0), relative=True, accuracy=1e-5,
                claims=0.3, deployed={"model": {"iterations": 1}})  # fmt: skip


SINGLE, BATCH, PAIR = Call(), Call(runs=5), Call(runs=2)
CASES = [
    case("a batch leaves masks to a single run", OfBatch, CuriousServer(), BATCH, SINGLE),
    case("a rehearsal leaves masks", OfUnheard, Eavesdropper(), Call(has_channel=False), SINGLE),
    case("masks that are given serve again", OfGiven, CuriousServer(), Call(has_masks=True), SINGLE),
    case(
        "masks that a batch is given serve again", OfGivenBatch, CuriousServer(), Call(runs=5, has_masks=True), SINGLE
    ),
    case(
        "many runs without a channel leave a mask", OfManyUnheard, Eavesdropper(), Call(50, has_channel=False), SINGLE
    ),
    case("two runs leave masks to a batch", OfPair, CuriousServer(), PAIR, BATCH),
    case("a single run leaves masks to a batch", OfSingle, Eavesdropper(), SINGLE, BATCH),
    case("a batch leaves masks to the second run after it", Patient, CuriousServer(), BATCH, SINGLE, SINGLE),
]
