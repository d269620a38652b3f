"""Rough estimates of the time and memory of an audit, from the sizes of its cells and a trial of each.

The constants are fitted to audits of 5 to 20 nodes with 2 to 30 columns. A cell may take several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from secmix.auditing.evidence.interface import installed, is_exact
from secmix.auditing.observation.memory import room_for_messages
from secmix.auditing.released.membership import MOST_RUNS
from secmix.auditing.setup import CollaborationSetup, SumSetup
from secmix.errors import DataError
from secmix.protocols.released import FittedMixture, Released
from secmix.scenario import FEWEST_RUNS, Scenario

_LEAST = 2.0  # seconds of any cell
_SUMMED = 300  # summed numbers, over nodes and iterations, per second of measuring
_SENT = 8000  # messages of a sum, over iterations, per second: PDMM of 20 to 100 nodes in reports/scale
_EXACT = 0.1  # share of that time if nothing is measured
_MEASURES = {"decoders", "information", "inversion", "ksg", "reconstruction"}
_SAFETY = 2  # factor by which the estimate may be too small
_LONG, _LARGE = 30, 2048  # seconds, and MiB, above which a warning is given
_EXACT_RUNS, _EXACT_NUMBERS = 500, 10**7  # runs, and summed numbers in all of them, that check masks well enough
_FEW_RUNS = 2  # that show how messages are made: one is read by probes, and all are held against what was read
SHOWN_BY_FEW = f"{_FEW_RUNS} runs were made, which show how messages are made of inputs and masks, and no more"
_ESTIMATE = "estimate: "  # begins what is said before the start
_BASE, _BLOCKS, _COPIES = 250, 2, 6  # MiB of any process; copies of a block of runs, and of all summed numbers


@dataclass(frozen=True)
class CostEstimate:
    """Seconds of one processor, and MiB, of a cell."""

    seconds: float
    mebibytes: float
    too_wide: str = ""  # why only a few runs are made, which clear nobody; empty where enough are


def estimate(cell: Scenario, setup: SumSetup | CollaborationSetup, trial: float, messages: int = 0) -> CostEstimate:
    """Estimate one cell from a trial of one run: its seconds, and its messages in one iteration."""
    base = _BASE + _BLOCKS * cell.message_limit
    if isinstance(setup, CollaborationSetup):  # its runs are made one after the other
        released = setup.protocol.inner if isinstance(setup.protocol, Released) else None
        # Distributed EM makes many runs at once.
        by_one = released is not None and not isinstance(released, FittedMixture)
        shadows = cell.measure.work(MOST_RUNS) if by_one else 0
        return CostEstimate(_LEAST + trial * (cell.runs + shadows), base)
    base += _BLOCKS * (room_for_messages(cell, setup) - cell.message_limit)
    summed = _numbers_summed(cell, setup, setup.rows.shape[1])
    share = 1.0 if _MEASURES & set(cell.measure.evidence) else _EXACT
    share *= _FEW_RUNS / FEWEST_RUNS if setup.too_wide else 1.0
    seconds = _LEAST + trial * cell.model.iterations + share * summed / _SUMMED
    seconds += messages * cell.model.iterations / _SENT
    why = setup.too_wide.removeprefix(f"{SHOWN_BY_FEW}: ")
    return CostEstimate(seconds, base + planned_runs(cell, setup)[0] * _of_a_run(summed), why)


def check_memory(cell: Scenario, setup: SumSetup) -> None:
    """Check from the sizes alone, before anything runs, whether the fewest runs of a sum fit into ``memory_limit``.

    Raises DataError if they do not, with the settings that would do.
    """
    fewest = _fewest(cell, setup)
    if _fit(cell, setup, fewest):
        return
    error = DataError(f"[data] with {_beyond(cell, setup, fewest)}")
    error.key = ("data", "features")
    raise error


def too_wide(cell: Scenario, setup: SumSetup) -> str:
    """Say why no more than a few runs of a sum are made: of its width more do not fit; "" if they do.

    Exact evidence reads off these few, in all entries, how messages are made of inputs and masks, which does not depend
    on how many runs there are. The law of masks and data takes many; it stays open, and nobody is cleared.
    """
    if _fit(cell, setup, FEWEST_RUNS):
        return ""
    return f"{SHOWN_BY_FEW}: with {_beyond(cell, setup, FEWEST_RUNS)}"


def planned_runs(cell: Scenario, setup: SumSetup | CollaborationSetup) -> tuple[int, str]:
    """Count the runs to make, and say why they are fewer than the scenario asks for; "" if they are not.

    No more are made than fit into ``memory_limit``, and none that cannot change what the evidence says: exact evidence
    reads what a single run reveals from how messages depend on data and masks, and only checks the masks on many.
    """
    if isinstance(setup, CollaborationSetup):  # little is stored of its runs
        return cell.runs, ""
    summed = _numbers_summed(cell, setup, setup.rows.shape[1])
    room = cell.memory_limit - _BLOCKS * cell.message_limit
    if setup.too_wide:
        return _FEW_RUNS, ""  # said among what is not met
    fitting = max(int(room / (_SAFETY * _of_a_run(summed))), FEWEST_RUNS)
    enough = max(min(_EXACT_RUNS, _EXACT_NUMBERS // summed), FEWEST_RUNS) if is_exact(cell, setup) else cell.runs
    runs = min(cell.runs, fitting, enough)
    of_all = f"{runs} of {cell.runs} runs were made: "
    if runs == cell.runs:
        return runs, ""
    if runs < fitting:
        return runs, of_all + "what exact evidence says does not depend on their number"
    return runs, of_all + f"memory_limit = {cell.memory_limit} MiB allows no more"


def _fewest(cell: Scenario, setup: SumSetup) -> int:
    return _FEW_RUNS if is_exact(cell, setup) else FEWEST_RUNS


def _fit(cell: Scenario, setup: SumSetup, runs: int) -> bool:
    """Check whether the summed numbers of so many runs fit into the memory that messages leave."""
    return runs * _of_a_run(_numbers_summed(cell, setup, setup.rows.shape[1])) <= _share(cell) * cell.memory_limit


def _share(cell: Scenario) -> float:
    """Compute the share of ``memory_limit`` that messages leave."""
    return 1 - _BLOCKS * cell.message_limit / cell.memory_limit


def _beyond(cell: Scenario, setup: SumSetup, runs: int) -> str:
    """Say that so many runs do not fit into ``memory_limit``, and which settings would do."""
    d, room = setup.rows.shape[1], _share(cell) * cell.memory_limit
    of_a_run = {k: _of_a_run(_numbers_summed(cell, setup, k)) for k in range(1, d + 1)}
    need = runs * of_a_run[d]
    columns = max((k for k, each in of_a_run.items() if runs * each <= room), default=0)
    fewer = f"set features to at most {columns}, or" if columns else "use fewer nodes or iterations, or set"
    exact = [evidence.name for evidence in installed() if evidence.exact and evidence.name in cell.measure.evidence]
    if _fewest(cell, setup) == FEWEST_RUNS and exact and not setup.is_unequal and _FEW_RUNS * of_a_run[d] <= room:
        fewer = f"{fewer.removesuffix(', or')}, [measure] evidence to {exact} alone, or"
    entries = _numbers_summed(cell, setup, d) // (setup.network.n * cell.model.iterations)
    return (
        f"{d} columns each of {setup.network.n} nodes sums {entries:,} numbers in an iteration, and {runs} runs take "
        f"{need / 1024:.1f} GiB, where memory_limit = {cell.memory_limit} leaves {room / 1024:.1f}; {fewer} "
        f"memory_limit to at least {math.ceil(need / _share(cell))}"
    )


def _numbers_summed(cell: Scenario, setup: SumSetup, d: int) -> int:
    """Count the numbers that all nodes sum in all iterations of a run, of rows of ``d`` columns."""
    entries: int = cell.model.components * (1 + d + d * (d + 1) // 2)
    return setup.network.n * entries * cell.model.iterations


def _of_a_run(summed: int) -> float:
    """Compute the MiB that one run needs in all."""
    return _COPIES * 8 * summed / 2**20


def in_words(estimates: Sequence[CostEstimate], workers: int = 1) -> str:
    """Describe estimates of cells in words.

    >>> in_words([CostEstimate(10.0, 300.0), CostEstimate(150.0, 5000.0)])
    'roughly 3 min on one processor and up to 4.9 GiB of memory, by its sizes and a trial'
    >>> in_words([CostEstimate(10.0, 300.0)] * 4, workers=2)
    'roughly 20 s on 2 processors and up to 300 MiB of memory each, by its sizes and a trial'
    """
    used = min(workers, len(estimates))
    longest = max(cell.seconds for cell in estimates)
    seconds = max(longest, sum(cell.seconds for cell in estimates) / used)
    most = max(cell.mebibytes for cell in estimates)
    on = "one processor" if used == 1 else f"{used} processors"
    memory = f"{most:.0f} MiB" if most < 1000 else f"{most / 1024:.1f} GiB"
    return (
        f"roughly {_time(seconds)} on {on} and up to {memory} of memory{' each' * (used > 1)}, by its sizes and a trial"
    )


def warning(estimates: Sequence[CostEstimate], workers: int) -> str:
    """Warn before the start if an audit is long or large; otherwise return ""."""
    if sum(cell.seconds for cell in estimates) < _LONG * workers and all(e.mebibytes < _LARGE for e in estimates):
        return ""
    number = len(estimates)
    return f"{_ESTIMATE}{number} combination{'s' * (number > 1)}, {in_words(estimates, workers)}"


def clearing_nobody(estimates: Sequence[CostEstimate]) -> list[str]:
    """Warn before the start where only a few runs fit, which clear nobody, and name the first key to change.

    >>> clearing_nobody([CostEstimate(10.0, 300.0), CostEstimate(9.0, 300.0, "a run takes 9 GiB; raise it, or wait")])
    ['estimate: only 2 runs are made, which clear nobody: a run takes 9 GiB; raise it']
    """
    reasons = dict.fromkeys(each.too_wide.partition(", or ")[0] for each in estimates if each.too_wide)
    return [f"{_ESTIMATE}only {_FEW_RUNS} runs are made, which clear nobody: {why}" for why in reasons]


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
