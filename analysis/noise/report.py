"""The report on what noise costs, in Markdown."""

from __future__ import annotations

from analysis.noise.claims import table
from analysis.noise.figure import LOSSES, cost
from analysis.noise.measure import DELTA, REPEATS
from analysis.noise.readings import table as table_of_readings
from analysis.study import Numbers

CLAIMS, READINGS = "claims", "readings"
_KEY = {
    "EM": "two groups",
    "GraphFed-EM": "two groups on a ring",
    "PCA": "three directions",
    "regression": "12 weights",
}


def report(numbers: Numbers) -> str:
    """Return the whole report."""
    versions = ", ".join(f"{name} {number}" for name, number in sorted(numbers["versions"].items()))
    lines = [
        "# What noise costs",
        "",
        f"Written by `{numbers['command']}`; every number is in `numbers.json`. {versions}.",
        "",
        "Five nodes learn together, and every node adds Gaussian noise to the sums that it sends, so that whoever "
        f"reads them can hardly tell one row from another: ε at δ = {DELTA:g}, one row exchanged. The smaller ε, "
        "the more noise. The figure shows what that costs; each point was audited as a claim. The blue point stands at "
        "the ε that the audit proved, the red ring beside it at the ε that it saw by running the code: the truth lies "
        "between.",
        "",
        "![What is lost against epsilon](noise.svg)",
        "",
        *(_sentence(name, numbers[name]) for name in LOSSES),
        "",
        "Noise on a sum does not depend on how many rows are summed, so many rows bear it and few do not. What is lost "
        f"is the median of {REPEATS} repeats in which rows were dealt and noise drawn anew, against the same learner "
        "without noise or clipping. A row is hidden where all others are known; a node with all of its rows is not.",
    ]
    for name, loss in LOSSES.items():
        lines += _table(name, loss, numbers[name])
    lines += table(numbers[CLAIMS])
    lines += table_of_readings(numbers[READINGS])
    return "\n".join(lines)


def _sentence(name: str, found: Numbers) -> str:
    """Say from which epsilon on little is lost, and of which rows."""
    return f"- **{name}** ({_KEY[name]}; {found['source']}, {found['rows']:,} rows a node): {cost(found)}."


def _table(name: str, loss: str, found: Numbers) -> list[str]:
    lines = [
        "",
        f"## {name}",
        "",
        f"{found['source'][0].upper()}{found['source'][1:]}; {found['rows']:,} rows a node, rounds: {found['rounds']}. "
        f"Clipping alone: {_share(found['clipped'][1])} ({loss}).",
        "",
        f"| ε proved at most | ε seen at least | known of a row at most | noise σ | {loss} | quartiles | claim |",
        "|---|---|---|---|---|---|---|",
    ]
    for p in found["points"]:
        low, middle, high = map(_share, p["lost"])
        cells = [f"{p[key]:.3g}" for key in ("proved", "seen")]
        cells += [f"{p['explained']:.1%}", f"{p['scale']:.3g}", middle, f"{low} to {high}", p["verdict"]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _share(value: float) -> str:
    return f"{value:.2%}"
