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


def digits(found: Numbers) -> list[str]:
    ways = ("local", "centralised", "GraphFed")
    cells, how = found["cells"], found["embedding"]
    above = [c["scores"]["GraphFed"]["mean"][1] > max(c["scores"][w]["mean"][1] for w in ways[:2]) for c in cells]
    lines = [
        "## (iii) MNIST with skewed labels (the paper's figure 4b)",
        "",
        "Ten nodes, K = 10, labels Dirichlet(0.3), A_ij by eq. (7), of the 10 000 test images: one half trains, the "
        f"other validates; an image may be at several nodes. {found['repeats']} repeats. "
        + ("UMAP, as in the paper (of all images, without labels)." if how == "UMAP" else _PCA),
        "",
        *table(cells, ways, 1, "NMI", 3),
        ("**Reproduces**" if all(above) else "**Does not reproduce**" if not any(above) else "**Holds in part**")
        + f": GraphFed's NMI is above local *and* centralised in {sum(above)} of {len(cells)} settings (the "
        f"paper: all); above local in {share(cells, 'GraphFed', 'local', 1)} ({_clearly(cells, 'local', 1.0)} by more "
        f"than two standard errors of the difference), above centralised in "
        f"{share(cells, 'GraphFed', 'centralised', 1)}, below it by more than two in "
        f"{_clearly(cells, 'centralised', -1.0)}.",
        "",
        *_causes(found["causes"], found["repeats"]),
        "",
    ]
    return lines


def _clearly(cells: list[Numbers], than: str, sign: float) -> int:
    count = 0
    for c in cells:
        one, two = c["scores"]["GraphFed"], c["scores"][than]
        error = (one["error"][1] ** 2 + two["error"][1] ** 2) ** 0.5
        count += sign * (one["mean"][1] - two["mean"][1]) > 2 * error
    return count


def _causes(found: Numbers, repeats: int) -> list[str]:
    """What one change at a time is worth against centralised training."""
    ways, alike = found["ways"], found["same digit"]
    lines = [
        "### Why not",
        "",
        f"At d = {found['d']}, N_i = {found['rows']}: NMI less that of centralised training on the same rows, mean "
        f"[95 % interval over {repeats} repeats, paired], with one thing changed at a time. What is changed was fixed "
        "before it was run.",
        "",
        "| | NMI less centralised |",
        "|---|---|",
        *(f"| {way} | {m:+.3f} [{m - h:+.3f}, {m + h:+.3f}] |" for way, (m, h) in ways.items()),
        "",
    ]
    mine = {w: v for w, v in ways.items() if not w.startswith(("local", "centralised", "judged"))}
    ahead = [w for w, (m, h) in mine.items() if m > h]
    plain = ways["GraphFed"]
    helps = [w for w, (m, h) in mine.items() if m - h > plain[0] + plain[1]]
    lines.append(
        (
            f"With *{'*, *'.join(ahead)}* it is above centralised training. "
            if ahead
            else "None of these puts GraphFed above centralised training"
            + ("." if len(mine) < 3 else f"; nearest comes *{max(mine, key=lambda w: mine[w][0])}*.")
            + " "
        )
        + (f"Beyond both intervals *{'*, *'.join(helps)}* help{'s' * (len(helps) == 1)}. " if helps else "")
    )
    return [
        *lines,
        "",
        "*Matching.* Of the components that neighbours match and that have rows at both, the share that hold mostly "
        "one digit: "
        + ", ".join(f"{m:.2f} [{m - h:.2f}, {m + h:.2f}] ({name})" for name, (m, h) in alike.items())
        + ". A node holds three or four digits and fits ten components to them: most of its components are pieces of "
        "digits that its neighbour has otherwise cut or does not have, and eq. (2) averages them all the same. A start "
        "that is the same at all nodes raises the share little: it does not last through the local steps.",
    ]


_PCA = "Principal components of the images that train, since umap-learn is not installed (`secmix[papers]`)."
