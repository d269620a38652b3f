"""Results that an adversary computes from its views of all runs of a cell, and what known sums tell of a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.observation.invertible_sums import InvertibleSums
from secmix.auditing.observation.reading import Reading
from secmix.auditing.setup import SumSetup
from secmix.estimators.estimate import normalised
from secmix.transcript import Lines, joined_lines

RATIOS, DIFFERENCES = "ratios of one iteration", "ratios of differences between iterations"
"""Ways to compute a row from known statistics."""
UNEQUAL = (
    "nodes hold unequally many rows, or rows of their own: the covariance of their inputs was measured on the runs, "
    "with a 99 % interval"
)
"""Note on shares that are measured."""
_REPLICATES = 100
_CONSTANT = 1e-12  # of the largest variance: an entry that does not vary is no secret


@dataclass(frozen=True)
class Observation:
    """Observation of a cell's runs by its adversary."""

    rows: dict[int, Array]  # node -> (runs, d): the first row of each node asked about: the usual target
    # node -> iteration -> (runs, p): what the adversary computes from its view, for each of these nodes; nothing if all
    # evidence that is asked for is exact
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
        """By node what :func:`known_of_sums` counted of the sums it is in, once it did."""
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


def output_share(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the share of the variance of one honest input that the total reveals to corrupt nodes: 1/|honest|.

    If nodes have different numbers of rows it is measured, in the worst entry and iteration.
    """
    n = setup.network.n
    if not setup.is_unequal:
        return 1.0 / (n - len(setup.corrupt))
    honest = np.array([float(i not in setup.corrupt) for i in range(n)])
    sums = np.vstack([honest, np.eye(n)[sorted(setup.corrupt)]])
    return max(_worst_entry(vectors, sums, np.zeros(len(sums)), node)[0] for vectors in observation.inputs.values())


def share_behind_masks(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the share of the node's variance that is known through masks of this size, for nodes of equal size."""
    return normalised(nats_of_all(setup, observation, node), 1)


def nats_of_all(setup: SumSetup, observation: SumObservation, node: int) -> float:
    """Compute the information about the node's input behind Gaussian masks, of all iterations that are read jointly."""
    n = setup.network.n
    return max(
        nats_of(observation, r, node + n * place, iterations)
        for iterations, r in observation.all_readings
        for place in range(len(iterations))
    )


def nats_of(observation: SumObservation, reading: Reading, place: int, iterations: list[int]) -> float:
    """Compute the information about one input, with masks relative to the entry with the largest spread."""
    spread = max(observation.widest[t] for t in iterations)
    if spread == 0:
        return 0.0
    return reading.gaussian.information(place, max(observation.mask_size, 1e-300) / spread)


def known_of_sums(setup: SumSetup, observation: SumObservation, node: int) -> tuple[int, int]:
    """Count :func:`equations_and_unknowns` of the sums that are known exactly.

    The rows may be determined if the equations are at least as many. If message schedules differ between runs, the one
    that reveals most of each iteration counts. What is counted for a node is that of all that are solved with it.
    """
    if node in observation.counted:
        return observation.counted[node]
    bases: dict[int, Array] = {}
    for iterations, reading in observation.all_readings:
        basis = reading.subspace.basis
        t = iterations[0]
        if len(iterations) == 1 and (t not in bases or len(basis) > len(bases[t])):
            bases[t] = basis
    sizes = {t: max(observation.inputs[t].shape[2], observation.numbers) for t in bases}
    rows = [count * setup.rows.shape[1] for count in setup.counts]
    group, equations, unknowns = solved_together(bases, sizes, rows, setup.corrupt, node, setup.possible_rows)
    observation.counted.update(dict.fromkeys(group, (equations, unknowns)))
    return equations, unknowns


def solved_together(
    bases: Mapping[int, Array],
    sizes: Mapping[int, int],
    unknowns: Sequence[int],
    corrupt: frozenset[int],
    node: int,
    possible: int,
) -> tuple[set[int], int, int]:
    """Return the nodes whose rows are solved for together with ``node``'s; count known numbers and unknown ones.

    The known numbers are those of the sums that include these nodes, the unknown ones those of their rows. If rows have
    few possible values, such as yes and no, the unknowns are the counts of each possible row, in which sums are linear.
    ``bases``, mapping from iteration to (rank, n): the leaked subspace of each iteration; ``sizes``: entries of the
    summed vector, by iteration; ``unknowns``: number of entries of all rows of each node; ``possible``: number of
    possible rows.
    """
    honest = np.array([i not in corrupt for i in range(len(unknowns))])
    group, equations, before = {node}, 0, -1
    while before != len(group):  # sums that share a node are solved together
        before, equations = len(group), 0
        for t, basis in bases.items():
            involved = (np.abs(basis) > 1e-6) & honest
            rows = involved[:, sorted(group)].any(axis=1)
            group |= set(np.flatnonzero(involved[rows].any(axis=0)).tolist())
            equations += int(rows.sum()) * sizes[t]
    return group, equations, min(sum(unknowns[i] for i in group), possible)


@dataclass(frozen=True)
class Share:
    """The largest share of a node's input, over entries, that is explained: the estimate, and bounds at 99 %."""

    value: float
    low: float
    high: float


def share_known(observation: SumObservation, node: int, *, masks: bool, cumulative: bool) -> Share:
    """Return the largest share of the node's input that a reading explains, behind infinite masks or real ones.

    A sum over n equal and independent inputs explains 1/n of each. Where one node holds most rows it explains most of
    it. With Σ the covariance of one entry between the nodes, measured on the runs, and H s + noise of covariance R what
    is seen, the share of s_i that is explained is [Σ Hᵀ (H Σ Hᵀ + R)⁺ H Σ]_ii / Σ_ii.
    """
    shares = [Share(0.0, 0.0, 0.0)]
    for of, reading in observation.all_readings:
        if len(of) == 1 or cumulative:
            vectors = np.concatenate([observation.inputs[t] for t in of])
            known = reading.subspace.basis, np.zeros(reading.subspace.rank)
            sums, noise = _read(reading, observation.mask_size) if masks else known
            n = len(observation.inputs[of[0]])
            shares += [
                explained(vectors, sums, noise, node + n * place, rng=stream(node, "soundness", "bootstrap", place))
                for place in range(len(of))
            ]
    return max(shares, key=lambda share: share.value)


def _read(reading: Reading, mask_size: float) -> tuple[Array, Array]:
    """Return the sums known exactly, then those read under whitened masks, and the variance of these masks."""
    view = reading.gaussian
    noise = np.concatenate([np.zeros(view.known.shape[1]), np.full(len(view.noisy), mask_size**2)])
    return np.vstack([view.known.T, view.noisy]), noise


def explained(vectors: Array, sums: Array, noise: Array, node: int, *, rng: np.random.Generator) -> Share:
    """Return the worst entry's explained share of ``node``.

    ``vectors`` (n, runs, m): inputs of many runs; ``sums`` (q, n): combinations that are read; ``noise`` (q,): variance
    of what is added to each.

    A sum of three, of which one is three times as large:

    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.normal(size=(3, 4000, 1)) * np.array([3.0, 1.0, 1.0])[:, None, None]
    >>> found = explained(vectors, np.ones((1, 3)), np.zeros(1), 0, rng=rng)
    >>> bool(found.low < 9 / 11 < found.high)
    True
    """
    value, worst = _worst_entry(vectors, sums, noise, node)
    if not len(worst):
        return Share(0.0, 0.0, 0.0)
    draws = []
    for _ in range(_REPLICATES):
        again = worst[rng.integers(len(worst), size=len(worst))]
        draws.append(_share(again - again.mean(axis=0), sums, noise, node))
    spread = float(np.std(draws))
    low, high = (float(np.clip(value + side * 2.58 * spread, 0.0, 1.0)) for side in (-1, 1))
    return Share(value, low, high)


def _worst_entry(vectors: Array, sums: Array, noise: Array, node: int) -> tuple[float, Array]:
    """Return the share of ``node`` in the worst entry, and that entry, centred (runs, n); (0, none) if none varies."""
    columns = np.asarray(vectors.transpose(2, 1, 0), dtype=float)  # (m, runs, n)
    centred = columns - columns.mean(axis=1, keepdims=True)
    sizes = (centred[..., node] ** 2).mean(axis=1)
    varies = sizes > _CONSTANT * sizes.max(initial=0.0)
    if not varies.any() or not len(sums):
        return 0.0, np.empty((0, len(vectors)))
    points = [_share(centred_vector, sums, noise, node) for centred_vector in centred[varies]]
    worst = int(np.argmax(points))
    return points[worst], centred[varies][worst]


def _share(centred: Array, sums: Array, noise: Array, node: int) -> float:
    spread = centred.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    covariance = (centred / spread).T @ (centred / spread) / len(centred)
    through = sums * spread  # inputs in units of their own
    sizes = np.sqrt(np.maximum((through**2).sum(axis=1) + noise, 1e-300))
    through, noise = through / sizes[:, None], noise / sizes**2
    cross = covariance @ through.T
    inner = np.linalg.pinv(through @ cross + np.diag(noise), rcond=1e-10, hermitian=True)
    return float(np.clip((cross[node] @ inner @ cross[node]) / max(float(covariance[node, node]), 1e-300), 0.0, 1.0))
