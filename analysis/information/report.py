"""The report of the study of information estimators, in Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.information.aims import aims, outside

Numbers = dict[str, Any]


def report(numbers: Numbers, neural: Numbers) -> str:
    """The whole report; parts that have not been run are left out."""
    peers, own = numbers.get("peers", []) + neural["cells"], numbers.get("own", [])
    parts = [
        "# Mutual information: what estimators read where the truth is known",
        "",
        f"Written by `{numbers['command']}`; every number is in `numbers.json`. {_versions(numbers)}. The tasks are "
        "those of Czyż et al., *Beyond Normal*, NeurIPS 2023, drawn by our own code, and tasks of our own. Nats "
        f"throughout; seconds are of the processor. {_about(neural)}",
        "",
        "The lower bound is below the truth in at least 95 % of the draws, and clears nobody. KSG is *resolved* where "
        "it vouches for its interval; elsewhere the truth may be larger.",
        "",
        "## What was aimed at",
        "",
        "The aims were set before any draw was made. Rules were changed after draws had been looked at: KSG's (a bound "
        "contradicts the number only beyond the number's own noise; what nearness alone tells counts from 0.02 nats, "
        "and in few rows wherever it may be all that was read; growth that ends is excused; copies on a line are "
        "looked for) and the bound's (near equality is read by rank too; a critic chosen among many must gain more). "
        "The rows *on fresh draws* are of draws made after all that; the others may have been looked at while the "
        "rules were made.",
        "",
        "The seconds are of the processor, two draws at a time on two cores, with other work beside them, which makes "
        "them longer. What a bound costs at N = 2,000 was read again, one draw at a time.",
        "",
        "Where a sharp edge cuts the support (the sum of exponentials, y ≥ x), KSG still grows at N = 2,000 by about "
        "0.03 nats an e-fold of rows. That is excused where fewer neighbours add less and less, as a bias at an edge "
        "does. Rows that leak besides are seen where they lie on a line and are one in a hundred or more. Copies by "
        "an unknown curve in a few rows of a hundred, beside a relation that is plain anyway, are seen by nothing "
        "here: KSG may vouch for a number beside them.",
        "",
        *aims(numbers),
        "",
    ]
    for n in sorted({cell["rows"] for cell in peers}):
        at = [cell for cell in peers if cell["rows"] == n]
        parts += [f"## The 40 tasks, N = {n:,}", "", *_accuracy(at), "", *_bound(at), ""]
        parts += [f"![Reading over truth, task by task, N = {n}](readings-{n}.png)", ""]
    parts += [
        "## Tasks of our own",
        "",
        *_own(own),
        "",
        "## Every task",
        "",
        *(_all(peers) if numbers.get("peers") else []),
    ]
    return "\n".join(parts)


def _versions(numbers: Numbers) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers["versions"].items()))


def _about(neural: Numbers) -> str:
    """Where the readings of the neural estimators come from."""
    if not neural["cells"]:
        return "The neural estimators of Czyż et al. have not been run (`--neural`)."
    on = f"; their seconds are on the clock, beside a {neural['accelerator']}" if neural["accelerator"] else ""
    return (
        f"The neural estimators are those of Czyż et al., with their own settings, by `{neural['command']}` in an "
        f"environment of its own: {_versions(neural)}{on}; `neural.json`."
    )


def _accuracy(cells: list[Numbers]) -> list[str]:
    """How many tasks each method reads within 10 and 30 % of the truth."""
    lines = [
        "| method | draws | within 10 % | within 30 % | median seconds | resolved | truth outside |",
        "|" + "---|" * 7,
    ]
    for name in dict.fromkeys(cell["method"] for cell in cells):
        mine = [c for c in cells if c["method"] == name and c["value"] is not None]
        off = np.array([abs(c["value"] / c["truth"] - 1) for c in mine])
        sure = [c for c in mine if c["resolved"]]
        misses = sum(outside(c) for c in sure)
        seconds = np.median([c["seconds"] for c in mine]) if mine else float("nan")
        vouched = f"{len(sure)} | {misses}" if name == "KSG" else "– | –"
        lines.append(
            f"| {name} | {len(mine)} | {(off <= 0.1).sum()} | {(off <= 0.3).sum()} | {seconds:.2f} | {vouched} |"
        )
    return lines


def _bound(cells: list[Numbers]) -> list[str]:
    shares = np.array([c["low"] / c["truth"] for c in cells if c["method"] == "lower bound"])
    reached = ", ".join(f"{(shares >= share).sum()} reach {share:.0%}" for share in (0.9, 0.8, 0.7, 0.6))
    return [f"Of {len(shares)} lower bounds {reached} of the truth; {(shares > 1).sum()} exceed it."]


def _own(cells: list[Numbers]) -> list[str]:
    """A line a task and size, over its draws."""
    lines = ["| task | N | truth | bound, median | exceeds the truth | KSG, median | resolved | of these miss |"]
    lines += ["|" + "---|" * 8]
    for task, n in dict.fromkeys((cell["task"], cell["rows"]) for cell in cells):
        at = [cell for cell in cells if (cell["task"], cell["rows"]) == (task, n)]
        bounds, readings = ([c for c in at if c["method"] == name] for name in ("lower bound", "KSG"))
        sure = [c for c in readings if c["resolved"]]
        values = np.median([np.inf if c["value"] is None else c["value"] for c in readings])
        low = np.median([c["low"] for c in bounds])
        truth = "∞" if at[0]["truth"] is None else f"{at[0]['truth']:.3f}"
        lines.append(
            f"| {task} | {n} | {truth} | ≥ {low:.3f} | {sum(map(outside, bounds))} of {len(bounds)} | "
            f"{'∞' if np.isinf(values) else f'{values:.3f}'} | {len(sure)} of {len(readings)} | "
            f"{sum(map(outside, sure))} |"
        )
    return lines


def _all(cells: list[Numbers]) -> list[str]:
    methods = list(dict.fromkeys(cell["method"] for cell in cells))
    lines = [f"| task | N | truth | ≥ | {' | '.join(methods)} |", "|" + "---|" * (4 + len(methods))]
    rows: dict[Any, dict[str, Numbers]] = {}
    for cell in cells:
        rows.setdefault((cell["task"], cell["rows"], cell["draw"]), {})[cell["method"]] = cell
    for (task, n, _), found in rows.items():
        bound = found["lower bound"]
        values = [_value(found.get(name)) for name in methods]
        lines.append(f"| {task} | {n} | {bound['truth']:.3f} | {bound['low']:.3f} | {' | '.join(values)} |")
    return lines


def _value(cell: Numbers | None) -> str:
    return "–" if cell is None or cell["value"] is None else f"{cell['value']:.3f}"
