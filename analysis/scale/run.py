"""What one audit costs as columns, nodes and runs grow: processor time, memory and verdict, beside the least work.

Run ``python -m analysis.scale.run``. Each size is audited by ``secmix audit --workers 1`` in a process of its own, on
one thread, and what the kernel counted for that process is noted. Times belong to the machine and vary; verdicts and
the least work do not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from analysis.scale.figure import draw
from analysis.scale.growth import growth
from analysis.scale.limits import speeds
from analysis.scale.measure import Budget, measured
from analysis.scale.report import report
from analysis.scale.series import QUICK, SERIES
from analysis.study import options, provenance, run_parts, write


def main() -> None:
    """Run the study and write its report."""
    parser = options(__doc__.split("\n")[0], "scale")
    parser.add_argument("--limit", type=float, default=120, help="processor seconds for one size (default 120)")
    parser.add_argument("--whole", type=float, default=1200, help="processor seconds for all of it (default 1200)")
    parser.add_argument("--only", nargs="+", choices=SERIES, help="measure these and keep the others")
    cores = f"{os.cpu_count()} cores"
    parser.add_argument("--machine", default=cores, help=f"what it runs on, in the report's words (default: {cores})")
    given = parser.parse_args()
    if given.limit < 1 or given.whole < 1:
        parser.error(f"--limit and --whole must be at least 1 second; given {given.limit:g} and {given.whole:g}")
    numbers = provenance("scale.run", given.seed, given.quick, ("numpy", "scipy", "numba", "matplotlib"))
    changed = [key for key in ("limit", "whole") if getattr(given, key) != parser.get_default(key)]
    numbers["command"] += "".join(f" --{key} {getattr(given, key):g}" for key in changed)
    numbers |= {"machine": given.machine, "limit": given.limit, "whole": given.whole, "speeds": speeds()}
    budget = Budget(given.limit, given.whole)
    chosen = {name: QUICK[name] for name in QUICK} if given.quick else {name: s.sizes for name, s in SERIES.items()}
    parts: dict[str, Callable[[], Any]] = {
        name: partial(measured, SERIES[name], given.seed, sizes, budget) for name, sizes in chosen.items()
    }
    numbers = run_parts(given.out, numbers, parts, given.only)
    numbers["growth"] = {name: growth(numbers[name]) for name in SERIES if name in numbers}
    write(given.out, numbers, report(numbers))
    draw(numbers, given.out / "scale.svg")


if __name__ == "__main__":
    main()
