"""Estimators of mutual information on the 40 tasks of Czyż et al. (2023) and on tasks of our own.

Run ``python -m analysis.information.run``. Every estimator reads the same draws; how near it comes, how often its
interval misses, what it vouches for and what it costs go into the report. The number of processes changes the time
alone. ``--neural`` runs the neural estimators, on an accelerator where JAX finds one.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np

from analysis.information import neural
from analysis.information.estimators import Estimator, Reading, neural_ones, others, ours
from analysis.information.figures import figures
from analysis.information.report import report
from analysis.information.tasks import Array, Task, beyond_normal
from analysis.information.tasks_own import light_tailed, own_tasks, strangers
from analysis.repetitions import Repetitions, processes
from analysis.study import Numbers, options, provenance, run_parts, write
from secmix.errors import SecmixError

PARTS = ("peers", "draws", "own", "again", "independent", "alone")
NEURAL = "neural.json"  # of another environment mostly, so with its own command and versions
_QUICK = (0, 9, 25)  # tasks
_STREAMS = {"own": 1, "independent": 2, "again": 6}  # all others share one, so that they read the same draws
_NAMED = ("light", "few rows leak")  # families that the aims name: ten draws each


class Job(NamedTuple):
    """One draw: of which part of the study, which task of it, how many rows, and the how manieth draw."""

    part: str
    task: int
    rows: int
    draw: int


@cache
def _tasks(part: str) -> list[Task]:
    if part == "independent":
        return strangers()
    return light_tailed() + own_tasks() if part in ("own", "again") else beyond_normal()


def drawn(job: Job, seed: int) -> tuple[Task, Array, Array]:
    """Return the task of a job, and its draw of x (rows, dx) and y (rows, dy)."""
    task, kind = _tasks(job.part)[job.task], _STREAMS.get(job.part, 0)
    return task, *task.draw(np.random.default_rng([seed, kind, job.task, job.rows, job.draw]), job.rows)


def cells(job: Job, seed: int) -> list[Numbers]:
    """All that is read from one draw, a line a method."""
    task, x, y = drawn(job, seed)
    about = {"task": task.name, "family": task.family, "truth": _finite(task.truth), "rows": job.rows, "draw": job.draw}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in _methods(job.part).items():
            start = time.perf_counter(), time.process_time()
            reading = method(x, y, seed + job.draw)
            # An accelerator's time is on the clock, the others' in the processor.
            on_clock = job.part == "neural" and neural.accelerator()
            seconds = time.perf_counter() - start[0] if on_clock else time.process_time() - start[1]
            found.append(about | {"method": name} | _plain(reading) | {"seconds": seconds})
    return found


def _methods(part: str) -> dict[str, Estimator]:
    """Everybody's in "peers"; ours, or the neural ones, in the other parts; the bound by itself in "alone"."""
    if part == "neural":
        return neural_ones()
    if part == "alone":
        return {"lower bound": ours()["lower bound"]}
    return ours() | (others() if part == "peers" else {})


def _plain(reading: Reading) -> Numbers:
    return {key: _finite(value) for key, value in reading._asdict().items()}


def _finite(value: float | bool | None) -> float | bool | None:
    """JSON has no infinity: None stands for it."""
    return None if value is None or not math.isfinite(value) else value


def read(part: str, jobs: Sequence[Job], seed: int, repeated: Repetitions) -> list[Numbers]:
    """The cells of all jobs in their order, the longest begun first."""
    order = sorted(range(len(jobs)), key=lambda i: -jobs[i].rows)
    longest_first = [jobs[i] for i in order]
    found = repeated(part, (seed, longest_first), len(jobs), partial(_read, longest_first, seed))
    cells_of = dict(zip(order, found, strict=True))
    return [cell for i in range(len(jobs)) for cell in cells_of[i]]


def _read(jobs: Sequence[Job], seed: int, i: int) -> list[Numbers]:
    _warm()
    return cells(jobs[i], seed)


@cache
def _warm() -> None:
    """Compile what is compiled, so that no cell's seconds hold it."""
    x, y = np.random.default_rng(0).standard_normal((2, 200, 2))
    for method in ours().values():
        method(x, y, 0)


def jobs_of(quick: bool = False) -> dict[str, list[Job]]:
    """Return the draws that each part of the study reads."""
    sizes, medium = ((300,), 300) if quick else ((500, 2000, 10_000), 2000)
    peers = _QUICK if quick else range(len(beyond_normal()))
    own = range(0, len(_tasks("own")), 8 if quick else 1)
    return {
        "peers": [Job("peers", task, n, 0) for task in peers for n in sizes],
        "draws": [Job("draws", task, medium, draw) for task in peers for draw in range(1, 2 if quick else 5)],
        "own": [Job("own", task, n, draw) for task in own for n in sizes[:2] for draw in range(_draws(task, quick))],
        "again": [Job("again", task, medium, draw) for task in own for draw in range(_draws(task, quick))],
        "independent": [
            Job("independent", task, medium, draw)
            for task in range(len(strangers()))
            for draw in range(1 if quick else 30)
        ],
        "alone": [Job("alone", task, medium, 0) for task in peers],  # those of "peers", for what they cost
    }


def _draws(task: int, quick: bool) -> int:
    """How many draws of a task of our own."""
    return 1 if quick else 10 if _tasks("own")[task].family in _NAMED else 4


def _peers() -> list[str]:
    """The packages that are compared, where they are installed."""
    return [name for name in ("scikit-learn", "npeet-plus", "infomeasure", "benchmark-mi", "jax") if _has(name)]


def _has(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Estimators of mutual information on data with a known truth.", "information")
    processes(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to run")
    parser.add_argument(
        "--neural", action="store_true", help="run the neural estimators of benchmark-mi instead, beside what is there"
    )
    given = parser.parse_args(arguments)
    seed, quick = given.seed, given.quick
    try:
        repeated = Repetitions("information", given.out, given.workers)
        numbers = provenance("information.run", seed, quick, ("numpy", "scipy", "numba", *_peers()))
    except SecmixError as error:
        print(f"information: {error}", file=sys.stderr)
        return 2
    jobs = jobs_of(quick)
    if given.neural:
        if not neural.installed():
            words = (
                "--neural needs jax, equinox, optax, pandas, tqdm and benchmark-mi (pip install --no-deps benchmark-mi)"
            )
            print(f"information: {words}", file=sys.stderr)
            return 2
        todo = [job._replace(part="neural") for job in jobs["alone"]]
        _write_neural(given.out, numbers | {"cells": read("neural", todo, seed, repeated)})
        return 0
    by_itself = replace(repeated, workers=1)
    parts = {
        name: lambda name=name, todo=todo: read(name, todo, seed, by_itself if name == "alone" else repeated)
        for name, todo in jobs.items()
    }
    _write(given.out, run_parts(given.out, numbers, parts, given.only))
    return 0


def _write(out: Path, numbers: Numbers) -> None:
    path = out / NEURAL
    neurals = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"cells": []}
    write(out, numbers, report(numbers, neurals), indent=None)
    figures(numbers.get("peers", []) + neurals["cells"], out)


def _write_neural(out: Path, found: Numbers) -> None:
    """The neural estimators' cells in a file of their own, and the report anew where there is one."""
    found["command"] += " --neural"
    found["accelerator"] = neural.accelerator()
    out.mkdir(parents=True, exist_ok=True)
    (out / NEURAL).write_text(json.dumps(found, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    earlier = out / "numbers.json"
    if earlier.is_file():
        _write(out, json.loads(earlier.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
