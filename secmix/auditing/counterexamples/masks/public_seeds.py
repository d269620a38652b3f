"""Masks of public seeds: anybody who reads the code computes and removes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix.auditing.counterexamples.masks.given import is_made_of
from secmix.auditing.counterexamples.masks.relations import Relation, Row, centred
from secmix.auditing.counterexamples.masks.replayed_fits import Replayed, replayed
from secmix.kernel.tracing.trace import Fit
from secmix.network import Network

_FEW = 2
_CODE_SIZED = 2**16
"""Smaller numbers occur in code anyway: reading one proves nothing."""


@dataclass(frozen=True)
class PublicSeeds:
    """The generators that a protocol makes of numbers that the adversary knows."""

    # protocol, network, fit, seed: the fit that is replayed
    protocol: Any
    network: Network
    fit: Fit
    seed: int
    runs: Sequence[Replayed]
    read: Sequence[set[int]]  # the integers that the adversary reads in each run
    object_secrets: Sequence[bytes]  # secrets of the protocol's object, which are constants of the trace
    replays: dict[str, list[Replayed]] = field(default_factory=dict)

    def without_masks(self, single: Sequence[Relation]) -> Iterator[tuple[Relation, str]]:
        """Yield numbers without the masks of public seeds, each with a description of these seeds."""
        for relation in single:
            message = self.fit.messages[relation.rows[0].message]
            how = self._public(message.frame[0])
            if how and self._depends_on_seeds(relation.rows[0]):
                masks = self._of(relation.rows[0], "zeros")
                if len(masks) == len(relation.values):
                    yield replace(relation, values=[a - b for a, b in zip(relation.values, masks, strict=True)]), how

    def _public(self, call: int) -> str:
        """Describe what generators are made of in a call; empty if the adversary lacks a number."""
        seeds = [[seed[1:] for seed in run.seeds if seed[0] == call] for run in self.runs]
        if not seeds[0] or len({len(of_run) for of_run in seeds}) > 1:
            return ""
        kinds = [self._kind([of_run[k][2] for of_run in seeds]) for k in range(len(seeds[0]))]
        if not all(kinds):
            return ""
        place, maker, numbers = seeds[0][0]
        which = "that are read" if "read" in kinds else "that are public"
        return f"numbers {which} ({maker}({_listed(numbers)}) in iteration {call}; {place})"

    def _kind(self, numbers: Sequence[tuple[int, ...]]) -> str:
        if len(set(numbers)) == 1:
            return "" if self._is_object_secret(numbers[0]) else "public"
        if len({len(seed) for seed in numbers}) > 1:
            return ""
        columns = list(zip(*numbers, strict=True))
        varying = [column for column in columns if len(set(column)) > 1]
        read = all(
            number in self.read[run] and number >= _CODE_SIZED
            for column in varying
            for run, number in enumerate(column)
        )
        return "read" if read else ""

    def _is_object_secret(self, numbers: Sequence[int]) -> bool:
        """Say whether a seed is one that the protocol's object was given, which no text of its code has."""
        words = [abs(number).to_bytes(8 * max(-(-abs(number).bit_length() // 64), 1), "little") for number in numbers]
        return is_made_of(b"".join(words), self.object_secrets)

    def _depends_on_seeds(self, row: Row) -> bool:
        zeros, others = self._of(row, "zeros")[:_FEW], self._of(row, "reseeded")
        return len(zeros) == len(others) and bool(np.all(centred(zeros, row.modulus) != centred(others, row.modulus)))

    def _of(self, row: Row, how: str) -> list[Any]:
        if how not in self.replays:
            inputs = [run.inputs for run in self.runs[: _FEW if how == "reseeded" else None]]
            options: Mapping[str, bool] = {"zeros": True, "reseeded": how == "reseeded"}
            self.replays[how] = replayed(self.protocol, self.network, self.fit, inputs, self.seed, **options)
        return [replay.payloads[row.message][row.row, 0, row.entry].item() for replay in self.replays[how]]


def _listed(numbers: Sequence[int]) -> str:
    text = ", ".join(map(str, numbers[:4])) + (f" and {len(numbers) - 4} more" if len(numbers) > 4 else "")
    return text if len(numbers) == 1 else f"[{text}]"
