"""The report and the figures of the study on inverting sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from analysis.words import out_of

Numbers = dict[str, Any]


def report(numbers: Numbers) -> str:
    """The report in Markdown."""
    words = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    return "\n".join(
        [
            "# From sums to rows: when the sums of distributed EM give the rows away",
            "",
            f"Written by `{numbers['command']}`; every number is in `numbers.json`. Seed {numbers['seed']}; {words}. "
            "Intervals are 95 % (Wilson).",
            "",
            "All sums were taken by secmix's own distributed EM. One corrupt node gets the average, takes off what it "
            "put in itself, and holds the sum over the h others, one row each, in every round; nodes know θ. "
            "*Recovered* means: certified by `invert_sums` (every sum met to 1e-10, the same rows from two independent "
            "starts, no others), and every row then found right to 1e-6 of the columns' standard deviation. What is "
            "not recovered is not safe: other solvers, or more starts, may do more.",
            *_phases(numbers["phases"]),
            *_real(numbers["real"]),
            *_noise(numbers["noise"], numbers["protocols"]),
            *_steering(numbers["steering"]),
            *_defences(numbers["defences"]),
        ]
    )


def _hopeless(found: Numbers) -> str:
    beyond = found["missed_beyond_precision"]
    return f", {beyond} beyond precision" if beyond else ""


def _phases(found: list[Numbers]) -> list[str]:
    cells = sorted({(f["h"], f["d"], f["c"], f["T*"]) for f in found}, key=lambda key: (key[1], key[2], key[0]))
    extras = sorted({f["rounds"] - f["T*"] for f in found})
    lines = []
    for h, d, c, needed in cells:
        matching = {f["rounds"] - needed: f for f in found if (f["h"], f["d"], f["c"]) == (h, d, c)}
        enough = [matching[e]["rounds"] for e in extras if matching[e]["recovered"] >= 0.75 * matching[e]["seeds"]]
        of_extras = [matching[extra] for extra in extras]
        shown = " | ".join(out_of(cell["recovered"], cell["seeds"]) + _hopeless(cell) for cell in of_extras)
        lines.append(f"| {h} | {d} | {c} | {needed} | {enough[0] if enough else 'none of these'} | {shown} |")
    wrong = sum(f["wrong"] for f in found)
    missed = sum(f["seeds"] - f["recovered"] for f in found)
    beyond = sum(f["missed_beyond_precision"] for f in found)
    runs = sum(f["seeds"] for f in found)
    return [
        "",
        "## How many rounds it takes",
        "",
        "![Share of problems solved against rounds beyond T*, for each number of rows](success.png)",
        "",
        "T* is the count of equations against unknowns, below which the rows are not determined. *Enough* is the "
        "fewest of the rounds tried at which three quarters of the problems or more were solved.",
        "",
        "| h | d | c | T* | enough | " + " | ".join(f"T* + {e}" for e in extras) + " |",
        "|---" * (5 + len(extras)) + "|",
        *lines,
        "",
        f"A certificate was wrong (rows further off than it says) in {wrong} of {runs} runs. Of the {missed} problems "
        f"that were not solved, {beyond} are beyond double precision: the error of the sums' rounding, carried to the "
        "true rows, exceeds 1e-6 there, so that no solver finds them to 1e-6 for certain.",
    ]


def _real(found: list[Numbers]) -> list[str]:
    return [
        "",
        "## Real data",
        "",
        "First two principal components of the standardised columns, h rows drawn at random, two components, T* + 2 "
        "rounds.",
        "",
        "| data | h | rounds | recovered |",
        "|---|---|---|---|",
        *(f"| {f['data']} | {f['h']} | {f['rounds']} | {out_of(f['recovered'], f['seeds'])} |" for f in found),
    ]


def _noise(found: list[Numbers], protocols: list[Numbers]) -> list[str]:
    lines = [
        f"| {f['noise']:.0e} | {np.median(f['error']):.1e} | {min(f['error']):.1e} to {max(f['error']):.1e} | "
        f"{np.median(f['stated']):.1e} | {f['certified']} of {f['seeds']} |"
        for f in found
    ]
    within = sum(e <= s for f in found for e, s in zip(f["error"], f["stated"], strict=True))
    return [
        "",
        "## Noise on the sums",
        "",
        "![Error of the recovered rows against the noise on the sums](noise.png)",
        "",
        "h = 5, d = c = 2, Gaussian noise of the given standard deviation on every sum, known to the adversary; the "
        "error is that of the worst row, in standard deviations of the columns. The range is over seeds. Where the "
        "adversary's own node adds a share of the noise, it takes that off.",
        "",
        "| noise | error, median | range | stated error, median | certified |",
        "|---|---|---|---|---|",
        *lines,
        "",
        f"The stated error covered the true one in {out_of(within, sum(len(f['error']) for f in found))} runs.",
        "",
        "The protocols' own arithmetic, on the same problems:",
        "",
        "| protocol | sums off by at most | error of the worst row, median | certified |",
        "|---|---|---|---|",
        *(
            f"| {f['protocol']} | {max(f['sums_off']):.1e} | {np.median(f['error']):.1e} | "
            f"{f['certified']} of {f['seeds']} |"
            for f in protocols
        ),
    ]


def _steering(found: list[Numbers]) -> list[str]:
    lines = []
    for f in found:
        rounds = [r for r in f["rounds"] if r is not None]
        errors = [e for e in f["error"] if e is not None]
        middle = f"{np.median(rounds):.0f} ({min(rounds)} to {max(rounds)})" if rounds else "none"
        worst = f"{max(errors):.0e}" if errors else "none"
        lines.append(
            f"| {f['way']} | {f['protocol']} | {f['corrupt']} | {out_of(len(rounds), f['seeds'])} | {middle} | "
            f"{worst} | {np.median(f['drop']):.3g} | {np.median(f['move']):.2g} |"
        )
    return [
        "",
        "## Steering: a chosen victim among ten",
        "",
        "Breast cancer data, two principal components, ten honest nodes of one row, 25 rounds at most. *Planes*: two "
        "far components cut the rows in two, again and again; *ball*: one component narrows about a point. *Told*: "
        "the adversary knows a point 0.1 a column from the victim's row; else it isolates row after row and cannot "
        "tell which is the victim's. *Drop*: the largest fall of the honest rows' mean log-likelihood in a round, "
        "nats; *move*: the farthest a mean moved in a round after the first. Medians over seeds.",
        "",
        "| way | protocol | corrupt | isolated | rounds, median (range) | largest error | drop | move |",
        "|---|---|---|---|---|---|---|---|",
        *lines,
        "",
        "One corrupt node is enough: what it adds to the sums has no bound.",
    ]


def _defences(found: list[Numbers]) -> list[str]:
    lines = []
    for f in found:
        errors = [np.inf if e is None else e for e in f["error"]]
        private = f"{f['epsilon']:.3g}" if f["epsilon"] else "none"
        shapes = ("half_space", "ball")
        # The search asks for sums that are exact; where they are not, nothing is said by finding none.
        alone = ["not exact" if f["alters_sums"] else f"{np.mean(f['isolated'][shape]):.1f}" for shape in shapes]
        lines.append(
            f"| {f['defence']} | {np.mean(f['loss']):+.3f} ({min(f['loss']):+.3f} to {max(f['loss']):+.3f}) | "
            f"{np.median(errors):.1e} | {f['recovered']} of {f['seeds']} | {' | '.join(alone)} | {private} |"
        )
    cheap = [f for f in found if f["alters_sums"] and np.mean(f["loss"]) < 0.01]
    reached = max((np.median([np.inf if e is None else e for e in f["error"]]) for f in cheap), default=0.0)
    open_ = found[0]
    guessed = float(np.median(open_["guess"]))
    loud, quiet = (np.median(open_["likelihood_drop"][shape]) for shape in ("half_space", "ball"))
    return [
        "",
        "## Defences: what they cost and what they leave",
        "",
        "![Loss of the model against the error of the rows, for each defence](defences.png)",
        "",
        "Breast cancer data, two principal components. *Loss*: mean log-likelihood of held-out rows under pooled EM "
        "less that with the defence, nats a row, 200 rows on 40 nodes, 8 rounds, mean and range over seeds. *Error*: "
        "of the median row found by inversion, in standard deviations; eight honest nodes of one row, 8 rounds. "
        "*Isolated*: rows that a single steering node made stand alone in secure summation within 20 rounds, of "
        "eleven, by planes and by a ball about a point 0.1 a column from its victim; where the sums are altered a row "
        "that stands alone is known up to the noise, which this search does not count. *ε*: at δ = 1e-5 for adding or "
        "removing a row, over 8 rounds, of the sums; rounding, and noise without clipping, have none.",
        "",
        "| defence | loss | error | all rows recovered | isolated by planes | by a ball | ε |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"Undefended, cutting by planes lowers the honest rows' mean log-likelihood by {loud:.0f} nats in a single "
        f"round (median), a ball by {quiet:.2f}. Of the defences that alter the sums and cost less than 0.01 nats a "
        f"row, the best puts the median row off by {reached:.2g} standard deviations; rows drawn "
        f"from the last mixture, by which nothing is learnt, are off by {guessed:.2g}. Only a number in the last "
        "column is a guarantee.",
    ]


def figures(numbers: Numbers, folder: Path) -> None:
    """success.png, noise.png and defences.png."""
    _success(numbers["phases"], folder / "success.png")
    _noise_figure(numbers["noise"], folder / "noise.png")
    _trade_off(numbers["defences"], folder / "defences.png")


def _success(found: list[Numbers], path: Path) -> None:
    kinds = sorted({(f["d"], f["c"]) for f in found})
    fig = Figure(figsize=(3.0 * len(kinds), 2.8), layout="constrained")
    for axes, (d, c) in zip(np.atleast_1d(fig.subplots(1, len(kinds), sharey=True)), kinds, strict=True):
        matching = [f for f in found if (f["d"], f["c"]) == (d, c)]
        rows = sorted({f["h"] for f in matching})
        extras = sorted({f["rounds"] - f["T*"] for f in matching})
        table = np.full((len(rows), len(extras)), np.nan)
        for f in matching:
            table[rows.index(f["h"]), extras.index(f["rounds"] - f["T*"])] = f["recovered"] / f["seeds"]
        axes.imshow(table, vmin=0, vmax=1, cmap="viridis", origin="lower", aspect="auto")
        for (i, j), share in np.ndenumerate(table):
            axes.text(
                j, i, f"{share:.0%}", ha="center", va="center", color="white" if share < 0.6 else "black", fontsize=8
            )
        axes.set_xticks(range(len(extras)), [f"+{e}" for e in extras])
        axes.set_yticks(range(len(rows)), [str(h) for h in rows])
        axes.set_title(f"d = {d}, c = {c}", fontsize=10, loc="left")
        axes.set_xlabel("rounds beyond T*")
    fig.axes[0].set_ylabel("honest rows h")
    _save(fig, path)


def _noise_figure(found: list[Numbers], path: Path) -> None:
    fig = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = fig.subplots()
    sizes = [max(f["noise"], 1e-16) for f in found]
    for size, f in zip(sizes, found, strict=True):
        axes.plot([size] * len(f["error"]), np.maximum(f["error"], 1e-16), "o", color="#2a6f97", ms=4, alpha=0.6)
    axes.plot(sizes, [np.median(f["stated"]) for f in found], "-", color="#b3541e", label="stated error, median")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("noise on the sums (1e-16: rounding alone)")
    axes.set_ylabel("error of the worst row (sd)")
    axes.legend(frameon=False)
    _save(fig, path)


def _trade_off(found: list[Numbers], path: Path) -> None:
    fig = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = fig.subplots()
    for k, f in enumerate(found):
        error = np.median([10.0 if e is None else min(max(e, 1e-16), 10.0) for e in f["error"]])
        loss = max(float(np.mean(f["loss"])), 1e-4)
        axes.plot(error, loss, marker="osD^v<>PX*hdp"[k % 13], color=f"C{k % 10}", ms=7, ls="none", label=f["defence"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("error of the median row found by inversion (sd)")
    axes.set_ylabel("loss on held-out rows (nats a row;\n1e-4 and below drawn at 1e-4)")
    fig.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
    _save(fig, path)


def _save(fig: Figure, path: Path) -> None:
    fig.savefig(path, dpi=90, metadata={"Software": None})
