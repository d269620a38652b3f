"""What each part is worth: who alone convicts, and what goes wrong where a safeguard is switched off.

Run ``python -m analysis.ablation``. Who convicts in the catalogue is read off the golden record, and the lower bounds
that KSG is held to off the study of information; a sample of the corpus and of the tasks with known truth is read anew.
What was read is kept in a folder for temporary files, so that another run of the same code goes on from there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
    parser.add_argument("--draws", type=int, default=3, help="of each task that KSG reads, at most (3)")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "secmix-ablation")
    given = parser.parse_args(arguments)
    call = "ablation" + (f" --draws {given.draws}" if given.draws != parser.get_default("draws") else "")
    try:
        repeated = Repetitions("ablation", given.cache, given.workers)
        numbers = provenance(call, given.seed, given.quick, ("numpy", "scipy", "scikit-learn", "numba"))
    except SecmixError as error:
        print(f"ablation: {error}", file=sys.stderr)
        return 2
    numbers["files"] = {
        "vouching": {name: each.file for name, each in vouching.SAFEGUARDS.items()},
        "critics": {name: file for name, (file, _) in critics.OFF.items() if file} | critics.AFTERWARDS,
    }
    found = run_parts(given.out, numbers, _parts(repeated, given.seed, given.quick, given.draws), given.only)
    before = given.out / "before.json"
    earlier = json.loads(before.read_text(encoding="utf-8")) if before.is_file() else None
    write(given.out, found, report(found, earlier), indent=None)
    return 0


def _parts(repeated: Repetitions, seed: int, quick: bool, draws: int) -> dict[str, Callable[[], Any]]:
    """Return what makes each part of the numbers."""
    bounds = vouching.recorded_bounds(_study(), draws)
    every = 10**6 if quick else _EVERY

    def read(name: str, setting: object, count: int, make: Callable[[int], Any]) -> Any:
        return repeated(name, setting, min(count, 3) if quick else count, make)

    replays = vouching.replays(draws)
    return {
        "record": record.cells,
        "corpus": lambda: read(
            "corpus", (seed, every), len(corpus.selected(every)), partial(corpus.convicting, every, seed)
        ),
        "vouching": lambda: read("vouching", (seed, draws), len(bounds), partial(vouching.of_study, bounds, seed)),
        "cases": lambda: read("cases", seed, len(replays), partial(vouching.of_case, replays, seed)),
        "critics": lambda: read(
            "critics", (seed, quick), len(critics.jobs(quick)) + 1, partial(critics.of_job, quick, seed)
        ),
    }


def _study() -> Numbers:
    found: Numbers = json.loads((ROOT / "reports" / "information" / "numbers.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
