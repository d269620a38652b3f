"""Monte Carlo: run the protocol, keep what the adversary computes from its view, and drop the messages.

Runs are made in blocks, so that only the transcripts of one block are in memory.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.auditing.observation.invertible_sums import known_sums
from secmix.auditing.observation.memory import ENOUGH, block_size, exact_runs, room_for_messages
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
from secmix.auditing.observation.sum_observation import DIFFERENCES, RATIOS, SumObservation, joined
from secmix.auditing.setup import Setup, SumSetup, build_model, deep_copy, with_active_adversary
from secmix.auditing.soundness.linear_masks import independent
from secmix.errors import SecmixError
from secmix.estimators.exact.linear import Probed
from secmix.estimators.exact.presumed import same_probes, unexplained, unmet_independence, unmet_shape
from secmix.protocols import EMRun, Plain
from secmix.protocols.interfaces import SumTraits, without_average
from secmix.scenario import FEWEST_RUNS, Scenario
from secmix.scenario.resolve import in_table
from secmix.transcript import Channel, View, lines_of, listening

Seeds = tuple[np.random.SeedSequence, np.random.SeedSequence]
"""Seeds of the data (the same in all cells of an audit), and of the protocol."""
Sampled = Iterator[tuple[list[Array], np.random.SeedSequence]]
"""Blocks of runs: the rows of each node, and the seed of the protocol's draws."""

_WORKING = 8  # times what nodes sum and draw in a run: about as much memory as it takes without its messages
_MOST_POOLED = 16  # blocks of runs whose pooled fits are kept: the cells of a report run on the same rows in turn
_POOLED: dict[bytes, Array] = {}


def seeds_of(cell: Scenario) -> Seeds:
    """Make the seeds of the data, the same in all cells of an audit, and of the protocol, the cell's own.

    They do not depend on the folder that a project lies in: a copy elsewhere draws the same numbers.
    """
    protocol = in_table("protocol", cell.protocol.model_dump(), lambda path: "")
    own = (protocol, cell.adversary.model_dump())
    return sequence(cell.seed, "data"), sequence(cell.seed, "protocol", *own)


def observe(
    cell: Scenario,
    setup: SumSetup,
    seeds: Seeds,
    first: Callable[[SumObservation, int], None] = lambda observation, left: None,
    *,
    exact: bool = False,
    proved: Callable[[SumObservation], bool] = lambda observation: False,
) -> SumObservation:
    """Observe the runs of ``cell``; call ``first`` with the least number of a scenario, if at least as many follow.

    Where evidence is ``exact`` no more are made than :func:`exact_runs` says, and no features. If a proof says then
    that all runs send what those of the first block do, but for the numbers, no more are made than a scenario must ask
    for, and the messages of those after the first block are not kept.
    """
    blocks: list[SumObservation] = []
    runs = 0
    size = block_size(cell, setup)
    if exact and (most := exact_runs(size)) < cell.runs:
        cell = cell.model_copy(update={"runs": most})
    for block in _blocks(cell, setup, sampled_rows(cell, setup, size, seeds), exact, proved):
        blocks.append(block)
        before, runs = runs, runs + block.runs
        if before < FEWEST_RUNS <= runs <= (left := cell.runs - runs):
            first(joined(blocks), left)
    return joined(blocks)


def _blocks(
    cell: Scenario, setup: SumSetup, sampled: Sampled, exact: bool, proved: Callable[[SumObservation], bool]
) -> Iterator[SumObservation]:
    known: dict[int, ProbeCache] = {}
    mismatches = 0
    for k, (rows_by_node, seed) in enumerate(sampled):
        # Probes may outnumber runs, so they are sent only if those of an earlier block do not apply. If the message
        # schedule differs in most blocks, all blocks are soon probed.
        if known and 2 * mismatches <= k:
            with suppress(ProbeMismatch):
                yield _block(cell, setup, rows_by_node, seed, known, exact, probing=False)
                continue
            mismatches += 1
        block = _block(cell, setup, rows_by_node, seed, known, exact, probing=True, first=not k)
        yield block
        if exact and not k and block.runs < cell.runs and proved(block):
            yield from _unread(cell, setup, sampled, block)
            return


def _unread(cell: Scenario, setup: SumSetup, sampled: Sampled, first: SumObservation) -> Iterator[SumObservation]:
    """Observe what nodes sum and draw in other runs, up to the least number of a scenario, and none of their messages.

    What each run sends is proved, and what exact evidence says beside that does not depend on how many there are.
    """
    summed = sum(each.nbytes for each in first.inputs.values()) // first.runs
    drawn = sum(masks.nbytes for masks in _masks_of(1, cell, setup, (each.shape[2] for each in first.inputs.values())))
    most = int(room_for_messages(cell, setup) * 2**20 / (_WORKING * (summed + drawn)))
    left = -(-(FEWEST_RUNS - first.runs) // first.runs)
    while several := list(islice(sampled, min(max(most // first.runs, 1), left))):
        left -= len(several)
        rows_by_node = [np.concatenate(of_node) for of_node in zip(*(rows for rows, _ in several), strict=True)]
        _, seed = several[0]
        probed = Probed(setup.protocol, probing=False)
        model = build_model(cell, setup, with_active_adversary(setup, probed), record=False)
        run = model.run(rows_by_node, network=setup.network, rng=_drawing(seed))
        dependent, mask_shape = _doubts_of_masks(setup, [masks for _, masks in probed.recorded])
        yield replace(
            first,
            rows={i: rows_by_node[i][:, 0].copy() for i in setup.asked},
            inputs={t: s.transpose(1, 0, 2) for t, (s, _) in zip(first.inputs, probed.recorded, strict=True)},
            output_error=_output_error(cell, setup, rows_by_node, seed, run),
            unmet_premises=dependent,
            mask_shape=mask_shape,
        )


def sampled_rows(cell: Scenario, setup: Setup, size: int, seeds: Seeds) -> Sampled:
    """Yield the rows of all runs of ``cell``, ``size`` runs at a time, with the seed of the protocol's draws."""
    starts = range(0, cell.runs, size)
    pairs = zip(seeds[0].spawn(len(starts)), seeds[1].spawn(len(starts)), strict=True)
    for start, (data_seed, run_seed) in zip(starts, pairs, strict=True):
        runs = min(size, cell.runs - start)
        yield setup.sample_rows(runs, np.random.default_rng(data_seed)), run_seed


def _block(
    cell: Scenario,
    setup: SumSetup,
    rows_by_node: list[Array],
    seed: np.random.SeedSequence,
    known: dict[int, ProbeCache],
    exact: bool,
    *,
    probing: bool,
    first: bool = False,
) -> SumObservation:
    """Observe a block of runs; if it has probes, save their results in ``known`` for other blocks."""
    runs = rows_by_node[0].shape[0]
    probed = Probed(setup.protocol, probing=probing and not setup.unprobed)
    model = build_model(cell, setup, with_active_adversary(setup, probed))
    carriers: dict[int, Channel] = {}
    with listening(lambda carrier, block: carriers.update({id(carrier): carrier})):
        run = model.run(rows_by_node, network=setup.network, rng=_drawing(seed))
    view = setup.adversary.observe(run.transcript, setup.network)
    iterations = run.transcript.iterations
    if len(iterations) != len(probed.recorded):
        named = ", ".join(map(str, iterations))
        raise SecmixError(
            f"after {len(probed.recorded)} averagings the transcript has the iterations {named}; the protocol must not "
            "change "
            "channel.iteration, or remove messages"
        )
    traits = SumTraits.of(setup.protocol)
    averagings = dict(zip(iterations, probed.recorded, strict=True))
    averages = dict(zip(iterations, probed.averages, strict=True))
    nonlinear = probed.draws_seeds or bool(setup.unprobed)
    probes = dict(zip(iterations, probed.ended, strict=True)) if probing and not nonlinear else {}
    units = {t: setup.network.n + masks.shape[1] for t, (_, masks) in averagings.items()}
    if not probing and probed.shares_masks:
        raise ProbeMismatch
    readings: dict[int, Reading] = {}
    estimates, rest, linear = {}, {}, View((), ())
    for t in iterations:
        if probing:
            if nonlinear:
                reading, values, rest[t], part = nothing_read(view.at(t), averagings[t], setup)
            else:
                before = next(reversed(readings.values()), None)
                reading, values, rest[t], part = linear_part(view.at(t), t, averagings[t], setup, before)
            linear = View(linear.origins + part.origins, linear.rows + part.rows)
            readings[t] = reading
        else:
            if t not in known:
                raise ProbeMismatch
            reading, values = known[t].of(view.at(t), averagings[t], traits.grid)
            readings[t], rest[t] = known[t].reading, np.empty((runs, 0))
        if not exact:
            estimates[t] = estimates_of(reading, values, [averagings[t]])[0]
    if probing and not nonlinear and not probed.shares_masks and not any(block.shape[1] for block in rest.values()):
        known.clear()
        known.update({t: ProbeCache(view.at(t).origins, readings[t]) for t in probes})
    joint, joint_estimates = None, {}
    if probed.shares_masks and not nonlinear:
        later = [t for t in iterations if t >= 0]
        joint, values = read(linear if probing else view, later, averagings[later[0]], setup, shared=True)
        if not exact:
            joint_estimates = dict(zip(later, estimates_of(joint, values, [averagings[t] for t in later]), strict=True))
    shape = (cell.model.components, setup.rows.shape[1])
    features: dict[int, dict[int, Array]] = {i: {} for i in setup.asked}
    guesses: dict[int, dict[str, Array]] = {i: {} for i in setup.asked}
    for i in setup.asked if not exact else ():
        alone, ratios = features_of({t: e[i] for t, e in estimates.items()}, *shape)
        jointly, differences = features_of({t: e[i] for t, e in joint_estimates.items()}, *shape, differences=True)
        features[i] = {t: np.hstack([f, jointly.get(t, f[:, :0]), rest[t]]) for t, f in alone.items()}
        guesses[i] = {RATIOS: ratios}
        if joint_estimates:
            guesses[i][DIFFERENCES] = differences
    unmet_premises, mask_shape = _doubts_of_masks(setup, [masks for _, masks in averagings.values()])
    unread: list[str] = []
    if wide := setup.too_wide:
        unmet_premises.append(wide)
    elif first and runs < ENOUGH:
        more = _masks_of(ENOUGH, cell, setup, (inputs.shape[2] for inputs, masks in averagings.values() if masks.size))
        unmet_premises += unmet_independence([independent(setup.protocol, each) for each in more])
    # Runs without probes have the message schedule of runs with probes. Of few runs nothing is cleared.
    reason, of_before = "", None
    for t, ended in probes.items() if not wide else ():
        blocks = run.transcript.at(t)
        if of_before is None or not (same_probes(of_before[0], blocks, runs) and np.array_equal(of_before[1], ended)):
            reason = unexplained(blocks, ended, runs, units[t], traits.modulus)
        of_before = blocks, ended
        unread += [reason] if reason and reason not in unread else []
    if any(without_average(ended).all() for ended in averages.values()):
        unmet_premises.append("no complete run was audited: no node ended with an average")
    if len(carriers) > 1:
        unmet_premises.append("a message went through a channel that the audit does not record")
    if joint is not None:
        unmet_premises.append("several iterations use the same masks: what differences reveal about rows is unknown")
    if setup.unprobed:
        unread.append(setup.unprobed)
        unmet_premises += ["several iterations use the same masks"] * probed.shares_masks
    elif nonlinear:
        unread.append("masks follow from seeds: messages are not read as linear functions of masks")
    elif any(block.shape[1] for block in rest.values()):
        unread.append("some messages are not linear in inputs and masks: what they reveal is not known exactly")
    return SumObservation(
        rows={i: rows_by_node[i][:, 0].copy() for i in setup.asked},
        features=features,
        unmet_premises=unmet_premises,
        lines=lines_of(run.transcript, view, lambda other: setup.adversary.observe(other, setup.network)),
        mask_shape=mask_shape,
        unread=unread,
        inputs={t: s.transpose(1, 0, 2) for t, (s, _) in averagings.items()},
        sums=known_sums(setup, rows_by_node, run, readings, estimates, averagings)
        if first and not wide and "inversion" in cell.measure.evidence
        else [],
        guesses=guesses,
        readings=readings,
        others=[],
        joint=joint,
        mask_size=max((float(r.std()) for _, r in averagings.values() if r.size), default=0.0),
        first_runs=runs,
        output_error=_output_error(cell, setup, rows_by_node, seed, run),
    )


def _doubts_of_masks(setup: SumSetup, masks: list[Array]) -> tuple[list[str], list[str]]:
    """Say where masks (runs, k, m) of some averagings depend on each other, and what of their law is in doubt."""
    traits, drawn = SumTraits.of(setup.protocol), [independent(setup.protocol, each) for each in masks]
    # A proof is about single runs: only this check shows masks of several runs that depend on each other.
    return unmet_independence(drawn), unmet_shape(drawn, traits.modulus, traits.grid, passed_masks=masks)


def _masks_of(runs: int, cell: Scenario, setup: SumSetup, lengths: Iterable[int]) -> list[Array]:
    """Draw masks (runs, k, m) of each of some lengths of vectors, once."""
    protocol, rng = deep_copy(setup.protocol), stream(cell.seed, "masks of more runs")
    return [protocol.draw_masks(runs, m, setup.network, rng) for m in dict.fromkeys(lengths)]


def _drawing(seed: np.random.SeedSequence) -> np.random.Generator:
    """Make a generator that draws the same each time, since a seed sequence counts its spawned children."""
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))


def _output_error(
    cell: Scenario, setup: SumSetup, rows_by_node: list[Array], seed: np.random.SeedSequence, run: EMRun
) -> float:
    """Compute how far the fitted means are from those of EM on all rows, relative to the largest of these."""
    truth = _pooled_means(cell, setup, rows_by_node, seed)
    return float(np.abs(run.mixtures[-1].means[:, 0] - truth).max() / np.abs(truth).max())


def _pooled_means(cell: Scenario, setup: SumSetup, rows_by_node: list[Array], seed: np.random.SeedSequence) -> Array:
    """Fit a mixture to the rows of all nodes and return its means (runs, K, d), worked out once for all cells.

    The draws matter only where the fit does not start at given parameters.
    """
    draws = (seed.entropy, seed.spawn_key) if isinstance(setup.start, str) else ()
    shapes = [rows.shape for rows in rows_by_node]
    hasher = hashlib.sha256(pickle.dumps((cell.model, setup.start, draws, setup.network.edges, shapes)))
    for rows in rows_by_node:
        hasher.update(np.ascontiguousarray(rows).data)  # no copy: they may fill much of the memory
    key = hasher.digest()
    if key not in _POOLED:
        while len(_POOLED) >= _MOST_POOLED:
            _POOLED.pop(next(iter(_POOLED)))
        pooled = build_model(cell, setup, Plain(), record=False, defended=False)
        run = pooled.run(rows_by_node, network=setup.network, rng=_drawing(seed))
        _POOLED[key] = run.mixtures[-1].means[:, 0].copy()  # the rest of the run is let go
    return _POOLED[key]
