"""The report on verdicts of known truth in Markdown: what each case is, what the audit said, and why."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, Any]


def report(numbers: Numbers) -> str:
    """The report in Markdown."""
    cases = numbers["cases"]
    slips, sabotage, right, beyond = (
        [case for case in cases if case["side"] == side] for side in ("honest", "sabotage", "right", "beyond")
    )
    return "\n".join(
        [
            "# Verdicts on protocols of known truth",
            "",
            *_head(numbers, slips, sabotage, right),
            *_classes([*slips, *sabotage]),
            *_table("Slips of honest authors", slips),
            *_table("Sabotage", sabotage),
            *_table("Right ones", right),
            *_beyond(beyond),
        ]
    )


def _head(numbers: Numbers, slips: list[Numbers], sabotage: list[Numbers], right: list[Numbers]) -> list[str]:
    words = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    wrong = [*slips, *sabotage]
    cleared, passed = (sum(case["verdict"] == "holds" for case in part) for part in (slips, sabotage))
    known = sum(case["pending"] for case in slips)
    shown = sum(case["attack"]["success"] for case in wrong)
    accused = sum(case["verdict"] == "violated" for case in right)
    undecided = sum(case["verdict"] not in ("holds", "violated") for case in right)
    return [
        f"Written by `{numbers['command']}`; every number is in `numbers.json`. {words}.",
        "",
        f"Of {len(slips)} slips that an honest author can make, {cleared} were cleared, {known} of which are known. Of "
        f"{len(sabotage)} cases of sabotage, of which nothing is promised, {passed} were cleared. Each has an attack "
        f"that hears what the adversary hears, and nothing else but the code; it was run, and succeeded for {shown} of "
        f"{len(wrong)}. Of {len(right)} right cases, {accused} were accused and {undecided} left inconclusive; "
        "`tests/soundness/pending.py` says what is open.",
        "",
        "A wrong case is judged rightly if it is *violated*, *inconclusive* or refused in words; a right one if it is "
        "*holds*, or *inconclusive* where the table says why no audit can say more. The cases are in "
        "`tests/soundness/`.",
    ]


def _classes(wrong: list[Numbers]) -> list[str]:
    lines = [
        "",
        "## By class",
        "",
        "| class | wrong cases | violated | inconclusive | cleared |",
        "|---|---|---|---|---|",
    ]
    for family in dict.fromkeys(case["class"] for case in wrong):
        verdicts = [case["verdict"] for case in wrong if case["class"] == family]
        counts = [verdicts.count(verdict) for verdict in ("violated", "inconclusive", "holds")]
        lines.append(f"| {family} | {len(verdicts)} | {counts[0]} | {counts[1]} | {counts[2]} |")
    return lines


def _table(title: str, cases: list[Numbers]) -> list[str]:
    lines = ["", f"## {title}", "", "| case | class | truth | verdict | by which mechanism |", "|---|---|---|---|---|"]
    for case in cases:
        mark = "" if case["right"] else " **(not true)**"
        lines.append(
            f"| {_cell(case['case'])} | {case['class']} | {_cell(_truth(case))} | {case['verdict']}{mark} | "
            f"{_cell(_mechanism(case))} |"
        )
    return lines


def _truth(case: Numbers) -> str:
    if case["truth"] == "safe":
        return f"safe: {case['why']}"
    got = case["attack"]
    if not got["success"]:
        return f"leaks: {case['why']}; not shown"
    measured = {
        "values": "recovered exactly"
        if got["score"] < 1e-14
        else f"recovered to {got['score']:.0e} standard deviations",
        "bits": f"{got['score']:.0%} of bits right",
        "share": f"{got['score']:.0%} of the variance",
    }[got["goal"]]
    share = "" if got["claimed"] > 0.99 else ", in some calls"
    return f"leaks: {case['why']}; {measured}{share}"


def _mechanism(case: Numbers) -> str:
    if case["truth"] == "safe" and case["verdict"] == "holds":
        return ""
    return "; ".join(words for words in (case["mechanism"], case["undecided"]) if words)


def _beyond(cases: list[Numbers]) -> list[str]:
    lines = [
        "",
        "## What no audit of messages can find",
        "",
        "These leak, each attack was run, and they may be cleared: they are what a verdict assumes away.",
        "",
        "| case | truth | verdict |",
        "|---|---|---|",
    ]
    return lines + [f"| {_cell(case['case'])} | {_cell(_truth(case))} | {case['verdict']} |" for case in cases]


def _cell(words: str) -> str:
    """Text in a cell of a table."""
    return words.replace("|", "\\|").replace("\n", " ")
