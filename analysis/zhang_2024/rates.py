"""The rates of lemmas 4.2 and 4.3 and theorem 4.1: ISE falls as 1/N, and ARED finds the exact set in the end."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from analysis.repetitions import Repetitions, stream
from analysis.study import Numbers, mean_and_half_width
from analysis.zhang_2024.population import population
from analysis.zhang_2024.simulation import HERE, D, K
from secmix.adversaries.attacks.mixture_failures import FAILURES
from secmix.aggregators.mixture_rules import ared, coat, ise, ise_matrix
from secmix.protocols import fit_mixtures

RATE, OVERLAP = 0.3, 0.1
MEASURES = {
    "typical": "median over machines of the ISE to the truth (lemma 4.2: 1/N)",
    "largest": "largest over machines of the ISE to the truth (lemma 4.2: log m / N)",
    "radius": "COAT's squared radius c (lemma 4.2: 1/N)",
}


def rates(
    sizes: tuple[int, ...], machines: tuple[int, ...], repetitions: int, seed: int, repeated: Repetitions = HERE
) -> Numbers:
    """Slopes of log ISE in log N, and how often ARED rejects exactly those who failed, by N and m.

    A repetition is a population; of its rows the first N a machine, and of the machines the first m, are those of the
    smaller sizes. A slope is fitted to each population by itself, so that its interval is over populations.
    """
    what = (seed, sizes, machines, OVERLAP)
    values = repeated("rates", what, repetitions, partial(_population, sizes, machines, seed))
    logs = np.log(sizes)

    def slope(measure: str, value: Numbers) -> float:
        return float(np.polyfit(logs, np.log(value[measure]), 1)[0])

    return {
        "rows": list(sizes),
        "machines": list(machines),
        "repetitions": repetitions,
        "overlap": OVERLAP,
        "rate": RATE,
        "slopes": {name: mean_and_half_width([slope(name, v) for v in values]) for name in MEASURES},
        "typical_values": {name: np.exp(np.log([v[name] for v in values]).mean(axis=0)).tolist() for name in MEASURES},
        "found": [
            {"machines": m, "failure": failure, "rows": n} | _counted([v["found"] for v in values], m, failure, n)
            for m in machines
            for failure in FAILURES
            for n in sizes
        ],
    }


def _population(sizes: tuple[int, ...], machines: tuple[int, ...], seed: int, i: int) -> Numbers:
    rng = stream([seed, 12], i)
    true = population(K, D, OVERLAP, rng)
    most = max(machines)
    rows = np.stack([true.sample(max(sizes), rng) for _ in range(most)])
    out: dict[str, Any] = {name: [] for name in MEASURES} | {"found": []}
    for n in sizes:
        local = fit_mixtures(rows[:, :n], true).mixture
        off = ise(local, true.expand(1))[:, 0]
        out["typical"].append(float(np.median(off)))
        out["largest"].append(float(off.max()))
        out["radius"].append(float(coat(local).radius ** 2))
        for m in machines:
            few = local[np.arange(m)]
            for name, failure in FAILURES.items():
                byzantine = np.sort(rng.permutation(m)[: int(RATE * m + 1e-9)])
                sent = failure(few, byzantine, rng)
                rejected = np.asarray(ared(sent, squared=ise_matrix(sent)).rejected)
                missed, wronged = len(np.setdiff1d(byzantine, rejected)), len(np.setdiff1d(rejected, byzantine))
                out["found"].append({"machines": m, "failure": name, "rows": n, "missed": missed, "wronged": wronged})
    return out


def _counted(found: list[list[Numbers]], m: int, failure: str, n: int) -> Numbers:
    """In how many populations the set was exact, nobody who failed was missed, nobody honest was rejected."""
    mine = [c for each in found for c in each if (c["machines"], c["failure"], c["rows"]) == (m, failure, n)]
    return {
        "exact": sum(c["missed"] == c["wronged"] == 0 for c in mine),
        "none_missed": sum(c["missed"] == 0 for c in mine),
        "none_wronged": sum(c["wronged"] == 0 for c in mine),
    }
