"""The report of an audit from the results of its cells."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from importlib.metadata import version

from secmix.auditing import verdicts
from secmix.auditing.cells.audit_cell import CellResult
from secmix.auditing.evidence.interface import installed
from secmix.auditing.report import Cell, Coalitions, NodeSummary, Report, Robustness, Verdict
from secmix.scenario import Scenario

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "networkx")
_ACTIVE = "nodes that deviate from the protocol, alone or in collusion (Byzantine adversaries)"
_BEYOND = (
    _ACTIVE,
    "colluders who steer the fit so as to single a node out",
    "knowledge of the data from elsewhere: the adversary knows the protocol and the public parameters, no rows",
    "timing, message sizes, and implementation faults outside the protocol's arithmetic",
)


def assemble(scenario: Scenario, results: Sequence[CellResult], reproduce: str, source: str) -> Report:
    """The report of ``scenario``, whose cells have ``results``."""
    cells = [cell for cell, _ in results]
    verdict = verdicts.worst(cell.verdict for cell in cells)
    active = all(cell.robustness for cell in cells)
    beyond = [attack for attack in _BEYOND if not (active and attack == _ACTIVE)]
    left_out = [each for each in installed() if each.name not in scenario.measure.evidence]
    skipped = [each.not_tried for each in left_out if each.not_tried]
    policy = scenario.policy.model_dump(exclude_none=True)
    return Report(
        secmix_version=version("secmix"),
        versions={"Python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
        title=scenario.title,
        description=scenario.description,
        verdict=verdict,
        sentence=_sentence(verdict, cells),
        policy={key: float(value) for key, value in policy.items()},
        findings=[finding for _, findings in results for finding in findings],
        cells=cells,
        not_tried=[*skipped, *beyond],
        scenario=scenario.to_dict(),
        seed=scenario.seed,
        source=source,
        reproduce=reproduce,
    )


def against_baseline(report: Report, baseline: Report) -> Report:
    """``report`` judged only by what got worse than in ``baseline``.

    A node's verdict counts if it is worse than it was, or if its standing or leakage is, by more than a hundredth
    (estimates differ by as much between seeds). Cells and nodes keep their own verdicts; only the report's changes.
    """
    before = {(c.protocol, c.adversary, s.node): s for c in baseline.cells for s in c.nodes}
    pushes = {(c.protocol, c.adversary): c.robustness for c in baseline.cells}
    exposures = {(c.protocol, c.adversary): c.coalitions for c in baseline.cells}
    worse: list[Verdict] = []
    known = 0
    for cell in report.cells:
        for node in cell.nodes:
            if node.verdict == "not refuted":
                continue
            old = before.get((cell.protocol, cell.adversary, node.node))
            if old is not None and not _got_worse(old, node):
                known += 1
            else:
                worse.append(node.verdict)
        pushed = cell.robustness
        if pushed is not None and pushed.verdict != "not refuted":
            if _pushed_farther(pushes.get((cell.protocol, cell.adversary)), pushed):
                worse.append(pushed.verdict)
            else:
                known += 1
        found = cell.coalitions
        if found is not None and found.verdict != "not refuted":
            if _fewer_suffice(exposures.get((cell.protocol, cell.adversary)), found):
                worse.append(found.verdict)
            else:
                known += 1
    verdict = verdicts.worst(worse)
    sentence = (
        f"Measured against the baseline, {len(worse)} finding{'s' * (len(worse) != 1)} got worse"
        if worse
        else "Nothing got worse than in the baseline"
    )
    if known:
        sentence += f"; {known} stand{'s' * (known == 1)} no better than there"
    return report.model_copy(
        update={"verdict": verdict, "sentence": f"{sentence}. Without the baseline: {report.sentence}"}
    )


def _got_worse(old: NodeSummary, new: NodeSummary) -> bool:
    return (
        verdicts.worst([old.verdict, new.verdict]) != old.verdict
        or (new.standing == "revealed" and old.standing != "revealed")
        or new.worst > old.worst + 0.01
    )


def _fewer_suffice(old: Coalitions | None, new: Coalitions) -> bool:
    if old is None or verdicts.worst([old.verdict, new.verdict]) != old.verdict:
        return True
    return new.least is not None and (old.least is None or new.least < old.least)


def _pushed_farther(old: Robustness | None, new: Robustness) -> bool:
    if old is None or verdicts.worst([old.verdict, new.verdict]) != old.verdict or new.breakdown < old.breakdown:
        return True
    before = {point.colluders: math.inf if point.found is None else point.found for point in old.points}
    return any(
        (math.inf if point.found is None else point.found) > before.get(point.colluders, 0.0) * 1.01
        for point in new.points
        if point.colluders <= new.colluders and not math.isinf(before.get(point.colluders, 0.0))
    )


def _sentence(verdict: Verdict, cells: Sequence[Cell]) -> str:
    def count(which: Verdict) -> int:
        return sum(cell.verdict == which for cell in cells)

    total = f"{len(cells)} combination{'s' * (len(cells) != 1)} of protocol and adversary"
    if verdict == "violated":
        bad = [c for c in cells if c.verdict == "violated"]
        named = "; ".join(f"{c.protocol} against {c.adversary}" for c in bad[:4])
        more = f" and {len(bad) - 4} more" if len(bad) > 4 else ""
        text = f"The policy is violated in {len(bad)} of {total}: {named}{more}"
        return f"{text}. {count('inconclusive')} could not be decided." if count("inconclusive") else f"{text}."
    if verdict == "inconclusive":
        return (
            f"No violation was found in {total}, but for {count('inconclusive')} the evidence does not suffice: this "
            "is no clearance."
        )
    return f"No violation was found in {total}. That refutes nothing beyond what was tried; see what was not."
