"""The report of the ablation, in Markdown."""

from __future__ import annotations

import math
from collections import Counter

from analysis.ablation.critics import AFTERWARDS, OFF
from analysis.ablation.vouching import SAFEGUARDS
from analysis.study import Numbers, mean_and_half_width
from secmix.estimators.estimate import wilson

_NAMES = {"ksg": "KSG", "encoding": "encodings"}
_LOST = 0.1  # share of itself that a bound must fall by to count as lost,
_FELL = 0.01  # and nats
_SETS = {"the 40 tasks": ("peers", "draws"), "our own": ("own", "again", "independent"), "cases of tests": ("cases",)}


def report(numbers: Numbers) -> str:
    """Return the whole report; parts that have not been run are left out."""
    versions = ", ".join(f"{name} {number}" for name, number in sorted(numbers["versions"].items()))
    parts = [
        "# What each part is worth",
        "",
        f"Written by `{numbers['command']}`; every number is in `numbers.json`. {versions}.",
        "",
        *_accusers(numbers),
    ]
    if readings := [*numbers.get("vouching", []), *numbers.get("cases", [])]:
        parts += ["", *_vouching(readings)]
    if draws := numbers.get("critics", []):
        parts += ["", *_critics(draws)]
    return "\n".join([*parts, "", *_REMOVED])


def _accusers(numbers: Numbers) -> list[str]:
    record, corpus = numbers.get("record", []), numbers.get("corpus", [])
    names = dict.fromkeys(name for cell in [*record, *corpus] for name in [*cell["gathered"], *cell["convict"]])
    counts = [_counts(cells) for cells in (record, corpus)]
    convicted = [sum(bool(cell["convict"]) for cell in cells) for cells in (record, corpus)]
    lines = [
        "## Who alone convicts",
        "",
        f"The golden record holds {len(record)} cells, in {convicted[0]} of which a node is convicted by what was "
        f"measured or calculated. Of the corpus of wrong protocols {len(corpus)} were audited, with every accuser "
        f"asked whatever others had found; {convicted[1]} were convicted. *Alone*: nobody else convicts there.",
        "",
        "| accuser | record: gathered in | convicts | alone | corpus: convicts | alone |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(names, key=lambda name: -(counts[0]["alone"][name] + counts[1]["alone"][name])):
        gathered = sum(name in cell["gathered"] for cell in record)
        row = [gathered, counts[0]["convicts"][name], counts[0]["alone"][name]]
        row += [counts[1]["convicts"][name], counts[1]["alone"][name]]
        if name != "witness":
            lines.append(f"| {_NAMES.get(name, name)} | {' | '.join(map(str, row))} |")
    return lines


def _counts(cells: list[Numbers]) -> dict[str, Counter[str]]:
    return {
        "convicts": Counter(name for cell in cells for name in cell["convict"]),
        "alone": Counter(cell["convict"][0] for cell in cells if len(cell["convict"]) == 1),
    }


def _vouching(readings: list[Numbers]) -> list[str]:
    whole = [(_state(r, "all"), r) for r in readings]
    vouched, wrong = (sum(state in which for state, _ in whole) for which in (("right", "wrong"), ("wrong",)))
    low, high = wilson(wrong, max(vouched, 1))
    lines = [
        "## What makes KSG doubt its number",
        "",
        f"{len(readings)} draws were read: of the 40 tasks of Czyż et al., of our own, and of the cases of `ksg`'s "
        f"tests. With all safeguards KSG vouches for {vouched} numbers, {wrong} of them wrongly (the truth lies "
        f"outside the interval; {low:.1%} to {high:.1%}). Each safeguard was switched off by itself. *Wrong*: readings "
        "that are vouched for wrongly without it, and were not with it. *Lost*: readings that were vouched for rightly "
        "and are no longer. *Gained*: the reverse.",
        "",
        f"| safeguard | file | {' | '.join(f'wrong, {name}' for name in _SETS)} | lost | gained |",
        "|" + "---|" * (4 + len(_SETS)),
    ]
    for name, safeguard in SAFEGUARDS.items():
        pairs = [(_state(r, "all"), _state(r, name), r["part"]) for r in readings]
        more = [
            sum(now == "wrong" != before for before, now, part in pairs if part in parts) for parts in _SETS.values()
        ]
        lost = sum(before == "right" != now for before, now, _ in pairs)
        gained = sum(now == "right" != before for before, now, _ in pairs)
        lines.append(f"| {name} | `ksg/{safeguard.file}` | {' | '.join(map(str, more))} | {lost} | {gained} |")
    return lines


def _state(reading: Numbers, name: str) -> str:
    """Return "right" or "wrong" where the number is vouched for, else "open"."""
    status, low, high = reading["read"].get(name, reading["read"]["all"])
    truth = math.inf if reading["truth"] is None else reading["truth"]
    if status == "determined":
        return "right" if math.isinf(truth) else "wrong"
    if status == "unresolved":
        return "open"
    return "right" if (low is None or low <= truth) and (high is None or truth <= high) else "wrong"


def _critics(draws: list[Numbers]) -> list[str]:
    sizes = sorted({draw["rows"] for draw in draws})
    above = sum(_above(draw, "all") for draw in draws)
    low, high = wilson(above, len(draws))
    lines = [
        "## What the lower bound is made of",
        "",
        f"{len(draws)} draws, of the 40 tasks, of our own and of strangers. With all parts the bound exceeds the truth "
        f"in {above} ({low:.1%} to {high:.1%}). Each part was switched off by itself. *Above*: bounds above the truth "
        f"without it, that were not with it. *Lost*: bounds that fall by a tenth and by {_FELL} nats; *gained*: the "
        "reverse. The last columns say by how much the bound falls without it, in shares of the truth (of the bound "
        "itself where the truth is infinite), with the 95 % interval of the mean.",
        "",
        f"| part | file | above | lost | gained | {' | '.join(f'falls, N = {n:,}' for n in sizes)} |",
        "|" + "---|" * (5 + len(sizes)),
    ]
    files = {name: file for name, (file, _) in OFF.items() if name != "all"} | AFTERWARDS
    for name, file in files.items():
        more = sum(_above(draw, name) and not _above(draw, "all") for draw in draws)
        falls = [_moved(draw, "all", name) for draw in draws]
        rises = sum(_moved(draw, name, "all") for draw in draws)
        by_size = [_fall([draw for draw in draws if draw["rows"] == n], name) for n in sizes]
        lines.append(f"| {name} | `information/{file}` | {more} | {sum(falls)} | {rises} | {' | '.join(by_size)} |")
    lost = {name: [draw for draw in draws if _moved(draw, "all", name)] for name in files}
    lines += ["", *(f"- Without {name} lost: {_listed(found)}." for name, found in lost.items() if found)]
    return lines


def _listed(draws: list[Numbers]) -> str:
    return "; ".join(sorted(f"{draw['task']} (N = {draw['rows']:,})" for draw in draws))


def _above(draw: Numbers, name: str) -> bool:
    return draw["truth"] is not None and _low(draw, name) > draw["truth"]


def _moved(draw: Numbers, before: str, after: str) -> bool:
    high, low = _low(draw, before), _low(draw, after)
    return high - low > max(_LOST * high, _FELL)


def _low(draw: Numbers, name: str) -> float:
    return float(draw["read"][name][1])


def _fall(draws: list[Numbers], name: str) -> str:
    shares = [
        (_low(draw, "all") - _low(draw, name)) / (draw["truth"] or _low(draw, "all"))
        for draw in draws
        if draw["truth"] or _low(draw, "all")
    ]
    mean, half = mean_and_half_width(shares)
    return f"{100 * mean:.1f} ± {100 * half:.1f} %"


_REMOVED: list[str] = []
"""What went after an ablation, with its figures then."""
