"""What the audit says of the catalogue, kept in ``golden/catalogue.json`` and compared by ``golden/test_catalogue.py``.

After a change that is meant to change findings, write the record anew and look at what changed before it is committed:
``python tests/golden_record.py [entry[:cell] ...]`` from the root of the checkout. All take about ten minutes.

Entries are audited with ``RUNS`` runs, the fewest that a scenario may ask for: every cell comes with them to the
verdict and the standings that its rendered report of all runs has in ``reports/catalogue``, but that what leaks in part
may be too little to be confirmed with them. A cell draws its random
numbers by itself, so that the tests may audit the cheap ones of an entry alone; ``SECMIX_GOLDEN=all`` audits all.

Verdicts, standings, and the fractions of colluders at which a protocol breaks are compared exactly. Numbers are
compared by how they are got, see ``TOLERANCES``.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import secmix
from secmix.auditing import Cell, Finding
from secmix.auditing.cell_parts import Robustness
from secmix.auditing.evidence.decoding import MOST
from secmix.scenario import Scenario
from secmix.scenario.catalogue import entries, find

FILE = Path(__file__).parent / "golden" / "catalogue.json"
RUNS = 100

TOLERANCES: dict[str, tuple[float, float]] = {
    # Closed forms of matrices that are read off the protocol: rounding alone. The upper end of "gaussian" adds an
    # estimated negentropy, a smooth function of the runs.
    "structure": (1e-6, 1e-9),
    "gaussian": (1e-6, 1e-9),
    "sigma": (1e-6, 1e-9),
    "proven": (1e-6, 1e-9),
    "linear decoder": (1e-3, 1e-3),
    "linear decoder as a bound": (0.03, 0.03),  # k-means starts one run of a hundred elsewhere, by the last bit
    # Shares of a few runs in which an attack recovers a row: one run more or less.
    "direct reading": (0.0, 0.02),
    "inversion": (0.0, 0.25),
    "reconstruction": (0.0, 0.25),
    # A share of 700 runs or more: one run on the other side of a threshold moves it by as much.
    "membership": (0.0, 0.005),
    # Searches: what is equal but for rounding goes by its place, so that they find the same on every processor.
    "found": (1e-6, 1e-9),
    "damage": (1e-6, 1e-9),
}
"""Relative and absolute, by evidence; either suffices. Where a number is infinite (null), it must stay so."""


def record_of(name: str, cell: int) -> dict[str, Any]:
    """What the audit says of a cell of the entry ``name``, counted from 1, in plain values."""
    scenario = Scenario.model_validate({**find(name).scenario.to_dict(), "runs": RUNS})
    report = secmix.audit(scenario, cell=cell)
    return recorded(report.cells[0], report.findings)


def recorded(cell: Cell, findings: list[Finding]) -> dict[str, Any]:
    """A cell and its findings as the record has them."""
    names: Counter[str] = Counter()
    found = {}
    for f in findings:
        name = f"node {f.node}: {f.evidence}, {f.view}, {f.target}"
        names[name] += 1
        name += f" ({names[name]})" if names[name] > 1 else ""
        found[name] = [f"{f.kind}, {f.status}, {f.verdict}", *_rounded(f.value, f.low, f.high, f.normalised_leakage)]
    out: dict[str, Any] = {
        "cell": f"{cell.protocol} | {cell.adversary}",
        "verdict": cell.verdict,
        "nodes": {str(node.node): f"{node.standing} | {node.verdict}" for node in cell.nodes},
        "findings": found,
    }
    if cell.sigma_curve:
        out["sigma"] = {f"{p.sigma:g}": _rounded(p.normalised_leakage) for p in cell.sigma_curve}
    if cell.robustness is not None:
        out |= _pushed(cell.robustness)
    return out


def _pushed(by: Robustness) -> dict[str, Any]:
    return {
        "robustness": [by.verdict, *_rounded(by.breakdown, by.breakdown_proven)],
        "found": {str(p.colluders): _rounded(p.found) for p in by.points},
        "proven": {str(p.colluders): _rounded(p.proven) for p in by.points},
        "damage": {d.attack: _rounded(d.aggregate, d.model, d.model_low, d.model_high) for d in by.damages},
    }


def _rounded(*numbers: float | None) -> list[float | None]:
    return [None if number is None else float(f"{number:.8g}") for number in numbers]


def differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """In words, where a cell's record is not what it was; numbers may differ by ``TOLERANCES``."""
    for key in ("cell", "verdict", "nodes", "robustness"):
        if before.get(key) != after.get(key):
            yield f"{key}: {before.get(key)} was recorded, now {after.get(key)}"
    for table in ("findings", "sigma", "found", "proven", "damage"):
        old, new = before.get(table, {}), after.get(table, {})
        if set(old) != set(new):
            yield f"{table}: only before {sorted(set(old) - set(new))}, only now {sorted(set(new) - set(old))}"
        for name in (name for name in old if name in new):
            kind = _kind(name, old[name]) if table == "findings" else table
            first = 1 if _on_the_edge(kind, old[name]) and _on_the_edge(kind, new[name]) else 0
            pairs = zip(_comparable(kind, old[name][first:]), _comparable(kind, new[name][first:]), strict=True)
            if not all(_alike(*pair, *TOLERANCES[kind]) for pair in pairs):
                yield f"{table}, {name}: {old[name]} was recorded, now {new[name]}"


def _kind(name: str, finding: list[Any]) -> str:
    """How the number of a finding is got, as ``TOLERANCES`` calls it."""
    evidence = name.split(": ")[1].split(", ")[0]
    bound = evidence == "linear decoder" and finding[0].startswith("lower bound")
    return f"{evidence} as a bound" if bound else evidence


def _comparable(kind: str, numbers: list[Any]) -> list[Any]:
    """An error above 1 is worse than guessing: by how much, a fit with as many features as runs leaves to rounding."""
    if "decoder" not in kind:
        return numbers
    return [min(number, 1.0) if isinstance(number, float) else number for number in numbers]


def _on_the_edge(kind: str, finding: list[Any]) -> bool:
    """Whether a few runs of a hundred, more or less, turn what is said of a share of runs; standings do not turn."""
    return kind in ("direct reading", "inversion", "reconstruction") and abs(finding[1] - MOST) < 0.05


def _alike(old: object, new: object, relative: float, absolute: float) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=relative, abs_tol=absolute)
    return old == new


def read() -> dict[str, dict[str, Any]]:
    """The record: by entry, and by number of the cell, counted from 1."""
    text = FILE.read_text(encoding="utf-8") if FILE.exists() else "{}"
    record: dict[str, dict[str, Any]] = json.loads(text)
    return record


def written(record: dict[str, dict[str, Any]]) -> str:
    """The record as JSON, a line for each fact."""
    lines = json.dumps(record, indent=1, ensure_ascii=False).splitlines()
    out: list[str] = []
    inside = ""
    for line in lines:  # lists of plain values go on a line
        if inside:
            inside += line.strip() + (" " if line.endswith(",") else "")
            if line.strip().rstrip(",") == "]":
                out.append(inside.rstrip())
                inside = ""
        elif line.endswith("[") and line.count('"') and not line.startswith(' "'):
            inside = line
        else:
            out.append(line)
    return "\n".join(out) + "\n"


def main(names: list[str]) -> None:
    """Record anew the entries ``names`` (or single cells, "entry:2"), or all."""
    record = read()
    for name in names or entries():
        entry, _, only = name.partition(":")
        cells = [int(only)] if only else range(1, len(list(find(entry).scenario.cells())) + 1)
        for cell in cells:
            old, new = record.setdefault(entry, {}).get(str(cell)), record_of(entry, cell)
            record[entry][str(cell)] = new
            print(f"{entry}, cell {cell}: recorded", flush=True)
            for difference in differences(old, new) if old else ():
                print(f"  {difference}", flush=True)
        record[entry] = dict(sorted(record[entry].items(), key=lambda pair: int(pair[0])))
        FILE.write_text(written(dict(sorted(record.items()))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
