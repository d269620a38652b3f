"""Messages of single calls that are a node's input, entry by entry: times and plus one public number.

A message of w entries that is a x + b in every entry, x being a node's input, has w - 2 entries more than were fitted.
So one call shows it, and the same call of another instance judges it without any fit. Looked at are messages, and the
differences and sums of two, in one call or in calls one after the other: masks that come twice fall off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.auditing.soundness.holding import Place
from secmix.auditing.witnesses.calls.patterns import Run
from secmix.auditing.witnesses.plain import read_as
from secmix.estimators.decoders import RECOVERED

_LEAST = 5  # entries that vary: two are fitted
_COUNTS = 0.01  # of an input's spread over its entries: an entry that is off from their mean by less counts for none
_FINE, _DIGITS = 1000, 4  # last digits that a number spreads over at least, and by which it may be off
_NEAR = 1e-5  # by which two factors of one message differ at most, of their size
_SAME = 0.8  # of the calls in which one instance or the other shows something: in so many both do
FIRST = 240  # runs that are put together, or read modulo something: masks that come again do so in most
_MODULI = 3
_ROWS = 40  # messages of a call
_LAGS = 3
_PAIRED = 12  # messages of a call that are put together by two
_WINDOWS = 8


@dataclass(frozen=True)
class Match:
    """What is read, and of which node it is the input.

    Attributes
    ----------
    where, other : Place or None
        The messages.
    how : str
        As what they are read.
    relation : {"itself", "call before", "difference", "sum", "pair"}
    lag : int
        Calls between the two messages.
    begin : int
        Its first entry within the message.
    node : int
    """

    where: Place
    other: Place | None
    how: str
    relation: str
    lag: int
    begin: int
    node: int


Fits = dict[int, tuple[float, float]]
"""By run, the factor and the number that is added."""


@dataclass(frozen=True)
class _Table:
    """One message in all runs that send it.

    Attributes
    ----------
    runs : (k,)
    rows : (k, w)
    """

    runs: Ints
    rows: NDArray[Any]


def matches(
    runs: Sequence[Run], nodes: Sequence[int], honest: Sequence[int], steps: Sequence[float]
) -> dict[Match, Fits]:
    """Return what is a node's input in some runs, and how it is made of that.

    Parameters
    ----------
    steps : sequence of float
        Modulo which masks may vanish.
    """
    if not runs:
        return {}
    inputs = np.stack([run.inputs for run in runs])  # (runs, n, m)
    varying = np.flatnonzero((np.ptp(inputs[:, list(nodes)], axis=0) > 0).all(axis=0))
    if len(varying) < _LEAST:
        return {}
    given = inputs[..., varying]
    usual = float(np.median(given[:, list(nodes)].std(axis=2)))
    judge = _Judge(given, given[:, list(honest)].sum(axis=1), varying, inputs.shape[2], usual)
    steps = steps[:_MODULI]
    tables = _tables(runs)
    found: dict[Match, Fits] = {}
    for where, table in tables.items():
        few = table.runs < FIRST
        found |= judge.of(nodes, (where, None, "itself", 0), table.runs[few], table.rows[few], steps)
        found |= judge.of(nodes, (where, None, "itself", 0), table.runs, table.rows, ())
        found |= judge.of(nodes, (where, None, "call before", 1), table.runs, table.rows, (), before=1)
        for lag, relation, these, rows in _over_calls(runs, table):
            found |= judge.of(nodes, (where, where, relation, lag), these, rows, steps, lag, relation)
    for where, other, these, rows in _pairs(tables, inputs.shape[2]):
        found |= judge.of(nodes, (where, other, "pair", 0), these, rows, ())
    return found


def _tables(runs: Sequence[Run]) -> dict[Place, _Table]:
    """Return the messages whose numbers vary, not too many: those that some runs alone send come first."""
    rows: dict[Any, dict[int, NDArray[Any]]] = defaultdict(dict)
    for number, run in enumerate(runs):
        for where, row in run.rows.items():
            if row.dtype.kind in "biuf" and len(row):
                rows[where, row.dtype, len(row)][number] = row.astype(int) if row.dtype.kind == "b" else row
    kept = sorted(rows, key=lambda key: len(rows[key]) == len(runs))[:_ROWS]
    tables = {key[0]: _Table(np.array(list(rows[key])), np.stack(list(rows[key].values()))) for key in kept}
    return {where: table for where, table in tables.items() if np.ptp(table.rows) > 0}


def _over_calls(runs: Sequence[Run], table: _Table) -> Iterator[tuple[int, str, Ints, NDArray[Any]]]:
    """Yield differences and sums of one message in runs that follow each other, of one batch or calls of one run."""
    place = {int(run): k for k, run in enumerate(table.runs) if run < FIRST}
    for lag in range(1, _LAGS + 1):
        later = [run for run in place if run - lag in place and _follows(runs[run - lag], runs[run], lag)]
        if not later:
            continue
        one, other = table.rows[[place[run] for run in later]], table.rows[[place[run - lag] for run in later]]
        with np.errstate(all="ignore"):
            yield lag, "difference", np.array(later), one - other
            yield lag, "sum", np.array(later), one + other


def _follows(one: Run, other: Run, lag: int) -> bool:
    return one.call == other.call or (one.size == other.size == 1 and other.call - one.call == lag)


def _pairs(tables: dict[Place, _Table], width: int) -> Iterator[tuple[Place, Place, Ints, NDArray[Any]]]:
    """Yield differences of two messages of one call."""
    wide = [(where, table) for where, table in tables.items() if table.rows.shape[1] == width]
    for k, (where, one) in enumerate(wide[:_PAIRED]):
        for other, two in wide[k + 1 : _PAIRED]:
            same = np.intersect1d(one.runs, two.runs)
            if len(same) and one.rows.dtype == two.rows.dtype:
                rows = [of.rows[np.searchsorted(of.runs, same)] for of in (one, two)]
                with np.errstate(all="ignore"):
                    yield where, other, same, rows[0] - rows[1]


@dataclass(frozen=True)
class _Judge:
    """Holds messages against the inputs of nodes.

    Attributes
    ----------
    inputs : (runs, n, v)
        The entries that vary.
    total : (runs, v)
        What all honest nodes put in together, which the average tells.
    varying : (v,)
    width : int
        Of an input.
    usual : float
        How much the entries of an input spread: masks hide what is no larger.
    """

    inputs: Array
    total: Array
    varying: Ints
    width: int
    usual: float

    def of(
        self,
        nodes: Sequence[int],
        what: tuple[Place, Place | None, str, int],
        runs: Ints,
        rows: NDArray[Any],
        steps: Sequence[float],
        lag: int = 0,
        relation: str = "",
        before: int = 0,
    ) -> dict[Match, Fits]:
        """Return the nodes of whose inputs, or of what these differ by, ``rows`` (k, w) are made."""
        kept = runs >= before
        runs, rows = runs[kept] - before, rows[kept]
        target, total = self.inputs[runs][:, list(nodes)], self.total[runs]
        if lag:
            sign = -1.0 if relation == "difference" else 1.0
            target = target + sign * self.inputs[runs - lag][:, list(nodes)]
            total = total + sign * self.total[runs - lag]
        found: dict[Match, Fits] = {}
        for reading in read_as(what[0], rows, steps) if len(rows) else ():
            for begin in range(0, rows.shape[1] - self.width + 1, self.width)[:_WINDOWS]:
                columns = begin + self.varying
                values, digits = reading.values[:, columns], float(reading.digits[columns].max())
                exact, a, b = self._fits(values, target, digits)
                if exact.any():
                    exact &= ~self._fits(values, total[:, None], digits)[0]
                for k in np.flatnonzero(exact.any(axis=0)).tolist():
                    hits = np.flatnonzero(exact[:, k])
                    match = Match(what[0], what[1], reading.how, what[2], what[3], begin, nodes[k])
                    found[match] = {int(runs[h]) + before: (float(a[h, k]), float(b[h, k])) for h in hits}
        return found

    def _fits(self, values: Array, target: Array, digits: float) -> tuple[NDArray[np.bool_], Array, Array]:
        """Return whether values (k, v) are a function a x + b of target (k, n, v) in each run, and a and b (k, n)."""
        with np.errstate(all="ignore"):
            x = target - target.mean(axis=2, keepdims=True)
            y = values - values.mean(axis=1, keepdims=True)
            size = np.sqrt((x**2).mean(axis=2))
            a = np.einsum("kv,knv->kn", y, x) / (x**2).sum(axis=2)
            b = values.mean(axis=1)[:, None] - a * target.mean(axis=2)
            off = np.abs(y[:, None] - a[..., None] * x).max(axis=2)
            signal = np.abs(a) * np.minimum(size, self.usual)
            counted = (np.abs(x) > _COUNTS * size[..., None]).sum(axis=2) >= _LEAST
            exact = counted & (signal > _FINE * digits) & (off <= _DIGITS * digits + RECOVERED * signal)
        return exact & np.isfinite(off), a, b


def again(first: Fits, second: Fits, instances: Sequence[Sequence[Run]]) -> tuple[list[int], bool]:
    """Return the calls of which one instance shows what the other did, and whether nothing had to be fitted for it.

    They are the same calls of both, nearly, since an input may have hardly any entries that count; or every so-many-th
    call of both. None, where many come in one alone.
    """
    factor = float(np.median([a for a, _ in first.values()]))
    calls = [_calls(fits, factor, runs) for fits, runs in zip((first, second), instances, strict=True)]
    both = set(calls[0]) & set(calls[1])
    if len(both) < _SAME * len({*calls[0], *calls[1]}):
        if not _is_a_period(*calls):
            return [], False
        both = set(calls[1])
    added = [b for fits in (first, second) for _, b in fits.values()]
    return sorted(both), bool(np.ptp(added) <= _NEAR * max(abs(factor), max(map(abs, added))))


def _calls(fits: Fits, factor: float, runs: Sequence[Run]) -> list[int]:
    """Return the calls of those runs in which the factor is the same."""
    same = [run for run, (a, _) in fits.items() if abs(a - factor) <= _NEAR * abs(factor)]
    return sorted({runs[run].call for run in same})


def _is_a_period(one: list[int], other: list[int]) -> bool:
    """Say whether both are calls at one distance, as of a counter that goes on."""
    gaps = {gap for calls in (one, other) for gap in np.diff(calls).tolist()}
    return len(one) > 1 and len(other) > 1 and len(gaps) == 1
