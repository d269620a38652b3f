"""All the evidence about one node of a cell, whatever its kind (spec 2)."""

from __future__ import annotations

from secmix.auditing.evidence import exact
from secmix.auditing.evidence import measured as sampled
from secmix.auditing.observation.observe import SumObservation
from secmix.auditing.report import Finding, LeakageCurve
from secmix.auditing.setup import SumSetup
from secmix.protocols import Defences
from secmix.scenario import Scenario


def gather(
    cell: Scenario, setup: SumSetup, observation: SumObservation, node: int
) -> tuple[list[Finding], LeakageCurve | None]:
    """Every finding that applies to ``node``, without verdicts, and its leakage against iteration."""
    wanted = set(cell.measure.evidence)
    about = {"protocol": cell.protocol.title, "adversary": cell.adversary.title, "node": node}
    findings: list[Finding] = []
    if "structure" in wanted:
        findings += exact.structure(observation, node, about)
    if "gaussian" in wanted:
        findings += exact.gaussian(setup, observation, node, about)
    if observation.doubts:
        findings = [exact.at_least(finding, observation.doubts) for finding in findings]
    defences = Defences(**cell.model.defences)
    if defences.blurs:
        findings = [exact.at_most(finding, defences) for finding in findings]
    curve = None
    if wanted & {"ksg", "decoders"}:
        name = cell.measure.target
        first = max(min(observation.iterations), 0)
        target = sampled.target_of(name, observation.rows[node] if name == "row" else observation.inputs[first][node])
        if target is not None:
            features, k = observation.features[node], cell.measure.neighbours
            measured, curve = sampled.sampled(features, target, wanted, k, about)
            findings += measured
    if "decoders" in wanted and cell.measure.target == "row" and setup.counts[node] == 1:
        findings += sampled.direct(observation, node, about)
    return findings, curve
