"""Audit one size after the other, each in a process of its own, and note what it cost and said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.scale.limits import limits
from analysis.scale.series import Series, Settings
from analysis.study import ROOT
from secmix.errors import SecmixError
from secmix.scenario import from_dict, render

Point = dict[str, Any]
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Budget:
    """Processor seconds for one point, and for all of them."""

    def __init__(self, each: float, whole: float) -> None:
        """Allow ``each`` second of a point and ``whole`` seconds of all points together."""
        self.each, self.left = each, whole

    def next_limit(self) -> float:
        """Return the processor seconds that the next point may take; 0 where nothing is left."""
        return max(0.0, min(self.each, self.left))

    def spend(self, seconds: float) -> None:
        """Take what a point took off what is left."""
        self.left -= seconds


def measured(series: Series, seed: int, sizes: Sequence[int], budget: Budget) -> list[Point]:
    """Audit every size, from the smallest up; what is above a size that took too long is not begun.

    The smallest is audited once more before, uncounted: what is compiled at a first call is kept on the disk then.

    Returns
    -------
    list of dict
        ``size``, ``seconds`` and ``mebibytes`` (None where nothing ran), ``verdict`` (None without an answer), ``why``
        (a sentence, empty with an answer), and ``least``, the work of :func:`~analysis.scale.limits.limits`.
    """
    points: list[Point] = []
    too_long = 0
    if budget.next_limit() >= 1:
        budget.spend(audited(series.scenario(min(sizes), seed), budget.next_limit())["seconds"])
    for size in sizes:
        limit = budget.next_limit()
        why = "" if limit >= 1 else "not run: the time of the whole is spent"
        why = f"not run: {too_long:,} {series.letter} took too long" if too_long else why
        point: Point = {"size": size, "seconds": None, "mebibytes": None, "verdict": None, "why": why, "least": None}
        if not why:
            point |= audited(series.scenario(size, seed), limit)
            budget.spend(point["seconds"])
            too_long = too_long or (size if point["timed_out"] else 0)
        points.append({key: value for key, value in point.items() if key != "timed_out"})
        print(f"  {size}: {point['seconds']} s, {point['verdict'] or point['why']}", file=sys.stderr, flush=True)
    return points


def audited(settings: Settings, limit: float) -> Point:
    """Audit one scenario in a process of its own, for at most ``limit`` processor seconds."""
    cell = from_dict(settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scenario.toml").write_text(render(cell), encoding="utf-8")
        audit = [sys.executable, "-m", "secmix", "audit", "scenario.toml", "--workers", "1", "--out", "report"]
        audit += ["--format", "json"]
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("child.py")), str(limit), "stdout", "stderr", *audit],
            cwd=folder,
            env={**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONPATH": _search_path()},
            stdout=subprocess.PIPE,
            check=True,
        )
        cost = json.loads(done.stdout)
        answer = folder / "report" / "report.json"
        report = json.loads(answer.read_text(encoding="utf-8")) if answer.is_file() else None
        printed = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    timed_out = report is None and (cost["status"] == -signal.SIGXCPU or cost["seconds"] >= limit)
    verdict, why = outcome(report, printed, cost["status"], limit if timed_out else None)
    spent = {"seconds": round(cost["seconds"], 2), "mebibytes": round(cost["mebibytes"], 1)}
    return spent | {"verdict": verdict, "why": why, "timed_out": timed_out, "least": _least(cell)}


def outcome(report: Any, printed: str, status: int, limit: float | None) -> tuple[str | None, str]:
    """Read the verdict off a report, or say in the program's own words why there is none.

    Parameters
    ----------
    report : content of report.json, or None where none was written
    printed : str
        What the audit wrote on standard error; its own sentences begin with "secmix: ".
    status : int
        Exit status; below 0 the signal that ended it.
    limit : float, optional
        Processor seconds after which it was ended, if it was.
    """
    if report is not None:
        unmeasured = [what for cell in report["cells"] for what in cell["unmeasured"]]
        return report["verdict"], "not measured: " + "; ".join(unmeasured) if unmeasured else ""
    if limit is not None:
        return None, f"no answer within {limit:.0f} s of processor time"
    said = [line.removeprefix("secmix: ") for line in printed.splitlines() if line.startswith("secmix: ")]
    return None, f"no answer: {said[-1] if said else f'the process ended with status {status}'}"


def _least(cell: Any) -> dict[str, Any] | None:
    """Count the least work, or return None where the audit is refused before a message is sent."""
    try:
        return limits(cell)
    except SecmixError:
        return None


def _search_path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
