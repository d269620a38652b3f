"""The corpus of protocols with known truth, audited: ``python -m analysis.soundness.run [--out reports/soundness]``.

Every wrong case's attack is run too, so that the truth in the table is shown. Takes some minutes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # the corpus is a part of the tests

from soundness.case import Case
from soundness.corpus import ALL, BEYOND, side
from soundness.pending import PENDING
from soundness.verdict import audited, shown

from analysis.soundness.report import report
from analysis.study import Numbers, options, provenance, run_parts, write


def line(case: Case, seed: int) -> Numbers:
    """A line of the table."""
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
    print(f"{case.family} | {case.name} | {case.truth} | {record['verdict']}", flush=True)
    if case.attack is not None:
        got = shown(case)
        record["attack"] = {"goal": case.goal, "score": got.score, "claimed": got.claimed, "success": got.success}
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit, attack, write; 1 if a verdict that is promised is not true and not known to be so."""
    given = options("Audit protocols and adversaries of known truth.", "soundness").parse_args(arguments)
    cases = [*ALL, *BEYOND]
    if given.quick:
        first = {(side(case), case.truth): case for case in reversed(cases)}
        cases = [case for case in cases if case in first.values()]
    warnings.simplefilter("ignore", RuntimeWarning)
    numbers = provenance("soundness.run", given.seed, given.quick, ("numpy", "scipy"))
    numbers = run_parts(given.out, numbers, {"cases": lambda: [line(case, given.seed) for case in cases]})
    write(given.out, numbers, report(numbers))
    promised = [entry for entry in numbers["cases"] if entry["side"] not in ("beyond", "sabotage")]
    return int(not all(entry["right"] or entry["pending"] for entry in promised))


if __name__ == "__main__":
    raise SystemExit(main())
