"""Means within groups of nodes before the median (Singh 2024, corollary 2; algorithm 2 with ρ > 1), and θ_k."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from analysis.study import Numbers, mean_and_half_width
from secmix._base.checks import Array
from secmix.adversaries import SUBSPACE_FORGERIES, TamperingChannel
from secmix.aggregators.subspace_rules import power_method, subspace_distance
from secmix.network import Network
from secmix.protocols import ByzFedAltGDmin, FederatedPCA

NODES = 12
GROUPS = (12, 6, 4, 3)
OWN = 8  # trials in which every group's own basis is measured
PLACES: dict[str, tuple[int, ...]] = {  # nodes are cut into groups of neighbours
    "nobody": (),
    "1 node": (0,),
    "2 nodes of one group": (0, 1),
    "2 nodes of two groups": (0, NODES - 1),
}


def of_means(trials: int, seed: int, *, n: int, r: int, q: int) -> Numbers:
    """SD_F of the Subspace Median of Means by the number of groups and who sends an alternating pattern.

    The corollary has the number of samples a node needs fall as 1/ρ, which is a slope of −1/2 of ln SD_F in ln ρ. That
    is for small errors: it is fitted at q samples a node and at ten times as many.
    """
    network = Network.complete(NODES)
    errors: dict[tuple[int, str], list[float]] = {}
    for rng in np.random.default_rng([seed, 21]).spawn(trials):
        parts, truth = _samples(n, r, q, rng)
        for groups in GROUPS:
            protocol = FederatedPCA(r, rule="subspace_median_of_means", groups=groups, iterations=10)
            for place, corrupt in PLACES.items():
                options: Any = {"protocol": protocol, "record": False}
                channel = TamperingChannel(
                    SUBSPACE_FORGERIES["alternating"], corrupt, np.random.default_rng(seed), **options
                )
                found = protocol.collaborate(parts, network, np.random.default_rng(seed), channel=channel)
                errors.setdefault((groups, place), []).append(subspace_distance(truth, found[0, 0].reshape(n, r)))
    rows = [
        {
            "groups": groups,
            "size": NODES / groups,
            # τ < 0.4 L̃/L: so many corrupt nodes are fewer than 0.4 of the groups, wherever they stand.
            "covered": {place: len(corrupt) < 0.4 * groups for place, corrupt in PLACES.items()},
            "errors": {place: mean_and_half_width(errors[groups, place]) for place in PLACES},
            "against_alone": {
                place: mean_and_half_width(_differences(errors[groups, place], errors[NODES, place]))
                for place in PLACES
            },
        }
        for groups in GROUPS
    ]
    size = {"n": n, "r": r, "q": q, "nodes": NODES, "trials": trials, "rounds": 10}
    return size | {"rows": rows, "slopes": [_slopes(trials, seed, n, r, more) for more in (q, 10 * q)]}


def _slopes(trials: int, seed: int, n: int, r: int, q: int) -> Numbers:
    """Slopes of ln SD_F in ln ρ with nobody corrupt, of each trial by itself, and their intervals.

    "slope" is of the result, "own" of the groups' own bases on average. The result is the most central of L̃ bases, and
    fewer groups leave less to choose from: that the two slopes differ is due to the choice. The second is the slower
    one to get, and of the first trials alone.
    """
    found: dict[str, list[float]] = {"slope": [], "own": []}
    for i, rng in enumerate(np.random.default_rng([seed, 24, q]).spawn(trials)):
        parts, truth = _samples(n, r, q, rng)
        errors: dict[str, list[float]] = {"slope": []} | ({"own": []} if i < OWN else {})
        for groups in GROUPS:
            protocol = FederatedPCA(r, rule="subspace_median_of_means", groups=groups, iterations=10)
            result = protocol.run(parts, rng=np.random.default_rng(seed)).bases[0]
            errors["slope"].append(subspace_distance(truth, result))
            if i >= OWN:
                continue
            each = [
                power_method([parts[i][0].T for i in group], r, iterations=10)
                for group in np.array_split(np.arange(NODES), groups)
            ]
            errors["own"].append(float(np.mean([subspace_distance(truth, basis) for basis in each])))
        for name, values in errors.items():
            found[name].append(float(np.polyfit(np.log([NODES / g for g in GROUPS]), np.log(values), 1)[0]))
    return {"q": q} | {name: mean_and_half_width(values) for name, values in found.items()}


def _samples(n: int, r: int, q: int, rng: np.random.Generator) -> tuple[list[Array], Array]:
    """Every node's samples (1, q, n), of variance 15 in r directions and 1 in the others; and U*."""
    roots = np.sqrt(np.concatenate([np.full(r, 15.0), np.ones(n - r)]))
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return [(rng.standard_normal((1, q, n)) * roots) @ turn.T for _ in range(NODES)], turn[:, :r]


def _differences(mine: list[float], theirs: list[float]) -> list[float]:
    return [a - b for a, b in zip(mine, theirs, strict=True)]


def descent(trials: int, seed: int, *, n: int, q: int, r: int, m: int, rounds: int) -> Numbers:
    """AltGDmin by the number of groups: where SD_F/√r ends and when it is 1e-8, and how far off θ_k is at each node.

    The theorem: SD_F <= ε, and ‖θ_k − θ_k*‖ <= ε ‖θ_k*‖ at every node for every k. ``theta`` has the largest of the
    latter over SD_F, half way down where both are far above rounding.
    """
    cells: dict[tuple[int, str], list[list[float]]] = {}
    for rng in np.random.default_rng([seed, 22]).spawn(trials):
        truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
        columns = truth @ rng.standard_normal((r, q))
        X = rng.standard_normal((q, m, n))
        y = np.einsum("kmn,nk->km", X, columns, optimize=True)
        for groups in GROUPS[:3]:
            for place, corrupt in PLACES.items():
                curve = _descended(X, y, truth, groups, corrupt, rounds, seed)[0]
                first = next((float(t) for t, error in enumerate(curve) if error <= 1e-8), float("inf"))
                half = next((t for t, error in enumerate(curve) if error <= 1e-4), None)
                ratio = float("nan")
                if half is not None:  # the same run, cut short
                    short, theta = _descended(X, y, truth, groups, corrupt, half, seed)
                    off = np.linalg.norm(theta - columns.T, axis=2) / np.linalg.norm(columns, axis=0)
                    ratio = float(off.max() / (short[-1] * np.sqrt(r)))
                cells.setdefault((groups, place), []).append([curve[-1], first, ratio])
    size = {"n": n, "q": q, "r": r, "m": m, "nodes": NODES, "rounds": rounds, "trials": trials}
    return size | {
        "rows": [
            {"groups": groups, "corrupt": place, "covered": len(PLACES[place]) < 0.4 * groups} | _summed(values)
            for (groups, place), values in cells.items()
        ]
    }


def _descended(
    X: Array, y: Array, truth: Array, groups: int, corrupt: Iterable[int], rounds: int, seed: int
) -> tuple[list[float], Array]:
    """SD_F/√r in each round, and every node's columns (L, q, n) at the end."""
    r = truth.shape[1]
    protocol = ByzFedAltGDmin(r, iterations=rounds, groups=groups)
    options: Any = {"protocol": protocol, "record": False}
    channel = TamperingChannel(SUBSPACE_FORGERIES["reverse"], corrupt, np.random.default_rng(seed), **options)
    run = protocol.run(X, y, nodes=NODES, channel=channel)
    errors = [subspace_distance(truth, u) / np.sqrt(r) for u in run.iterates]
    return errors, np.einsum("nr,lkr->lkn", run.basis, run.coefficients)


def _summed(values: list[list[float]]) -> Numbers:
    """Over the draws: how many came to 1e-8, in how many rounds, the worst end, and θ_k's error over SD_F."""
    arrived = [first for _, first, _ in values if np.isfinite(first)]
    ratios = [ratio for _, _, ratio in values if np.isfinite(ratio)]
    return {
        "worst_end": max(end for end, _, _ in values),
        "arrived": len(arrived),
        "rounds": mean_and_half_width(arrived) if len(arrived) > 1 else None,
        "theta": mean_and_half_width(ratios) if len(ratios) > 1 else None,
    }
