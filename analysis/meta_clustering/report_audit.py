"""The report on meta clustering, second part: what liars do, and what the messages reveal."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, Any]
WAYS = ("K = 2", "K by penalty", "K by gap")


def breakdown(found: Numbers) -> list[str]:
    lines = [
        "## Lying learners",
        "",
        f"{found['learners']} learners of 40 rows, two linear functions by turns, predictions exchanged, "
        f"{found['runs']} runs. For each lie as it is / a million times as far: the share of pairs of honest learners "
        "wrongly together or apart, and the largest error of honest predictions, in units of their spread (from 1 on "
        "they are worthless; ∞ is no number). Lies: labels flipped; predictions raised by half their spread; the first "
        "honest learner imitated; losses that fit nobody; losses that fit everybody; honest until clusters are made.",
        "",
        "| lie | liars | " + " | ".join(f"wrongly placed, {way} | error, {way}" for way in WAYS) + " |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for lie, ways in sorted(found["lies"].items()):
        for cells in zip(*(ways[way] for way in WAYS), strict=True):
            values = " | ".join(f"{_both(c['wrong'])} | {_both(c['error'])}" for c in cells)
            lines.append(f"| {lie.replace('_', ' ')} | {cells[0]['colluders']} | {values} |")
    fixed, free, gap = (_holds(found, way) for way in WAYS)
    return [
        *lines,
        "",
        f"**Breakdown.** The clustering of the honest withstood every lie here from at most {fixed} liars with K = 2, "
        f"{free} with K by the penalty and {gap} with K by the gap statistic (up to 6 clusters), of the numbers tried. "
        "With a fixed K whoever is unlike all others takes up a cluster, and two honest ones merge; the gap statistic "
        "stops at two clusters where there are three, so that the same happens to it. That is why the penalty, the "
        "paper's eq. 3, is the default of `MetaClustering`. No clustering helps against who is honest until "
        "clusters are made, and lies when asked to predict; a median of the cluster's predictions in place of eq. (4) "
        "suggests itself, and was not measured.",
        "",
    ]


def _holds(found: Numbers, way: str) -> int:
    """The most liars up to which no lie puts more than one pair of honest learners in twenty in the wrong place."""
    most = 0
    for place, f in enumerate(found["colluders"]):
        if max(max(ways[way][place]["wrong"]) for ways in found["lies"].values()) > 0.05:
            break
        most = f
    return most


def _both(values: list[float | None]) -> str:
    return " / ".join("∞" if v is None else f"{v:.2f}" if v < 1000 else f"{v:.0e}" for v in values)


def revealed(found: Numbers) -> list[str]:
    lines = [
        "## What the messages reveal",
        "",
        '"Only fitted functions are exchanged." Known of learner 0 to 1e-6, the least over the runs: the share of its '
        "rows whose X, and whose y, are known, and equations that hold for each row. These are lower bounds: 0 means "
        "that this attack found nothing.",
        "",
        "| sent | regressor | rows | columns | learners | eavesdropper: X, y, equations | curious learner | how |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in found["messages"]:
        texts = [
            f"{100 * c[who]['X']:.0f} %, {100 * c[who]['y']:.0f} %, {c[who]['equations']}"
            for who in ("eavesdropper", "curious learner")
        ]
        lines.append(
            f"| {c['exchange']} | {c['candidate']} | {c['rows']} | {c['p']} | {c['learners']} | {texts[0]} | "
            f"{texts[1]} | {c['eavesdropper']['how']} |"
        )
    objects = "; ".join(f"{name} {100 * share:.0f} %" for name, share in sorted(found["objects"].items()))
    return [
        *lines,
        "",
        f"A fitted regressor sent as an object may hold the rows themselves. Share of X found in it: {objects}.",
    ]
