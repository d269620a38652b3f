"""Cost of noise: error of four learners against epsilon, each between its bounds; claims and mechanisms of known truth.

Run ``python -m analysis.noise``; it takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from analysis.noise.claims import decisions
from analysis.noise.federations import LEARNERS
from analysis.noise.figure import draw
from analysis.noise.measure import measured
from analysis.noise.readings import readings
from analysis.noise.report import CLAIMS, READINGS, report
from analysis.study import options, provenance, run_parts, write
from secmix.errors import SecmixError


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, draw and write; return 2 with one line on standard error where the input is wrong."""
    parser = options("What noise costs four learners, against the epsilon that it proves.", "noise")
    parser.add_argument(
        "--only", nargs="+", choices=[*LEARNERS, CLAIMS, READINGS], help="parts to run; the others are kept"
    )
    given = parser.parse_args(arguments)
    try:
        numbers = provenance("noise", given.seed, given.quick)
    except SecmixError as error:
        print(f"noise: {error}", file=sys.stderr)
        return 2
    parts: dict[str, Callable[[], Any]] = {
        name: partial(measured, name, seed=given.seed, quick=given.quick) for name in LEARNERS
    }
    parts[CLAIMS] = partial(decisions, seed=given.seed, quick=given.quick)
    parts[READINGS] = partial(readings, seed=given.seed, quick=given.quick)
    found = run_parts(given.out, numbers, parts, given.only)
    if all(name in found for name in parts):
        given.out.mkdir(parents=True, exist_ok=True)
        draw(found, given.out / "noise.svg")
        write(given.out, found, report(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
