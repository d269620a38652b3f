"""Exposure at scale: up to a million nodes, some of them corrupt, at random or chosen, against theory and bounds.

Run ``python -m analysis.exposure_at_scale.run``. Every node has one vector; exposed is whoever is in a piece of at most
so many nodes once the corrupt ones are taken out, which is what PDMM and pairwise masks give away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from analysis.exposure_at_scale.corruption import SIZES, at_random, bound, chosen, mean_field
from analysis.exposure_at_scale.figures import random_figure, targeted_figure
from analysis.exposure_at_scale.networks import KINDS, drawn
from analysis.exposure_at_scale.report import report
from analysis.study import options, provenance, run_parts, write
from secmix.auditing.exposure.coalitions.graph import cheapest_boundaries

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


def at_scale(kind: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """One network with random corruption at every share, and the smallest coalitions of all its nodes."""
    graph = drawn(kind, n, rng)
    cells = [
        {"share": share, "measured": at_random(graph, share, rng), "theory": mean_field(graph, share)}
        for share in SHARES
    ]
    start = time.process_time()
    found = cheapest_boundaries(*graph, np.ones(n, dtype=np.int64), 4, limit=64.0, empty_boundary=True, steps=20_000)
    seconds = time.process_time() - start
    proved = found.proved & np.isfinite(found.cost)
    degree = np.diff(graph[0])
    return {
        "kind": kind,
        "n": n,
        "degree": float(degree.mean()),
        "random": cells,
        "coalitions": {
            "mean": float(found.cost[proved].mean()),
            "fewer_than_neighbours": float((found.cost[proved] < degree[proved]).mean()),
            "proved": float(found.proved.mean()),
            "steps_a_node": found.steps / n,
            "microseconds_a_node": 1e6 * seconds / n,
        },
    }


def targeted(kind: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """One network with chosen corrupt nodes: how many are left alone, greedily and at most."""
    graph = drawn(kind, n, rng)
    most = n // 5
    marks = sorted({max(1, round(n * share)) for share in (0.002, 0.01, 0.05, 0.1, 0.2)})
    course = chosen(graph, most)
    picks = rng.permutation(n)
    random = []
    for k in marks:
        corrupt = np.zeros(n, dtype=bool)
        corrupt[picks[:k]] = True
        tails = np.repeat(np.arange(n), np.diff(graph[0]))
        honest = np.bincount(tails, weights=~corrupt[graph[1]], minlength=n)
        random.append(int(((honest == 0) & ~corrupt).sum()))
    return {
        "kind": kind,
        "n": n,
        "corrupt": marks,
        "random": random,
        "greedy": [max(course[: k + 1]) for k in marks],
        "bound": [bound(graph, k) for k in marks],
    }


def main() -> None:
    """Run the study and write its report."""
    parser = options(__doc__.split("\n")[0], "exposure-at-scale")
    given = parser.parse_args()
    large, medium = (4_000, 300) if given.quick else (1_000_000, 100_000)
    numbers: dict[str, Any] = provenance("exposure_at_scale.run", given.seed, given.quick)
    numbers |= {"sizes": list(SIZES), "kinds": KINDS}
    streams = [[given.seed, k] for k in range(len(KINDS))]
    parts: dict[str, Callable[[], Any]] = {
        "scale": lambda: [
            at_scale(kind, large, np.random.default_rng(s)) for kind, s in zip(KINDS, streams, strict=True)
        ],
        "targeted": lambda: [
            targeted(kind, medium, np.random.default_rng([*s, 1])) for kind, s in zip(KINDS, streams, strict=True)
        ],
    }
    numbers = run_parts(given.out, numbers, parts)
    write(given.out, numbers, report(numbers))
    random_figure(numbers, given.out / "random.png")
    targeted_figure(numbers, given.out / "targeted.png")


if __name__ == "__main__":
    main()
