"""report.junit.xml: a test case for each node of each cell, its robustness and its claim, so that CI shows tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from secmix.auditing.cell_parts import FAULTS, Counted, Verdict
from secmix.auditing.report import Conclusion, Report, covered
from secmix.reporting import robustness as robust
from secmix.reporting import words


def render(report: Report) -> str:
    """Render the report as JUnit XML; *violated* and *inconclusive* are failures, each of its own type.

    Skipped is what the policy does not ask about, such as a corrupt node, and what does not count for the report's
    verdict: faults that are no worse than in the baseline, or accepted, with the reason. Robustness is a separate test
    case. If the verdict of a cell (or of the report) is worse than all its parts, a separate case reports it, so that
    no verdict is lost.
    """
    # XML 1.0 cannot carry control characters even as entities; cleaned() has replaced them.
    safe = words.cleaned(report)
    root = ET.Element("testsuites", name=f"secmix: {safe.title}")
    for cell in safe.cells:
        where = covered([cell]) if any(node.verdict == "holds" for node in cell.nodes) else ""
        name = f"{cell.protocol} against {cell.adversary}{where}"
        suite = ET.SubElement(root, "testsuite", name=name)
        for node in cell.nodes:
            who, message = cell.called(node.node), f"{node.standing}: {node.why}"
            _case(suite, who, node.verdict, message, cell.reproduce, _excused(node))
        if measured := cell.robustness:
            message = f"{measured.why}; breakdown {robust.breaks(cell, measured)}, {robust.proven(cell, measured)}"
            _case(suite, "robustness", measured.verdict, message, cell.reproduce, _excused(measured))
        if claim := cell.claim:
            _case(suite, "claim of differential privacy", claim.verdict, claim.why, cell.reproduce, _excused(claim))
        if words.unexplained(cell):
            _case(suite, "whole network", cell.verdict, cell.sentence, cell.reproduce, _excused(cell))
        _count(suite)
    if words.VERDICTS.index(safe.verdict) < min((words.VERDICTS.index(c.verdict) for c in safe.cells), default=9):
        suite = ET.SubElement(root, "testsuite", name="policy")
        _case(suite, "whole audit", safe.verdict, safe.sentence, safe.reproduce)
        _count(suite)
    for key in ("tests", "failures", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("errors", "0")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(
    suite: ET.Element,
    name: str,
    verdict: Verdict | Conclusion,
    message: str,
    reproduce: str,
    skipped: bool | str = False,
) -> None:
    case = ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=name, time="0")
    if skipped or verdict == "not asked":
        ET.SubElement(
            case, "skipped", message=f"{skipped}: {verdict}; {message}" if isinstance(skipped, str) else message
        )
    elif verdict in FAULTS:
        failure = ET.SubElement(case, "failure", type=verdict, message=message)
        stated = message.startswith(f"{verdict}: ")  # a node that is inconclusive has the standing of that name
        failure.text = f"{'' if stated else f'{verdict}: '}{message}\nReproduce with: {reproduce}"


def _excused(about: Counted) -> str | bool:
    """Explain why a fault does not count for the report's verdict; False if it counts."""
    if about.accepted is not None:
        return f"accepted, {about.accepted}"
    return "no worse than in the baseline" if about.since_baseline == "no worse" else False


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("errors", "0")
