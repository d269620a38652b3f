"""What the estimators were to reach on known truth, set beforehand, beside what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = dict[str, Any]
# Tasks of 40 whose bound reaches a share of the truth, and whose value comes within a share of it.
REACH = {2000: {0.7: 36, 0.8: 30, 0.6: 40}, 10_000: {0.7: 39, 0.85: 32}}
WITHIN = {2000: {0.3: 38, 0.1: 28}}
SECONDS = {2000: 10, 10_000: 60}
LEAKS = {"2% of rows leak (exact)": 0.02, "5% of rows leak (6 nats each)": 0.04}


def aims(numbers: Numbers) -> list[str]:
    """A table: aim, what was found, whether it holds."""
    rows = [row for part in (_reached, _violations, _strangers, _leaks, _vouched) for row in part(numbers)]
    lines = ["| aim | found | held |", "|---|---|---|"]
    return lines + [f"| {aim} | {found} | {'yes' if held else '**no**'} |" for aim, found, held in rows]


def outside(cell: Numbers) -> bool:
    """Whether the truth lies outside the interval; None stands for an infinite one."""
    truth, high = (float("inf") if cell[key] is None else cell[key] for key in ("truth", "high"))
    return not (cell["low"] is None or cell["low"] <= truth) or truth > high


def _of(numbers: Numbers, method: str, *parts: str, rows: int | None = None) -> list[Numbers]:
    found = (cell for part in parts for cell in numbers.get(part, ()))
    return [cell for cell in found if cell["method"] == method and rows in (None, cell["rows"])]


def _reached(numbers: Numbers) -> list[tuple[str, str, bool]]:
    rows = []
    for n, wanted in REACH.items():
        cells = _of(numbers, "lower bound", "peers", rows=n)
        if not cells:
            continue
        shares = np.array([cell["low"] / cell["truth"] for cell in cells])
        for share, tasks in wanted.items():
            count = int((shares >= share).sum())
            aim = f"N = {n:,}: the bound is at least {share:.0%} of the truth in {tasks} tasks"
            rows.append((aim, f"{count} of {len(cells)}; least {shares.min():.2f}", count >= tasks))
        off = np.array([abs(cell["value"] / cell["truth"] - 1) for cell in cells])
        for share, tasks in WITHIN.get(n, {}).items():
            count = int((off <= share).sum())
            rows.append((f"N = {n:,}: its value within {share:.0%} in {tasks}", f"{count}", count >= tasks))
        alone = _of(numbers, "lower bound", "alone", rows=n)
        longest = max(cell["seconds"] for cell in alone or cells)
        aim = f"N = {n:,}: at most {SECONDS[n]} s a bound{', one draw at a time' if alone else ''}"
        rows.append((aim, f"{longest:.1f} s", longest <= SECONDS[n]))
    return rows


def _violations(numbers: Numbers) -> list[tuple[str, str, bool]]:
    cells = _of(numbers, "lower bound", "peers", "draws", rows=2000)
    if not cells:
        return []
    above = sum(cell["low"] > cell["truth"] for cell in cells)
    allowed = len(cells) // 100
    return [(f"the bound exceeds the truth in at most {allowed} of {len(cells)} draws", f"{above}", above <= allowed)]


def _strangers(numbers: Numbers) -> list[tuple[str, str, bool]]:
    cells = _of(numbers, "lower bound", "independent", rows=2000)
    if not cells:
        return []
    above = sum(cell["low"] > 0 for cell in cells)
    allowed = len(cells) // 60
    return [(f"it is above 0 in at most {allowed} of {len(cells)} independent draws", f"{above}", above <= allowed)]


def _leaks(numbers: Numbers) -> list[tuple[str, str, bool]]:
    rows = []
    tasks = dict.fromkeys((part, c["task"]) for part in ("own", "again") for c in numbers.get(part, ()))
    for part, task in tasks:
        for least in (least for name, least in LEAKS.items() if task.startswith(name)):
            lows = [c["low"] for c in _of(numbers, "lower bound", part, rows=2000) if c["task"] == task]
            sure = sum(c["resolved"] for c in _of(numbers, "KSG", part, rows=2000) if c["task"] == task)
            seen = sum(low >= least for low in lows)
            which = ", on fresh draws" * (part == "again")
            aim = f"{task}, N = 2,000: the bound is at least {least:g} in 9 of 10, KSG resolved in none{which}"
            found = f"{seen} of {len(lows)}, median {np.median(lows):.3f}; resolved {sure}"
            rows.append((aim, found, seen >= 0.9 * len(lows) and not sure))
    return rows


def _vouched(numbers: Numbers) -> list[tuple[str, str, bool]]:
    rows = []
    for parts, which in ((("peers", "draws", "own", "independent"), ""), (("again",), ", on fresh draws")):
        readings = _of(numbers, "KSG", *parts)
        sure = [cell for cell in readings if cell["resolved"]]
        misses = sum(map(outside, sure))
        aim = f"at most 5 % of the intervals KSG vouches for miss the truth{which}"
        if readings:
            rows.append((aim, f"{misses} of {len(sure)} ({len(readings)} readings)", misses <= 0.05 * len(sure)))
        light = [cell for cell in readings if cell["family"] == "light" and cell["rows"] == 2000]
        for task in dict.fromkeys(cell["task"] for cell in light):
            at = [cell["resolved"] for cell in light if cell["task"] == task]
            aim = f"{task}, N = 2,000: resolved in 80 %{which}"
            rows.append((aim, f"{sum(at)} of {len(at)}", sum(at) >= 0.8 * len(at)))
    return rows
