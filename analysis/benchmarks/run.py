"""secmix beside its peers, on the same work in the same run, and how its costs grow.

Run ``python -m analysis.benchmarks.run``.
Peers that are not installed are named and left out. Everybody gets one thread
and is timed by the processor seconds it takes, in turn with the others; what is to be relied on are the ratios. Timings
are not reproducible to the byte; the data, and with them the results that are compared, follow from the seed.
"""

# ruff: noqa: E402  the number of threads is set before anything is imported that reads it

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import json
import logging
import multiprocessing
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import secmix
from analysis.benchmarks.report import figures, report
from analysis.benchmarks.timing import Work, growth, measured
from analysis.benchmarks.work import (
    aggregation_work,
    em_work,
    growths,
    importable,
    ksg_work,
    mixture_work,
    subspace_work,
)
from secmix.scenario.catalogue import entries, find

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ("ksg", "em", "aggregation", "subspaces", "mixtures", "growth", "catalogue")


def others(groups: Sequence[str], peers: dict[str, Any], seed: int, quick: bool) -> list[dict[str, Any]]:
    """Every comparison asked for."""
    target = 0.5 if quick else 6.0
    found: list[dict[str, Any]] = []

    def take(work: Work) -> dict[str, Any]:
        entry = measured(work, target)
        entry["left_out"] = {who: note for who, note in work.notes.items() if who not in entry["by"]}
        found.append(entry)
        print(f"{work.group}: {work.name}", flush=True)
        return entry

    if "ksg" in groups:
        sizes, dimensions = (
            ([500, 1000], [(1, 1), (3, 3), (6, 18)]) if quick else ([1000, 10_000, 100_000], [(1, 1), (3, 3), (6, 18)])
        )
        for work, learn in ksg_work(peers, sizes, dimensions, seed):
            learn(take(work))
    if "em" in groups:
        for rows, k, d in [(20_000, 5, 10)] if quick else [(20_000, 3, 2), (100_000, 5, 10)]:
            take(em_work(rows, k, d, seed))
    if "aggregation" in groups:
        for n, p in [(20, 20_000)] if quick else [(20, 200_000), (100, 50_000)]:
            for work in aggregation_work(peers, n, p, seed):
                take(work)
    if "subspaces" in groups:
        for count, n, r in [(10, 200, 5)] if quick else [(3, 1000, 60), (50, 400, 10)]:
            take(subspace_work(count, n, r, seed))
    if "mixtures" in groups:
        for m in [6] if quick else [20, 50]:
            take(mixture_work(m, seed))
    return found


def catalogue(workers: int, quick: bool) -> dict[str, Any]:
    """Seconds by the clock for each entry of the catalogue, audited with its own settings (quick: one, few runs).

    As ``catalogue.py`` does it: a process takes a whole entry at a time.
    """
    names = ["lone-honest-node"] if quick else list(entries())
    before = time.perf_counter()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        seconds = dict(zip(names, pool.map(_audited, names, [quick] * len(names)), strict=True))
    return {"workers": workers, "seconds": seconds, "total": time.perf_counter() - before}


def _audited(name: str, quick: bool) -> float:
    content = find(name).scenario.to_dict() | ({"runs": 200} if quick else {})
    before = time.perf_counter()
    secmix.audit(content)
    return time.perf_counter() - before


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="secmix beside its peers.")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "benchmarks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--only", choices=GROUPS, action="append", help="this part alone; may be repeated")
    parser.add_argument("--workers", type=int, default=2, help="processes for the audits of the catalogue")
    given = parser.parse_args(arguments)
    if given.seed < 0 or given.workers < 1:
        print("--seed must be at least 0 and --workers at least 1", file=sys.stderr)
        return 2
    logging.getLogger("infomeasure").setLevel(logging.ERROR)
    groups = given.only or list(GROUPS)
    found: dict[str, str] = {}
    peers = importable(found) if {"ksg", "aggregation"} & set(groups) else {}
    numbers: dict[str, Any] = {
        "command": " ".join(
            ["python -m analysis.benchmarks.run"]
            + ["--quick"] * given.quick
            + [f"--only {g}" for g in given.only or ()]
        ),
        "seed": given.seed,
        "versions": {"Python": platform.python_version(), "secmix": secmix.__version__}
        | {name: version(name) for name in ("numpy", "scipy", "numba", "scikit-learn")},
        "peers": found,
    }
    with threadpool_limits(1):
        numbers["comparisons"] = others(groups, peers, given.seed, given.quick)
        if "growth" in groups:
            numbers["growth"] = [growth(*work) for work in growths(given.seed, given.quick)]
    if "catalogue" in groups:
        numbers["catalogue"] = catalogue(given.workers, given.quick)
    given.out.mkdir(parents=True, exist_ok=True)
    figures(numbers, given.out)
    text = json.dumps(numbers, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    (given.out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    (given.out / "README.md").write_text(report(numbers), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
