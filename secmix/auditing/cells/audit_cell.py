"""One cell of an audit: one protocol against one adversary, run, measured and judged."""

from __future__ import annotations

import hashlib

import numpy as np

from secmix.auditing import verdicts
from secmix.auditing.advice import advice
from secmix.auditing.cells.fields import cell_fields, corrupt_nodes, failed, sentence
from secmix.auditing.cells.mask_size import sigma_curve
from secmix.auditing.cells.standing import known_sums_suffice, leaked, notes, stand
from secmix.auditing.evidence.interface import Case, asked
from secmix.auditing.evidence.premises import finite
from secmix.auditing.observation import collaborations, observe
from secmix.auditing.observation.observe import Seeds, SumObservation
from secmix.auditing.report import Cell, Finding
from secmix.auditing.robustness import robustness
from secmix.auditing.setup import CollaborationSetup, Given, SumSetup, build_setup
from secmix.errors import SecmixError
from secmix.scenario import Scenario

CellResult = tuple[Cell, list[Finding]]


def run_cell(cell: Scenario, given: Given | None, reproduce: str) -> CellResult:
    """Run and judge one cell. A protocol that fails while running is a finding too: *inconclusive*, with the cause."""
    from threadpoolctl import threadpool_limits

    # One thread, always: the sums inside BLAS would else depend on how many there are, and so on the workers.
    with threadpool_limits(limits=1):
        setup = build_setup(cell, given)
        try:
            return audit_cell(cell, setup, seeds(cell), reproduce)
        except SecmixError as error:
            return failed(cell, setup, f"the run failed: {error}", reproduce), []
        except Exception as error:  # its message may hold private values: only the kind is told
            return failed(cell, setup, f"the run failed with {type(error).__name__}", reproduce), []


def audit_cell(cell: Scenario, setup: SumSetup | CollaborationSetup, seeds: Seeds, reproduce: str) -> CellResult:
    """Run, measure and judge one cell, whatever its protocol."""
    if isinstance(setup, CollaborationSetup):
        case = Case(cell, setup, collaborations.watch(cell, setup, seeds))
    else:
        case = Case(cell, setup, observe.observe(cell, setup, seeds))
    gathered = [each.gather(case) for each in asked(case)]
    findings: list[Finding] = []
    summaries, doubts = [], {}
    for node in setup.asked:
        mine = [finding for each in gathered for finding in each.findings if finding.node == node]
        judged = [verdicts.of_leakage(finding, cell.policy) for finding in mine]
        summary, doubts[node] = stand(case, node, judged)
        summaries.append(summary)
        findings += judged
    verdict, summaries = verdicts.of_cell(summaries, cell.policy)
    pushed = robustness(case)
    verdict = verdicts.worst([verdict, *([pushed.verdict] if pushed else [])])
    sums = case.observation if isinstance(case.observation, SumObservation) else None
    points = sigma_curve(case)
    solvable = any(known_sums_suffice(case, s.node) for s in summaries if s.standing != "revealed")
    content = Cell(
        **cell_fields(cell, setup, reproduce),
        is_collaboration=sums is None,
        verdict=verdict,
        sentence=sentence(verdict, summaries, pushed),
        robustness=pushed,
        leaked=leaked(case),
        output_error=finite(sums.output_error) if sums else None,
        nodes=sorted(summaries + corrupt_nodes(setup), key=lambda s: s.node),
        # Several evidences may draw the same curve: one a node will do.
        curves=list({curve.node: curve for each in gathered for curve in each.curves}.values()),
        sigma_curve=points,
        picture=next((each.picture for each in gathered if each.picture), None),
        advice=advice(setup, summaries, points, pushed, solvable),
        notes=notes(case),
    )
    return content, verdicts.with_reasons(findings, summaries, doubts)


def try_out(cell: Scenario, given: Given | None) -> None:
    """Build what the cell names and run them once, in small: whatever does not fit together shows here.

    Raises
    ------
    SecmixError
        If it cannot be run.
    """
    setup = build_setup(cell, given)
    if isinstance(setup, CollaborationSetup):
        collaborations.block_size(cell, setup)
    else:
        observe.block_size(cell, setup)


def seeds(cell: Scenario) -> Seeds:
    """Of the data, the same in all cells of an audit; and of the protocol, the cell's own."""
    own = hashlib.sha256(repr((cell.protocol.model_dump(), cell.adversary.model_dump())).encode()).digest()
    numbers = np.frombuffer(own, dtype=np.uint32).tolist()
    return np.random.SeedSequence([cell.seed, 0]), np.random.SeedSequence([cell.seed, 1, *numbers])
