"""Inversion: the sums that an adversary knows, solved for the rows behind them.

How it is got: Sums over the same rows, with different public parameters in each iteration, are equations for the rows.
They are solved in five runs, from at most 768 starts each; ``measure.effort`` makes that a quarter or four times as
many. A solution counts if it meets the equations up to rounding and is the same from independent starts. A row that is
alone in a sum needs no solving, and is searched for in up to 500 runs.

What it assumes: The adversary knows the parameters of each iteration, as corrupt nodes and servers do. Rows are
recovered, but not their owners. At most twelve rows are tried. If the known sums are at least as many as the unknown
numbers and no solution was certified, the verdict is *inconclusive*. Nodes whose data are known already are left out,
and the report names them; they are not left out if the adversary steers, which it does to isolate rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import CuriousServer, MaliciousServer
from secmix.adversaries.against_rules.spending import SearchBudget, spent
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.adversaries.inversion.certificate import USEFUL
from secmix.adversaries.inversion.invert import Inversion, invert_sums, rounds_needed
from secmix.adversaries.inversion.isolation import isolated_rows
from secmix.auditing.cell_parts import Picture
from secmix.auditing.evidence.decoding import recovered
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, is_linear
from secmix.auditing.observation.invertible_sums import InvertibleSums
from secmix.auditing.observation.picture import picture
from secmix.auditing.observation.sum_observation import SumObservation
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.estimators.learned_decoders import RECOVERED
from secmix.network import nodes_listed
from secmix.protocols import Defences
from secmix.scenario import Scenario

MOST_ROWS = 12  # more take minutes, and are rarely certified
_SOLVED = 5  # runs whose sums are solved
_COMPARED = 5 * 10**6  # pairs of sums that are searched for a row that is alone
_STARTS = 768  # in each run
_TRIED = 64  # starts if a certificate is unlikely
_SKIPPED = "the rows behind known sums"


def _gather(case: CellContext) -> Gathered:
    """Invert the known sums of each asked node; empty if none are known."""
    cell, setup, observation = case.cell, case.setup, case.observation
    assert isinstance(setup, SumSetup)
    assert isinstance(observation, SumObservation)
    findings: list[Finding] = []
    pictures: list[Picture | None] = []
    skipped: list[tuple[str, int]] = []
    steers = AdversaryTraits.of(setup.adversary).active is not None  # it steers to isolate rows
    for known in observation.sums:
        if case.decided.issuperset(known.members) and not steers:
            skipped += [(_SKIPPED, node) for node in known.members if node in setup.asked]
            continue
        joint, drawn = _attack(cell, setup, known)
        alone, also = _alone(cell, setup, known)
        pictures += [drawn, also]
        without_success = {finding.node: finding.notes for finding in alone if not finding.value}
        if not steers:
            alone = [finding for finding in alone if finding.value]
        for node in known.members:
            notes = [*joint.notes, *without_success.get(node, [])]
            alone.append(joint.model_copy(update={"node": node, "notes": notes}))
        findings += [finding for finding in alone if finding.node in setup.asked]
    shown = [candidate for candidate in pictures if candidate is not None]
    drawn = max(shown, key=lambda candidate: (candidate.certified, len(candidate.found)), default=None)
    return Gathered(findings, picture=drawn, skipped=tuple(dict.fromkeys(skipped)))


def _alone(cell: Scenario, setup: SumSetup, known: InvertibleSums) -> tuple[list[Finding], Picture | None]:
    """Find rows of each node that are alone in a sum, or in the difference of two."""
    if not _knows_parameters(setup, known):
        return [], None
    drawn = None
    runs, rounds, _ = known.values.shape
    pairs = (rounds * known.parameters[0].n_components) ** 2 // 2
    runs = min(runs, max(_COMPARED // pairs, _SOLVED))
    owner = np.repeat(known.members, [setup.counts[i] for i in known.members])
    hits = dict.fromkeys(known.members, 0)
    for run in range(runs):
        parameters = [mixture[run] for mixture in known.parameters]
        rows = isolated_rows(known.values[run].reshape(rounds, parameters[0].n_components, -1), parameters)
        truth = known.rows[run]
        distances = np.linalg.norm(rows[:, None] - truth, axis=-1)
        near = (distances < _close(truth)).any(axis=0)
        if drawn is None and near.any():
            right = rows[(distances < _close(truth)).any(axis=1)]
            drawn = picture(cell, setup, known.members, truth, right, certified=True)
        for node in set(owner[near].tolist()):
            hits[node] += 1
    who = nodes_listed(known.members)
    method = f"rows that are alone in the sums of {rounds} iterations over {who}, or in the difference of two of them"
    unit = "share of runs in which a row of the node is alone, and is read to 1e-6"
    whose = "the records are known, but not their owners" if len(known.members) > 1 else "and so is its owner"
    findings = [
        _finding(
            cell,
            node,
            hits[node],
            runs,
            method,
            unit,
            [
                f"a row of it was alone in a sum over {who} in {hits[node]} of {runs} runs: {whose}"
                if hits[node]
                else f"no row of it was alone in a sum over {who} in {runs} runs"
            ],
        )
        for node in known.members
    ]
    return findings, drawn


def _attack(cell: Scenario, setup: SumSetup, known: InvertibleSums) -> tuple[Finding, Picture | None]:
    """Solve the sums for all rows behind them."""
    d = setup.rows.shape[1]
    rows = sum(setup.counts[i] for i in known.members)
    runs, rounds = min(len(known.values), _SOLVED), known.values.shape[1]
    who = nodes_listed(known.members)
    hits, notes, drawn = 0, [], None
    components = known.parameters[0].n_components
    needed = rounds_needed(rows, d, components)
    if not _knows_parameters(setup, known):
        notes.append("the adversary does not know the parameters of the sums; not tried")
    elif rows > MOST_ROWS:
        notes.append(f"{rows} rows exceed the {MOST_ROWS} that are tried")
    elif rounds < needed:
        notes.append(f"{rounds} iterations are fewer than the {needed} that determine {rows} rows")
    else:
        rng = stream(cell.seed, "inversion", *known.members)
        budget = SearchBudget(cell.measure.work)
        solutions = [_solve(cell, setup, known, run, rows, rng, budget) for run in range(runs)]
        pairs = [(s, truth) for s, truth in zip(solutions, known.rows[:runs], strict=True) if s is not None]
        hits = sum(s.certified and _agree(s.rows, truth) for s, truth in pairs)
        # A certified solution, or otherwise the one that fits best.
        for solution, truth in sorted(pairs, key=lambda pair: not pair[0].certified)[:1]:
            certified = solution.certified and _agree(solution.rows, truth)
            drawn = picture(cell, setup, known.members, truth, solution.rows, certified=certified)
        notes.append(
            f"its row{'s are' if setup.counts[known.members[0]] > 1 else ' is'} among {rows} that the sums of {who} "
            f"determine, to {USEFUL:g} of their spread, in {hits} of {runs} runs: the records are known, but not "
            "their owners"
            if hits
            else f"solving for the {rows} rows of {who} was tried on {len(pairs)} runs and certified in none"
        )
        if budget.most:
            notes.append(spent({"starts": budget}, cell.measure.more_work))
        if len(pairs) < runs:
            notes.append(f"in {runs - len(pairs)} of {runs} runs too few iterations summed all the rows; not tried")
        if pairs and Defences(**cell.model.defences).alters:
            error = float(np.median([_error(s.rows, truth) for s, truth in pairs]))
            notes.append(
                "the defences alter the sums, so no solution can be certified; the median error of the rows that fit "
                f"best is {error:.2g} of the rows' spread"
            )
    finding = _finding(
        cell,
        known.members[0],
        hits,
        runs,
        f"the sums of {rounds} iterations over {who} solved for {rows} rows, certified by residual and by "
        "agreement of independent starts, then compared with the truth",
        f"share of runs in which all rows behind the sums come out to {USEFUL:g} of their spread, up to their order",
        notes,
    )
    return finding, drawn


def _finding(cell: Scenario, node: int, hits: int, runs: int, method: str, unit: str, notes: list[str]) -> Finding:
    about = {"protocol": cell.protocol.title, "adversary": cell.adversary.title, "node": node}
    return recovered(about, hits, runs, evidence="inversion", view="cumulative", method=method, unit=unit, notes=notes)


def _knows_parameters(setup: SumSetup, known: InvertibleSums) -> bool:
    """Check whether the adversary knows the parameters: corrupt nodes and servers do, an outsider needs the total."""
    serves = isinstance(setup.adversary, (CuriousServer, MaliciousServer))
    return bool(setup.corrupt) or serves or len(known.members) == setup.network.n


def _solve(
    cell: Scenario,
    setup: SumSetup,
    known: InvertibleSums,
    run: int,
    rows: int,
    rng: np.random.Generator,
    budget: SearchBudget,
) -> Inversion | None:
    """Solve the sums of one run for their rows; None if too few of the sums are over all the rows."""
    components = known.parameters[0].n_components
    sums = known.values[run].reshape(len(known.parameters), components, -1)
    defences = Defences(**cell.model.defences)
    parameters = [mixture[run] for mixture in known.parameters]
    blur = defences.error(parameters, len(known.members), setup.network.n)
    noise = (known.error[run] * float(np.abs(sums).max()) + blur)[:, None, None]
    # The count of rows shows whether nodes abstained from an iteration.
    off = np.abs(sums[..., 0].sum(axis=1) - rows)
    full = np.flatnonzero(off <= 0.5 + 4.0 * math.sqrt(components) * noise[:, 0, 0])
    if len(full) < rounds_needed(rows, setup.rows.shape[1], components):
        return None
    # Altered sums cannot be certified, only the error can be estimated; and sums under steering are rarely easy to
    # solve.
    seldom = defences.alters or AdversaryTraits.of(setup.adversary).active is not None
    most = budget.of(_TRIED if seldom else _STARTS)
    settings: dict[str, Any] = {"rng": rng, "noise": noise[full], "starts": most}
    if not defences.alters:
        settings["noisiest"] = math.inf  # the noise is rounding alone; solutions are compared with the truth
    solution = invert_sums(sums[full], [parameters[t] for t in full], rows, **settings)
    if solution.starts:
        budget.spend(solution.starts, most, certain=solution.certified or defences.alters)
    return solution


def _error(rows: Array, truth: Array) -> float:
    """Compute the median distance of a row from its match, in standard deviations of the rows."""
    if not np.isfinite(rows).all():
        return float("inf")
    distances = np.linalg.norm((rows[:, None] - truth) / np.maximum(truth.std(axis=0), 1e-12), axis=-1)
    return float(np.median(distances[linear_sum_assignment(distances)]))


def _close(truth: Array) -> float:
    return RECOVERED * max(float(np.abs(truth).max()), 1e-3)


def _agree(rows: Array, truth: Array) -> bool:
    """Check whether two sets of rows agree to the precision of a certificate: 1e-4 standard deviations of the rows.

    The precision of a row from sums is between 1e-6 and that, and differs between processors.
    """
    spread = np.maximum(truth.std(axis=0), np.abs(truth).max(axis=0) * RECOVERED / USEFUL)
    distances = np.linalg.norm((rows[:, None] - truth) / np.maximum(spread, 1e-3 * RECOVERED / USEFUL), axis=-1)
    return bool((distances[linear_sum_assignment(distances)] < USEFUL).all())


EVIDENCE = Evidence(
    "inversion",
    (
        Kind(
            "inversion",
            "Rows solved for from known sums",
            "The sums that the adversary knows are equations in the rows behind them, once the parameters of each "
            "iteration are known. They are solved; a solution counts only if it meets the equations to rounding and "
            "is the same from independent starts. The rows are then known, but not which node owns which.",
            of_runs=True,
        ),
    ),
    is_linear,
    _gather,
    rank=5,
    not_tried="solving the sums of several iterations for the rows behind them (inversion)",
)
