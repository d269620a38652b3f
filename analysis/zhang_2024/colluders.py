"""What the paper does not try: colluders who know the rule and stay just under its threshold."""

from __future__ import annotations

import math

import numpy as np

from analysis.study import Numbers, mean_and_half_width
from analysis.zhang_2024.population import population
from analysis.zhang_2024.simulation import D, K
from secmix.adversaries import collude
from secmix.adversaries.against_rules.mixtures import Collusion
from secmix.aggregators.mixture_rules import ared, component_wise, cred, dfmr
from secmix.mixture import Mixture
from secmix.protocols import fit_mixtures

RULES = {"ARED": ared, "DFMR": dfmr, "CRED": cred, "component-wise": component_wise}
PAPER = ("ARED", "DFMR", "CRED")
REACH = 0.5
ROWS, OVERLAP = 1000, 0.05


def fitted(m: int, overlap: float, rng: np.random.Generator) -> tuple[Mixture, Mixture]:
    """A population and the honest fits of m machines."""
    true = population(K, D, overlap, rng)
    rows = np.stack([true.sample(ROWS, rng) for _ in range(m)])
    return true, fit_mixtures(rows, true).mixture


def near(
    machines: tuple[int, ...],
    rates: tuple[float, ...],
    repetitions: int,
    budget: int,
    seed: int,
    *,
    rules: tuple[str, ...] = PAPER,
) -> list[Numbers]:
    """The bias curve of lies that stay near the oracle: by rule, rate and number of machines, undetected or not."""
    points: dict[tuple[str, int, float], list[tuple[Collusion, Collusion | None]]] = {}
    generators = np.random.default_rng([seed, 3]).spawn(repetitions)
    for rng in generators:
        true, every = fitted(max(machines), OVERLAP, rng)  # more machines join those that were there
        for m in machines:
            for rate in rates:
                f = max(int(rate * m + 1e-9), 1)
                honest = every[: m - f]
                for name in rules:
                    pair: list[Collusion | None] = [
                        collude(
                            RULES[name],
                            honest,
                            f,
                            draw,
                            truth=true,
                            budget=budget,
                            undetected=undetected,
                            reach=REACH,
                        )
                        if undetected or m == min(machines)
                        else None
                        for draw, undetected in zip(rng.spawn(2), (True, False), strict=True)
                    ]
                    assert pair[0] is not None
                    points.setdefault((name, m, rate), []).append((pair[0], pair[1]))
    return [
        {
            "rule": name,
            "machines": m,
            "rate": rate,
            "repetitions": len(pairs),
            "error": mean_and_half_width([a.error for a, _ in pairs]),
            "oracle": mean_and_half_width([a.oracle for a, _ in pairs]),
            "ratio": mean_and_half_width([a.error / a.oracle for a, _ in pairs]),
            "ratio_if_rejected_too": mean_and_half_width([b.error / b.oracle for _, b in pairs if b is not None])
            if pairs[0][1] is not None
            else None,
            "margin": max(a.margin for a, _ in pairs),
            "centre": sum(a.centre for a, _ in pairs),
        }
        for (name, m, rate), pairs in points.items()
    ]


def anywhere(
    machines: tuple[int, ...],
    rates: tuple[float, ...],
    overlaps: tuple[float, ...],
    repetitions: int,
    budget: int,
    seed: int,
    *,
    rules: tuple[str, ...] = tuple(RULES),
) -> list[Numbers]:
    """The whole search: how often it finds lies without any bound that the rule keeps."""
    table = []
    for at, overlap in enumerate(overlaps):
        found: dict[tuple[str, int, float], list[Collusion]] = {}
        for rng in np.random.default_rng([seed, 4, at]).spawn(repetitions):
            true, every = fitted(max(machines), overlap, rng)
            for m in machines:
                for rate in rates:
                    f = max(int(rate * m + 1e-9), 1)
                    for name in rules:
                        if name == "component-wise" and m != min(machines):
                            continue  # slow, and the point is made
                        found.setdefault((name, m, rate), []).append(
                            collude(
                                RULES[name],
                                every[: m - f],
                                f,
                                rng.spawn(1)[0],
                                truth=true,
                                budget=budget,
                                undetected=True,
                            )
                        )
        for (name, m, rate), mine in found.items():
            finite = [one.error / one.oracle for one in mine if not one.unbounded]
            table.append(
                {
                    "rule": name,
                    "machines": m,
                    "rate": rate,
                    "overlap": overlap,
                    "repetitions": len(mine),
                    "unbounded": sum(one.unbounded for one in mine),
                    "largest_ratio": max(finite) if finite else None,
                    "kept": min(one.kept for one in mine),
                    "colluders": max(int(rate * m + 1e-9), 1),
                    "found_by": sorted({one.found_by for one in mine if one.unbounded or not math.isnan(one.error)}),
                }
            )
    return table
