"""The report on Abdurakhmanova and Jung (2025) in Markdown, and its drawings: our numbers beside the paper's claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.abdurakhmanova_2025.report_digits import digits, share, table

Numbers = dict[str, Any]
COLOURS = ("#b3541e", "#2a6f97", "#5a3d7a", "#4a7c3a")
MARKS = ("o", "s", "^", "D")
TWO = 2.0  # standard errors beyond which two means count as apart: about 95 %
WAYS = ("local", "centralised", "oracle pooling", "GraphFed", "GraphFed, pooled")


def report(numbers: Numbers) -> str:
    """The whole report."""
    words = ", ".join(f"{name} {number}" for name, number in sorted(numbers["versions"].items()))
    return "\n".join(
        [
            "# Abdurakhmanova and Jung 2025, GraphFed-EM: what reproduces, what it reveals, what breaks it",
            "",
            f"Written by `{numbers['command']}`; every number is in `numbers.json`. {words}. Experiments are repeated "
            f"{numbers['repeats']} times (10 in the paper); ± is one standard error, as there. The paper prints its "
            "results as figures without numbers, so they are compared as claims. It gives neither the mixtures nor the "
            "size of the shrinkage (the authors' public code, `federated_gmm_training`, shrinks where d / N_i ≥ 0.2 "
            "alone and loads 1e-6; by how much it shrinks is in a file that could not be had): here means are "
            "N(0, 4 I), covariances have eigenvalues in [0.5, 1.5], clusters are turned "
            "at random and shifted by N(0, I), s = 0.1, and 1e-3 is added to the diagonal. What is averaged is "
            "symmetrised and loaded and not shrunk again, and mixing weights are normalised counts (its section III).",
            *(
                line
                for part, written in _PARTS.items()
                for line in ("", *(written(numbers[part]) if part in numbers else [f"*Not yet run: {part}.*"]))
            ),
        ]
    ).rstrip()


def _apart(c: Numbers, better: str, than: str, which: int, sign: float = 1.0) -> float:
    """By how many standard errors of the difference (taken as independent) one way is better than another."""
    one, two = c["scores"][better], c["scores"][than]
    error = (one["error"][which] ** 2 + two["error"][which] ** 2) ** 0.5
    return sign * float(one["mean"][which] - two["mean"][which]) / max(error, 1e-12)


def _clusters(cells: list[Numbers]) -> list[str]:
    low = [c for c in cells if c["d"] in (2, 6)]
    behind = [c["scores"]["oracle pooling"]["mean"][0] - c["scores"]["centralised"]["mean"][0] for c in low]
    few = [c for c in cells if c["rows"] == 10]
    better = [c for c in few if _apart(c, "oracle pooling", "GraphFed", 2, -1.0) > TWO]
    lines = [
        "## (i) Clustered nodes (the paper's figure 1)",
        "",
        "Five clusters of five nodes, K = 3, p_in = 1, p_out = 0; 500 validation rows a node. *GraphFed, pooled* is "
        "the paper's variant on cluster-pooled rows: each node holds all rows of its cluster and starts from a k-means "
        "of its own.",
        "",
        *table(cells, WAYS, 0, "log-likelihood"),
        *table(cells, WAYS, 1, "NMI"),
        *table(cells, WAYS, 2, "μ_err"),
        "- *Local training does badly where rows are few, and GraphFed better*: by log-likelihood in "
        f"{share(cells, 'GraphFed', 'local', 0)} settings, by μ_err in {share(cells, 'GraphFed', 'local', 2, -1.0)}.",
        "- *μ_err is least for pooling or averaging within the true clusters*: GraphFed's is below the centralised in "
        f"{share(cells, 'GraphFed', 'centralised', 2, -1.0)} settings.",
        "- *Centralised EM has lower NMI*: GraphFed's is above it in "
        f"{share(cells, 'GraphFed', 'centralised', 1)} settings.",
        "- *With N_i = 10 pooling has the higher likelihood*: it does in "
        + share(few, "oracle pooling", "GraphFed", 0)
        + " settings of that size.",
    ]
    if low:
        lines.append(
            "- *Centralised EM matches Oracle's log-likelihood for d = 2, 6*: "
            + ("**holds**" if max(behind) < TWO * _largest_error(low) else "**does not hold**")
            + f"; it is {min(behind):.2f} to {max(behind):.2f} nats a row below pooling. One mixture of three cannot "
            "be the five of the clusters; how far off it is hangs on how far the clusters are turned and shifted, "
            "which the paper does not give."
        )
    apart = sum(abs(_apart(c, "GraphFed, pooled", "oracle pooling", w)) > TWO for c in cells for w in (0, 1, 2))
    lines.append(
        "- *What averaging is worth once rows are pooled*: of the three scores in all settings "
        f"{apart} of {3 * len(cells)} differ from oracle pooling by more than two standard errors. From one start for "
        "all they could not differ: the nodes of a cluster then send each other what they have."
    )
    lines.append(
        "- *With N_i = 10 pooling has no clear advantage in NMI or μ_err*: "
        + (
            "**holds**."
            if not better
            else "**does not hold for μ_err** (by more than two standard errors) at "
            + "; ".join(
                f"d = {c['d']} ({c['scores']['oracle pooling']['mean'][2]:.2f} against "
                f"{c['scores']['GraphFed']['mean'][2]:.2f})"
                for c in better
            )
            + "."
        )
    )
    return [*lines, ""]


def _largest_error(cells: list[Numbers]) -> float:
    return max(c["scores"][way]["error"][0] for c in cells for way in ("centralised", "oracle pooling"))


def _consensus(found: Numbers) -> list[str]:
    error, alphas, dense = found["error"]["mean"], found["alpha"], found["p_in"]
    falls = sum(row[-1] < row[0] for row in error)
    denser = sum(error[-1][b] < error[0][b] for b in range(len(alphas)))
    return [
        "## Consensus (the paper's figure 2)",
        "",
        f"One cluster of 10 nodes, N_i = d = 10, K = 3, T = {found['rounds']}.",
        "",
        "![Consensus error against alpha, a line for each edge probability](figure-2.png)",
        "",
        f"| p_in | {' | '.join(f'α = {a}' for a in alphas)} |",
        "|" + "---|" * (1 + len(alphas)),
        *(
            f"| {p} | " + " | ".join(f"{v:.3f} ± {e:.3f}" for v, e in zip(row, errors, strict=True)) + " |"
            for p, row, errors in zip(dense, error, found["error"]["error"], strict=True)
        ),
        "",
        f"*The error falls with α and p_in.* From the least α to the largest it falls at {falls} of {len(dense)} "
        f"densities; from the thinnest graph to the densest at {denser} of {len(alphas)} strengths. "
        "(In a thin graph a node without neighbours counts as 0.)",
        "",
    ]


def _spurious(found: Numbers) -> list[str]:
    alphas = found["alpha"]
    return [
        "## Edges across clusters (the paper's figure 3)",
        "",
        "![NMI against alpha, a line for each probability of an edge across clusters](figure-3.png)",
        "",
        f"| p_out | {' | '.join(f'α = {a}' for a in alphas)} | best α |",
        "|" + "---|" * (2 + len(alphas)),
        *(
            f"| {p} | " + " | ".join(f"{v:.3f} ± {e:.3f}" for v, e in zip(row, errors, strict=True)) + f" | {best} |"
            for p, row, errors, best in zip(
                found["p_out"], found["nmi"]["mean"], found["nmi"]["error"], found["best_alpha"], strict=True
            )
        ),
        "",
        "The paper: without edges across, NMI rises with α; with them α = 0.4 is best. Ours: best α "
        + ", ".join(f"{b} at p_out = {p}" for p, b in zip(found["p_out"], found["best_alpha"], strict=True))
        + ".",
        "",
    ]


def _priors(cells: list[Numbers]) -> list[str]:
    ways = ("local", "centralised", "GraphFed")
    return [
        "## (ii) Priors of each node's own (the paper's figure 4a)",
        "",
        "Ten nodes, one set of components, priors Dirichlet(0.5), A_ij by eq. (7).",
        "",
        *table(cells, ways, 0, "log-likelihood"),
        *table(cells, ways, 1, "NMI"),
        "- *GraphFed beats local training*: by log-likelihood in "
        f"{share(cells, 'GraphFed', 'local', 0)} settings, by NMI in {share(cells, 'GraphFed', 'local', 1)}.",
        "- *Centralised is best for d = 6, 10, and for N_i = 10*: by log-likelihood it beats GraphFed in "
        f"{share(cells, 'centralised', 'GraphFed', 0)} settings.",
        "",
    ]


def _recovered(cells: list[Numbers]) -> list[str]:
    return [
        "## What the messages reveal",
        "",
        '"No raw data leave." Each message holds N_k, π_k, μ_k and Σ_k, from which anyone who hears it takes the '
        "public shrinkage and loading off again. Five nodes that all talk to each other, K = 3, T = 10, α = 1; an "
        "eavesdropper, or one curious neighbour who hears only what is sent to it (all of it, in this network). A row "
        f"counts as recovered within 1e-6 of the largest number; {sum(c['wrong'] for c in cells)} rows were claimed "
        "that are none of the node's. The interval is Wilson's, 95 %.",
        "",
        "![Share of rows recovered against rows a node, a line for each number of columns](recovered.png)",
        "",
        "| T_i | d | N_i | rows recovered | by a neighbour | nodes with a row recovered | equations on every row |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {c['local_steps']} | {c['d']} | {c['rows']} | "
            f"{100 * c['share']:.0f} ± {100 * c['share_error']:.0f} % | {100 * c['share_neighbour']:.0f} % | "
            f"{100 * c['any']:.0f} % [{100 * c['any_interval'][0]:.0f}, {100 * c['any_interval'][1]:.0f}] of "
            f"{c['attacked']} | "
            f"{c['equations']:.0f} of {c['d']} |"
            for c in cells
        ),
        "",
        "These are lower bounds: what was not recovered need not be hidden. The node's mean and covariance are known "
        "exactly in every case, and with N_i ≤ d so is the plane in which its rows lie. A component of one row has "
        "that row for its mean; of two, both follow from mean and covariance; and a row that changes components is the "
        "difference of two messages.",
        "",
    ]


def _liars(found: Numbers) -> list[str]:
    lines = [
        "## Lying neighbours",
        "",
        f"{found['nodes']} nodes that all talk to each other, {found['rows']} rows of 2 columns each, K = 3, five "
        f"rounds, {found['runs']} runs from one public start. The number is the largest error over the runs, W1 "
        "between an honest node's mixture with and without the lies, in units of the median error that other rows "
        "make: as the lie is, and a million times as far.",
        "",
    ]
    for f in found["colluders"]:
        rules = sorted(found["rules"], key=lambda rule: (rule != "weighted mean", rule))
        lies = sorted(found["rules"][rules[0]][str(f)]["lies"])
        lines += [
            f"| {f} liar{'s' * (f > 1)} | {' | '.join(rules)} |",
            "|" + "---|" * (1 + len(rules)),
            *(
                f"| {lie} | "
                + " | ".join(
                    f"{_size(found['rules'][rule][str(f)]['lies'][lie]['1'])}, "
                    f"{_size(found['rules'][rule][str(f)]['lies'][lie]['1e+06'])}"
                    for rule in rules
                )
                + " |"
                for lie in lies
            ),
            "",
        ]
    held = {
        rule: max(v for each in by_f.values() for lie in each["lies"].values() for v in lie.values())
        for rule, by_f in sorted(found["rules"].items())
    }
    kept = ", ".join(f"{_size(worst)} under the {rule}" for rule, worst in held.items() if worst < 100)
    return [
        *lines,
        "The weighted mean has no bound: one neighbour is enough, and a claim of many rows does the work of many. "
        f"Under rules that look at no count the largest error of all was {kept or 'no smaller'}. That is what these "
        "lies reached, and no bound.",
    ]


def _size(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:.0e}"


_PARTS = {
    "clusters": _clusters,
    "consensus": _consensus,
    "spurious": _spurious,
    "own_priors": _priors,
    "digits": digits,
    "recovered": _recovered,
    "liars": _liars,
}


def figures(numbers: Numbers, folder: Path) -> None:
    """figure-2.png, figure-3.png and recovered.png."""
    if not {"consensus", "spurious", "recovered"} <= set(numbers):
        return
    found = numbers["consensus"]
    fig, axes = _drawing()
    for i, p in enumerate(found["p_in"]):
        _line(axes, i, found["alpha"], found["error"]["mean"][i], found["error"]["error"][i], f"p_in = {p}")
    axes.set(xlabel="α", ylabel="consensus error (eq. 5)", yscale="log")
    _save(fig, folder / "figure-2.png")
    found = numbers["spurious"]
    fig, axes = _drawing()
    for i, p in enumerate(found["p_out"]):
        _line(axes, i, found["alpha"], found["nmi"]["mean"][i], found["nmi"]["error"][i], f"p_out = {p}")
    axes.set(xlabel="α", ylabel="NMI")
    _save(fig, folder / "figure-3.png")
    cells = [c for c in numbers["recovered"] if c["local_steps"] == 5]
    fig, axes = _drawing()
    for i, d in enumerate(sorted({c["d"] for c in cells})):
        mine = [c for c in cells if c["d"] == d]
        shares, errors = ([100 * c[name] for c in mine] for name in ("share", "share_error"))
        _line(axes, i, [c["rows"] for c in mine], shares, errors, f"d = {d}")
    axes.set(xlabel="rows a node", ylabel="rows recovered (%)", xscale="log", ylim=(-3, 103))
    axes.set_xticks([c["rows"] for c in mine], [str(c["rows"]) for c in mine], minor=False)
    axes.minorticks_off()
    _save(fig, folder / "recovered.png")


def _drawing() -> tuple[Figure, Axes]:
    fig = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = fig.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return fig, axes


def _line(axes: Axes, i: int, x: list[float], y: list[float], error: list[float], label: str) -> None:
    axes.errorbar(x, y, error, color=COLOURS[i % 4], marker=MARKS[i % 4], ms=4, lw=1.2, capsize=2, label=label)


def _save(fig: Figure, path: Path) -> None:
    fig.axes[0].legend(frameon=False)
    fig.savefig(path, dpi=110, metadata={"Software": None})
