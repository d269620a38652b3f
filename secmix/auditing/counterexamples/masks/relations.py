"""Compute what the adversary does from the relations of the trace, in calls that are not traced.

Each number that it reads is a sum of data and masks, with coefficients from the trace. Masks that are sent, or follow
from seeds that are sent, are subtracted. If two numbers then contain the same masks, their difference contains none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.auditing.counterexamples.masks.expanding import expanded, reproducible_streams, unknown
from secmix.kernel import Open
from secmix.kernel.clearance import readable
from secmix.kernel.randomness.streams import Stream
from secmix.kernel.tracing.trace import RESULT, Fit
from secmix.kernel.values.current_trace import INF, Trace, following
from secmix.kernel.values.numbers import Number
from secmix.network import Network

_MOST_ROWS = 40_000  # most numbers that are read
_MOST_EXPANDED = 20_000  # most expansions of seeds


@dataclass(frozen=True)
class Row:
    """One number that the adversary reads."""

    # message, row, entry: its place in the traced fit
    message: int
    row: int
    entry: int
    terms: Mapping[int, Any]  # variable -> coefficient
    modulus: Any  # infinite if it is the sum itself, plus a public number
    constant: Any  # the public number
    values: Sequence[Any]  # values in the runs that were not traced

    def less(self, known: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Subtract the known variables from its values."""
        subtracted = [(c, known[v]) for v, c in self.terms.items() if v in known]
        return [value - sum(c * values[k] for c, values in subtracted) for k, value in enumerate(self.values)]


def rows_read(fit: Fit, network: Network, adversary: Adversary, payloads: Sequence[Mapping[int, Any]]) -> list[Row]:
    """Collect the numbers read in a fit, with their values in replayed runs: message -> (rows, 1, m)."""
    return _rows(fit, _read(fit, network, adversary), payloads)


def rows_sent(fit: Fit, payloads: Sequence[Mapping[int, Any]]) -> list[Row]:
    """Collect all numbers of a fit, whoever reads them."""
    sent = [(k, row) for k in payloads[0] for row in range(len(fit.messages[k].rows))]
    return _rows(fit, sent, payloads)


def _rows(fit: Fit, places: Sequence[tuple[int, int]], payloads: Sequence[Mapping[int, Any]]) -> list[Row]:
    rows = []
    for k, row in places:
        for entry, cell in enumerate(fit.messages[k].rows.objects[row, 0].tolist()):
            if isinstance(cell, Number) and cell.form and cell.modulus != 0:
                values = [payload[k][row, 0, entry].item() for payload in payloads]
                rows.append(Row(k, row, entry, cell.terms, cell.modulus, _constant(cell, fit.trace), values))
    return rows if len(rows) <= _MOST_ROWS else []


def integers_read(
    fit: Fit, network: Network, adversary: Adversary, payloads: Sequence[Mapping[int, Any]]
) -> list[set[int]]:
    """Collect the integers that are read in each run, of messages in words."""
    locations = _read(fit, network, adversary)
    return [
        {number for k, row in locations if payload[k].dtype.kind in "iu" for number in payload[k][row, 0].tolist()}
        for payload in payloads
    ]


def _read(fit: Fit, network: Network, adversary: Adversary) -> list[tuple[int, int]]:
    """Find the messages, and the rows of each, that the adversary reads; empty if that is unknown."""
    read = readable(fit, network, adversary)
    return (
        [] if isinstance(read, Open) else [place for place in sorted(read) if fit.messages[place[0]].frame[2] != RESULT]
    )


def _constant(cell: Number, trace: Trace) -> Any:
    rest = cell.value - sum(c * trace.variables[v].value for v, c in cell.terms.items())
    return rest % cell.modulus if cell.modulus != INF else rest


@dataclass
class Known:
    """The values of the variables of a trace that the adversary knows."""

    trace: Trace
    streams: Mapping[int, Stream]
    values: dict[int, Sequence[Any]]  # variable -> values in all runs
    sent: dict[int, Row]  # variable -> Row: draws that are sent, and the number that sends each
    opened: dict[int, Stream]  # variable -> stream: draws that follow from known seeds

    @staticmethod
    def of(trace: Trace, rows: Sequence[Row], data: Mapping[int, Sequence[Any]]) -> Known:
        """Determine the draws that are sent, and what follows from them; ``data`` are the inputs of corrupt nodes."""
        with following(trace):
            known = Known(trace, reproducible_streams(trace), dict(data), {}, {})
            while known._add_sent(rows) or known._add_expanded():
                pass
        return known

    def _add_sent(self, rows: Sequence[Row]) -> bool:
        before = len(self.values)
        for row in rows:
            left = [v for v in row.terms if v not in self.values]
            if len(left) == 1 and self.trace.variables[left[0]].kind == "draw" and abs(row.terms[left[0]]) == 1:
                own, sign = self.trace.variables[left[0]], row.terms[left[0]]
                values = [sign * (value - row.constant) for value in row.less(self.values)]
                wraps = row.modulus != INF and own.range
                self.values[left[0]] = [value % own.range for value in values] if wraps else values
                self.sent[left[0]] = row
        return len(self.values) > before

    def _add_expanded(self) -> bool:
        before, budget = len(self.values), _MOST_EXPANDED
        for stream in self.streams.values():
            if stream.numbers[0] in self.values or unknown(stream, self.trace, self.values):
                continue
            runs = len(next(iter(self.values.values())))
            budget -= runs
            if budget < 0:
                break
            draws = [expanded(stream, self.trace, {v: x[k] for v, x in self.values.items()}) for k in range(runs)]
            for v in draws[0]:
                self.values[v] = [of_run[v] for of_run in draws]
                self.opened[v] = stream
        return len(self.values) > before


@dataclass(frozen=True)
class Relation:
    """A number that depends on one node's data alone, and possibly on masks that are being tried."""

    node: int
    rows: tuple[Row, ...]  # one number, or two of which it is the difference or sum
    sign: int  # sign of the second
    data: Mapping[int, Any]  # variable -> coefficient
    masks: Mapping[int, Any]  # variable -> coefficient: draws that remain, if masks are being tried
    shared: Mapping[int, Any]  # variable -> coefficient: terms that both rows have in common
    values: list[Any]

    @property
    def modulus(self) -> Any:
        """The modulus of the number."""
        return self.rows[0].modulus


def relations(
    trace: Trace, rows: Sequence[Row], known: Known, node: int, tried: frozenset[int] = frozenset()
) -> Iterator[Relation]:
    """Yield numbers that depend on a node's data alone, after known masks are subtracted and repeated masks cancel."""
    groups: dict[Any, tuple[Row, int, dict[int, Any], dict[int, Any], dict[int, Any]]] = {}
    for row in rows:
        own, masks, rest = _parted(row, trace, known, node, tried)
        if not rest and own:
            yield Relation(node, (row,), 0, own, masks, {}, row.less(known.values))
            continue
        if not rest or (row.terms.keys() <= known.values.keys()):
            continue
        sign = 1 if rest[min(rest)] > 0 else -1
        key = row.modulus, tuple(sorted((v, sign * c) for v, c in rest.items()))
        first = groups.setdefault(key, (row, sign, own, masks, rest))
        if first[0] is row:
            continue
        other = -sign * first[1]
        data, left = _sum(own, first[2], other), _sum(masks, first[3], other)
        if data:
            pairs = zip(row.less(known.values), first[0].less(known.values), strict=True)
            yield Relation(node, (row, first[0]), other, data, left, rest, [a + other * b for a, b in pairs])


def _parted(
    row: Row, trace: Trace, known: Known, node: int, tried: frozenset[int]
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    own: dict[int, Any] = {}
    masks: dict[int, Any] = {}
    rest: dict[int, Any] = {}
    for v, c in row.terms.items():
        if v not in known.values and c:
            (own if trace.variables[v].node == node else masks if v in tried else rest)[v] = c
    return own, masks, rest


def _sum(first: Mapping[int, Any], second: Mapping[int, Any], sign: int) -> dict[int, Any]:
    total = {v: first.get(v, 0) + sign * second.get(v, 0) for v in {**first, **second}}
    return {v: c for v, c in total.items() if c}


def centred(values: Sequence[Any], modulus: Any) -> Array:
    """Reduce numbers to the smallest absolute value of their residue class."""
    if modulus == INF or not math.isfinite(modulus):
        return np.array(values, dtype=float)
    half = modulus // 2 if isinstance(modulus, int) else modulus / 2
    return np.array([float((value + half) % modulus - half) for value in values])
