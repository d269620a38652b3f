"""What each part is worth: who alone convicts, and what goes wrong where a safeguard is switched off.

Run ``python -m analysis.ablation``. Who convicts in the catalogue is read off the golden record, and the lower bounds
that KSG is held to off the study of information; a sample of the corpus and of the tasks with known truth is read anew.
What was read is kept in a folder for temporary files, so that another run of the same code goes on from there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from analysis.ablation import corpus, critics, record, vouching
from analysis.ablation.report import report
from analysis.repetitions import Repetitions, processes
from analysis.study import ROOT, Numbers, options, provenance, run_parts, write
from secmix.errors import SecmixError

PARTS = ("record", "corpus", "vouching", "cases", "critics")
_EVERY = 40  # so many cases of the corpus stand behind one that is audited, the first of each class aside


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Which accuser alone convicts, and what each safeguard is worth.", "ablation")
    processes(parser)
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to run; the others are kept")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "secmix-ablation")
    given = parser.parse_args(arguments)
    try:
        repeated = Repetitions("ablation", given.cache, given.workers)
        numbers = provenance("ablation", given.seed, given.quick, ("numpy", "scipy", "scikit-learn", "numba"))
    except SecmixError as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 2
    seed, quick = given.seed, given.quick
    bounds = vouching.recorded_bounds(_study())
    every = 10**6 if quick else _EVERY
    fits = critics.jobs(quick)

    def counted(count: int) -> int:
        return min(count, 3) if quick else count

    parts = {
        "record": record.cells,
        "corpus": lambda: repeated(
            "corpus", (seed, every), counted(len(corpus.selected(every))), partial(corpus.convicting, every, seed)
        ),
        "vouching": lambda: repeated("vouching", seed, counted(len(bounds)), partial(vouching.of_study, bounds, seed)),
        "cases": lambda: repeated("cases", seed, counted(vouching.count_of_cases()), partial(vouching.of_cases, seed)),
        "critics": lambda: repeated(
            "critics", (seed, quick), counted(len(fits) + 1), partial(critics.of_job, quick, seed)
        ),
    }
    numbers["files"] = {
        "vouching": {name: each.file for name, each in vouching.SAFEGUARDS.items()},
        "critics": {name: file for name, (file, _) in critics.OFF.items() if file} | critics.AFTERWARDS,
    }
    found = run_parts(given.out, numbers, parts, given.only)
    before = given.out / "before.json"
    earlier = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else None
    write(given.out, found, report(found, earlier), indent=None)
    return 0


def _study() -> Numbers:
    found: Numbers = json.loads((ROOT / "reports" / "information" / "numbers.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
