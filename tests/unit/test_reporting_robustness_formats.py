"""What colluders can do, outside the page: Markdown, JUnit, SARIF, the terminal, and two reports compared."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path

import pytest
from handmade_reports import (
    BREAKS,
    DAMAGES,
    HELD,
    audit,
    check_tables,
    damage,
    hostile_cell,
    hostile_report,
    point,
    robustness,
    terminal,
)
from rich.console import Console

from secmix.auditing.cell_parts import NodeSummary, Robustness, Verdict
from secmix.auditing.report import Report
from secmix.reporting import compare, print_changes, print_report, write


@pytest.fixture(scope="module")
def report() -> Report:
    two: Report = audit(robustness(), robustness(**HELD))
    return two


# --- the other formats -------------------------------------------------------------------------------------


def test_markdown(report: Report, tmp_path: Path) -> None:
    (path,) = write(report, tmp_path, ["md"])
    text = path.read_text("utf-8")
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?\n\1$", "", text)
    assert "<script" not in re.sub(r"`[^`\n]*`", "", re.sub(r"\\`", "", outside))
    check_tables(text)
    for said in (
        "| with 2 of 5 (0.40) |",
        "| not found up to",
        "**without bound** ▲",
        "**no fit** ▲",
        "4.50 to no fit",
    ):
        assert said in text, said


@pytest.mark.parametrize("verdict", ["violated", "inconclusive", "holds"])
def test_junit_and_sarif(verdict: Verdict, tmp_path: Path) -> None:
    """Nodes are clear: only robustness can fail, and is told once."""
    junit, sarif = write(audit(robustness(verdict=verdict), verdict=verdict), tmp_path, ["junit", "sarif"])
    root = ET.parse(junit).getroot()
    (case,) = root.findall("testsuite/testcase[@name='robustness']")
    failures = [failure.get("type") for failure in root.iter("failure")]
    assert failures == ([] if verdict == "holds" else [verdict])
    assert len(list(case)) == len(failures)
    (run,) = json.loads(sarif.read_text("utf-8"))["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["secmix/robustness"] * len(failures)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "secmix/robustness"
        assert result["level"] == {"violated": "error", "inconclusive": "warning"}[verdict]
        assert "breakdown with 2 of 5" in result["message"]["text"]
        assert not re.search(r"(?<!\\)[\[\]]", result["message"]["text"])


@pytest.mark.parametrize("width", [30, 60, 89, 90, 200])
def test_terminal(report: Report, width: int) -> None:
    text = terminal(report, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    flat = "".join(text.split())
    assert "with2of5" in flat
    assert "●×" not in flat


def test_terminal_says_in_words_of_how_many_nodes_the_leakage_is_not_decided() -> None:
    nodes = [NodeSummary(node=0, standing="inconclusive", worst=0.0, why="w", verdict="inconclusive")]
    cell = hostile_cell("p", "a", "inconclusive").model_copy(update={"nodes": nodes, "robustness": robustness()})
    for width in (60, 200):
        assert "0(notdecidedfor1)" in "".join(terminal(hostile_report(cells=[cell]), width).split())


def test_terminal_without_utf8_prints_no_signs_it_cannot() -> None:
    import io

    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    found = robustness(why="2 of 5 push", points=[point(1, 0.5), point(2, None)], damages=DAMAGES[:1])
    cell = hostile_cell("p", "a", "holds", sentence="s", advice=[], nodes=[]).model_copy(update={"robustness": found})
    print_report(hostile_report(cells=[cell], title="t", sentence="s", reproduce="r"), Console(file=raw, width=100))
    raw.flush()
    assert isinstance(raw.buffer, io.BytesIO)
    assert b"with 2 of 5" in raw.buffer.getvalue()


# --- comparing ---------------------------------------------------------------------------------------------


def _ways(a: Robustness | None, b: Robustness | None) -> dict[str, str]:
    return {change.what: change.direction for change in compare(audit(a), audit(b))}


def test_compare_robustness() -> None:
    broken, held = robustness(damages=[]), robustness(**{**HELD, "damages": []})
    assert _ways(broken, broken) == {}
    assert _ways(held, broken) == {"robustness": "worse", "breakdown": "worse", "error with 2": "worse"}
    # The search finds nothing any more, and no theorem says that there is nothing.
    assert _ways(broken, held) == {"robustness": "better", "breakdown": "unclear", "error with 2": "unclear"}
    proven = held.model_copy(update={"breakdown_proven": 0.4, "points": [BREAKS[0], point(2, 0.75, 0.9)]})
    assert _ways(broken, proven) == dict.fromkeys(("robustness", "breakdown", "proof", "error with 2"), "better")
    assert _ways(proven, held)["proof"] == "worse"
    assert _ways(None, held) == {"robustness": "added"}
    assert _ways(held, None) == {"robustness": "removed"}


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        (0.2, 0.3, "worse"),
        (0.3, 0.2, "unclear"),
        (None, 0.2, "unclear"),
        (0.2, None, "worse"),
        (0.2, 0.205, None),
        (2e-16, 5e-16, None),
        (None, None, None),
    ],
)
def test_compare_damage(before: float | None, after: float | None, direction: str | None) -> None:
    a, b = (robustness(damages=[damage("ipm", 0.1, model)]) for model in (before, after))
    assert _ways(a, b) == ({} if direction is None else {"outcome": direction})


def test_print_changes_of_robustness() -> None:
    console = Console(file=StringIO(), width=70)
    print_changes(compare(audit(robustness()), audit(robustness(**HELD))), console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "breakdown" in text
    assert "was with 2 of 5 (0.40)" in text
    assert "is not found up to 2 of 5 (0.40)" in " ".join(text.split())
