"""The report of the study in Markdown."""

from __future__ import annotations

from typing import Any


def report(numbers: dict[str, Any]) -> str:
    """All of it."""
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    parts = [
        "# Exposure at scale",
        "PDMM, and sums behind pairwise masks, give the sum over every piece that corrupt nodes leave of the network. "
        "Who is exposed when a share q of a large network is corrupt? *Alone*: an honest node none of whose neighbours "
        "is honest, so that its vector is known. *At most s*: its piece has at most s nodes, of whose rows the sums "
        "are solved.",
        "## Corrupt at random",
        "The mean of q^degree is exact for *alone* on any graph. A branching process with the same degrees foretells "
        "*at most 3* where there are no triangles, and falls short where there are.",
        _random(numbers),
        "![Measured shares against theory](random.png)",
        _failing(numbers),
        "## Chosen",
        "Greedy: always the node with the fewest honest neighbours next. The bound is that of a closure (a minimum "
        "cut) at the best price of a corrupt node: no choice leaves more alone.",
        _targeted(numbers),
        "![Chosen corruption against bounds](targeted.png)",
        "## Smallest coalitions of all nodes",
        "For each node the fewest corrupt ones that leave it in a piece of at most 4. The number of its neighbours is "
        "an upper bound that many nodes stay below.",
        _coalitions(numbers),
        "## Networks",
        "\n".join(f"- **{kind}**: {what}." for kind, what in numbers["kinds"].items()),
        f"`{numbers['command']}`, with {versions}. Times are processor seconds and vary; all else follows from the "
        "seed.",
    ]
    return "\n\n".join(parts)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _random(numbers: dict[str, Any]) -> str:
    rows = []
    for entry in numbers["scale"]:
        for cell in entry["random"]:
            if cell["share"] in (0.2, 0.4):
                alone, three, ten = (f"{value:.2e}" for value in cell["measured"])
                q_degree, branching = (f"{value:.2e}" for value in cell["theory"])
                rows.append([entry["kind"], f"{cell['share']:g}", alone, q_degree, three, branching, ten])
    return _table(["Network", "q", "Alone", "Mean q^degree", "At most 3", "Branching", "At most 10"], rows)


def _failing(numbers: dict[str, Any]) -> str:
    found = []
    for entry in numbers["scale"]:
        worst = max(
            (cell for cell in entry["random"] if cell["theory"][1] > 0),
            key=lambda cell: cell["measured"][1] / cell["theory"][1],
        )
        found.append((worst["measured"][1] / worst["theory"][1], worst["share"], entry["kind"]))
    told = "; ".join(f"{kind}: {ratio:.2f} times (q = {share:g})" for ratio, share, kind in found)
    return f"Where the mean field fails, as measured over foretold *at most 3*, at its worst: {told}."


def _targeted(numbers: dict[str, Any]) -> str:
    rows = [
        [entry["kind"], f"{k:,}", f"{random:,}", f"{greedy:,}", f"{most:,.0f}"]
        for entry in numbers["targeted"]
        for k, random, greedy, most in zip(
            entry["corrupt"], entry["random"], entry["greedy"], entry["bound"], strict=True
        )
    ]
    return _table(["Network", "Corrupt", "Alone, at random", "Greedy", "No choice exceeds"], rows)


def _coalitions(numbers: dict[str, Any]) -> str:
    rows = [
        [
            entry["kind"],
            f"{entry['n']:,}",
            f"{entry['degree']:.2f}",
            f"{entry['coalitions']['mean']:.2f}",
            f"{entry['coalitions']['fewer_than_neighbours']:.1%}",
            f"{entry['coalitions']['proved']:.2%}",
            f"{entry['coalitions']['microseconds_a_node']:.1f}",
        ]
        for entry in numbers["scale"]
    ]
    head = ["Network", "n", "Mean degree", "Mean coalition", "Fewer than neighbours", "Proved", "µs a node"]
    return _table(head, rows)
