"""The experiments of Zhang, Tan and Chen (2024) on Byzantine-tolerant mixtures, and what they do not try.

Run ``python -m analysis.zhang_2024.run``; see analysis/README.md. The simulations are in ``simulation.py``
beside this file, the digits in ``digits.py``, colluders in ``colluders.py``, and what a single
mixture tells of its rows in ``rows.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from analysis.repetitions import Repetitions, processes
from analysis.study import Numbers, options, provenance, run_parts, write
from analysis.zhang_2024.colluders import anywhere, near
from analysis.zhang_2024.digits import PASSES, clustered, features, folder_of, honest_rejected, reach_of_the_distance
from analysis.zhang_2024.figures import boxes, collusion, components, sizes
from analysis.zhang_2024.rates import rates
from analysis.zhang_2024.report import report
from analysis.zhang_2024.report_rates import growth
from analysis.zhang_2024.rows import recovered
from analysis.zhang_2024.simulation import REPETITIONS, Nested, Setting, by_component, centres, simulated
from secmix.errors import SecmixError

RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
# The overlaps are the authors', from their public code (github.com/SarahQiong/RobustSCGMM, generated_pop): 0.1, 0.2 and
# 0.3 with K = 5 and d = 10; means that fail are drawn from N(0, 100²). So are the 50 features of the digits (nist.py).
HARD = 0.3
FEATURES = 50
CENTRES = (Setting(20, 1000, HARD, (0.0, 0.3), 30), Setting(10, 300, 0.05, (0.0, 0.3), 3))  # in full, and quick
PARTS = ("simulation", "rates", "centres", "colluders", "rows", "digits")


def simulation(seed: int, repeated: Repetitions, repetitions: int | None, *, quick: bool) -> Numbers:
    """Failures by rate; then by the number of machines, their rows and the overlap.

    The sizes of figures 2 and 3 are m = 20, 50, 100 with N = 1000, 5000, 10000; figure 4 cuts 100000 rows into them, as
    the example of the authors' code does, so that m = 50 has 2000 each.
    """
    if quick:
        return {
            "cells": simulated([Nested(400, 0.05, {20: (0.0, 0.4)}, 3)], seed),
            "components": by_component(Setting(20, 400, 0.05, (0.4,), 2), seed),
        }
    most = repetitions or REPETITIONS
    large = max(most // 5, 2)  # their fits take longest
    all_sizes = {50: RATES, 20: (0.3,), 100: (0.3,)}
    settings = [
        Nested(1000, HARD, all_sizes, most),
        Nested(2000, HARD, {50: (0.3,)}, most),
        *(Nested(1000, overlap, {20: (0.3,)}, most) for overlap in (0.01, 0.1, 0.2)),
        Nested(400, 0.05, {20: (0.4,)}, most),
        *(Nested(rows, HARD, all_sizes, large) for rows in (5000, 10000)),
    ]
    return {
        "cells": simulated(settings, seed, repeated),
        "components": by_component(Setting(20, 1000, 0.1, RATES[1:], min(most, 15)), seed, repeated),
    }


def exact_sets(seed: int, repeated: Repetitions, repetitions: int | None, *, quick: bool) -> Numbers:
    """The rates of the theorem, from N = 1000 on as in the paper's simulations."""
    if quick:
        return rates((500, 2000), (20,), 3, seed)
    return rates((1000, 2000, 4000, 8000), (20, 50), min(repetitions or REPETITIONS, REPETITIONS), seed, repeated)


def colluders(seed: int, *, quick: bool) -> Numbers:
    """The bias curve near the oracle, and whether anything holds lies that go further."""
    if quick:
        return {
            "near": near((12,), (0.3,), 2, 100, seed, rules=("CRED",)),
            "anywhere": anywhere((12,), (0.3,), (0.3,), 1, 150, seed, rules=("ARED", "component-wise")),
        }
    return {
        "near": near((20, 50, 100), (0.1, 0.2, 0.3, 0.45), 3, 120, seed),
        "anywhere": anywhere((20, 100), (0.1, 0.45), (0.05, HARD), 2, 150, seed),
    }


def digits(data: Path | None, seed: int, repeated: Repetitions, repetitions: int | None, *, quick: bool) -> Numbers:
    """The ARI of digit images, with machines that hold images which are no digits."""
    machines, rows = (10, 1000) if quick else (50, 1000)
    size = {"machines": machines, "rows": rows, "seed": seed}
    learned = features(data, FEATURES, seed, passes=10 if quick else PASSES)
    most = min(repetitions or 10, 10)
    if quick:
        ways = clustered(learned, rates=(0.3,), repetitions=2, **size)
    else:
        ways = clustered(learned, rates=RATES, repetitions=most, repeated=repeated, name="digits", **size)
    found: Numbers = {"features": FEATURES, **size, "table": ways["ise"], "transport": ways["transport"]}
    del found["seed"]
    if not quick:
        found["honest"] = honest_rejected(
            learned, machines=machines, rows=(1000, 2000), repetitions=min(most, 2), seed=seed, repeated=repeated
        )
        principal = features(data, FEATURES, seed, learned=False)
        more: Numbers = {"by_transport": False, "repeated": repeated, "name": "digits-principal"}
        ways = clustered(principal, rates=(0.2, 0.4), repetitions=2, **more, **size)
        found["principal"] = ways["ise"]
        found["norm_over_radius"] = {
            name: reach_of_the_distance(made, **size) for name, made in (("learned", learned), ("pca", principal))
        }
    return found


def rounded(value: Any) -> Any:
    """Every float to six digits: what is drawn and written is what stands in the file."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate the experiments of Zhang, Tan and Chen 2024.", "zhang-2024")
    parser.add_argument("--data", type=Path, help="folder of the MNIST test images; found or downloaded when not given")
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        help="parts to make anew; the others are kept",
    )
    parser.add_argument("--repetitions", type=int, help=f"of the simulations (default {REPETITIONS}; at least 2)")
    processes(parser)
    given = parser.parse_args(arguments)
    try:
        repeated = Repetitions("zhang_2024", given.out, given.workers)
        if given.repetitions is not None and given.repetitions < 2:
            raise SecmixError(f"--repetitions must be at least 2; given {given.repetitions}")
        numbers = provenance("zhang_2024.run", given.seed, given.quick) | {"seed": given.seed}
        parts: dict[str, Callable[[], Any]] = {
            "simulation": lambda: rounded(simulation(given.seed, repeated, given.repetitions, quick=given.quick)),
            "rates": lambda: rounded(exact_sets(given.seed, repeated, given.repetitions, quick=given.quick)),
            "centres": lambda: centres(CENTRES[given.quick], given.seed),
            "colluders": lambda: rounded(colluders(given.seed, quick=given.quick)),
            "rows": lambda: rounded(recovered(3 if given.quick else 12, given.seed, quick=given.quick)),
            "digits": lambda: rounded(
                digits(folder_of(given.data), given.seed, repeated, given.repetitions, quick=given.quick)
            ),
        }
        # One thread: sums in another order round otherwise.
        with threadpool_limits(1):
            numbers = run_parts(given.out, numbers, parts, given.only)
    except SecmixError as error:
        print(f"zhang_2024: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers), indent=None)
    if "simulation" in numbers:
        boxes(numbers["simulation"]["cells"], given.out / "failures.png")
        components(numbers["simulation"]["components"], given.out / "components.png")
        if growth(numbers["simulation"]["cells"]):
            sizes(numbers["simulation"]["cells"], given.out / "sizes.png")
    if "colluders" in numbers:
        collusion(numbers["colluders"]["near"], given.out / "colluders.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
