"""The report of ``run.py``: what was measured, beside what the paper says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from analysis.singh_2024.report_means import MORE

Numbers = dict[str, Any]
PAPER = {
    "Table 1": {
        "SubsMed / alternating": 0.091,
        "SubsMed / ones": 0.091,
        "SubsMed / orthogonal": 0.091,
        "ResPowMeth / alternating": 0.898,
        "ResPowMeth / ones": 0.952,
        "ResPowMeth / orthogonal": 0.208,
        "PowMeth / none": 0.050,
    },
    "Table 2": {
        "SubsMed / alternating": 0.348,
        "SubsMed / ones": 0.349,
        "SubsMed / orthogonal": 0.348,
        "ResPowMeth / alternating": 0.972,
        "ResPowMeth / ones": 0.990,
        "ResPowMeth / orthogonal": 0.366,
        "PowMeth / none": 0.182,
    },
}
BEATEN = ("ResPowMeth / alternating", "ResPowMeth / ones")


def figures(numbers: Numbers, out: Path) -> None:
    """constants.png and convergence.png, of those parts that there are."""
    if "constants" in numbers:
        _draw_constants(numbers["constants"], out)
    if "convergence" in numbers:
        _draw_convergence(numbers["convergence"], out)


def _draw_constants(rows: list[Numbers], out: Path) -> None:
    tau = [row["tau"] for row in rows]
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for axis, title, lines in (
        (
            axes[0],
            "Subspace Median: SD_F in δ",
            (
                ("published", "k:", "Singh: 23, to τ = 0.4"),
                ("triangle", "--", "1 + 2C"),
                ("sharp", "-", "√(2(1 − τ)/(1 − 2τ))"),
                ("attained", "o", "attained, worst honest bases"),
                ("searched", "x", "search, random honest bases"),
            ),
        ),
        (
            axes[1],
            "Geometric median: distance in ε",
            (
                ("median published", "k:", "Singh: 2(1 − τ)/(1 − 2τ), 6 at 0.4"),
                ("median sharp", "-", "C = (1 − τ)/√(1 − 2τ)"),
                ("median attained", "o", "attained"),
            ),
        ),
    ):
        for key, style, label in lines:
            values = [np.nan if row[key] is None else row[key] for row in rows]
            axis.semilogy(tau, values, style, label=label)
        axis.set(xlabel="share τ of colluders", title=title)
        axis.legend(fontsize=8)
    fig.savefig(out / "constants.png", dpi=100, metadata={"Software": None})
    plt.close(fig)


def _draw_convergence(curves: dict[str, list[float]], out: Path) -> None:
    fig, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for name, curve in curves.items():
        if "reverse" in name or "nobody" in name:
            axis.semilogy(curve, "--" if name.startswith("mean") else "-", label=name)
    axis.axhline(1e-8, color="k", linestyle=":", linewidth=0.8)
    axis.set(xlabel="iteration", ylabel="SD_F/√r", title="AltGDmin under the reverse attack")
    axis.legend(fontsize=8)
    fig.savefig(out / "convergence.png", dpi=100, metadata={"Software": None})
    plt.close(fig)


def report(numbers: Numbers) -> str:
    """The report as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    parts: dict[str, Callable[[], list[str]]] = {
        "tables": lambda: _tables(numbers),
        "constants": lambda: _constants(numbers["constants"]),
        "costs": lambda: _costs(numbers) if "samples" in numbers else [],
        "convergence": lambda: _learning(numbers),
        **{part: partial(written, numbers.get(part)) for part, written in MORE.items()},
        "leakage": lambda: _leakage(numbers["leakage"]),
    }
    return "\n".join(
        [
            "# Singh 2024, Byzantine-resilient subspaces: what reproduces",
            "",
            f"Written by `{numbers['command']}`; every number is in `numbers.json`, but for the seconds, which change "
            f"from run to run and stand in [times.md](times.md). Seed {numbers['seed']}; {versions}. Intervals are "
            "95 %, of the mean over trials (Student's t).",
            "",
            *(line for part, written in parts.items() if part in numbers for line in written()),
        ]
    )


def _tables(numbers: Numbers) -> list[str]:
    size = numbers["pca"]
    lines = [
        "## Tables 1 and 2",
        "",
        f"n = {size['n']}, {size['nodes']} nodes of which the first is Byzantine, r = {size['r']}, {size['q']} samples "
        f"a node, {size['rounds']} rounds of the power methods, {numbers['trials']} trials. The covariance is "
        "U diag(15 × r, tail) Uᵀ; for table 1 (rank r + 1) the tail is a single 1. SD_F = ‖(I − U Uᵀ) U*‖_F, SD_2 the "
        "same in the spectral norm: the sine of the largest angle. Alternating has C = 10, ones C = 100.",
        "",
    ]
    for tail, found in numbers["tables"].items():
        name = _table_of(tail)
        lines += [
            f"### {name}, {tail}",
            "",
            "| rule | attack | SD_2 | SD_F | SD_F/√r | paper, n = 1000 |",
            "|---|---|---|---|---|---|",
        ]
        for key, cell in found.items():
            rule, attack = key.split(" / ")
            paper = PAPER[name].get(key.replace(" × 100", ""))
            ours = (_pm(cell["2"]), _pm(cell["fro"]), _pm(cell["fro"], size["r"] ** 0.5))
            lines.append(f"| {rule} | {attack} | {' | '.join(ours)} | {paper:.3f} |")
        lines.append("")
    return [*lines, *_reading(numbers["tables"], size), *_claims(numbers["tables"])]


def _pm(cell: dict[str, float], unit: float = 1.0) -> str:
    return f"{cell['mean'] / unit:.3f} ± {cell['half'] / unit:.3f}"


def _reading(tables: Numbers, size: dict[str, int]) -> list[str]:
    """How far the paper's figures are from ours, by how they can be read."""
    units = {"SD_2": ("2", 1.0), "SD_F": ("fro", 1.0), "SD_F/√r": ("fro", size["r"] ** 0.5)}
    lines = [
        "### Which norm, which tail, how large an attack",
        "",
        "The paper defines SD_F, and says neither what its tables hold, nor what the tail of table 2 is, nor how large "
        "the attacks are. By how much the worst of the seven figures of a table is off ours, by what it is taken for:",
        "",
        f"| table, tail | orthogonal | {' | '.join(units)} |",
        "|---|---|---|---|---|",
    ]
    best: dict[str, tuple[float, str]] = {}
    for tail, found in tables.items():
        name = _table_of(tail)
        for orthogonal in ("orthogonal", "orthogonal × 100"):
            off = {
                unit: max(
                    abs(found[key.replace("orthogonal", orthogonal)][norm]["mean"] / root / paper - 1)
                    for key, paper in PAPER[name].items()
                )
                for unit, (norm, root) in units.items()
            }
            lines.append(f"| {name}, {tail} | {orthogonal} | {' | '.join(f'{x:.0%}' for x in off.values())} |")
            unit = min(off, key=off.__getitem__)
            words = f"{unit} with {tail} and {orthogonal}, all seven within {off[unit]:.0%}"
            best[name] = min(best.get(name, (np.inf, "")), (off[unit], words))
    return [
        *lines,
        "",
        f"Closest to table 1 is {best['Table 1'][1]}; to table 2, {best['Table 2'][1]}. Of the tails "
        "here, and of the factors 1, 3, 10 and 100, those were taken that fit: that is no proof that they were used."
        + ("" if size["n"] == 1000 else " The paper's figures are for n = 1000; this run is smaller."),
        "",
    ]


def _table_of(tail: str) -> str:
    return "Table 1" if tail == "rank r + 1" else "Table 2"


def _claims(tables: Numbers) -> list[str]:
    """The paper's claims, each judged by the numbers."""
    lines = ["### The paper's claims", "", "| | claim | in SD_2 | in SD_F |", "|---|---|---|---|"]
    for tail, found in tables.items():
        for claim, judged in (
            ("SubsMed does not depend on the attack", _spread),
            ("SubsMed stays within about twice PowMeth without attack", _beside_power),
            ("ResPowMeth breaks under alternating and ones", _broken),
        ):
            lines.append(f"| {tail} | {claim} | {judged(found, '2')} | {judged(found, 'fro')} |")
    return [
        *lines,
        "",
        "*Breaks*: more than twice as far off as SubsMed. In SD_2 one false direction in the result is an error of 1, "
        "however large r is; in SD_F it adds 1 to the squared error of all directions together, and where the rest "
        "already adds to 4 or more it hardly shows: there SubsMed, which rests on the samples of one node, is the "
        "worse estimate. Alternating and ones are of rank one, no basis: SubsMed rejects and reports them.",
        "",
    ]


def _spread(found: Numbers, norm: str) -> str:
    means = [cell[norm]["mean"] for key, cell in found.items() if key.startswith("SubsMed")]
    return ("holds" if max(means) < 1.05 * min(means) else "**does not hold**") + (
        f": varies by {max(means) / min(means) - 1:.1%}"
    )


def _beside_power(found: Numbers, norm: str) -> str:
    worst = max(cell[norm]["mean"] for key, cell in found.items() if key.startswith("SubsMed"))
    ratio = worst / found["PowMeth / none"][norm]["mean"]
    return ("holds" if ratio <= 2.2 else "**does not hold**") + f": {ratio:.2f} times"


def _broken(found: Numbers, norm: str) -> str:
    median = max(cell[norm]["mean"] for key, cell in found.items() if key.startswith("SubsMed"))
    ratio = min(found[key][norm]["mean"] for key in BEATEN) / median
    return ("holds" if ratio > 2 else "**does not hold**") + f": {ratio:.2f} times SubsMed's error"


def _constants(rows: list[Numbers]) -> list[str]:
    lines = [
        "## The constants",
        "",
        "δ is the largest SD_F of an honest basis from U*, ε = √2 δ the same for projections; C = (1 − τ)/√(1 − 2τ). "
        "Honest bases at distance δ in random directions (three draws; one with --quick) are given to a search that "
        "knows them all and looks for the worst common basis of the colluders; so are the honest bases of the proof, "
        "the worst there are for the bound. *Attained* is the colluders' basis of the proof among these. All that is "
        "found is a lower bound on the worst case, without an interval.",
        "",
        "| τ | search, random | search, worst honest | attained | √(2(1 − τ)/(1 − 2τ)) | 1 + 2C | Singh | "
        "median attained, in ε | C | 2(1 − τ)/(1 − 2τ) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        published = "none" if row["published"] is None else f"{row['published']:.0f}"
        lines.append(
            f"| {row['tau']:.2f} | {row['searched']:.3f} | {row['searched among the worst']:.3f} | "
            f"{row['attained']:.3f} | {row['sharp']:.3f} | {row['triangle']:.3f} | {published} | "
            f"{row['median attained']:.3f} | {row['median sharp']:.3f} | {row['median published']:.2f} |"
        )
    most = max(max(row["searched"], row["searched among the worst"], row["attained"]) / row["sharp"] for row in rows)
    at = next(row for row in rows if abs(row["tau"] - 0.4) < 1e-9)
    return [
        *lines,
        "",
        f"Nothing found exceeds the sharp bound: at most {most:.4f} of it. At τ = 0.4 the worst is "
        f"{max(at['searched among the worst'], at['attained']):.3f} δ where the paper has 23 δ, and "
        f"{at['median attained']:.3f} ε where it has 6 ε.",
        "",
        "![The bounds against the share of colluders: what is attained lies on the sharp ones, an order below the "
        "published](constants.png)",
        "",
    ]


def _costs(numbers: Numbers) -> list[str]:
    size, samples = numbers["pca"], numbers["samples"]
    small = samples["sizes"]
    lines = [
        "## Costs",
        "",
        f"*Samples*: the fewest a node, of 50, 100, 200 ... {samples['most']}, with which SD_F is {samples['goal']} or "
        f"less on average over {samples['trials']} trials; n = {small['n']}, r = {small['r']}, flat tail, the first of "
        f"{small['nodes']} nodes alternating (none for PowMeth). *Messages and numbers*: counted in a run with nobody "
        f"corrupt, n = {size['n']}, r = {size['r']}, {size['nodes']} nodes, {size['rounds']} rounds, to the server and "
        "back; for SVD-RCE they are those of a covariance from each node. Counts are exact. Seconds: "
        "[times.md](times.md).",
        "",
        "| rule | samples a node | messages | numbers sent | SD_F of that run |",
        "|---|---|---|---|---|",
    ]
    for row in numbers["costs"]:
        key = next(name for name in samples["needed"] if name.startswith(row["rule"]))
        needed = samples["needed"][key]
        words = f"more than {samples['most']}" if needed is None else f"{needed}"
        lines.append(f"| {key} | {words} | {row['messages']} | {row['numbers']:,} | {row['error']:.3f} |")
    return [*lines, "", *_against_the_bounds(samples["needed"]), ""]


def _against_the_bounds(needed: Numbers) -> list[str]:
    """The paper's bounds on samples put the Subspace Median first: whether that shows."""
    mine, others = needed["SubsMed"], [needed["ResPowMeth"], needed["SVD-RCE"]]
    first = mine is not None and all(other is None or mine <= other for other in others)
    return [
        "The paper's bounds on the number of samples are least for SubsMed: n r L/ε² against max(n² r², n/ε²) L for "
        "ResPowMeth and n² L/ε² for SVD-RCE. At these sizes the order of what was needed "
        + ("agrees." if first else "**does not agree**: the others combine all nodes' samples, SubsMed takes one's."),
    ]


def _learning(numbers: Numbers) -> list[str]:
    learn = numbers["learn"]
    lines = [
        "## AltGDmin",
        "",
        f"n = {learn['n']}, q = {learn['q']}, r = {learn['r']}, m = {learn['m']}, {learn['nodes']} nodes, "
        f"{learn['rounds']} iterations; one run each, deterministic, so without interval. Reverse is −10 times the "
        "mean of all gradients, the colluders' own counted as zero.",
        "",
        "| gradients combined by, attack | first iteration with SD_F/√r <= 1e-8 | SD_F/√r at the end |",
        "|---|---|---|",
    ]
    for name, curve in numbers["convergence"].items():
        first = next((t for t, error in enumerate(curve) if error <= 1e-8), None)
        lines.append(f"| {name} | {'never' if first is None else first} | {curve[-1]:.1e} |")
    return [
        *lines,
        "",
        "![With the geometric median the error falls linearly to rounding, whoever is corrupt; with the mean it does "
        "not fall](convergence.png)",
        "",
    ]


def _leakage(rows: list[Numbers]) -> list[str]:
    return [
        "## What a node's messages tell of its samples",
        "",
        "100 dimensions, r = 10, a curious server. *Equations*: how many of the 100 dimensions of every sample it "
        "knows exactly, found without the truth and then checked against it; from the one basis, or from ten rounds of "
        "products. *Captured*: the share of the samples' squared length within the span of the basis, one draw. That 0 "
        "equations hold exactly does not say that nothing leaked.",
        "",
        "| samples | equations from the basis | equations from products | captured | by chance |",
        "|---|---|---|---|---|",
        *(
            f"| {row['q']} | {row['basis']} | {row['products']} | {row['captured']:.3f} | {row['chance']:.2f} |"
            for row in rows
        ),
        "",
        "A node with q <= r samples gives away n − q dimensions of every one of them, also where r is larger than q: "
        "its own directions come first among the columns. Of a single sample only the length and the sign are left.",
    ]
