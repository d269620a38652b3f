"""The report of the ablation, in Markdown."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from analysis.study import Numbers, mean_and_half_width
from secmix.estimators.estimate import wilson

Reading = dict[str, Any]

_LOST = 0.1  # share of itself that a bound must fall by to count as lost,
_FELL = 0.01  # and nats
_SETS = {"the 40 tasks": ("peers", "draws"), "our own": ("own", "again", "independent"), "cases of tests": ("cases",)}


def report(numbers: Numbers, before: Numbers | None = None) -> str:
    """Return the whole report; parts that have not been run are left out.

    Parameters
    ----------
    numbers : dict
    before : dict, optional
        What the same command found before something was taken out for it.
    """
    versions = ", ".join(f"{name} {number}" for name, number in sorted(numbers["versions"].items()))
    parts = [
        "# What each part is worth",
        "",
        f"Written by `{numbers['command']}`; every number is in `numbers.json`. {versions}.",
        *_accusers(numbers),
        *_vouching(numbers),
        *_critics(numbers),
        *(_gone(numbers, before) if before else []),
    ]
    return "\n".join(parts)


def _accusers(numbers: Numbers) -> list[str]:
    record, corpus = numbers.get("record", []), numbers.get("corpus", [])
    convicted = [sum(bool(cell["convict"]) for cell in cells) for cells in (record, corpus)]
    return [
        "",
        "## Who alone convicts",
        "",
        f"The golden record holds {len(record)} cells, in {convicted[0]} of which a node is convicted by what was "
        f"measured or calculated. Of the corpus of wrong protocols {len(corpus)} were audited, with every accuser "
        f"asked whatever others had found; {convicted[1]} were convicted. *Alone*: nobody else convicts there.",
        "",
        *_table_of_accusers(numbers, sorted(_accusers_of(numbers), key=lambda name: -_alone(numbers, name))),
    ]


def _table_of_accusers(numbers: Numbers, names: list[str]) -> list[str]:
    lines = ["| accuser | record: gathered in | convicts | alone | corpus: convicts | alone |", "|" + "---|" * 6]
    record, corpus = numbers.get("record", []), numbers.get("corpus", [])
    for name in names:
        row = [sum(name in cell["gathered"] for cell in record), *_counts(record, name), *_counts(corpus, name)]
        lines.append(f"| {name} | {' | '.join(map(str, row))} |")
    return lines


def _accusers_of(numbers: Numbers) -> list[str]:
    """Return who is gathered in the record or convicts anywhere; those for counterexamples one by one."""
    record, corpus = numbers.get("record", []), numbers.get("corpus", [])
    names = [name for cell in record for name in cell["gathered"]]
    names += [name for cell in [*record, *corpus] for name in cell["convict"]]
    return [name for name in dict.fromkeys(names) if name != "counterexample"]


def _alone(numbers: Numbers, name: str) -> int:
    return sum(_counts(numbers.get(part, []), name)[1] for part in ("record", "corpus"))


def _counts(cells: list[Reading], name: str) -> tuple[int, int]:
    """Count the cells that an accuser convicts, and those that nobody else does."""
    convict = Counter(len(cell["convict"]) for cell in cells if name in cell["convict"])
    return convict.total(), convict[1]


def _vouching(numbers: Numbers) -> list[str]:
    readings = _readings(numbers)
    if not readings:
        return []
    states = Counter(_state(reading, "all") for reading in readings)
    vouched = states["right"] + states["wrong"]
    low, high = wilson(states["wrong"], max(vouched, 1))
    return [
        "",
        "## What makes KSG doubt its number",
        "",
        f"{len(readings)} draws were read: of the 40 tasks of Czyż et al., of our own, and of the cases of `ksg`'s "
        f"tests. With all safeguards KSG vouches for {vouched} numbers, {states['wrong']} of them wrongly (the truth "
        f"lies outside the interval; {low:.1%} to {high:.1%}). Each safeguard was switched off by itself. *Wrong*: "
        "readings that are vouched for wrongly without it, and were not with it. *Lost*: readings that were vouched "
        "for rightly and are no longer. *Gained*: the reverse.",
        "",
        *_table_of_safeguards(numbers, list(numbers["files"]["vouching"])),
        "",
        "What stays though it decides nothing by itself stands in for another (other scales, lengths, the tenth and "
        "the bound), keeps an infinite interval from being vouched for (rows too few to see growth), holds the level "
        "of the interval without the other checks, as `tests/calibration/` replays it (the way still to go), or speaks "
        "where a bound may be silent, beyond four dimensions (planted information) and of few distinct rows (the "
        "ceiling).",
    ]


def _readings(numbers: Numbers) -> list[Reading]:
    return [*numbers.get("vouching", []), *numbers.get("cases", [])]


def _table_of_safeguards(numbers: Numbers, names: list[str]) -> list[str]:
    lines = [f"| safeguard | file | {' | '.join(f'wrong, {name}' for name in _SETS)} | lost | gained |"]
    lines.append("|" + "---|" * (4 + len(_SETS)))
    for name in names:
        pairs = [(_state(r, "all"), _state(r, name), r["part"]) for r in _readings(numbers)]
        wrong = [
            sum(now == "wrong" != before for before, now, part in pairs if part in parts) for parts in _SETS.values()
        ]
        lost = sum(before == "right" != now for before, now, _ in pairs)
        gained = sum(now == "right" != before for before, now, _ in pairs)
        file = numbers["files"]["vouching"][name]
        lines.append(f"| {name} | `ksg_estimator/{file}` | {' | '.join(map(str, wrong))} | {lost} | {gained} |")
    return lines


def _state(reading: Reading, name: str) -> str:
    """Return "right" or "wrong" where the number is vouched for, else "open"."""
    status, low, high = reading["read"].get(name, reading["read"]["all"])
    truth = math.inf if reading["truth"] is None else reading["truth"]
    if status == "determined":
        return "right" if math.isinf(truth) else "wrong"
    if status == "unresolved":
        return "open"
    return "right" if (low is None or low <= truth) and (high is None or truth <= high) else "wrong"


def _critics(numbers: Numbers) -> list[str]:
    draws = numbers.get("critics", [])
    if not draws:
        return []
    above = sum(_is_above(draw, "all") for draw in draws)
    low, high = wilson(above, len(draws))
    names = list(numbers["files"]["critics"])
    lost = {name: [draw for draw in draws if _falls(draw, "all", name)] for name in names}
    return [
        "",
        "## What the lower bound is made of",
        "",
        f"{len(draws)} draws, of the 40 tasks, of our own and of strangers. With all parts the bound exceeds the truth "
        f"in {above} ({low:.1%} to {high:.1%}). Each part was switched off by itself. *Above*: bounds above the truth "
        f"without it, that were not with it. *Lost*: bounds that fall by a tenth, and by {_FELL} nats; *gained*: the "
        "reverse. The last columns say by how much the bound falls without it, in shares of the truth (of the bound "
        "itself where the truth is infinite), with the 95 % interval of the mean.",
        "",
        *_table_of_critics(numbers, names),
        "",
        "The jackknife and the unseen stay: the bound's level is derived with them (Efron and Stein; Bernstein). "
        "Canonical correlations stay for the mean that they add.",
        "",
        *(f"- Lost without {name}: {_listed(found)}." for name, found in lost.items() if found),
    ]


def _table_of_critics(numbers: Numbers, names: list[str]) -> list[str]:
    draws = numbers["critics"]
    sizes = sorted({draw["rows"] for draw in draws})
    lines = [f"| part | file | above | lost | gained | {' | '.join(f'falls, N = {n:,}' for n in sizes)} |"]
    lines.append("|" + "---|" * (5 + len(sizes)))
    for name in names:
        above = sum(_is_above(draw, name) and not _is_above(draw, "all") for draw in draws)
        lost, gained = (sum(_falls(draw, *pair) for draw in draws) for pair in (("all", name), (name, "all")))
        by_size = [_fall([draw for draw in draws if draw["rows"] == n], name) for n in sizes]
        file = numbers["files"]["critics"][name]
        lines.append(f"| {name} | `information/{file}` | {above} | {lost} | {gained} | {' | '.join(by_size)} |")
    return lines


def _listed(draws: list[Reading]) -> str:
    return "; ".join(sorted(f"{draw['task']} (N = {draw['rows']:,})" for draw in draws))


def _is_above(draw: Reading, name: str) -> bool:
    return draw["truth"] is not None and _low(draw, name) > draw["truth"]


def _falls(draw: Reading, before: str, after: str) -> bool:
    high, low = _low(draw, before), _low(draw, after)
    return high - low > max(_LOST * high, _FELL)


def _low(draw: Reading, name: str) -> float:
    return float(draw["read"][name][1])


def _fall(draws: list[Reading], name: str) -> str:
    shares = [
        (_low(draw, "all") - _low(draw, name)) / (draw["truth"] or _low(draw, "all"))
        for draw in draws
        if draw["truth"] or _low(draw, "all")
    ]
    if len(shares) < 2:
        return "–"
    mean, half = mean_and_half_width(shares)
    return f"{100 * mean:.1f} ± {100 * half:.1f} %"


def _gone(numbers: Numbers, before: Numbers) -> list[str]:
    """Return the figures, as they were then, of what is there no more."""
    still = {name for cell in numbers.get("record", []) for name in cell["gathered"]}
    once = dict.fromkeys(name for cell in before.get("record", []) for name in cell["gathered"])
    accusers = [name for name in once if name not in still]
    safeguards, critics = (
        [name for name in before["files"][part] if name not in numbers["files"][part]]
        for part in ("vouching", "critics")
    )
    lines = [
        "",
        "## What went",
        "",
        "These were measured like the others, decided nothing, and were taken out, of the evidence that is gathered by "
        "default or of the library. The figures are those of the code that had them (`before.json`).",
    ]
    lines += ["", *_table_of_accusers(before, accusers)] if accusers else []
    lines += ["", *_table_of_safeguards(before, safeguards)] if safeguards else []
    lines += ["", *_table_of_critics(before, critics)] if critics else []
    return lines
