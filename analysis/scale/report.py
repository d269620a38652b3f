"""The report of the study in Markdown."""

from __future__ import annotations

from typing import Any

from analysis.scale.growth import answered
from analysis.scale.limits import floor
from analysis.scale.series import SERIES

Numbers = dict[str, Any]
_HEAD = (
    "Seconds",
    "Peak MiB",
    "Verdict",
    "Runs made",
    "Messages, MiB",
    "Equations × unknowns",
    "Least seconds",
    "Times the least",
)


def report(numbers: Numbers) -> str:
    """Write all of it."""
    versions = ", ".join(f"{name} {number}" for name, number in numbers["versions"].items())
    speed = numbers["speeds"]
    parts = [
        "# What an audit costs as its sizes grow",
        "One `secmix audit --workers 1` a row, each in a process of its own, on one thread: three iterations and two "
        "curious nodes; five nodes, two columns and 500 runs where nothing else is said. *Exact* evidence is "
        "`structure` and `gaussian`; *default* is what a scenario that names none gets. Seconds are processor time, "
        f"user and system, on {numbers['machine']}: other work on them counts only by the caches that it shares. "
        "Memory is the largest resident memory of the process by the kernel's own count; with one worker there is no "
        f"other process. A size may take {numbers['limit']:g} s, all of them together {numbers['whole']:g} s.",
        "![Processor seconds and peak memory against each size](scale.svg)",
        "Dashed: the [least seconds](#the-least-work) of exact evidence. A cross, if there is one: no answer.",
        "## How it grows",
        "The seconds of the smallest size are taken for the start: imports, a trial of the parts, the report. They are "
        "subtracted from the others, and the exponent b in start + a·sizeᵇ is the slope of the least squares of the "
        "logarithms of what is left, with its 95 % interval (Student). Sizes that exceed the start by less than a "
        "quarter of it are left out, for the same audit varies by up to a fifth. As the smallest size takes some work "
        "too, b comes out a little large. It is what a user pays for a larger size, not the growth of one algorithm: "
        "where messages take much memory fewer runs are made, as the tables show. Sizes with two runs, which answer "
        "less, are left out.",
        _growths(numbers),
        *(_series(name, numbers) for name in SERIES if name in numbers),
        "## The least work",
        "An audit has to read the messages of its runs once, and to solve what the adversary reads once. *Messages*: "
        "the bytes that nodes send each other in all runs that are made (exact evidence makes no more than it needs). "
        "*Equations*: messages of one averaging that the adversary reads, in as *unknowns* the inputs of honest nodes "
        "and the masks; all entries of the vector have the same. *Least seconds*: all bytes at "
        f"{speed['bytes'] / 1e9:.1f} GB/s, and equations × unknowns × the smaller of the two multiplications at "
        f"{speed['multiplications'] / 1e9:.0f} · 10⁹/s, as one core did both here (a sum over 64 MiB, a product of "
        "matrices of side 1,024). This is elimination of a full matrix; of sparse equations less would do. Of default "
        "evidence, which also searches and estimates, it is no measure.",
        f"`{numbers['command']}`, with {versions}. Times and memory vary; verdicts, messages and equations follow from "
        "the seed.",
    ]
    return "\n\n".join(parts)


def _growths(numbers: Numbers) -> str:
    rows = []
    for name, fit in numbers["growth"].items():
        start = "–" if fit["start"] is None else f"{fit['start']:.1f}"
        fitted = ", ".join(f"{size:,}" for size in fit["sizes"]) or "none"
        rows.append([SERIES[name].title, start, fitted, exponent_in_words(fit), _largest(numbers[name])])
    head = ["Series", "Start, s", "Sizes fitted", "Exponent of the seconds", "Largest size with an answer"]
    return _table(head, rows)


def _largest(points: list[Numbers]) -> str:
    last = next(filter(answered, reversed(points)), None)
    return f"{last['size']:,}: {last['seconds']:.0f} s, {last['mebibytes']:,.0f} MiB" if last else "none"


def exponent_in_words(fit: Numbers) -> str:
    """Describe a fitted exponent with its interval, or say why there is none."""
    if fit["start"] is None:
        return "no answer at the smallest size"
    if not fit["answered"]:
        return "no larger size has an answer"
    if not fit["sizes"]:
        return f"nothing up to {fit['answered'][-1]:,} costs a quarter more than the start"
    if fit["exponent"] is None:
        return f"only {fit['sizes'][0]:,} costs a quarter more than the start"
    if fit["low"] is None:
        return f"{fit['exponent']:.2f} (two sizes: no interval)"
    return f"{fit['exponent']:.2f} [{fit['low']:.2f}, {fit['high']:.2f}]"


def _series(name: str, numbers: Numbers) -> str:
    series = SERIES[name]
    rows = [[f"{p['size']:,}", *_cost(p), *_least(p, numbers["speeds"])] for p in numbers[name]]
    parts = [f"## {series.title}", series.note] if series.note else [f"## {series.title}"]
    return "\n\n".join([*parts, _table([series.letter.capitalize(), *_HEAD], rows)])


def _cost(point: Numbers) -> list[str]:
    said = ", ".join(filter(None, [point["verdict"], point["why"].replace("|", "\\|")]))
    if point["seconds"] is None:
        return ["–", "–", said]
    return [f"{point['seconds']:.1f}", f"{point['mebibytes']:,.0f}", said]


def _least(point: Numbers, speed: dict[str, float]) -> list[str]:
    least = point["least"]
    if least is None:
        return ["–"] * 5
    size = f"{least['equations']:,} × {least['unknowns']:,}"
    if not answered(point):
        return ["–", "–", size, "–", "–"]
    seconds = floor(least, speed)
    mebibytes = f"{least['bytes'] / 2**20:,.1f}"
    return [f"{least['runs']:,}", mebibytes, size, f"{seconds:.2g}", f"{point['seconds'] / seconds:,.0f}"]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
