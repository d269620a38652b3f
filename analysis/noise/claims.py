"""Verdicts of audits on claims of known truth: wrong protocols and their right twins, from the tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # the twins are a part of the tests

from soundness.noise.bases import Twins
from soundness.noise.corpus import TWINS, claimed

from analysis.study import Numbers


def decisions(*, seed: int, quick: bool) -> list[Numbers]:
    """Audit both of every pair."""
    return [_decided(twins, seed) for twins in (TWINS[::8] if quick else TWINS)]


def _decided(twins: Twins, seed: int) -> Numbers:
    entry: Numbers = {"fault": twins.fault, "claimed": twins.claim["epsilon"]}
    for side in ("wrong", "right"):
        claim = claimed(twins, side, seed=seed)  # type: ignore[arg-type]
        node = claim.nodes[0]
        entry[side] = {"verdict": claim.verdict, "proved": node.proved, "seen": node.seen, "where": _where(node)}
    return entry


def _where(node: Any) -> str:
    """Return the first sentence that says where a claim fails, or why it is open."""
    return str(node.fails or node.follows).split("; ")[0]


def table(cases: list[Numbers]) -> list[str]:
    """Return the decisions as lines of Markdown, counted."""
    counts = {
        side: {v: sum(case[side]["verdict"] == v for case in cases) for v in ("violated", "inconclusive", "holds")}
        for side in ("wrong", "right")
    }
    wrong, right = counts["wrong"], counts["right"]
    lines = [
        "",
        "## Claims of known truth",
        "",
        f"Of {len(cases)} wrong protocols, as engineers write them, {wrong['violated']} were refuted, "
        f"{wrong['inconclusive']} refused with the line, and {wrong['holds']} cleared. Of their right twins, with the "
        f"same claim, {right['holds']} were cleared, {right['inconclusive']} left open and {right['violated']} "
        "accused.",
        "",
        "| fault | ε claimed | wrong: ε seen at least | wrong: where it fails | right: ε proved, seen |",
        "|---|---|---|---|---|",
    ]
    for case in cases:
        bad, good = case["wrong"], case["right"]
        seen = f"{_number(bad['seen'])}, {bad['verdict']}"
        both = f"{_number(good['proved'])}, {_number(good['seen'])}, {good['verdict']}"
        where = bad["where"].replace("|", "\\|")
        lines.append(f"| {case['fault']} | {case['claimed']:g} | {seen} | {where} | {both} |")
    return lines


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.3g}"
