"""Compute what the adversary does by the relations that the trace found, on calls that nobody traces.

Each number that it reads is a sum of data and masks, of which the trace knows the coefficients. Masks that are sent, or
follow from seeds that are, are taken off; where two numbers have the same masks left, their difference has none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.auditing.witnesses.masks.expanding import expanded, understood, unknown
from secmix.kernel import Open
from secmix.kernel.clearance import readable
from secmix.kernel.numbers import Number
from secmix.kernel.state import INF, Trace, following
from secmix.kernel.streams import Stream
from secmix.kernel.trace import RESULT, Fit
from secmix.network import Network

_MOST_ROWS = 40_000  # numbers that are read
_MOST_EXPANDED = 20_000  # times that a seed is expanded


@dataclass(frozen=True)
class Row:
    """One number that the adversary reads.

    Attributes
    ----------
    message, row, entry : int
        Where it stands in the fit that was traced.
    terms : dict of variable -> coefficient
    modulus : number
        Infinite where it is that sum and a public number.
    constant : number
        The public number.
    values : sequence of number
        In the runs that nobody traced.
    """

    message: int
    row: int
    entry: int
    terms: Mapping[int, Any]
    modulus: Any
    constant: Any
    values: Sequence[Any]

    def less(self, known: Mapping[int, Sequence[Any]]) -> list[Any]:
        """Return its values without the variables that are known."""
        mine = [(c, known[v]) for v, c in self.terms.items() if v in known]
        return [value - sum(c * of[k] for c, of in mine) for k, value in enumerate(self.values)]


def rows_read(fit: Fit, network: Network, adversary: Adversary, payloads: Sequence[Mapping[int, Any]]) -> list[Row]:
    """Return what is read of a fit, with the values of runs that sent the same messages: message -> (rows, 1, m)."""
    found = []
    for k, row in _read(fit, network, adversary):
        for entry, cell in enumerate(fit.messages[k].rows.objects[row, 0].tolist()):
            if isinstance(cell, Number) and cell.form and cell.modulus != 0:
                values = [each[k][row, 0, entry].item() for each in payloads]
                found.append(Row(k, row, entry, cell.terms, cell.modulus, _constant(cell, fit.trace), values))
    return found if len(found) <= _MOST_ROWS else []


def whole_numbers_read(
    fit: Fit, network: Network, adversary: Adversary, payloads: Sequence[Mapping[int, Any]]
) -> list[set[int]]:
    """Return the whole numbers that are read in each run, of messages in words."""
    places = _read(fit, network, adversary)
    return [
        {number for k, row in places if each[k].dtype.kind in "iu" for number in each[k][row, 0].tolist()}
        for each in payloads
    ]


def _read(fit: Fit, network: Network, adversary: Adversary) -> list[tuple[int, int]]:
    """Return the messages, and the rows of each, that the adversary reads; none where that hangs on what is open."""
    read = readable(fit, network, adversary)
    return [] if isinstance(read, Open) else [each for each in sorted(read) if fit.messages[each[0]].frame[2] != RESULT]


def _constant(cell: Number, trace: Trace) -> Any:
    rest = cell.value - sum(c * trace.variables[v].value for v, c in cell.terms.items())
    return rest % cell.modulus if cell.modulus != INF else rest


@dataclass
class Known:
    """Hold what the adversary knows of the variables of a trace.

    Attributes
    ----------
    values : dict of variable -> values in all runs
    told : dict of variable -> Row
        Draws that are sent as they are, and where.
    opened : dict of variable -> stream
        Draws that follow from seeds that are known.
    """

    trace: Trace
    streams: Mapping[int, Stream]
    values: dict[int, Sequence[Any]]
    told: dict[int, Row]
    opened: dict[int, Stream]

    @staticmethod
    def of(trace: Trace, rows: Sequence[Row], data: Mapping[int, Sequence[Any]]) -> Known:
        """Work out which draws are sent, and what follows from them; ``data`` are the inputs of corrupt nodes."""
        with following(trace):
            known = Known(trace, understood(trace), dict(data), {}, {})
            while known._is_told(rows) or known._follows():
                pass
        return known

    def _is_told(self, rows: Sequence[Row]) -> bool:
        before = len(self.values)
        for row in rows:
            left = [v for v in row.terms if v not in self.values]
            if len(left) == 1 and self.trace.variables[left[0]].kind == "draw" and abs(row.terms[left[0]]) == 1:
                own, sign = self.trace.variables[left[0]], row.terms[left[0]]
                values = [sign * (value - row.constant) for value in row.less(self.values)]
                wraps = row.modulus != INF and own.range
                self.values[left[0]] = [value % own.range for value in values] if wraps else values
                self.told[left[0]] = row
        return len(self.values) > before

    def _follows(self) -> bool:
        before, budget = len(self.values), _MOST_EXPANDED
        for stream in self.streams.values():
            if stream.numbers[0] in self.values or unknown(stream, self.trace, self.values):
                continue
            runs = len(next(iter(self.values.values())))
            budget -= runs
            if budget < 0:
                break
            made = [expanded(stream, self.trace, {v: of[k] for v, of in self.values.items()}) for k in range(runs)]
            for v in made[0]:
                self.values[v] = [each[v] for each in made]
                self.opened[v] = stream
        return len(self.values) > before


@dataclass(frozen=True)
class Relation:
    """A number that is made of one node's data alone, and of masks that are being tried.

    Attributes
    ----------
    node : int
    rows : tuple of Row
        One, or two of which it is the difference, or the sum.
    sign : int
        Of the second.
    data : dict of variable -> coefficient
    masks : dict of variable -> coefficient
        Draws that are left: none, but where some are being tried.
    shared : dict of variable -> coefficient
        What both rows have in common.
    values : list of number
    """

    node: int
    rows: tuple[Row, ...]
    sign: int
    data: Mapping[int, Any]
    masks: Mapping[int, Any]
    shared: Mapping[int, Any]
    values: list[Any]

    @property
    def modulus(self) -> Any:
        """Modulo which it is known."""
        return self.rows[0].modulus


def relations(
    trace: Trace, rows: Sequence[Row], known: Known, node: int, tried: frozenset[int] = frozenset()
) -> Iterator[Relation]:
    """Yield what is made of a node's data alone once known masks are taken off, and masks that come twice cancel."""
    groups: dict[Any, tuple[Row, int, dict[int, Any], dict[int, Any], dict[int, Any]]] = {}
    for row in rows:
        mine, masks, rest = _parted(row, trace, known, node, tried)
        if not rest and mine:
            yield Relation(node, (row,), 0, mine, masks, {}, row.less(known.values))
            continue
        if not rest or (row.terms.keys() <= known.values.keys()):
            continue
        sign = 1 if rest[min(rest)] > 0 else -1
        key = row.modulus, tuple(sorted((v, sign * c) for v, c in rest.items()))
        first = groups.setdefault(key, (row, sign, mine, masks, rest))
        if first[0] is row:
            continue
        other = -sign * first[1]
        data, left = _sum(mine, first[2], other), _sum(masks, first[3], other)
        if data:
            pairs = zip(row.less(known.values), first[0].less(known.values), strict=True)
            yield Relation(node, (row, first[0]), other, data, left, rest, [a + other * b for a, b in pairs])


def _parted(
    row: Row, trace: Trace, known: Known, node: int, tried: frozenset[int]
) -> tuple[dict[int, Any], dict[int, Any], dict[int, Any]]:
    mine: dict[int, Any] = {}
    masks: dict[int, Any] = {}
    rest: dict[int, Any] = {}
    for v, c in row.terms.items():
        if v not in known.values and c:
            (mine if trace.variables[v].node == node else masks if v in tried else rest)[v] = c
    return mine, masks, rest


def _sum(one: Mapping[int, Any], other: Mapping[int, Any], sign: int) -> dict[int, Any]:
    found = {v: one.get(v, 0) + sign * other.get(v, 0) for v in {**one, **other}}
    return {v: c for v, c in found.items() if c}


def centred(values: Sequence[Any], modulus: Any) -> Array:
    """Return numbers, or the smallest ones of their residue."""
    if modulus == INF or not math.isfinite(modulus):
        return np.array(values, dtype=float)
    half = modulus // 2 if isinstance(modulus, int) else modulus / 2
    return np.array([float((value + half) % modulus - half) for value in values])
