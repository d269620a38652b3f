"""The report of ``run.py`` in Markdown, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from analysis.benchmarks.timing import OURS

matplotlib.use("Agg")

TITLES = {
    "ksg": "Mutual information (KSG)",
    "em": "Distributed EM, one step",
    "aggregation": "Robust aggregation",
    "subspaces": "Subspace Median",
    "mixtures": "Distances between mixtures",
}
ABOUT = {
    "ksg": "`ksg` in npeet's arithmetic against npeet-plus and infomeasure, and on standardised columns against "
    "`mutual_info_regression` of scikit-learn, which takes 1 + 1 dimensions only; k = 3, correlated Gaussian samples, "
    "no interval and no checks on our side, since the others have none. Same number: to 1e-5 nats (all of them "
    "add noise of 1e-10 of their own). Who is foreseen to take more than 120 s for one call is not run.",
    "em": "`DistributedEM` over `Plain` sums at ten nodes against `GaussianMixture` on the pooled rows, from the same "
    "start; the seconds of a step are the slope between 2 and 12 steps. Same result: the means, to 1e-9.",
    "aggregation": "Two messages in five are colluders at one place, at twice the honest distance. The geometric "
    "medians of the peers take a fixed number of steps; how far each is from first-order optimal, "
    "‖Σ (x − z)/‖x − z‖‖/n, stands beside it: ours is held to 1e-10.",
    "subspaces": "`subspace_median` against forming the L projections (n × n) and Weiszfeld's method on them to 1e-10. "
    "Same result: all distances from the median, to 1e-7.",
    "mixtures": "`ise_matrix` against the formula in a double loop over `scipy.stats.multivariate_normal`, each pair "
    "of mixtures once. Same result: all squared distances, to 1e-12.",
}


def report(numbers: dict[str, Any]) -> str:
    """All of it in Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    peers = "; ".join(f"{name} {number}" for name, number in numbers["peers"].items())
    lines = [
        "# secmix beside its peers",
        "",
        f"Written by `{numbers['command']}`, seed {numbers['seed']}; every number is in `numbers.json`. {versions}"
        + (f"; peers: {peers}." if peers else "."),
        "",
        "Everybody does the same work in the same run, in turn, on one thread. Times are processor milliseconds (least "
        "and median of the rounds) and belong to the machine; the ratios hardly do. *Times as long*: how many times as "
        "long the peer takes, geometric mean over the rounds with its 95 % interval (Student, of the logarithms); "
        "above 1 secmix is the faster. Nothing here is reproducible to the byte.",
    ]
    groups = list(dict.fromkeys(entry["group"] for entry in numbers["comparisons"]))
    for group in groups:
        entries = [entry for entry in numbers["comparisons"] if entry["group"] == group]
        lines += ["", f"## {TITLES[group]}", "", ABOUT[group], ""]
        if group == "ksg":
            lines += ["![How many times as long each peer takes, by cell, with intervals](ksg.png)", ""]
        lines += [
            "| work | by | least ms | median ms | times as long | same result | |",
            "|---|---|---|---|---|---|---|",
        ]
        for entry in entries:
            lines += [_row(entry, who, by) for who, by in entry["by"].items()]
            lines += [f"| {entry['name']} | {who} | | | | | {note} |" for who, note in entry["left_out"].items()]
        lines += ["", _verdict(entries)]
    if "growth" in numbers:
        lines += _growth(numbers["growth"])
    if "catalogue" in numbers:
        lines += _catalogue(numbers["catalogue"])
    return "\n".join(lines) + "\n"


def _row(entry: dict[str, Any], who: str, by: dict[str, Any]) -> str:
    ratio = f"{by['ratio']:.2f} [{by['low']:.2f}, {by['high']:.2f}]" if who != OURS else "1"
    same = "" if "same" not in by else ("yes" if by["same"] else f"NO, {by['difference']:.1e} apart")
    times = f"{_ms(by['least_ms'])} | {_ms(by['median_ms'])}"
    return f"| {entry['name']} | {who} | {times} | {ratio} | {same} | {by.get('note', '')} |"


def _ms(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _verdict(entries: list[dict[str, Any]]) -> str:
    """Where a peer is as fast as we are or faster, or the interval leaves it open."""
    slower, unclear, different = [], [], []
    for entry in entries:
        for who, by in entry["by"].items():
            if who == OURS:
                continue
            words = f"{entry['name']} against {who} ({by['ratio']:.2f})"
            if by["high"] < 1:
                slower.append(words)
            elif by["low"] < 1:
                unclear.append(words)
            if by.get("same") is False:
                different.append(words)
    said = [
        "secmix is the slower in: " + "; ".join(slower) + "." if slower else "",
        "Not told apart: " + "; ".join(unclear) + "." if unclear else "",
        "The results differ in: " + "; ".join(different) + "." if different else "",
    ]
    if not slower and not unclear:
        said.insert(0, "secmix is the faster in every cell, intervals above 1.")
    return " ".join(words for words in said if words)


def _growth(found: list[dict[str, Any]]) -> list[str]:
    lines = [
        "",
        "## How each cost grows",
        "",
        "b in time ≈ a sizeᵇ over the sizes given, others held, by least squares of the logarithms of the least times; "
        "95 % interval (Student). n counts nodes or messages, m the numbers each of them sums or sends, N rows, L "
        "subspaces or mixtures.",
        "",
        "![Time against size on logarithmic axes](growth.png)",
        "",
        "| what | in | sizes | least ms | exponent |",
        "|---|---|---|---|---|",
    ]
    for entry in found:
        sizes, times = entry["sizes"], entry["least_ms"]
        lines.append(
            f"| {entry['what']} | {entry['in']} | {sizes[0]} to {sizes[-1]} | {_ms(times[0])} to {_ms(times[-1])} | "
            f"{entry['exponent']:.2f} [{entry['low']:.2f}, {entry['high']:.2f}] |"
        )
    return lines


def _catalogue(found: dict[str, Any]) -> list[str]:
    return [
        "",
        "## The catalogue",
        "",
        f"Every entry audited with its own settings, on {found['workers']} processes that take an entry at a time, "
        f"seconds by the clock: {found['total']:.0f} s in all.",
        "",
        "| entry | seconds |",
        "|---|---|",
        *(f"| {name} | {seconds:.1f} |" for name, seconds in found["seconds"].items()),
    ]


def figures(numbers: dict[str, Any], out: Path) -> None:
    """``ksg.png`` and ``growth.png``, for what was measured."""
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    entries = [entry for entry in numbers["comparisons"] if entry["group"] == "ksg"]
    if entries:
        names = list(dict.fromkeys(entry["name"] for entry in entries))
        figure, axes = plt.subplots(figsize=(7, 0.3 * len(names) + 1.3), layout="constrained")
        markers = {"npeet-plus": ("o", "C0"), "infomeasure": ("s", "C1"), "scikit-learn": ("^", "C2")}
        for who, (marker, colour) in markers.items():
            given = [(names.index(e["name"]), e["by"][who]) for e in entries if who in e["by"]]
            if given:
                at, ratio = [i for i, _ in given], np.array([[by["ratio"], by["low"], by["high"]] for _, by in given])
                spread = np.maximum(np.abs(ratio[:, 1:] - ratio[:, :1]).T, 0)
                axes.errorbar(ratio[:, 0], at, xerr=spread, fmt=marker, color=colour, label=who, capsize=2)
        axes.axvline(1, color="0.6", lw=0.8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel("times as long as secmix (95 % interval)")
        axes.legend(loc="best", fontsize=8)
        figure.savefig(out / "ksg.png", dpi=100, metadata={"Software": None})
        plt.close(figure)
    if "growth" in numbers:
        letters = list(dict.fromkeys(entry["in"] for entry in numbers["growth"]))
        figure, panels = plt.subplots(2, (len(letters) + 1) // 2, figsize=(8, 7), layout="constrained", squeeze=False)
        for letter, axes in zip(letters, panels.ravel(), strict=False):
            for entry in numbers["growth"]:
                if entry["in"] == letter:
                    label = f"{entry['what']}: {entry['exponent']:.2f}"
                    axes.loglog(entry["sizes"], entry["least_ms"], "o-", ms=3, label=label)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_formatter(NullFormatter())
            axes.set_xlabel(letter)
            axes.set_ylabel("processor milliseconds")
            low, high = axes.get_ylim()
            axes.set_ylim(low, high * (high / low) ** 0.5)  # room for the names
            axes.legend(fontsize=7, loc="upper left")
        figure.savefig(out / "growth.png", dpi=100, metadata={"Software": None})
        plt.close(figure)
