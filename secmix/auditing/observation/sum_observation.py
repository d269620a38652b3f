"""Results that an adversary computes from its views of all runs of a cell, and facts about these runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.observation.invertible_sums import InvertibleSums
from secmix.auditing.observation.reading import Reading
from secmix.transcript import Lines, joined_lines

RATIOS, DIFFERENCES = "ratios of one iteration", "ratios of differences between iterations"
"""Ways to compute a row from known statistics."""


@dataclass(frozen=True)
class Observation:
    """Observation of a cell's runs by its adversary."""

    rows: dict[int, Array]  # node -> (runs, d): the first row of each node asked about: the usual target
    # node -> iteration -> (runs, p): what the adversary computes from its view, for each of these nodes
    features: dict[int, dict[int, Array]]
    unmet_premises: list[str]  # reasons why more may be known about every node than findings show
    # lines that carry messages, and lines on which the adversary reads any
    lines: Lines = field(default_factory=Lines, kw_only=True)

    @property
    def reads_low(self) -> str | None:
        """Why the features are less than the adversary reads; None if they are not."""
        return None

    @property
    def in_groups(self) -> bool:
        """True if messages differ between runs: each group of runs is then judged by itself."""
        return False


@dataclass(frozen=True)
class SumObservation(Observation):
    """The runs of a protocol that sums."""

    inputs: dict[int, Array]  # iteration -> (n, runs, m): inputs of the sums
    # sums over two or more honest nodes, from the first block: the input of inversion; empty if that is not asked for
    sums: list[InvertibleSums]
    # node -> name -> (runs, d): the node's row, if it has only one, computed from the ratios of its
    # statistics, in different ways
    guesses: dict[int, dict[str, Array]]
    # iteration -> Reading: readings of the first block, of messages that are linear in inputs and masks
    readings: dict[int, Reading]
    # list of (iterations, Reading): readings of later blocks with other message schedules, of one iteration or of all
    # jointly
    others: list[tuple[list[int], Reading]]
    joint: Reading | None  # reading of all iterations jointly, if they share masks
    # doubts about the distribution of masks, which apply unless every mask was traced to its own draw
    mask_shape: list[str]
    mask_size: float  # standard deviation of the masks, as drawn
    output_error: float  # relative error of the fitted means against pooled EM
    # reasons why the readings are incomplete, which apply unless there is a proof
    unread: list[str] = field(default_factory=list)
    encoded: str = ""  # the line that encodes what is summed, if a proof shows that the readings are of these encodings
    numbers: int = 0  # number of summed entries of a node in an iteration
    first_runs: int = 0  # number of runs of the first block: a proof follows these alone; 0: all
    # by node, the share that masks of their size leave visible at most, if a proof took the place of probes
    behind: dict[int, float] = field(default_factory=dict)

    @cached_property
    def counted(self) -> dict[int, tuple[int, int]]:
        """By node what was counted of the sums it is in, once it was: ``auditing/evidence/doubted_premises.py``."""
        return {}

    @property
    def runs(self) -> int:
        """Number of runs."""
        return int(next(iter(self.inputs.values())).shape[1])

    @cached_property
    def widest(self) -> dict[int, float]:
        """Largest standard deviation of a summed entry over nodes and runs, by iteration."""
        return {t: float(inputs.std(axis=(0, 1)).max()) for t, inputs in self.inputs.items()}

    @property
    def all_readings(self) -> list[tuple[list[int], Reading]]:
        """Every reading of every block, with its iterations."""
        own = [([t], reading) for t, reading in self.readings.items()]
        if self.joint is not None:
            own.append(([t for t in self.iterations if t >= 0], self.joint))
        return [*own, *self.others]

    @property
    def iterations(self) -> list[int]:
        """Iterations of the protocol, in order."""
        return sorted(self.inputs)


def joined(blocks: list[SumObservation]) -> SumObservation:
    """Join the observations of blocks of runs."""
    first = blocks[0]

    def stacked(get: Any, axis: int) -> Array:
        parts = [get(block) for block in blocks]
        return np.concatenate(parts, axis=axis) if len(parts) > 1 else np.asarray(parts[0])  # a copy may not fit

    return replace(
        first,
        # Blocks with the same message schedule share a reading.
        others=list({id(pair[1]): pair for block in blocks[1:] for pair in block.all_readings}.values()),
        rows={i: stacked(lambda b, i=i: b.rows[i], 0) for i in first.rows},
        inputs={t: stacked(lambda b, t=t: b.inputs[t], 1) for t in first.inputs},
        features={
            i: {t: _of_one_width([b.features[i][t] for b in blocks]) for t in per_node}
            for i, per_node in first.features.items()
        },
        guesses={
            i: {way: stacked(lambda b, i=i, way=way: b.guesses[i][way], 0) for way in ways}
            for i, ways in first.guesses.items()
        },
        unmet_premises=list(dict.fromkeys(reason for block in blocks for reason in block.unmet_premises)),
        mask_shape=list(dict.fromkeys(reason for block in blocks for reason in block.mask_shape)),
        unread=list(dict.fromkeys(reason for block in blocks for reason in block.unread)),
        lines=joined_lines(block.lines for block in blocks),
        output_error=max(block.output_error for block in blocks),
    )


def _of_one_width(features: list[Array]) -> Array:
    """Stack the features of all blocks, (runs, p), padded with zeros where a block has fewer."""
    width = max(block.shape[1] for block in features)
    padded = [b if b.shape[1] == width else np.pad(b, ((0, 0), (0, width - b.shape[1]))) for b in features]
    return np.concatenate(padded)
