"""report.sarif: SARIF 2.1.0, a result for each violated or open node, robustness or claim, for code scanning."""

from __future__ import annotations

import json
import re
from pathlib import PureWindowsPath
from typing import Any
from urllib.parse import quote

from secmix.auditing.cell_parts import FAULTS, Counted, PrivacyClaim, Robustness, Verdict
from secmix.auditing.evidence.interface import kinds
from secmix.auditing.report import Cell, Conclusion, Finding, Report
from secmix.reporting import robustness as robust
from secmix.reporting import words
from secmix.reporting.glossary import CLAIM, GLOSSARY, OF_COLLUDERS

_SINCE = {"new": "new", "worse": "updated", "no worse": "unchanged"}
LEVEL = {"violated": "error", "inconclusive": "warning"}
_MEANING = {anchor: meaning for anchor, _, meaning in (*GLOSSARY, *OF_COLLUDERS, CLAIM)}
_MEANING["robustness"] = _MEANING["breakdown"]
_RULES = {
    **{kind.name: kind.title for kind in kinds()},
    "robustness": "What colluders can do to the result",
    "claim": "A claim of differential privacy",
    "policy": "A limit of the policy on the whole",
}


def render(report: Report) -> str:
    """Render the report as a SARIF log."""
    safe = words.cleaned(report)
    lines = [*safe.lines, *[{}] * len(safe.cells)]
    results = [result for k, cell in enumerate(safe.cells) for result in _results(safe, cell, lines[k])]
    if words.VERDICTS.index(safe.verdict) < min((words.VERDICTS.index(c.verdict) for c in safe.cells), default=9):
        results.append(_result("policy", safe.verdict, safe.sentence, _location(safe), "audit", {}))
    rules = [
        {
            "id": _id(name),
            "name": name.title().replace(" ", ""),
            "shortDescription": {"text": title},
            "fullDescription": {"text": _MEANING.get(name.replace(" ", "-"), _MEANING["violated"])},
            "defaultConfiguration": {"level": "error"},
        }
        for name, title in _RULES.items()
    ]
    for result in results:
        result["ruleIndex"] = [rule["id"] for rule in rules].index(result["ruleId"])
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "secmix", "version": safe.secmix_version, "rules": rules}},
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    **{"seed": safe.seed, "verdict": safe.verdict, "sentence": safe.sentence},
                    "reproduce": safe.reproduce,
                },
            }
        ],
    }
    return json.dumps(log, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _id(evidence: str) -> str:
    return "secmix/" + evidence.replace(" ", "-")


def _location(report: Report, line: int = 1) -> dict[str, Any]:
    """Locate the scenario's file, and the line of it that a finding is about, for the reader to edit."""
    path = report.source
    if "\\" in path:
        path = PureWindowsPath(path).as_posix()
    uri = quote(path, safe="/~")
    if path.startswith("/"):
        uri = "file://" + uri
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}


def _results(report: Report, cell: Cell, lines: dict[str, int]) -> list[dict[str, Any]]:
    location = _location(report, lines.get("protocol", 1))
    findings = words.findings_of(report, cell)
    results = []
    measured = words.is_measured(cell)
    for node in words.by_severity(cell):
        if node.verdict not in FAULTS:
            continue
        of_node = [f for f in findings if f.node == node.node]
        deciding = [f for f in of_node if f.evidence == node.worst_evidence]
        matching = deciding or [f for f in of_node if f.verdict == node.verdict]
        worst = max(matching, key=lambda f: f.normalised_leakage, default=None)
        who = cell.label(node.node) if cell.names else f"Node {node.node}"
        message = (
            f"{who} is {node.standing} under {cell.protocol} against {cell.adversary}: {node.why} "
            f"({node.verdict}, normalised leakage {words.share(node.worst) if measured else 'not measured'})"
        )
        where = f"{cell.protocol}/{cell.adversary}/{cell.called(node.node)}"
        results.append(
            _result(
                "policy" if worst is None else worst.evidence,
                node.verdict,
                message,
                location,
                where,
                {"reproduce": cell.reproduce, **_of(worst)},
                node,
            )
        )
    if cell.robustness and cell.robustness.verdict in FAULTS:
        results.append(_of_robustness(cell, cell.robustness, _location(report, lines.get("adversary", 1))))
    if cell.claim and cell.claim.verdict in FAULTS:
        results.append(_of_claim(cell, cell.claim, _location(report, lines.get("claim", lines.get("protocol", 1)))))
    if words.unexplained(cell):
        where = f"{cell.protocol}/{cell.adversary}"
        properties = {"reproduce": cell.reproduce}
        results.append(_result("policy", cell.verdict, cell.sentence, location, where, properties, cell))
    return results


def _of_robustness(cell: Cell, robustness: Robustness, location: dict[str, Any]) -> dict[str, Any]:
    message = (
        f"Robustness of {cell.protocol} against {cell.adversary}: {robustness.why} "
        f"({robustness.verdict}; breakdown {robust.breaks(cell, robustness)}, {robust.proven(cell, robustness)})"
    )
    properties = {
        "breakdown": robustness.breakdown,
        "breakdownProven": robustness.breakdown_proven,
        "colluders": robustness.colluders,
        "reproduce": cell.reproduce,
    }
    where = f"{cell.protocol}/{cell.adversary}/robustness"
    return _result("robustness", robustness.verdict, message, location, where, properties, robustness)


def _of_claim(cell: Cell, claim: PrivacyClaim, location: dict[str, Any]) -> dict[str, Any]:
    message = f"Claim of {cell.protocol} against {cell.adversary}: {claim.why} ({claim.verdict})"
    worst = [node for node in claim.nodes if node.verdict == claim.verdict][:1]
    properties = {
        "claimed": claim.epsilon,
        "delta": claim.delta,
        **{key: value for node in worst for key, value in (("fails", node.fails), ("paste", node.paste)) if value},
        "reproduce": cell.reproduce,
    }
    where = f"{cell.protocol}/{cell.adversary}/claim"
    return _result("claim", claim.verdict, message, location, where, properties, claim)


def _of(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {}
    return {
        "method": finding.method,
        "view": finding.view,
        "target": finding.target,
        "notes": list(finding.notes),
    }


def _result(
    rule: str,
    verdict: Verdict | Conclusion,
    message: str,
    location: dict[str, Any],
    where: str,
    properties: dict[str, Any],
    about: Counted | None = None,
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": _id(rule),
        "level": LEVEL[verdict],
        # Square brackets would be read as links.
        "message": {"text": re.sub(r"([\\\[\]])", r"\\\1", message)},
        "locations": [{**location, "logicalLocations": [{"fullyQualifiedName": where, "kind": "object"}]}],
        # The same node of the same cell is the same alert, run after run.
        "partialFingerprints": {"secmix/v1": where},
        "properties": {"verdict": verdict, **properties},
    }
    if about is not None and about.since_baseline is not None:
        result["baselineState"] = _SINCE[about.since_baseline]
    if about is not None and about.accepted is not None:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": about.accepted}]
    return result
