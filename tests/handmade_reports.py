"""Reports made by hand, whose every text is hostile, and what reads them back."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from secmix.auditing.cell_parts import (
    FAULTS,
    Damage,
    LeakageCurve,
    NodeSummary,
    Robustness,
    RobustnessPoint,
    SigmaPoint,
    Standing,
    Verdict,
)
from secmix.auditing.report import Cell, Finding, Report
from secmix.reporting import print_report

HOSTILE = (
    '<script>alert(1)</script> | ]]> [bold]x[/bold] `tick` "quote" \x00\x1b[31m\u202e & ![i](https://evil.example/p)'
)
PROTOCOLS = ("secure_sum", f"plain {HOSTILE}")
ADVERSARIES = ("honest-but-curious {1, 3}", f"eavesdropper {HOSTILE}")


def hostile_finding(node: int, verdict: Verdict, worst: float, **changes: Any) -> Finding:
    values: dict[str, Any] = {
        "protocol": PROTOCOLS[0],
        "adversary": ADVERSARIES[0],
        "node": node,
        "evidence": "gaussian",
        "view": "cumulative",
        "target": "input",
        "method": f"closed form {HOSTILE}",
        "value": None if worst == 1 else -0.5 * math.log(1 - worst),
        "unit": "nats",
        "low": None if worst == 1 else 0.0,
        "high": None,
        "kind": "estimate",
        "status": "determined" if worst == 1 else "unresolved",
        "normalised_leakage": worst,
        "normalised_low": 0.0,
        "normalised_high": 1.0,
        "baseline": 0.2,
        "limit": 0.1,
        "verdict": verdict if verdict in FAULTS else None,
        "notes": [HOSTILE],
    }
    return Finding(**{**values, **changes})


def hostile_cell(protocol: str, adversary: str, verdict: Verdict, **changes: Any) -> Cell:
    """Five nodes of which 1 and 3 are corrupt; node 2 carries the verdict."""
    standing: dict[str, Standing] = {
        "violated": "revealed",
        "inconclusive": "inconclusive",
        "holds": "no more than the output itself reveals",
    }
    worst = {"violated": 1.0, "inconclusive": 0.35, "holds": 0.2}[verdict]
    nodes = [
        NodeSummary(node=k, standing="corrupt", worst=1.0, why="The adversary's own.", verdict="not asked")
        if k in (1, 3)
        else NodeSummary(node=k, standing=standing[verdict], worst=worst, why=HOSTILE, verdict=verdict)
        if k == 2
        else NodeSummary(node=k, standing=standing["holds"], worst=0.2, why="The sum only.", verdict="holds")
        for k in range(5)
    ]
    curve = LeakageCurve(
        node=2, evidence=f"ksg 数 {HOSTILE}", iterations=[1, 2], single=[0.1, 0.2], cumulative=[0.1, 0.4]
    )
    values: dict[str, Any] = {
        "protocol": protocol,
        "adversary": adversary,
        "verdict": verdict,
        "sentence": f"What was found: {HOSTILE}",
        "n_nodes": 5,
        "edges": [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2)],
        "positions": [(math.sin(2 * math.pi * k / 5), math.cos(2 * math.pi * k / 5)) for k in range(5)],
        "corrupt": [1, 3],
        "tapped": None if verdict == "violated" else [(0, 1), (0, -1)],
        "leaked": ["x0 + x4", "x2", HOSTILE],
        "output_error": 2e-11,
        "nodes": nodes,
        "curves": [curve],
        "sigma_curve": [
            SigmaPoint(sigma=s, normalised_leakage=1 / (1 + s), error=1e-16 * s) for s in (0.0, 1, 10, 100)
        ],
        "advice": [HOSTILE],
        "notes": [HOSTILE],
        "reproduce": f"secmix audit {HOSTILE}",
    }
    return Cell(**{**values, **changes})


def hostile_report(**changes: Any) -> Report:
    cells = [
        hostile_cell(PROTOCOLS[0], ADVERSARIES[0], "violated"),
        hostile_cell(PROTOCOLS[0], ADVERSARIES[1], "holds"),
        hostile_cell(PROTOCOLS[1], ADVERSARIES[0], "inconclusive"),
        hostile_cell(PROTOCOLS[1], ADVERSARIES[1], "holds"),
    ]
    findings = [
        hostile_finding(2, "violated", 1.0, evidence="structure", kind="exact", normalised_low=1.0, low=None),
        hostile_finding(0, "holds", 0.2),
        hostile_finding(2, "inconclusive", 0.35, evidence="ksg", protocol=PROTOCOLS[1]),
        hostile_finding(2, "holds", 0.2, protocol=PROTOCOLS[1], adversary=ADVERSARIES[1]),
    ]
    values: dict[str, Any] = {
        "secmix_version": "0.1.0",
        "versions": {"numpy": "2.0", HOSTILE: HOSTILE},
        "title": f"Audit {HOSTILE}",
        "description": f"First.\n\n{HOSTILE}",
        "verdict": "violated",
        "sentence": f"Node 2 is read exactly. {HOSTILE}",
        "policy": {"max_normalised_leakage": 0.1},
        "findings": findings,
        "cells": cells,
        "not_tried": [HOSTILE],
        "scenario": {"title": HOSTILE, HOSTILE: [1, None, {"a": None}]},
        "source": "attacks/my audit.toml",
        "seed": 7,
        "reproduce": f"secmix audit {HOSTILE}",
    }
    return Report(**{**values, **changes})


COLLUDERS = f"colluders {HOSTILE}"


def point(k: int, found: float | None, proven: float | None = None, n: int = 5) -> RobustnessPoint:
    return RobustnessPoint(colluders=k, fraction=k / n, found=found, proven=proven, found_by=HOSTILE)


def damage(attack: str, aggregate: float | None, model: float | None, **ends: float | None) -> Damage:
    return Damage(
        attack=attack, aggregate=aggregate, **{"model": model, "model_low": model, "model_high": model, **ends}
    )


BREAKS = [point(1, 0.25, 0.5), point(2, None)]
DAMAGES = [
    damage("sign_flip", 0.2, 0.3, model_low=0.1, model_high=0.7),
    damage("alie", 2e-16, 3e-17),
    damage("worst_case", None, None, model_low=4.5),
    damage(f"own {HOSTILE}", 7.25, 61784.4),
]


def robustness(**changes: Any) -> Robustness:
    values: dict[str, Any] = {
        "colluders": 2,
        "breakdown": 0.2,
        "breakdown_proven": 0.2,
        "spread": f"spread {HOSTILE}",
        "points": BREAKS,
        "damages": DAMAGES,
        "verdict": "violated",
        "why": f"2 of 5 push {HOSTILE}",
    }
    return Robustness(**{**values, **changes})


HELD = {
    "breakdown": 0.4,
    "points": [point(1, 0.25, 0.5), point(2, 0.75)],
    "verdict": "holds",
    "damages": DAMAGES[:2],
}


def audit(*found: Robustness | None, verdict: Verdict = "violated") -> Report:
    cells = [
        hostile_cell(f"rule {k}", COLLUDERS, "holds").model_copy(update={"robustness": each, "verdict": verdict})
        for k, each in enumerate(found)
    ]
    policy = {"max_normalised_leakage": 0.1, "min_breakdown": 0.3, "max_error_ratio": 1.0}
    return hostile_report(cells=cells, findings=[], policy=policy, verdict=verdict)


class Page(HTMLParser):
    """Elements, ids, links and words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "xlink:href", "action"}]

    def handle_data(self, data: str) -> None:
        self.words += data


def terminal(report: Report, width: int, **options: Any) -> str:
    console = Console(file=StringIO(), width=width, **options)
    print_report(report, console, [Path("out/report.html")])
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def check_tables(text: str) -> None:
    """Check that all rows of each Markdown table have as many columns."""
    widths: list[int] = []
    for line in text.splitlines():
        if line.startswith("|"):
            widths.append(len(re.findall(r"(?<!\\)\|", line)))
        elif widths:
            assert len(set(widths)) == 1, line
            widths = []
