"""The report on Zhang 2024, third part: numbers of machines and rows (figures 3 and 4), and the theorem's rates."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.study import mean_and_half_width
from analysis.words import plus_minus, share, verdict
from analysis.zhang_2024.rates import MEASURES
from secmix.estimators.estimate import wilson

Numbers = dict[str, Any]
HARD, TOTAL = 0.3, 100_000
PROPOSED = ("Oracle", "ARED", "CRED")


def sizes(cells: list[Numbers]) -> list[str]:
    """Figures 3 and 4: more machines of N rows each, and the same rows on more machines."""
    grown, fixed = growth(cells), fixed_total(cells)
    if not grown:
        return []
    lines = [
        "### Numbers of machines and rows (figures 3 and 4)",
        "",
        "![Mean W1 against the number of machines, for 1000, 5000 and 10000 rows a machine, and for 100000 rows in "
        "all](sizes.png)",
        "",
        f"Overlap {HARD:g}, 30 % of the machines fail. Machines are nested and populations the same, so that each "
        "number is the mean of ln W1(more)/W1(fewer) within populations, as a factor with its 95 % interval. More "
        "machines of N rows each, from m = 20 to 100:",
        "",
        *_factors(grown, "N", "rows"),
        "",
        f"The same {TOTAL} rows on 20 machines of 5000 and on 100 of 1000 (the authors' example has this total; the "
        "paper's is lost in the text):",
        "",
        *_factors(fixed, "repetitions", "repetitions"),
        "",
        *_size_claims(grown, fixed),
        "",
    ]
    return lines


def growth(cells: list[Numbers]) -> list[Numbers]:
    """W1 at m = 100 over that at m = 20, by rows and failure: of each rule the factor with its interval."""
    return [
        _compared(cells, failure, (20, rows), (100, rows))
        for rows in (1000, 5000, 10000)
        for failure in ("mean", "covariance", "weight")
        if _at(cells, failure, 20, rows) and _at(cells, failure, 100, rows)
    ]


def fixed_total(cells: list[Numbers]) -> list[Numbers]:
    """W1 with 100 machines of 1000 rows over that with 20 of 5000."""
    return [
        _compared(cells, failure, (20, 5000), (100, 1000))
        for failure in ("mean", "covariance", "weight")
        if _at(cells, failure, 20, 5000) and _at(cells, failure, 100, 1000)
    ]


def _at(cells: list[Numbers], failure: str, m: int, rows: int) -> Numbers | None:
    place = (failure, m, rows, HARD, HARD)
    keys = ("failure", "machines", "rows", "overlap", "rate")
    return next((c for c in cells if tuple(c[key] for key in keys) == place and "w1" in c["rules"]["Oracle"]), None)


def _compared(cells: list[Numbers], failure: str, few: tuple[int, int], many: tuple[int, int]) -> Numbers:
    a, b = _at(cells, failure, *few), _at(cells, failure, *many)
    assert a is not None
    assert b is not None
    n = min(a["repetitions"], b["repetitions"])
    factors = {}
    for rule in a["rules"]:
        logs = np.log(b["rules"][rule]["w1"][:n]) - np.log(a["rules"][rule]["w1"][:n])
        mean, half = mean_and_half_width(logs.tolist())
        factors[rule] = [float(np.exp(x)) for x in (mean, mean - half, mean + half)]
    return {"failure": failure, "rows": many[1], "repetitions": n, "factors": factors}


def _factors(found: list[Numbers], head: str, key: str) -> list[str]:
    rules = list(found[0]["factors"]) if found else []
    return [
        f"| failure, {head} | " + " | ".join(rules) + " |",
        "|---" * (len(rules) + 1) + "|",
        *(
            f"| {row['failure']}, {row[key]} | " + " | ".join(interval(row["factors"][rule]) for rule in rules) + " |"
            for row in found
        ),
    ]


def interval(three: list[float]) -> str:
    """A factor with its interval."""
    return "{:.2f} [{:.2f}, {:.2f}]".format(*three)


def _size_claims(grown: list[Numbers], fixed: list[Numbers]) -> list[str]:
    falls = [r for r in grown if all(r["factors"][rule][2] < 1 for rule in PROPOSED[1:])]
    still = [r for r in grown if r["factors"]["COAT"][1] <= 1 <= r["factors"]["COAT"][2]]
    flat = [r for r in fixed if all(r["factors"][rule][1] <= 1 <= r["factors"][rule][2] for rule in PROPOSED[1:])]
    worse = [r for r in fixed if r["factors"]["COAT"][1] > 1]
    change = [r["factors"][rule][0] for r in fixed for rule in PROPOSED]
    lines = [
        verdict(len(falls) == len(grown))
        + f" *ARED and CRED improve as machines are added*: the whole interval is below 1 in {len(falls)} of "
        f"{len(grown)} settings (√(20/100) = 0.45 is the rate of an average).",
        verdict(len(still) == len(grown))
        + f" *COAT hangs on N alone*: 1 lies in its interval in {len(still)} of {len(grown)} settings.",
    ]
    if fixed:
        lines += [
            verdict(len(flat) == len(fixed))
            + f" *At a fixed total, ARED and CRED do not change with m*: 1 lies in both intervals in {len(flat)} of "
            f"{len(fixed)} failures; the factors of Oracle, ARED and CRED are {min(change):.2f} to {max(change):.2f}. "
            f"COAT becomes worse in {len(worse)} of {len(fixed)}.",
        ]
    return lines


def rates(found: Numbers, command: str) -> list[str]:
    """The theorem's rates."""
    n, last = found["repetitions"], found["rows"][-1]
    lines = [
        "## The rates of the theorem",
        "",
        f"{n} populations of overlap {found['overlap']:g}, up to {max(found['machines'])} machines; of the rows of a "
        "machine the first N are those of the smaller N. *P(exact set) → 1* is said to hold where all sets are "
        "exact at the largest N, or the interval of the share there lies above that at the smallest. Slopes of ln ISE "
        "in ln N, of each population by itself, mean ± half of the 95 % interval over populations; the values are "
        "geometric means:",
        "",
        "| | slope | " + " | ".join(f"N = {rows}" for rows in found["rows"]) + " |",
        "|---" * (len(found["rows"]) + 2) + "|",
    ]
    for name, words in MEASURES.items():
        values = " | ".join(f"{value:.3g}" for value in found["typical_values"][name])
        lines.append(f"| {words} | {plus_minus(found['slopes'][name])} | {values} |")
    lines += [
        "",
        f"In how many populations ARED rejects *exactly* those who failed, at {100 * found['rate']:.0f} % failures "
        "(beside it, nobody who failed was missed; nobody honest was rejected):",
        "",
        "| m, failure | " + " | ".join(f"N = {rows}" for rows in found["rows"]) + " |",
        "|---" * (len(found["rows"]) + 1) + "|",
    ]
    for m, failure in dict.fromkeys((c["machines"], c["failure"]) for c in found["found"]):
        mine = [c for c in found["found"] if (c["machines"], c["failure"]) == (m, failure)]
        each = (f"{c['exact']} of {n} ({c['none_missed']}, {c['none_wronged']})" for c in mine)
        lines.append(f"| {m}, {failure} | " + " | ".join(each) + " |")
    lines += ["", *_rate_claims(found, n, last), "", f"Reproduce: `{command}`."]
    return lines


def _rate_claims(found: Numbers, n: int, last: int) -> list[str]:
    covered = all(abs(found["slopes"][name][0] + 1) <= found["slopes"][name][1] for name in MEASURES)
    steep = all(sum(found["slopes"][name]) < 0 for name in MEASURES)
    lines = [
        verdict(covered)
        + " *ISE falls as 1/N*: −1 lies in the interval of "
        + ("all three slopes." if covered else "not all slopes.")
        + ("" if covered else f" All are below 0: {steep}."),
    ]
    for failure in ("mean", "covariance", "weight"):
        counts = [c["exact"] for c in found["found"] if c["failure"] == failure and c["rows"] == last]
        first = [c["exact"] for c in found["found"] if c["failure"] == failure and c["rows"] == found["rows"][0]]
        tried = n * len(counts)
        rises = wilson(sum(counts), tried)[0] > wilson(sum(first), tried)[1]
        lines.append(
            verdict(sum(counts) == tried or rises)
            + f" *P(exact set) → 1*, {failure} failures: {sum(first)} of {tried} at N = {found['rows'][0]}, "
            f"{sum(counts)} of {tried} at N = {last} ({share(sum(counts), tried)})."
        )
    return lines
