"""The corpus on the command line: ``python -m tests.soundness [name, class or side ...] [--truth] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

from .corpus import ALL, BEYOND, side
from .pending import PENDING
from .verdict import audited, shown


def main() -> int:
    """Print case, class, truth, verdict and reason; 1 if a verdict is not true and not known to be so."""
    options = argparse.ArgumentParser(prog="python -m tests.soundness", description="Audit cases of known truth.")
    options.add_argument("which", nargs="*", help="names, classes or sides, as honest; default: all")
    options.add_argument("--truth", action="store_true", help="run the attacks, not the audit")
    options.add_argument("--wrong", action="store_true", help="print what is not as it should be only")
    options.add_argument("--json", type=Path, help="write the table into this file too")
    given = options.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)
    table = []
    for case in [*ALL, *BEYOND]:
        if given.which and {case.name, case.family, side(case)}.isdisjoint(given.which):
            continue
        if given.truth:
            if case.attack is None:
                continue
            got = shown(case)
            line = {"verdict": "shown" if got.success else "not shown", "reason": f"{got.score:.3g}", "seconds": 0.0}
            fine = got.success
        else:
            outcome = audited(case)
            line = {"verdict": outcome.verdict, "reason": outcome.reason, "seconds": round(outcome.seconds, 2)}
            fine = outcome.right or case.family == "beyond" or PENDING.get(case.name) == outcome.verdict
        table.append(
            {"case": case.name, "class": case.family, "side": side(case), "truth": case.truth, **line, "right": fine}
        )
        if not fine or not given.wrong:
            mark = " " if fine else "!"
            where = f"{side(case)} | {case.family} | {case.name} | {case.truth}"
            print(f"{mark} {where} | {line['verdict']} | {line['reason']}", flush=True)
    bad = sum(not line["right"] for line in table)
    print(f"{len(table)} cases, {bad} not as they should be")
    if given.json:
        given.json.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
