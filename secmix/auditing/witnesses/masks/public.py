"""Masks of public seeds: anybody who reads the code makes them, and takes them off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix.auditing.witnesses.masks.relations import Relation, Row, centred
from secmix.auditing.witnesses.masks.replay import Replayed, replayed
from secmix.kernel.trace import Fit
from secmix.network import Network

_FEW = 2
_CODE_SIZED = 2**16
"""Numbers below are what code has anyway: that such a one is read says nothing."""


@dataclass(frozen=True)
class PublicSeeds:
    """The generators that a protocol makes of numbers that the adversary has.

    Attributes
    ----------
    protocol, network, fit, seed
        What is replayed.
    runs : sequence of Replayed
    read : sequence of set of int
        The whole numbers that the adversary reads in each run.
    """

    protocol: Any
    network: Network
    fit: Fit
    seed: int
    runs: Sequence[Replayed]
    read: Sequence[set[int]]
    replays: dict[str, list[Replayed]] = field(default_factory=dict)

    def taken_off(self, found: Sequence[Relation]) -> Iterator[tuple[Relation, str]]:
        """Yield numbers without the masks of public seeds, and what these are."""
        for each in found:
            message = self.fit.messages[each.rows[0].message]
            how = self._public(message.frame[0])
            if how and self._hangs_on_seeds(each.rows[0]):
                masks = self._of(each.rows[0], "zeros")
                if len(masks) == len(each.values):
                    yield replace(each, values=[a - b for a, b in zip(each.values, masks, strict=True)]), how

    def _public(self, call: int) -> str:
        """Say what generators are made of in a call; nothing where the adversary lacks a number."""
        made = [[(place, numbers) for of, place, numbers in one.seeds if of == call] for one in self.runs]
        if not made[0] or len({len(each) for each in made}) > 1:
            return ""
        kinds = [self._kind([each[k][1] for each in made]) for k in range(len(made[0]))]
        if not all(kinds):
            return ""
        place, numbers = made[0][0]
        which = "that are read" if "read" in kinds else "that are public"
        return f"numbers {which} ({_listed(numbers)} in iteration {call}; {place})"

    def _kind(self, numbers: Sequence[tuple[int, ...]]) -> str:
        if len(set(numbers)) == 1:
            return "public"
        if len({len(each) for each in numbers}) > 1:
            return ""
        columns = list(zip(*numbers, strict=True))
        varying = [of for of in columns if len(set(of)) > 1]
        read = all(
            number in self.read[run] and number >= _CODE_SIZED for of in varying for run, number in enumerate(of)
        )
        return "read" if read else ""

    def _hangs_on_seeds(self, row: Row) -> bool:
        zeros, others = self._of(row, "zeros")[:_FEW], self._of(row, "reseeded")
        return len(zeros) == len(others) and bool(np.all(centred(zeros, row.modulus) != centred(others, row.modulus)))

    def _of(self, row: Row, how: str) -> list[Any]:
        if how not in self.replays:
            inputs = [one.inputs for one in self.runs[: _FEW if how == "reseeded" else None]]
            options: Mapping[str, bool] = {"zeros": True, "reseeded": how == "reseeded"}
            self.replays[how] = replayed(self.protocol, self.network, self.fit, inputs, self.seed, **options)
        return [each.payloads[row.message][row.row, 0, row.entry].item() for each in self.replays[how]]


def _listed(numbers: Sequence[int]) -> str:
    text = ", ".join(map(str, numbers[:4])) + ", …" * (len(numbers) > 4)
    return f"default_rng({text})" if len(numbers) == 1 else f"default_rng([{text}])"
