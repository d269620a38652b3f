"""Monte Carlo: run the protocol, keep what the adversary can make of its view, forget the messages.

Runs go in blocks, so that the transcripts of a block are all that is ever in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.observation.known import KnownSums, known_sums
from secmix.auditing.observation.lines import joined, lines_of
from secmix.auditing.observation.observation import Observation
from secmix.auditing.observation.reading import (
    ProbeCache,
    ProbeMismatch,
    Reading,
    estimates_of,
    features_of,
    linear_part,
    nothing_read,
    read,
)
from secmix.auditing.setup import Setup, SumSetup, build_model
from secmix.auditing.soundness.mixed import independent
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed
from secmix.estimators.exact.masks import unmet_independence, unmet_shape
from secmix.estimators.exact.provenance import unexplained
from secmix.protocols import EMRun, Plain, SumProtocol
from secmix.protocols.interfaces import SumTraits, without_average
from secmix.scenario import FEWEST_RUNS, Scenario
from secmix.transcript import Channel, Transcript, View, listening

Seeds = tuple[np.random.SeedSequence, np.random.SeedSequence]
"""Of the data (the same in all cells of an audit), and of the protocol."""

RATIOS, DIFFERENCES = "ratios of one iteration", "ratios of differences between iterations"
"""Ways to read a row from statistics that are known."""
_ENOUGH = 30  # runs by which masks are judged


@dataclass(frozen=True)
class SumObservation(Observation):
    """The runs of a protocol that sums.

    Attributes
    ----------
    inputs : dict of iteration -> (n, runs, m)
        What the nodes put into the sums.
    sums : list of KnownSums
        Sums over two or more honest nodes, from the first block: what inversion starts from.
    guesses : dict of node -> dict of name -> (runs, d)
        The node's row, if it has only one, read directly from the ratios of its statistics, in different ways.
    readings : dict of iteration -> Reading
        From the first block, of the messages that are linear in inputs and masks.
    others : list of (iterations, Reading)
        Those of the later blocks, whose schedules were others; of one iteration, or of all jointly.
    joint : Reading or None
        All iterations together, where masks are shared between them.
    mask_shape : list of str
        Doubts about how the masks are distributed, which hold unless every mask was traced to a draw of its own.
    unread : list of str
        Why the readings do not say all, which holds unless a proof does.
    mask_size : float
        Standard deviation of the masks, as drawn.
    output_error : float
        Relative error of the fitted means against pooled EM.
    encoded : str
        Where nodes encode what is summed, if the readings are of these encodings, by proof.
    numbers : int
        How many numbers of a node are then summed in an iteration.
    """

    inputs: dict[int, Array]
    sums: list[KnownSums]
    guesses: dict[int, dict[str, Array]]
    readings: dict[int, Reading]
    others: list[tuple[list[int], Reading]]
    joint: Reading | None
    mask_shape: list[str]
    mask_size: float
    output_error: float
    unread: list[str] = field(default_factory=list)
    encoded: str = ""
    numbers: int = 0

    @property
    def runs(self) -> int:
        """Count the runs."""
        return int(next(iter(self.inputs.values())).shape[1])

    @property
    def all_readings(self) -> list[tuple[list[int], Reading]]:
        """Every reading of every block, with the iterations it is of."""
        mine = [([t], reading) for t, reading in self.readings.items()]
        if self.joint is not None:
            mine.append(([t for t in self.iterations if t >= 0], self.joint))
        return [*mine, *self.others]

    @property
    def iterations(self) -> list[int]:
        """Those of which the protocol was run, in order."""
        return sorted(self.inputs)


def seeds_of(cell: Scenario) -> Seeds:
    """Return the seeds of the data, the same in all cells of an audit, and of the protocol, the cell's own."""
    own = (cell.protocol.model_dump(), cell.adversary.model_dump())
    return sequence(cell.seed, "data"), sequence(cell.seed, "protocol", *own)


def observe(
    cell: Scenario, setup: SumSetup, seeds: Seeds, first: Callable[[SumObservation], None] = lambda seen: None
) -> SumObservation:
    """All runs of ``cell``; ``first`` is called once they are as many as a scenario must ask for, if more follow."""
    blocks: list[SumObservation] = []
    made = 0
    for block in _blocks(cell, setup, seeds):
        blocks.append(block)
        before, made = made, made + block.runs
        if before < FEWEST_RUNS <= made < cell.runs:
            first(_joined(blocks))
    return _joined(blocks)


def _blocks(cell: Scenario, setup: SumSetup, seeds: Seeds) -> Iterator[SumObservation]:
    known: dict[int, ProbeCache] = {}
    in_vain = 0
    for k, (rows_by_node, seed) in enumerate(deals(cell, setup, block_size(cell, setup), seeds)):
        # Probes may outnumber runs, so they travel only where those of an earlier block do not serve. A protocol that
        # takes another course in most blocks is soon probed in all.
        if known and 2 * in_vain <= k:
            with suppress(ProbeMismatch):
                yield _block(cell, setup, rows_by_node, seed, known, probing=False)
                continue
            in_vain += 1
        yield _block(cell, setup, rows_by_node, seed, known, probing=True, first=not k)


def deals(
    cell: Scenario, setup: Setup, size: int, seeds: Seeds
) -> Iterator[tuple[list[Array], np.random.SeedSequence]]:
    """The rows of all runs of ``cell``, ``size`` runs at a time, with the seed of what the protocol draws then."""
    starts = range(0, cell.runs, size)
    pairs = zip(seeds[0].spawn(len(starts)), seeds[1].spawn(len(starts)), strict=True)
    for start, (data_seed, run_seed) in zip(starts, pairs, strict=True):
        runs = min(size, cell.runs - start)
        yield setup.deal(runs, np.random.default_rng(data_seed)), run_seed


def block_size(cell: Scenario, setup: SumSetup) -> int:
    """Runs in a block, from what a single run of the first iteration sends; depends on the scenario alone.

    Running it also finds out, before any work is done, whether the parts fit together.
    """
    probed = Probed(setup.protocol)
    rng = stream(cell.seed, "trial run")
    trial = cell.model_copy(update={"model": cell.model.model_copy(update={"iterations": 1})})
    rows_by_node = setup.deal(1, rng)
    run = build_model(trial, setup, as_played(setup, probed)).run(rows_by_node, network=setup.network, rng=rng)
    setup.adversary.observe(run.transcript, setup.network)
    iterations = cell.model.iterations + len(run.transcript.iterations) - 1
    return fitting(cell, run.transcript, 1, iterations)


def fitting(cell: Scenario, transcript: Transcript, real: int, times: int = 1) -> int:
    """How many runs' messages, ``times`` over, the scenario's memory holds; ``transcript`` is of ``real`` runs."""
    if not transcript.iterations:
        raise SecmixError("the protocol sent nothing through the channel it was given: there is nothing to audit")
    kept = times * sum(b.payload.nbytes / b.runs for b in transcript)
    units = max(b.runs for b in transcript) - real
    room = int(cell.message_limit * 2**20 / kept) - units
    if room < 1:
        raise SecmixError(
            f"the messages of a single run take {kept * (1 + units) / 2**20:.1f} MiB, where memory_limit = "
            f"{cell.memory_limit} leaves {cell.message_limit:.1f} for them; raise memory_limit, or use fewer nodes, "
            "iterations or components, or a larger tol"
        )
    return min(room, 500, cell.runs)


def _block(
    cell: Scenario,
    setup: SumSetup,
    rows_by_node: list[Array],
    seed: np.random.SeedSequence,
    known: dict[int, ProbeCache],
    *,
    probing: bool,
    first: bool = False,
) -> SumObservation:
    """A block of runs. One with probes notes what it found in ``known``, if that can serve others."""
    runs = rows_by_node[0].shape[0]
    probed = Probed(setup.protocol, probing=probing)
    model = build_model(cell, setup, as_played(setup, probed))
    carriers: dict[int, Channel] = {}
    with listening(lambda carrier, block: carriers.update({id(carrier): carrier})):
        run = model.run(rows_by_node, network=setup.network, rng=_drawing(seed))
    view = setup.adversary.observe(run.transcript, setup.network)
    iterations = run.transcript.iterations
    if len(iterations) != len(probed.recorded):
        named = ", ".join(map(str, iterations))
        raise SecmixError(
            f"after {len(probed.recorded)} averagings the transcript is of the iterations {named}: a protocol leaves "
            "the iteration of its channel as it is, and what was sent where it is"
        )
    modulus, grid = SumTraits.of(setup.protocol).modulus, SumTraits.of(setup.protocol).grid
    seen = dict(zip(iterations, probed.recorded, strict=True))
    averages = dict(zip(iterations, probed.averages, strict=True))
    seeds = probed.draws_seeds
    probes = dict(zip(iterations, probed.ended, strict=True)) if probing and not seeds else {}
    units = {t: setup.network.n + masks.shape[1] for t, (_, masks) in seen.items()}
    if not probing and probed.shares_masks:
        raise ProbeMismatch
    readings, estimates, rest, kept = {}, {}, {}, View((), ())
    for t in iterations:
        if probing:
            found = nothing_read(view.at(t), seen[t], setup) if seeds else linear_part(view.at(t), t, seen[t], setup)
            reading, values, rest[t], part = found
            kept = View(kept.origins + part.origins, kept.rows + part.rows)
            readings[t] = reading
        else:
            if t not in known:
                raise ProbeMismatch
            reading, values = known[t].of(view.at(t), seen[t], grid)
            readings[t], rest[t] = known[t].reading, np.empty((runs, 0))
        estimates[t] = estimates_of(reading, values, [seen[t]])[0]
    if probing and not seeds and not probed.shares_masks and not any(block.shape[1] for block in rest.values()):
        known.clear()
        known.update({t: ProbeCache(view.at(t).origins, readings[t]) for t in probes})
    joint, together = None, {}
    if probed.shares_masks and not seeds:
        later = [t for t in iterations if t >= 0]
        joint, values = read(kept if probing else view, later, seen[later[0]], setup, shared=True)
        together = dict(zip(later, estimates_of(joint, values, [seen[t] for t in later]), strict=True))
    shape = (cell.model.components, setup.rows.shape[1])
    features: dict[int, dict[int, Array]] = {}
    guesses: dict[int, dict[str, Array]] = {i: {} for i in setup.asked}
    for i in setup.asked:
        alone, ratios = features_of({t: e[i] for t, e in estimates.items()}, *shape)
        jointly, differences = features_of({t: e[i] for t, e in together.items()}, *shape, differences=True)
        features[i] = {t: np.hstack([f, jointly.get(t, f[:, :0]), rest[t]]) for t, f in alone.items()}
        guesses[i] = {RATIOS: ratios}
        if together:
            guesses[i][DIFFERENCES] = differences
    drawn = [independent(setup.protocol, masks) for _, masks in seen.values()]
    # A proof is of single runs: that masks of several hang together shows here alone.
    doubts = unmet_independence(drawn, grid, given=[masks for _, masks in seen.values()])
    unread: list[str] = []
    if first and runs < _ENOUGH and any(masks.size for _, masks in seen.values()):
        doubts.append(f"only {runs} runs fit into memory at once, too few to judge the masks by: raise memory_limit")
    for t, ended in probes.items():  # runs without probes take a course that was looked at
        doubt = unexplained(run.transcript.at(t), ended, runs, units[t], modulus)
        unread += [doubt] if doubt and doubt not in unread else []
    if any(without_average(ended).all() for ended in averages.values()):
        doubts.append("no node ended with an average: what could be learnt of a run that is not cut short is not known")
    if len(carriers) > 1:
        doubts.append("something went through another channel than the one given")
    if joint is not None:
        doubts.append("the same masks serve in several iterations: what the differences tell of rows is not known")
    if seeds:
        unread.append("seeds are drawn: which messages are linear in the masks that follow from them is not read")
    elif any(block.shape[1] for block in rest.values()):
        unread.append("some messages are not linear in inputs and masks: what follows from those is not known exactly")
    return SumObservation(
        rows={i: rows_by_node[i][:, 0].copy() for i in setup.asked},
        features=features,
        doubts=doubts,
        lines=lines_of(run.transcript, view),
        mask_shape=unmet_shape(drawn, modulus),
        unread=unread,
        inputs={t: s.transpose(1, 0, 2) for t, (s, _) in seen.items()},
        sums=known_sums(setup, rows_by_node, run, readings, estimates, seen) if first else [],
        guesses=guesses,
        readings=readings,
        others=[],
        joint=joint,
        mask_size=max((float(r.std()) for _, r in seen.values() if r.size), default=0.0),
        output_error=_output_error(cell, setup, rows_by_node, seed, run),
    )


def _drawing(seed: np.random.SeedSequence) -> np.random.Generator:
    """A generator that draws the same each time: a seed sequence counts the children it has spawned."""
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))


def as_played(setup: SumSetup, probed: Probed) -> SumProtocol:
    """The protocol as it runs when this adversary takes part: an active one puts in or gives back what serves it."""
    active = AdversaryTraits.of(setup.adversary).active
    return probed if active is None else active(probed)


def _output_error(
    cell: Scenario, setup: SumSetup, rows_by_node: list[Array], seed: np.random.SeedSequence, run: EMRun
) -> float:
    pooled = build_model(cell, setup, Plain(), record=False, defended=False)
    truth = pooled.run(rows_by_node, network=setup.network, rng=_drawing(seed)).mixtures[-1].means[:, 0]
    return float(np.abs(run.mixtures[-1].means[:, 0] - truth).max() / np.abs(truth).max())


def _of_one_width(features: list[Array]) -> Array:
    """The features of all blocks, (runs, p): where a block has fewer, as messages were linear there, zeros follow."""
    width = max(block.shape[1] for block in features)
    return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in features])


def _joined(blocks: list[SumObservation]) -> SumObservation:
    first = blocks[0]

    def stacked(get: Any, axis: int) -> Array:
        return np.concatenate([get(block) for block in blocks], axis=axis)

    return replace(
        first,
        # Blocks that took the same course share a reading.
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
        doubts=list(dict.fromkeys(doubt for block in blocks for doubt in block.doubts)),
        mask_shape=list(dict.fromkeys(doubt for block in blocks for doubt in block.mask_shape)),
        unread=list(dict.fromkeys(doubt for block in blocks for doubt in block.unread)),
        lines=joined(block.lines for block in blocks),
        output_error=max(block.output_error for block in blocks),
    )
