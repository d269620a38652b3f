"""Audit every entry of the catalogue, render the results: ``python -m analysis.catalogue [--out reports/catalogue]``.

Takes some minutes. ``reports/catalogue/README.md`` is the index.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import secmix
from secmix import Report
from secmix.scenario.catalogue import entries

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Audit, write, index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "catalogue")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    names = list(entries())
    # A process takes a whole entry at a time: fresh interpreters for a hundred cells would take longer than the cells.
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        reports = [pool.submit(audit_cell, name, options.out / name) for name in names]
        found = {}
        for name, report in zip(names, reports, strict=True):
            found[name] = report.result()
            print(f"{name}: {found[name].verdict}", flush=True)
    (options.out / "README.md").write_text(index(found), encoding="utf-8")


def audit_cell(name: str, out: Path) -> Report:
    """One entry, audited and rendered."""
    return secmix.audit(name, out, formats=("html", "md"))


def index(found: dict[str, Report]) -> str:
    """A table of what the audits found."""
    lines = [
        "# The catalogue, audited",
        "",
        "Each entry of [attacks](../../attacks), its report (`report.html` for a browser, `report.md` to read here).",
        "Made by `python -m analysis.catalogue`; one alone by the command in its report.",
        "",
        "| entry | protocol | adversary | verdict | revealed nodes |",
        "|---|---|---|---|---|",
    ]
    for name, report in found.items():
        label = f"[{name}]({name}/report.md)"
        for cell in report.cells:
            revealed = ", ".join(str(node.node) for node in cell.nodes if node.standing == "revealed") or "none"
            lines.append(f"| {label} | {cell.protocol} | {cell.adversary} | {cell.verdict} | {revealed} |")
            label = ""
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
