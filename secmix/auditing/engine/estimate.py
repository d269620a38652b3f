"""Roughly how long an audit takes and how much memory, from the sizes of its cells and a trial of each.

The constants are fitted to audits of 5 to 20 nodes with 2 to 30 columns. A cell may take several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.scenario import FEWEST_RUNS, Scenario

_LEAST = 2.0  # seconds of any cell
_SUMMED = 300  # numbers that are summed, over nodes and iterations, for each second of measuring
_EXACT = 0.1  # of that time, where nothing is measured
_MEASURES = {"decoders", "information", "inversion", "ksg", "reconstruction"}
_SAFETY = 2  # the figure may be off by as much
_LONG, _LARGE = 30, 2048  # seconds, and MiB, from which on it is told
_BASE, _BLOCKS, _COPIES = 250, 2, 6  # MiB of any process; copies of a block of runs, and of what is summed in all


@dataclass(frozen=True)
class Estimate:
    """Seconds of one processor, and MiB, that a cell takes."""

    seconds: float
    mebibytes: float


def estimate(cell: Scenario, setup: SumSetup | CollaborationSetup, trial: float) -> Estimate:
    """Estimate one cell, of which one run took ``trial`` seconds."""
    base = _BASE + _BLOCKS * cell.message_limit
    if isinstance(setup, CollaborationSetup):  # its runs follow one another
        return Estimate(_LEAST + trial * cell.runs, base)
    summed = _numbers_summed(cell, setup)
    share = 1.0 if _MEASURES & set(cell.measure.evidence) else _EXACT
    seconds = _LEAST + trial * cell.model.iterations + share * summed / _SUMMED
    return Estimate(seconds, base + runs_that_fit(cell, setup) * _of_a_run(summed))


def runs_that_fit(cell: Scenario, setup: SumSetup | CollaborationSetup) -> int:
    """Count how many of a cell's runs its ``memory_limit`` holds, at least the fewest that a scenario may ask for."""
    if isinstance(setup, CollaborationSetup):  # of whose runs little is kept
        return cell.runs
    room = cell.memory_limit - _BLOCKS * cell.message_limit
    return min(cell.runs, max(int(room / (_SAFETY * _of_a_run(_numbers_summed(cell, setup)))), FEWEST_RUNS))


def _numbers_summed(cell: Scenario, setup: SumSetup) -> int:
    d = setup.rows.shape[1]
    entries: int = cell.model.components * (1 + d + d * (d + 1) // 2)
    return setup.network.n * entries * cell.model.iterations


def _of_a_run(summed: int) -> float:
    """MiB that are kept of a run in all."""
    return _COPIES * 8 * summed / 2**20


def in_words(estimates: Sequence[Estimate], workers: int = 1) -> str:
    """Put estimates of cells into words.

    Examples
    --------
    >>> in_words([Estimate(10.0, 300.0), Estimate(150.0, 5000.0)])
    'roughly 3 min on one processor and up to 4.9 GiB of memory, by its sizes and a trial'
    >>> in_words([Estimate(10.0, 300.0)] * 4, workers=2)
    'roughly 20 s on 2 processors and up to 300 MiB of memory each, by its sizes and a trial'
    """
    used = min(workers, len(estimates))
    longest = max(each.seconds for each in estimates)
    seconds = max(longest, sum(each.seconds for each in estimates) / used)
    most = max(each.mebibytes for each in estimates)
    on = "one processor" if used == 1 else f"{used} processors"
    memory = f"{most:.0f} MiB" if most < 1000 else f"{most / 1024:.1f} GiB"
    return (
        f"roughly {_time(seconds)} on {on} and up to {memory} of memory{' each' * (used > 1)}, by its sizes and a trial"
    )


def warning(estimates: Sequence[Estimate], workers: int) -> str:
    """Say before the start what is ahead, where that is long or large; else nothing."""
    if sum(each.seconds for each in estimates) < _LONG * workers and all(e.mebibytes < _LARGE for e in estimates):
        return ""
    number = len(estimates)
    return f"estimate: {number} combination{'s' * (number > 1)}, {in_words(estimates, workers)}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
