"""SEC (Ye, Ding et al. 2022, Meta clustering): the paper's experiments, what liars do, and what is revealed.

Run ``python -m analysis.meta_clustering.run``; see analysis/README.md. Learners are clustered by
``secmix.protocols.MetaClustering``, audited as ``SelectExchangeCluster``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from analysis.meta_clustering.applications import fairness, find_grid, grid
from analysis.meta_clustering.audit import breakdown, revealed
from analysis.meta_clustering.public import public
from analysis.meta_clustering.report import figures, report
from analysis.meta_clustering.simulations import SETS, counted, rate, simulation_1, simulation_2, spectrum
from analysis.repetitions import Repetitions, processes
from analysis.study import options, provenance, run_parts, write
from secmix.errors import SecmixError

PARTS = (
    "grid",
    "fairness",
    "counted",
    "rate",
    "breakdown",
    "revealed",
    "public",
    "spectrum",
    "simulation_1",
    "simulation_2",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate and audit meta clustering (SEC).", "meta-clustering")
    parser.add_argument("--data", type=Path, help="the Electrical Grid Stability file")
    parser.add_argument("--table", type=Path, help="a CSV file, y last, in place of the diabetes data")
    parser.add_argument("--repeats", type=int, help="repetitions of the two simulations, if not 10")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to make anew; the others are kept")
    processes(parser)
    given = parser.parse_args(arguments)
    quick, seed, repeats = given.quick, given.seed, 10 if given.repeats is None else given.repeats
    try:
        repeated = Repetitions("meta_clustering", given.out, given.workers)
        if repeats < 2:
            raise SecmixError(f"--repeats must be at least 2, for an interval; given {repeats}")
        path = find_grid(given.data)
        parts: dict[str, Callable[[], Any]] = {
            "grid": lambda: grid(path, 2 if quick else 10, (0, 40) if quick else (0, 5, 15, 25, 35, 40, 45), seed),
            "fairness": lambda: fairness(4 if quick else 10, (3.0,) if quick else (0.01, 1, 3, 6, 20), seed),
            "counted": lambda: counted(6 if quick else 30, seed, (5, 15) if quick else (5, 8, 15)),
            "rate": lambda: rate(8 if quick else 30, (8, 40) if quick else (8, 12, 20, 40, 80), seed),
            "breakdown": lambda: breakdown(quick, seed),
            "revealed": lambda: revealed(quick, seed),
            "public": lambda: public(given.table, 2 if quick else 20, seed),
            "spectrum": lambda: spectrum(seed, forest=not quick),
        }
        if not quick:
            parts["simulation_1"] = lambda: simulation_1(
                repeats, (10, 50), (0.5, 1.0, 2.0, 5.0), seed, repeated=repeated
            )
            parts["simulation_2"] = lambda: simulation_2(repeats, SETS, seed, repeated=repeated)
        numbers = run_parts(given.out, provenance("meta_clustering.run", seed, quick), parts, given.only)
    except SecmixError as error:
        print(f"meta_clustering: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
