"""Inversion as evidence: the sums that an adversary knows, solved for the rows behind them.

How it is got: Sums over the same rows, with other public parameters in each iteration, are equations in the rows.
They are solved from many starts, in five runs. A solution counts if it meets the equations to rounding and comes out
the same from independent starts. A row that stands alone in a sum needs no solving, and is looked for in up to 500
runs.

What it assumes: The adversary knows the parameters of each iteration: corrupt nodes and servers do. Rows come out,
but not whose they are. At most twelve rows are tried; where known sums are at least as many as unknown numbers and no
solution was certified, the verdict is *inconclusive*. Nodes whose data are known already are left out, and the report
names them; not so where the adversary steers, which it does to see rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.adversaries import CuriousServer, MaliciousServer
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.adversaries.inversion.certificate import USEFUL
from secmix.adversaries.inversion.invert import Inversion, invert_sums, rounds_needed
from secmix.adversaries.inversion.isolation import isolated_rows
from secmix.auditing.evidence.decoding import recovered
from secmix.auditing.evidence.interface import Case, Evidence, Gathered, Kind
from secmix.auditing.evidence.picture import picture
from secmix.auditing.evidence.premises import is_linear
from secmix.auditing.observation.known import KnownSums
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding, Picture
from secmix.auditing.setup import SumSetup
from secmix.estimators.decoders import RECOVERED
from secmix.protocols import Defences
from secmix.scenario import Scenario

MOST_ROWS = 12  # more take minutes; the certificate is rarely reached
_SOLVED = 5  # runs whose sums are solved
_COMPARED = 5 * 10**6  # pairs of sums that are looked through for a row that stands alone
_TRIED = 64  # starts where little is to be had
_SPARED = "the rows behind known sums"


def _gather(case: Case) -> Gathered:
    """What the known sums show about each asked node; nothing where none are known."""
    cell, setup, observation = case.cell, case.setup, case.observation
    assert isinstance(setup, SumSetup)
    assert isinstance(observation, SumObservation)
    found: list[Finding] = []
    pictures: list[Picture | None] = []
    spared: list[tuple[str, int]] = []
    steers = AdversaryTraits.of(setup.adversary).active is not None  # and does it to see rows alone
    for known in observation.sums:
        if case.settled.issuperset(known.members) and not steers:
            spared += [(_SPARED, node) for node in known.members if node in setup.asked]
            continue
        together, drawn = _attack(cell, setup, known)
        alone, also = _alone(cell, setup, known)
        pictures += [drawn, also]
        in_vain = {each.node: each.notes for each in alone if not each.value}
        if not steers:
            alone = [each for each in alone if each.value]
        for node in known.members:
            notes = [*together.notes, *in_vain.get(node, [])]
            alone.append(together.model_copy(update={"node": node, "notes": notes}))
        found += [each for each in alone if each.node in setup.asked]
    shown = [each for each in pictures if each is not None]
    drawn = max(shown, key=lambda each: (each.certified, len(each.found)), default=None)
    return Gathered(found, picture=drawn, spared=tuple(dict.fromkeys(spared)))


def _alone(cell: Scenario, setup: SumSetup, known: KnownSums) -> tuple[list[Finding], Picture | None]:
    """Rows of each node that stand alone in a sum, or in the difference of two."""
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
        apart = np.linalg.norm(rows[:, None] - truth, axis=-1)
        near = (apart < _close(truth)).any(axis=0)
        if drawn is None and near.any():
            right = rows[(apart < _close(truth)).any(axis=1)]
            drawn = picture(cell, setup, known.members, truth, right, certified=True)
        for node in set(owner[near].tolist()):
            hits[node] += 1
    who = _named(known)
    method = f"rows that stand alone in the sums of {rounds} iterations over {who}, or in the difference of two of them"
    unit = "share of runs in which a row of the node stands alone and is read to 1e-6"
    whose = "the records are known, not whose they are" if len(known.members) > 1 else "it is known whose"
    findings = [
        _finding(
            cell,
            node,
            hits[node],
            runs,
            method,
            unit,
            [
                f"a row of it stood alone in a sum over {who} in {hits[node]} of {runs} runs: {whose}"
                if hits[node]
                else f"no row of it stood alone in a sum over {who} in {runs} runs"
            ],
        )
        for node in known.members
    ]
    return findings, drawn


def _attack(cell: Scenario, setup: SumSetup, known: KnownSums) -> tuple[Finding, Picture | None]:
    """All rows behind the sums, by solving for them."""
    d = setup.rows.shape[1]
    rows = sum(setup.counts[i] for i in known.members)
    runs, rounds = min(len(known.values), _SOLVED), known.values.shape[1]
    who = _named(known)
    hits, notes, drawn = 0, [], None
    components = known.parameters[0].n_components
    needed = rounds_needed(rows, d, components)
    if not _knows_parameters(setup, known):
        notes.append("the adversary does not know the parameters that the sums are a function of; not tried")
    elif rows > MOST_ROWS:
        notes.append(f"{rows} rows are more than the {MOST_ROWS} that are tried here")
    elif rounds < needed:
        notes.append(f"{rounds} iterations are fewer than the {needed} that determine {rows} rows")
    else:
        rng = stream(cell.seed, "inversion", *known.members)
        solutions = [_solve(cell, setup, known, run, rows, rng) for run in range(runs)]
        pairs = [(s, truth) for s, truth in zip(solutions, known.rows[:runs], strict=True) if s is not None]
        hits = sum(s.certified and _same(s.rows, truth) for s, truth in pairs)
        # One that came out, or else what fits best.
        for solution, truth in sorted(pairs, key=lambda pair: not pair[0].certified)[:1]:
            certified = solution.certified and _same(solution.rows, truth)
            drawn = picture(cell, setup, known.members, truth, solution.rows, certified=certified)
        notes.append(
            f"its row{'s are' if setup.counts[known.members[0]] > 1 else ' is'} among {rows} that the sums of {who} "
            f"give away, to {USEFUL:g} of their spread, in {hits} of {runs} runs: the records are known, not "
            "whose they are"
            if hits
            else f"solving for the {rows} rows of {who} was tried on {len(pairs)} runs and certified in none"
        )
        if len(pairs) < runs:
            notes.append(f"in {runs - len(pairs)} of {runs} runs too few iterations summed all the rows; not tried")
        if pairs and Defences(**cell.model.defences).alters:
            off = float(np.median([_off(s.rows, truth) for s, truth in pairs]))
            notes.append(
                "the defences alter the sums, which are then never certified; the rows that fit them best are off by "
                f"{off:.2g} of the rows' spread, in the median"
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


def _named(known: KnownSums) -> str:
    return f"node{'s' if len(known.members) > 1 else ''} {', '.join(map(str, known.members))}"


def _knows_parameters(setup: SumSetup, known: KnownSums) -> bool:
    """Corrupt nodes compute them, a server too; an outsider needs the total."""
    serves = isinstance(setup.adversary, (CuriousServer, MaliciousServer))
    return bool(setup.corrupt) or serves or len(known.members) == setup.network.n


def _solve(
    cell: Scenario, setup: SumSetup, known: KnownSums, run: int, rows: int, rng: np.random.Generator
) -> Inversion | None:
    """The rows behind the sums of one run; None where too few of the sums are over all the rows."""
    components = known.parameters[0].n_components
    sums = known.values[run].reshape(len(known.parameters), components, -1)
    defences = Defences(**cell.model.defences)
    parameters = [mixture[run] for mixture in known.parameters]
    blur = defences.error(parameters, len(known.members), setup.network.n)
    noise = (known.error[run] * float(np.abs(sums).max()) + blur)[:, None, None]
    # Nodes that abstain from an iteration leave a count that shows it.
    off = np.abs(sums[..., 0].sum(axis=1) - rows)
    full = np.flatnonzero(off <= 0.5 + 4.0 * math.sqrt(components) * noise[:, 0, 0])
    if len(full) < rounds_needed(rows, setup.rows.shape[1], components):
        return None
    settings: dict[str, Any] = {"rng": rng, "noise": noise[full]}
    # No certificate is to be had of altered sums: an estimate of the error is what is wanted. And who steers seldom
    # leaves EM the sums that are easy to solve.
    if defences.alters or AdversaryTraits.of(setup.adversary).active:
        settings["starts"] = _TRIED
    if not defences.alters:
        settings["noisiest"] = math.inf  # of rounding alone; what comes out is compared with the truth
    return invert_sums(sums[full], [parameters[t] for t in full], rows, **settings)


def _off(found: Array, truth: Array) -> float:
    """The median distance of a row from its match, in standard deviations of the rows."""
    if not np.isfinite(found).all():
        return float("inf")
    apart = np.linalg.norm((found[:, None] - truth) / np.maximum(truth.std(axis=0), 1e-12), axis=-1)
    return float(np.median(apart[linear_sum_assignment(apart)]))


def _close(truth: Array) -> float:
    return RECOVERED * max(float(np.abs(truth).max()), 1e-3)


def _same(found: Array, truth: Array) -> bool:
    """Whether two sets of rows agree as closely as a certificate says: to 1e-4 standard deviations of the rows.

    What the sums say of a row ends somewhere between 1e-6 and there, at digits that differ between processors.
    """
    spread = np.maximum(truth.std(axis=0), np.abs(truth).max(axis=0) * RECOVERED / USEFUL)
    apart = np.linalg.norm((found[:, None] - truth) / np.maximum(spread, 1e-3 * RECOVERED / USEFUL), axis=-1)
    return bool((apart[linear_sum_assignment(apart)] < USEFUL).all())


EVIDENCE = Evidence(
    "inversion",
    (
        Kind(
            "inversion",
            "Rows solved for from known sums",
            "The sums that the adversary knows are equations in the rows behind them, once the parameters of each "
            "iteration are known. They are solved; a solution counts only if it meets the equations to rounding and "
            "comes out the same from independent starts. The rows are then known, but not which node owns which.",
            of_runs=True,
        ),
    ),
    is_linear,
    _gather,
    rank=5,
    not_tried="solving the sums of several iterations for the rows behind them (inversion)",
)
