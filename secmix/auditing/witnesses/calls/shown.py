"""Findings of calls in long use: what a message of some calls is of a node's input, which calls, and how to mend it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from secmix.auditing.report import Finding
from secmix.auditing.soundness.holding import Place
from secmix.auditing.witnesses.calls.matches import FIRST, Fits, Match, again, matches
from secmix.auditing.witnesses.calls.patterns import PATTERNS, LongUse, Pattern, Run
from secmix.auditing.witnesses.calls.together import Combination, combinations
from secmix.auditing.witnesses.finding import in_all_runs
from secmix.auditing.witnesses.shown import Looks

_RELATIONS = ("itself", "pair", "call before", "difference", "sum")
"""The simplest first."""
View = Literal["single", "cumulative"]
_LISTED = 4
_WEIGHS = 1e-3  # of the largest: an entry with less is left out of the words
_MOST = 0.95  # of all calls: in the others an input hardly varies


@dataclass(frozen=True)
class _Shown:
    """What two instances of a protocol show in the same calls.

    Attributes
    ----------
    match : Match
    calls : list of int
    runs : list of Run
        Those of the second instance, in which nothing was fitted.
    made : int
        How many calls were made.
    is_whole : bool
        Whether it is the input itself, not that and an unknown number.
    """

    match: Match
    calls: list[int]
    runs: list[Run]
    made: int
    is_whole: bool

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """Sorts the simplest first."""
        return not self.is_whole, _RELATIONS.index(self.match.relation), self.match.lag, -len(self.runs)

    @property
    def is_determined(self) -> bool:
        """Say whether the input of a node is known, not only how it changes."""
        return self.is_whole and self.match.relation in _RELATIONS[:3]


def in_long_use(looks: Looks) -> list[Finding]:
    """Return what calls show in which a message, or the difference or sum of two, is a node's input."""
    iteration, given = next(iter(looks.inputs.items()))
    use = LongUse(looks.service, given, max(iteration, 0), {})
    for pattern in PATTERNS:
        runs = use.runs(pattern, 1)
        first = matches(runs, looks.nodes, looks.honest, looks.steps)
        if not first and pattern is not PATTERNS[0]:
            continue  # a second life could only bear out what the first shows
        instances = [runs, use.runs(pattern, 2)]
        found = _shown(looks, pattern, first, instances)
        if found:
            return [_finding(looks, use, pattern, each) for each in found.values()]
        if pattern is PATTERNS[0]:
            known = combinations(instances[0], instances[1], looks.nodes, looks.honest)
            if known:
                return [_of_combination(looks, use, each) for each in known]
    return []


def _shown(
    looks: Looks, pattern: Pattern, first: Mapping[Match, Fits], instances: Sequence[list[Run]]
) -> dict[int, _Shown]:
    second = matches(instances[1], looks.nodes, looks.honest, looks.steps) if first else {}
    found: dict[int, _Shown] = {}
    for match in first.keys() & second.keys():
        shown = _of(pattern, match, first[match], second[match], instances)
        if shown and (match.node not in found or shown.rank < found[match.node].rank):
            found[match.node] = shown
    return found


def _of(pattern: Pattern, match: Match, first: Fits, second: Fits, instances: Sequence[list[Run]]) -> _Shown | None:
    if pattern.is_unlike:
        always = _always(first, instances[0]) & _always(second, instances[1])
        fits = zip((first, second), instances, strict=True)
        first, second = ({run: of[run] for run in of if runs[run].special in always} for of, runs in fits)
    if not first or not second:
        return None
    calls, is_whole = again(first, second, instances)
    # One call in a row may be a chance that both have; which batch, and which coins, is the same in both.
    if not calls or (len(calls) < 2 and not (pattern.is_batches or pattern.hands_masks)):
        return None
    runs = [instances[1][run] for run in second if instances[1][run].call in set(calls)]
    return _Shown(match, calls, runs, len({run.call for run in instances[1]}), is_whole)


def _always(fits: Fits, runs: Sequence[Run]) -> set[str]:
    """Return the kinds of inputs of which every run shows it."""
    shown = Counter(runs[run].special for run in fits)
    made = Counter(run.special for run in runs)
    return {special for special, many in shown.items() if many == made[special]}


def _finding(looks: Looks, use: LongUse, pattern: Pattern, shown: _Shown) -> Finding:
    text = _in_words(pattern, shown, use.lines)
    view: View = "single" if shown.match.lag == 0 else "cumulative"
    return _found(looks, shown.match.node, len(shown.runs), text, view, whole=shown.is_determined)


def _of_combination(looks: Looks, use: LongUse, known: Combination) -> Finding:
    """Return the finding of masks that cancel in a combination of numbers."""
    entries = [
        f"entry {k}" if weight == 1.0 else f"{weight:.3g} × entry {k}"
        for k, weight in enumerate(known.weights.round(9))
        if abs(weight) > _WEIGHS
    ]
    kinds = list(dict.fromkeys(place[0].kind for place in known.places))[:_LISTED]
    lines = "; ".join(str(use.lines[kind]) for kind in kinds[:1] if kind in use.lines)
    text = (
        f"masks cancel in a sum of what is read ({', '.join(map(repr, kinds))}; {lines}): "
        f"{' + '.join(entries[:_LISTED])}{' + …' * (len(entries) > _LISTED)} of its input is left; draw a mask of "
        "its own for each entry"
    )
    return _found(looks, known.node, known.runs, text, "single", whole=False)


def _found(looks: Looks, node: int, runs: int, text: str, view: View, *, whole: bool) -> Finding:
    return in_all_runs(
        looks.case.about(node),
        runs,
        [text, *looks.doubts[:1]],
        method=f"entry by entry, in {runs} runs that nothing was fitted on",
        view=view,
        whole=whole,
    )


def _in_words(pattern: Pattern, shown: _Shown, lines: Mapping[str, object]) -> str:
    match, when = shown.match, _when(pattern, shown)
    kind = match.where[0].kind
    line = f" ({lines[kind]})" if kind in lines else ""
    where = f"{_named(match.where)}{line}"
    as_read = f"read as {match.how}"
    if not shown.is_whole:
        return f"one mask serves all entries {when}: those of {where} differ as those of its input do; mask each entry"
    if match.relation == "itself":
        return f"its input goes out unmasked {when}: {where} is that, {as_read}; add a mask to it in every call"
    if match.relation == "pair":
        other = _named(match.other) if match.other else ""
        return f"two messages have one mask {when}: {where}, less {other}, is its input; use a mask once"
    if match.relation == "call before":
        return f"its input of the call before goes out {when}: {where} is that, {as_read}; keep no input after a call"
    apart = (
        "runs of one batch" if pattern.is_batches else f"calls {match.lag} apart" if match.lag > 1 else "calls in a row"
    )
    if match.relation == "sum":
        return (
            f"masks cancel in {apart}, {when}: the sum of both {where} is that of its inputs; draw masks anew for each"
        )
    return (
        f"{apart} have one mask, {when}: the difference of both {where} is that of its inputs; draw masks anew for each"
    )


def _named(where: Place) -> str:
    origin = where[0]
    return f"'{origin.kind}'{str(origin)[len(origin.kind) :]}"


def _when(pattern: Pattern, shown: _Shown) -> str:
    """Say in which calls."""
    calls, many = shown.calls, len(shown.calls)
    if not pattern.has_channel:
        return "where no channel is given"
    if pattern.is_unlike:
        return f"where {shown.runs[0].special}"
    if pattern.is_batches:
        sizes = sorted({run.size for run in shown.runs})
        return f"in batches of {_listed(sizes)} runs" if many < shown.made else "in batches"
    if many >= _MOST * (min(shown.made, FIRST if shown.match.lag else shown.made) - shown.match.lag):
        return "in every call"
    gaps = set(np.diff(calls).tolist())
    if many > 2 and len(gaps) == 1:
        return f"in every {gaps.pop()}th call"
    why = "a public coin or the number of the call decides" if pattern.hands_masks else "the number of the call decides"
    return f"in {many} of {shown.made} calls (numbers {_listed(calls)}: {why})"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:_LISTED])) + ", …" * (len(numbers) > _LISTED)
