"""Audit a module of this folder: ``python -m soundness.heldback MODULE [--full] [beginning of a name]`` from ``tests``."""

from __future__ import annotations

import contextlib
import importlib
import sys
import warnings
from typing import Any

import secmix

from ..case import SCENARIO, Case
from ..verdict import without_accusers
from .truth import ADVERSARIES


def main(module: str, *names: str, full: bool) -> None:
    """Print what is said of each protocol against each adversary, and mark what is false with ``!!!``."""
    protocols: dict[str, dict[str, Case]] = {}
    for case in importlib.import_module(f"{__package__}.{module}").CASES:
        protocol, who = case.name.rsplit(": ", 1)
        protocols.setdefault(protocol, {})[who] = case
    for protocol, cases in protocols.items():
        if names and not protocol.startswith(names):
            continue
        first = next(iter(cases.values()))
        with contextlib.nullcontext() if full else without_accusers():
            report: Any = secmix.audit(
                {**SCENARIO, **first.settings},
                protocols={protocol: first.protocol()},
                adversaries={who: ADVERSARIES[who] for who in cases},
            )
        print(f"== {protocol}", flush=True)
        for cell in report.cells:
            truth = cases[cell.adversary].truth
            false = (truth, cell.verdict) in (("leaks", "holds"), ("safe", "violated"))
            why = next((node.why for node in cell.nodes if node.verdict == cell.verdict), "")
            print("!!!" if false else "   ", truth, cell.adversary, cell.verdict, "|", why, "|", cell.proof, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = [word for word in sys.argv[1:] if word != "--full"]
    main(*given, full="--full" in sys.argv)
