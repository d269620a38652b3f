"""The report on GraphFed-EM, the digits; and the tables that all its parts share."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, Any]


def pm(score: Numbers, which: int, digits: int = 2) -> str:
    return f"{score['mean'][which]:.{digits}f} ± {score['error'][which]:.{digits}f}"


def table(cells: list[Numbers], ways: tuple[str, ...], which: int, name: str, digits: int = 2) -> list[str]:
    return [
        f"| d | N_i | {' | '.join(f'{name}, {way}' for way in ways)} |",
        "|" + "---|" * (2 + len(ways)),
        *(
            f"| {c['d']} | {c['rows']} | {' | '.join(pm(c['scores'][way], which, digits) for way in ways)} |"
            for c in cells
        ),
        "",
    ]


def share(cells: list[Numbers], better: str, than: str, which: int, sign: float = 1.0) -> str:
    count = sum(sign * c["scores"][better]["mean"][which] > sign * c["scores"][than]["mean"][which] for c in cells)
    return f"{count} of {len(cells)}"


def digits(found: list[Numbers]) -> list[str]:
    ways = ("local", "centralised", "GraphFed")
    lines = [
        "## (iii) MNIST with skewed labels (the paper's figure 4b)",
        "",
        "Ten nodes, K = 10, labels Dirichlet(0.3), A_ij by eq. (7), of the 10 000 test images: one half trains, the "
        "other validates; an image may be at several nodes. NMI, three repeats; N_i = 50 and 200 are not yet run.",
    ]
    for each in found:
        cells = each["cells"]
        above = [c["scores"]["GraphFed"]["mean"][1] > max(c["scores"][w]["mean"][1] for w in ways[:2]) for c in cells]
        how = "UMAP, as in the paper (of all images, without labels)" if each["embedding"] == "UMAP" else _PCA
        lines += [
            "",
            f"### {each['embedding']}",
            "",
            f"{how}.",
            "",
            *table(cells, ways, 1, "NMI", 3),
            ("**Reproduces**" if all(above) else "**Does not reproduce**" if not any(above) else "**Holds in part**")
            + f": GraphFed's NMI is above local *and* centralised in {sum(above)} of {len(cells)} settings (the "
            f"paper: all); above local in {share(cells, 'GraphFed', 'local', 1)}, above centralised in "
            f"{share(cells, 'GraphFed', 'centralised', 1)}.",
        ]
    if "UMAP" not in [each["embedding"] for each in found]:
        lines += ["", "UMAP, which the paper uses, is not installed here (`pip install secmix[papers]`)."]
    return [*lines, "", *_causes(found), ""]


def _causes(found: list[Numbers]) -> list[str]:
    """What one change at a time is worth against centralised training."""
    first = found[0]["causes"]
    ways = list(first["ways"])
    lines = [
        "### Why not",
        "",
        "NMI less that of centralised training on the same rows (± half of a 95 % interval over the repeats, paired), "
        "with one thing changed at a time:",
        "",
        "| | "
        + " | ".join(f"{e['embedding']}, d = {e['causes']['d']}, N_i = {e['causes']['rows']}" for e in found)
        + " |",
        "|---" * (1 + len(found)) + "|",
    ]
    for way in ways:
        values = [e["causes"]["ways"][way] for e in found]
        lines.append(f"| {way} | " + " | ".join(f"{m:+.3f} ± {h:.3f}" for m, h in values) + " |")
    ahead = [w for w in ways if w.startswith("GraphFed") and first["ways"][w][0] > first["ways"][w][1]]
    best = max((w for w in ways if w.startswith("GraphFed")), key=lambda w: first["ways"][w][0])
    plain, local = first["ways"]["GraphFed"][0], first["ways"]["local"][0]
    return [
        *lines,
        "",
        "Of what was tried: "
        + (
            f"with {', with '.join(ahead)} it is above centralised training."
            if ahead
            else f"none of these makes GraphFed better than centralised training; what helps most is *{best}* "
            f"({first['ways'][best][0]:+.3f}, from {plain:+.3f}; local {local:+.3f})."
        )
        + " A reading of it, not measured further: ten components are fitted at nodes that hold three or four digits, "
        "k-means splits digits at each node in its own way, and the matching pairs parts of different digits.",
    ]


_PCA = "Principal components of the images that train"
