"""Findings of calls in long use: messages that equal a node's input, the calls with them, and the remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from secmix.auditing.counterexamples.calls.combinations import Combination, combinations, is_solved
from secmix.auditing.counterexamples.calls.matches import FIRST, Fits, Match, confirmed_calls, matches
from secmix.auditing.counterexamples.calls.patterns import PATTERNS, LongUse, Pattern, Run
from secmix.auditing.counterexamples.direct_reading import DirectReading
from secmix.auditing.counterexamples.finding import in_all_runs
from secmix.auditing.report import Finding
from secmix.auditing.soundness.numbers_read import Place

_RELATIONS = ("itself", "pair", "call before", "difference", "sum")
"""Relations of messages, the simplest first."""
View = Literal["single", "cumulative"]
_LISTED = 4
_WEIGHS = 1e-3  # share of the largest weight: entries with less are not listed
_MOST = 0.95  # share that counts as all calls: in the others an input may hardly vary


@dataclass(frozen=True)
class _Revealed:
    """A match that two instances of a protocol show in the same calls."""

    match: Match
    calls: list[int]
    runs: list[Run]  # runs of the second instance, in which nothing was fitted
    call_count: int  # of the second instance
    is_input: bool  # whether it is the input itself, without an unknown offset

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """Sort key that puts the simplest first."""
        return not self.is_input, _RELATIONS.index(self.match.relation), self.match.lag, -len(self.runs)

    @property
    def is_determined(self) -> bool:
        """True if the input of a node is known, not only how it changes."""
        return self.is_input and self.match.relation in _RELATIONS[:3]


def in_long_use(reading: DirectReading) -> list[Finding]:
    """Find calls in which a message, or the difference or sum of two, is a node's input."""
    iteration, inputs = next(iter(reading.inputs.items()))
    use = LongUse(reading.instance, inputs, max(iteration, 0), {})
    for pattern in PATTERNS:
        runs = use.runs(pattern, 1)
        first = matches(runs, reading.nodes, reading.honest, reading.steps)
        solved = pattern is PATTERNS[0] and is_solved(runs, reading.nodes)
        if not first and not solved:
            continue  # a second instance could only confirm the first
        again = use.runs(pattern, 2)
        matched = _shown(reading, pattern, first, [runs, again])
        if matched:
            return [_finding(reading, use, pattern, shown) for shown in matched.values()]
        if solved and (known := combinations(runs, again, reading.nodes, reading.honest)):
            return [_of_combination(reading, use, combination) for combination in known]
    return []


def _shown(
    reading: DirectReading, pattern: Pattern, first: Mapping[Match, Fits], instances: Sequence[list[Run]]
) -> dict[int, _Revealed]:
    second = matches(instances[1], reading.nodes, reading.honest, reading.steps) if first else {}
    simplest: dict[int, _Revealed] = {}
    for match in first.keys() & second.keys():
        shown = _of(pattern, match, first[match], second[match], instances)
        if shown and (match.node not in simplest or shown.rank < simplest[match.node].rank):
            simplest[match.node] = shown
    return simplest


def _of(pattern: Pattern, match: Match, first: Fits, second: Fits, instances: Sequence[list[Run]]) -> _Revealed | None:
    if pattern.is_unlike:
        always = _always(first, instances[0]) & _always(second, instances[1])
        fits = zip((first, second), instances, strict=True)
        first, second = ({run: fit[run] for run in fit if runs[run].special in always} for fit, runs in fits)
    if not first or not second:
        return None
    calls, is_input = confirmed_calls(first, second, instances)
    # A single call in a row may match by chance in both; batches and coins are the same in both.
    if not calls or (len(calls) < 2 and not (pattern.is_batches or pattern.hands_masks)):
        return None
    runs = [instances[1][run] for run in second if instances[1][run].call in set(calls)]
    return _Revealed(match, calls, runs, len({run.call for run in instances[1]}), is_input)


def _always(fits: Fits, runs: Sequence[Run]) -> set[str]:
    """Collect the kinds of inputs for which every run shows it."""
    shown = Counter(runs[run].special for run in fits)
    total = Counter(run.special for run in runs)
    return {special for special, count in shown.items() if count == total[special]}


def _finding(reading: DirectReading, use: LongUse, pattern: Pattern, shown: _Revealed) -> Finding:
    text = _in_words(pattern, shown, use.lines)
    view: View = "single" if shown.match.lag == 0 else "cumulative"
    return _in_all_runs(reading, shown.match.node, len(shown.runs), text, view, complete=shown.is_determined)


def _of_combination(reading: DirectReading, use: LongUse, known: Combination) -> Finding:
    """Make the finding of masks that cancel in a combination of numbers."""
    entries = [
        f"entry {k}" if weight == 1.0 else f"{weight:.3g} × entry {k}"
        for k, weight in enumerate(known.weights.round(9))
        if abs(weight) > _WEIGHS
    ]
    kinds = list(dict.fromkeys(place[0].kind for place in known.locations))[:_LISTED]
    lines = "; ".join(str(use.lines[kind]) for kind in kinds[:1] if kind in use.lines)
    left = f" + {len(entries) - _LISTED} more" if len(entries) > _LISTED else ""
    text = (
        f"masks cancel in a combination of messages ({', '.join(map(repr, kinds))}; {lines}): "
        f"{' + '.join(entries[:_LISTED])}{left} of its input remains; draw a separate mask for each entry"
    )
    return _in_all_runs(reading, known.node, known.runs, text, "single", complete=False)


def _in_all_runs(reading: DirectReading, node: int, runs: int, text: str, view: View, *, complete: bool) -> Finding:
    return in_all_runs(
        reading.case.about(node),
        runs,
        [text, *reading.reasons[:1]],
        method=f"entry by entry, in {runs} runs that were not fitted on",
        view=view,
        complete=complete,
    )


def _in_words(pattern: Pattern, shown: _Revealed, lines: Mapping[str, object]) -> str:
    match, when = shown.match, _when(pattern, shown)
    kind = match.where[0].kind
    line = f" ({lines[kind]})" if kind in lines else ""
    where = f"{_named(match.where)}{line}"
    as_read = f"read as {match.how}"
    if not shown.is_input:
        return f"all entries have one mask {when}: those of {where} differ as those of its input do; mask each entry"
    if match.relation == "itself":
        return f"its input is sent unmasked {when}: {where} equals it, {as_read}; add a mask to it in every call"
    if match.relation == "pair":
        other = _named(match.other) if match.other else ""
        return f"two messages have one mask {when}: {where} minus {other} is its input; use each mask once"
    if match.relation == "call before":
        return (
            f"its input of the previous call is sent {when}: {where} equals it, {as_read}; keep no input after a call"
        )
    apart = (
        "runs of one batch" if pattern.is_batches else f"calls {match.lag} apart" if match.lag > 1 else "calls in a row"
    )
    if match.relation == "sum":
        return (
            f"masks cancel in {apart}, {when}: the sum of both {where} is that of its inputs; draw new masks for each"
        )
    return (
        f"{apart} have one mask, {when}: the difference of both {where} is that of its inputs; draw new masks for each"
    )


def _named(where: Place) -> str:
    origin = where[0]
    return f"'{origin.kind}'{str(origin)[len(origin.kind) :]}"


def _when(pattern: Pattern, shown: _Revealed) -> str:
    """Describe the calls that show it."""
    calls, count = shown.calls, len(shown.calls)
    if not pattern.has_channel:
        return "if no channel is given"
    if pattern.is_unlike:
        return f"if {shown.runs[0].special}"
    if pattern.is_batches:
        sizes = sorted({run.size for run in shown.runs})
        return f"in batches of {_listed(sizes)} runs" if count < shown.call_count else "in batches"
    if count >= _MOST * (min(shown.call_count, FIRST if shown.match.lag else shown.call_count) - shown.match.lag):
        return "in every call"
    gaps = set(np.diff(calls).tolist())
    if count > 2 and len(gaps) == 1:
        return f"in every {gaps.pop()}th call"
    why = "a public coin or the number of the call decides" if pattern.hands_masks else "the number of the call decides"
    return f"in {count} of {shown.call_count} calls (numbers {_listed(calls)}: {why})"


def _listed(numbers: Sequence[int]) -> str:
    left = len(numbers) - _LISTED
    return ", ".join(map(str, numbers[:_LISTED])) + (f" and {left} more" if left > 0 else "")
