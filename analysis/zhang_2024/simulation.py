"""The simulations of Zhang 2024 (section 5): failures of machines and of components, by rate, size and overlap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from analysis.repetitions import Repetitions, stream
from analysis.study import Numbers, mean_and_half_width
from analysis.zhang_2024.population import population
from secmix._base.checks import Array, Ints
from secmix.adversaries.attacks.mixture_failures import FAILURES, component_failure, touched_components
from secmix.aggregators.mixture_rules import (
    ared,
    coat,
    component_wise,
    cred,
    dfmr,
    gmr,
    ise_matrix,
    oracle,
    trim,
    wasserstein,
)
from secmix.mixture import Mixture
from secmix.protocols import fit_mixtures

K, D, HELD_OUT = 5, 10, 2000
REPETITIONS = 50  # the authors have 300
HERE = Repetitions("zhang_2024")  # nothing kept, one process
RULES: dict[str, Callable[..., Any]] = {
    "ARED": ared,
    "DFMR": dfmr,
    "CRED": cred,
    "component-wise": component_wise,
    "COAT": coat,
    "TRIM": trim,
    "GMR": gmr,
}
NAMES = ("Oracle", *RULES)
REJECTING = ("ARED", "DFMR", "CRED", "component-wise", "TRIM")


@dataclass(frozen=True)
class Setting:
    """One place of the design: m machines of N rows, the largest overlap, and the rates of failure tried there."""

    machines: int
    rows: int
    overlap: float
    rates: tuple[float, ...]
    repetitions: int


@dataclass(frozen=True)
class Nested:
    """One number of rows and one overlap; of the largest number of machines the first m are those of the smaller.

    So numbers of machines are compared on the same fits, and those of rows on the same populations. ``rates`` has the
    rates that are tried, by number of machines.
    """

    rows: int
    overlap: float
    rates: dict[int, tuple[float, ...]]
    repetitions: int


@dataclass(frozen=True)
class Drawn:
    """One repetition: the truth, the machines' own fits, rows nobody was fitted on, and their true clusters."""

    true: Mixture
    local: Mixture
    held_out: Array
    clusters: Ints


def drawn(setting: Setting, rng: np.random.Generator, true: Mixture | None = None) -> Drawn:
    """A population, and what the machines fit to their rows from the truth on, as in the paper."""
    true = population(K, D, setting.overlap, rng) if true is None else true
    rows = np.stack([true.sample(setting.rows, rng) for _ in range(setting.machines)])
    held_out = true.sample(HELD_OUT, rng)
    return Drawn(true, fit_mixtures(rows, true).mixture, held_out, clusters(true, held_out))


def clusters(mixture: Mixture, rows: Array) -> Ints:
    """The component each row most likely comes from."""
    return np.asarray(mixture.log_joint(rows).argmax(axis=1), dtype=np.intp)


def measured(one: Drawn, sent: Mixture, byzantine: Ints, best: Mixture | None = None) -> dict[str, Numbers]:
    """Each rule on what was sent; ``best`` is the oracle's mixture where it is not the reduction of the others."""
    m = len(sent.weights)
    squared = ise_matrix(sent)
    honest = np.setdiff1d(np.arange(m), byzantine)
    found: dict[str, Any] = {name: rule(sent, squared=squared) for name, rule in RULES.items()}
    truth = oracle(sent, honest, squared=squared).mixture if best is None else best
    out = {"Oracle": _judged(one, truth)}
    for name, result in found.items():
        out[name] = _judged(one, result.mixture)
        if name in REJECTING:
            rejected = np.asarray(result.rejected)
            out[name] |= {"rejected": len(rejected), "hits": int(np.isin(rejected, byzantine).sum())}
    return out


def _judged(one: Drawn, mixture: Mixture) -> Numbers:
    usable = Mixture(np.maximum(mixture.weights, 1e-300), mixture.means, mixture.covariances)
    return {
        "w1": wasserstein(mixture, one.true),
        "ari": float(adjusted_rand_score(one.clusters, clusters(usable, one.held_out))),
        "log_likelihood": float(usable.log_density(one.held_out).mean()),
    }


def simulated(settings: Sequence[Nested], seed: int, repeated: Repetitions = HERE) -> list[Numbers]:
    """Every setting, number of machines, failure and rate."""
    table = []
    for setting in settings:
        what = (seed, setting.rows, setting.overlap, sorted(setting.rates.items()))
        name = f"simulation-{setting.rows}-{setting.overlap:g}"
        values = repeated(name, what, setting.repetitions, partial(_population, setting, seed))
        for each in zip(*values, strict=True):
            m, failure, rate = (each[0][key] for key in ("machines", "failure", "rate"))
            size = Setting(m, setting.rows, setting.overlap, (rate,), setting.repetitions)
            table.append(_cell(size, failure, rate, [one["found"] for one in each]))
    return table


def _population(setting: Nested, seed: int, i: int) -> list[Numbers]:
    place = [seed, 1, round(1000 * setting.overlap), i]
    true = population(K, D, setting.overlap, np.random.default_rng(place))
    return _repetition(setting, true, np.random.default_rng([*place, setting.rows]))


def _repetition(setting: Nested, true: Mixture, rng: np.random.Generator) -> list[Numbers]:
    """All numbers of machines, failures and rates on one population."""
    largest = Setting(max(setting.rates), setting.rows, setting.overlap, (), 1)
    every, out = drawn(largest, rng, true), []
    for m, rates in setting.rates.items():
        one = Drawn(every.true, every.local[np.arange(m)], every.held_out, every.clusters)
        for rate in rates:
            count = int(rate * m + 1e-9)
            for name, failure in FAILURES.items():
                byzantine = np.sort(rng.permutation(m)[:count])
                if count == 0 and name != "mean":  # without failures they are all the same
                    continue
                found = measured(one, failure(one.local, byzantine, rng), byzantine)
                out.append({"machines": m, "failure": name if count else "none", "rate": rate, "found": found})
    return out


def by_component(setting: Setting, seed: int, repeated: Repetitions = HERE) -> list[Numbers]:
    """Failures of single components: of each, ``rate`` of the machines fail, and nearly every machine somewhere."""
    what = (seed, setting.machines, setting.rows, setting.overlap, setting.rates)
    values = repeated("components", what, setting.repetitions, partial(_components, setting, seed))
    return [
        _cell(setting, each[0]["kind"], each[0]["rate"], [one["found"] for one in each])
        | {"touched": float(np.mean([one["touched"] for one in each]))}
        for each in zip(*values, strict=True)
    ]


def _components(setting: Setting, seed: int, i: int) -> list[Numbers]:
    rng = stream([seed, 2], i)
    one, out = drawn(setting, rng), []
    best = gmr(one.local).mixture
    for rate in setting.rates:
        for kind in ("mean", "covariance"):
            touched = touched_components(setting.machines, K, rate, rng)
            sent = component_failure(one.local, touched, rng, kind)
            byzantine = np.flatnonzero(touched.any(axis=1))
            found = measured(one, sent, byzantine, best)
            out.append({"kind": kind, "rate": rate, "found": found, "touched": len(byzantine) / setting.machines})
    return out


def centres(setting: Setting, seed: int) -> Numbers:
    """How often COAT's centre is not that of the paper's text, by rate of mean failures.

    The text takes the centre of the smallest ball that holds at least half of the machines, so the ⌈m/2⌉-th distance;
    the authors' code and ours the median, which for even m lies between that and the next.
    """
    rates: dict[str, int] = dict.fromkeys((f"{rate:g}" for rate in setting.rates), 0)
    for rng in np.random.default_rng([seed, 10]).spawn(setting.repetitions):
        local = drawn(setting, rng).local
        for rate in setting.rates:
            byzantine = np.sort(rng.permutation(setting.machines)[: int(rate * setting.machines + 1e-9)])
            sent = FAILURES["mean"](local, byzantine, rng)
            squared = ise_matrix(sent)
            ball = np.sort(squared, axis=1)[:, (setting.machines + 1) // 2 - 1]
            rates[f"{rate:g}"] += int(coat(sent, squared=squared).index != ball.argmin())
    size = {"machines": setting.machines, "rows": setting.rows, "overlap": setting.overlap}
    return size | {"other": rates, "repetitions": setting.repetitions}


def _cell(setting: Setting, failure: str, rate: float, values: list[dict[str, Numbers]]) -> Numbers:
    rules: dict[str, Numbers] = {}
    for name in NAMES:
        mine = [value[name] for value in values]
        # Rounded, so that what stands in the file is what the means are of.
        values_of = {key: [round(float(v[key]), 5) for v in mine] for key in ("w1", "ari", "log_likelihood")}
        rules[name] = {key: mean_and_half_width(values_of[key]) for key in ("ari", "log_likelihood")}
        rules[name]["mean_w1"] = float(np.mean(values_of["w1"]))
        rules[name]["above_twice"] = sum(bool(v[name]["w1"] > 2 * v["Oracle"]["w1"]) for v in values)
        rules[name]["w1"] = values_of["w1"]
        rules[name]["ratio"] = mean_and_half_width([v[name]["w1"] / v["Oracle"]["w1"] for v in values])
        if name in REJECTING:
            rules[name] |= {key: sum(v[key] for v in mine) for key in ("rejected", "hits")}
    return {
        "machines": setting.machines,
        "rows": setting.rows,
        "overlap": setting.overlap,
        "failure": failure,
        "rate": rate,
        "failing": int(rate * setting.machines + 1e-9) * len(values),
        "repetitions": len(values),
        "rules": rules,
    }
