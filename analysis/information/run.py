"""Estimators of mutual information on the 40 tasks of Czyż et al. (2023) and on tasks of our own.

Run ``python -m analysis.information.run``. Every estimator reads the same draws; how near it comes, how often its
interval misses, what it vouches for and what it costs go into the report.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np

from analysis.information.estimators import Estimator, estimators
from analysis.information.figures import figures
from analysis.information.report import report
from analysis.information.tasks import Task, beyond_normal
from analysis.information.tasks_own import light_tailed, own_tasks
from analysis.study import Numbers, options, provenance, write
from secmix.errors import SecmixError

_QUICK = (0, 9, 25)  # tasks
_SLOW = {"BMI InfoNCE": 2000}  # rows above which it is not asked


def cells(
    tasks: Sequence[Task], methods: dict[str, Estimator], rows: Sequence[int], draws: int, seed: int
) -> list[Numbers]:
    """Every method on every task: readings and processor time, a line each."""
    out = []
    for number, task in enumerate(tasks):
        for n in rows:
            for draw in range(draws):
                x, y = task.draw(np.random.default_rng([seed, number, n, draw]), n)
                for name, method in methods.items():
                    if n <= _SLOW.get(name, n):
                        out.append(_cell(task, name, method, x, y, seed + draw) | {"rows": n, "draw": draw})
    return out


def _cell(task: Task, name: str, method: Estimator, x: np.ndarray, y: np.ndarray, seed: int) -> Numbers:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = method(x, y, seed)
    numbers = {key: _finite(value) for key, value in found._asdict().items()}
    truth = _finite(task.truth)
    about = {"task": task.name, "family": task.family, "truth": truth, "method": name}
    return about | numbers | {"seconds": time.process_time() - start}


def _finite(value: float | bool | None) -> float | bool | None:
    """JSON has no infinity: None stands for it."""
    return None if value is None or not math.isfinite(value) else value


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Estimators of mutual information on data with a known truth.", "information")
    parser.add_argument("--rows", type=int, nargs="+", help="sizes of the draws (500 2000 10000)")
    parser.add_argument("--draws", type=int, default=1, help="draws of each task and size")
    given = parser.parse_args(arguments)
    try:
        numbers = provenance("information.run", given.seed, given.quick)
    except SecmixError as error:
        print(f"information: {error}", file=sys.stderr)
        return 2
    rows = given.rows or ([300] if given.quick else [500, 2000, 10_000])
    peers = [task for number, task in enumerate(beyond_normal()) if not given.quick or number in _QUICK]
    own = (light_tailed() + own_tasks())[:: 8 if given.quick else 1]
    methods = estimators()
    numbers["peers"] = cells(peers, methods, rows, given.draws, given.seed)
    numbers["own"] = cells(own, {name: methods[name] for name in ("lower bound", "KSG")}, rows, given.draws, given.seed)
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
