"""Messages of single calls that equal a node's input, entry by entry, times and plus public numbers.

If a message of w entries is a x + b in every entry, where x is a node's input, w - 2 entries are more than were fitted.
So one call shows it, and the same call of another instance confirms it without a fit. Messages are examined, and
differences and sums of two, in one call or in consecutive calls: masks that are used twice cancel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.auditing.counterexamples.affine import read_as
from secmix.auditing.counterexamples.calls.patterns import Run
from secmix.auditing.soundness.numbers_read import Place
from secmix.estimators.learned_decoders import RECOVERED

_LEAST = 5  # varying entries, of which two are fitted
_COUNTS = 0.01  # share of an input's spread: entries closer to the mean of its entries do not count
_FINE, _DIGITS = 1000, 4  # least spread of a number, and largest error, both in units of its last digit
_NEAR = 1e-5  # largest relative difference of two factors of one message
_SHARED = 0.8  # share of the calls with a match in either instance that must have it in both
FIRST = 240  # runs for differences, sums and residues: masks that are reused are so in most runs
_MODULI = 3
_ROWS = 40  # messages examined
_LAGS = 3
_PAIRED = 12  # messages of a call that are examined in pairs
_WINDOWS = 8


@dataclass(frozen=True)
class Match:
    """A message, or two, and the node whose input it is."""

    # where, other: the messages
    where: Place
    other: Place | None
    how: str  # how the numbers are read
    relation: str
    lag: int  # calls between the two messages
    begin: int  # first entry of the input within the message
    node: int


Fits = dict[int, tuple[float, float]]
"""Factor and offset, by run."""


@dataclass(frozen=True)
class _Table:
    """One message in all runs that send it."""

    runs: Ints  # (k,)
    rows: NDArray[Any]  # (k, w)


def matches(
    runs: Sequence[Run], nodes: Sequence[int], honest: Sequence[int], steps: Sequence[float]
) -> dict[Match, Fits]:
    """Find the messages that are an affine function of a node's input in some runs, with factor and offset.

    ``steps``: moduli in which masks may vanish.
    """
    if not runs:
        return {}
    inputs = np.stack([run.inputs for run in runs])  # (runs, n, m)
    varying = np.flatnonzero((np.ptp(inputs[:, list(nodes)], axis=0) > 0).all(axis=0))
    if len(varying) < _LEAST:
        return {}
    entries = inputs[..., varying]
    usual = float(np.median(entries[:, list(nodes)].std(axis=2)))
    judge = _Judge(entries, entries[:, list(honest)].sum(axis=1), varying, inputs.shape[2], usual)
    steps = steps[:_MODULI]
    tables = _tables(runs)
    fits: dict[Match, Fits] = {}
    for where, table in tables.items():
        first = table.runs < FIRST
        fits |= judge.of(nodes, (where, None, "itself", 0), table.runs[first], table.rows[first], steps)
        fits |= judge.of(nodes, (where, None, "itself", 0), table.runs, table.rows, ())
        fits |= judge.of(nodes, (where, None, "call before", 1), table.runs, table.rows, (), before=1)
        for lag, relation, selected, rows in _over_calls(runs, table):
            fits |= judge.of(nodes, (where, where, relation, lag), selected, rows, steps, lag, relation)
    for where, other, selected, rows in _pairs(tables, inputs.shape[2]):
        fits |= judge.of(nodes, (where, other, "pair", 0), selected, rows, ())
    return fits


def _tables(runs: Sequence[Run]) -> dict[Place, _Table]:
    """Collect at most ``_ROWS`` messages whose numbers vary; those that only some runs send come first."""
    rows: dict[Any, dict[int, NDArray[Any]]] = defaultdict(dict)
    for number, run in enumerate(runs):
        for where, row in run.rows.items():
            if row.dtype.kind in "biuf" and len(row):
                rows[where, row.dtype, len(row)][number] = row.astype(int) if row.dtype.kind == "b" else row
    keys = sorted(rows, key=lambda key: len(rows[key]) == len(runs))[:_ROWS]
    tables = {key[0]: _Table(np.array(list(rows[key])), np.stack(list(rows[key].values()))) for key in keys}
    return {where: table for where, table in tables.items() if np.ptp(table.rows) > 0}


def _over_calls(runs: Sequence[Run], table: _Table) -> Iterator[tuple[int, str, Ints, NDArray[Any]]]:
    """Yield differences and sums of one message in consecutive runs, of one batch or of calls of one run."""
    place = {int(run): k for k, run in enumerate(table.runs) if run < FIRST}
    for lag in range(1, _LAGS + 1):
        later = [run for run in place if run - lag in place and _follows(runs[run - lag], runs[run], lag)]
        if not later:
            continue
        current, earlier = table.rows[[place[run] for run in later]], table.rows[[place[run - lag] for run in later]]
        with np.errstate(all="ignore"):
            yield lag, "difference", np.array(later), current - earlier
            yield lag, "sum", np.array(later), current + earlier


def _follows(first: Run, second: Run, lag: int) -> bool:
    return first.call == second.call or (first.size == second.size == 1 and second.call - first.call == lag)


def _pairs(tables: dict[Place, _Table], width: int) -> Iterator[tuple[Place, Place, Ints, NDArray[Any]]]:
    """Yield differences of two messages of one call."""
    wide = [(where, table) for where, table in tables.items() if table.rows.shape[1] == width]
    for k, (where, first) in enumerate(wide[:_PAIRED]):
        for other, second in wide[k + 1 : _PAIRED]:
            common = np.intersect1d(first.runs, second.runs)
            if len(common) and first.rows.dtype == second.rows.dtype:
                rows = [table.rows[np.searchsorted(table.runs, common)] for table in (first, second)]
                with np.errstate(all="ignore"):
                    yield where, other, common, rows[0] - rows[1]


@dataclass(frozen=True)
class _Judge:
    """Compares messages with the inputs of nodes."""

    inputs: Array  # (runs, n, v): the varying entries
    total: Array  # (runs, v): sum of the inputs of all honest nodes, which the average reveals
    varying: Ints  # (v,)
    width: int  # number of entries of an input
    usual: float  # usual spread of the entries of an input; larger signals do not count more

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
        """Find the nodes of whose inputs, or of whose differences or sums, ``rows`` (k, w) are an affine function."""
        valid = runs >= before
        runs, rows = runs[valid] - before, rows[valid]
        target, total = self.inputs[runs][:, list(nodes)], self.total[runs]
        if lag:
            sign = -1.0 if relation == "difference" else 1.0
            target = target + sign * self.inputs[runs - lag][:, list(nodes)]
            total = total + sign * self.total[runs - lag]
        fits: dict[Match, Fits] = {}
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
                    fits[match] = {int(runs[h]) + before: (float(a[h, k]), float(b[h, k])) for h in hits}
        return fits

    def _fits(self, values: Array, target: Array, digits: float) -> tuple[NDArray[np.bool_], Array, Array]:
        """Check whether values (k, v) are a x + b of target x (k, n, v) in each run; also return a and b (k, n)."""
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


def confirmed_calls(first: Fits, second: Fits, instances: Sequence[Sequence[Run]]) -> tuple[list[int], bool]:
    """Find the calls in which both instances show it, and whether its offset is the same in all of them.

    Nearly the same calls must show it in both, since an input may have too few entries that count, or equally spaced
    calls in each. Otherwise the list is empty.
    """
    factor = float(np.median([a for a, _ in first.values()]))
    calls = [_calls(fits, factor, runs) for fits, runs in zip((first, second), instances, strict=True)]
    in_both = set(calls[0]) & set(calls[1])
    if len(in_both) < _SHARED * len({*calls[0], *calls[1]}):
        if not _are_equally_spaced(*calls):
            return [], False
        in_both = set(calls[1])
    added = [b for fits in (first, second) for _, b in fits.values()]
    return sorted(in_both), bool(np.ptp(added) <= _NEAR * max(abs(factor), max(map(abs, added))))


def _calls(fits: Fits, factor: float, runs: Sequence[Run]) -> list[int]:
    """Collect the calls of those runs that have the same factor."""
    same = [run for run, (a, _) in fits.items() if abs(a - factor) <= _NEAR * abs(factor)]
    return sorted({runs[run].call for run in same})


def _are_equally_spaced(first: list[int], second: list[int]) -> bool:
    """Check whether the calls of both instances are equally spaced, as for a counter that continues."""
    gaps = {gap for calls in (first, second) for gap in np.diff(calls).tolist()}
    return len(first) > 1 and len(second) > 1 and len(gaps) == 1
