"""The corpus of protocols with known truth, audited: ``python -m analysis.soundness.run [--out reports/soundness]``.

Every wrong case's attack is run too, so that the truth in the table is shown. What was judged before an interruption is
kept; ``--workers 2`` takes about half an hour.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # the corpus is a part of the tests

from soundness.corpus import ALL, BEYOND, side
from soundness.pending import PENDING
from soundness.verdict import audited, shown

from analysis.repetitions import Repetitions, processes
from analysis.soundness.report import report
from analysis.study import Numbers, options, provenance, run_parts, write

TESTS = Path(__file__).resolve().parents[2] / "tests"
CASES = [*ALL, *BEYOND]


def line(chosen: Sequence[int], seed: int, k: int) -> Numbers:
    """The line of the table on the k-th case of those that are chosen."""
    case = CASES[chosen[k]]
    warnings.simplefilter("ignore", RuntimeWarning)
    outcome = audited(case, seed=seed)
    record: Numbers = {
        "case": case.name,
        "class": case.family,
        "side": side(case),
        "truth": case.truth,
        "why": case.why,
        "verdict": outcome.verdict,
        "mechanism": outcome.reason,
        "right": outcome.right,
        "undecided": case.undecided,
        "pending": PENDING.get(case.name) == outcome.verdict,
    }
    if case.attack is not None:
        got = shown(case)
        record["attack"] = {"goal": case.goal, "score": got.score, "claimed": got.claimed, "success": got.success}
    return record


def lines(chosen: Sequence[int], seed: int, repeated: Repetitions) -> list[Numbers]:
    """The lines on these cases, as far as they are not kept of the same corpus."""
    corpus = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((TESTS / "soundness").rglob("*.py"))))
    return repeated("cases", (seed, chosen, corpus.hexdigest()), len(chosen), partial(line, chosen, seed))


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit, attack, write; 1 if a verdict that is promised is not true and not known to be so."""
    parser = options("Audit protocols and adversaries of known truth.", "soundness")
    processes(parser)
    given = parser.parse_args(arguments)
    chosen = list(range(len(CASES)))
    if given.quick:
        first = {(side(CASES[k]), CASES[k].truth): k for k in reversed(chosen)}
        chosen = sorted(first.values())
    repeated = Repetitions("soundness", given.out, given.workers)
    numbers = provenance("soundness.run", given.seed, given.quick, ("numpy", "scipy"))
    numbers = run_parts(given.out, numbers, {"cases": lambda: lines(chosen, given.seed, repeated)})
    write(given.out, numbers, report(numbers))
    promised = [entry for entry in numbers["cases"] if entry["side"] not in ("beyond", "sabotage")]
    return int(not all(entry["right"] or entry["pending"] for entry in promised))


if __name__ == "__main__":
    raise SystemExit(main())
