"""From sums to rows: when inversion works, what noise does to it, what steering adds, and what defences cost.

Run ``python -m analysis.sum_inversion.run``; see analysis/README.md.
Every sum that is attacked was taken by secmix's own
distributed EM: the corrupt node 0 gets the average, and knows what it put in itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from analysis.study import Numbers, find_data, options, provenance, run_parts, write
from analysis.sum_inversion.report import figures, report
from analysis.sum_inversion.rows import (
    REG_COVAR,
    distances,
    honest_sums,
    noise_curve,
    phases,
    protocols,
    real,
    recovered,
    start_of,
)
from secmix import data
from secmix._base.checks import Array
from secmix.adversaries import Inversion, Steering, detectability, invert_sums
from secmix.errors import SecmixError
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols import PDMM, Defences, DistributedEM, Plain, SecureSum, SumProtocol, epsilon

DELTA = 1e-5
DEFENCES: dict[str, Defences | None] = {
    "none": None,
    "rounding 1e-4": Defences(rounding=1e-4),
    "rounding 0.01": Defences(rounding=0.01),
    "rounding 0.1": Defences(rounding=0.1),
    "noise 0.01": Defences(noise_std=0.01),
    "noise 0.1": Defences(noise_std=0.1),
    "noise 1": Defences(noise_std=1.0),
    "clip 3, noise multiplier 0.5": Defences(clip_radius=3.0, noise_multiplier=0.5),
    "clip 3, noise multiplier 4": Defences(clip_radius=3.0, noise_multiplier=4.0),
    "covariance floor 0.1": Defences(covariance_floor=0.1),
    "covariance floor 0.5": Defences(covariance_floor=0.5),
    "minimum count 2": Defences(min_count=2.0),
    "likelihood check, 3 nats": Defences(likelihood_drop=3.0),
}
ROUNDS = 8


def defence(name: str, rows: Array, seeds: int, seed: int) -> Numbers:
    """One defence: what it costs the model, and what it leaves to inversion and to steering."""
    chosen = DEFENCES[name]
    losses, errors, guesses, certified = [], [], [], 0
    isolated: dict[str, list[int]] = {"half_space": [], "ball": []}
    drops: dict[str, list[float]] = {"half_space": [], "ball": []}
    for k in range(seeds):
        rng = np.random.default_rng([seed, 5, k])
        order = rng.permutation(len(rows))
        train, held_out = rows[order[:200]], rows[order[200:]]
        start = start_of(train, 2, rng)
        losses.append(_score(train, held_out, start, None, k) - _score(train, held_out, start, chosen, k))
        few = train[:9]
        begin = start_of(few, 2, rng)
        sums, path = honest_sums(few, begin, ROUNDS, np.random.default_rng(k), defences=chosen)
        error = _sum_error(chosen, path, len(few))
        found = _inverted(sums, path, len(few) - 1, k, error)
        errors.append(float(np.median(distances(found.rows, few[1:]))) if found else np.inf)
        certified += bool(found and recovered(found, few[1:]))
        guess = path[-1].sample(len(few) - 1, rng)
        guesses.append(float(np.median(distances(guess, few[1:]))))
        for shape in isolated:
            near = train[4] + 0.1 if shape == "ball" else None
            alone, drop = _steered(train[:12], Steering([0], 4, near=near, shape=shape), start, chosen, k)
            isolated[shape].append(alone)
            drops[shape].append(drop)
    private = None
    if chosen and chosen.noise_multiplier:
        try:
            private = epsilon(chosen.noise_multiplier, ROUNDS, DELTA)
        except SecmixError:
            private = None
    return {
        "defence": name,
        "seeds": seeds,
        "loss": losses,
        "error": [None if not np.isfinite(e) else e for e in errors],
        "guess": guesses,
        "recovered": certified,
        "alters_sums": bool(chosen and chosen.alters),
        "isolated": isolated,
        "likelihood_drop": drops,
        "epsilon": private,
        "delta": DELTA if private else None,
    }


def _steered(rows: Array, steering: Steering, start: Mixture, defences: Defences | None, k: int) -> tuple[int, float]:
    """How many honest rows stood alone within 20 rounds (right to 1e-3), and the worst fall of the likelihood."""
    steered = steering.active(SecureSum(sigma=1e3))
    em = DistributedEM(
        2, sums=steered, init=start, max_iter=20, tol=None, reg_covar=1e-4, defences=defences, record=False
    )
    parts = [row[None, None] for row in rows]
    run = em.run(parts, network=Network.complete(len(rows)), rng=np.random.default_rng(k))
    right = [e for e in steered.isolated[0] if np.linalg.norm(rows[1:] - e.row, axis=1).min() < 1e-3]
    return len(right), float(detectability(run, parts, range(1, len(rows))).worst_drop[0])


def steering(rows: Array, seeds: int, seed: int) -> list[Numbers]:
    """Rounds until the victim's row stands alone, for each protocol and each way of steering; one node steers."""
    protocols: dict[str, SumProtocol] = {
        "plain": Plain(encrypted=True),
        "secure summation": SecureSum(sigma=1e3),
        "PDMM": PDMM(sigma=1e3),
    }
    out = []
    for corrupt in ([0], [0, 1, 2]):
        for way in ("planes", "planes, told", "ball, told"):
            for name, sums in protocols.items():
                entry: Numbers = {"way": way, "protocol": name, "corrupt": len(corrupt), "seeds": seeds}
                entry |= {"rounds": [], "error": [], "drop": [], "move": []}
                for k in range(seeds):
                    rng = np.random.default_rng([seed, 6, k])
                    few = rows[rng.choice(len(rows), 10 + len(corrupt), replace=False)]
                    near = None if way == "planes" else few[4] + 0.1
                    shape = "ball" if way.startswith("ball") else "half_space"
                    steered = Steering(corrupt, 4, near=near, shape=shape).active(sums)
                    em = DistributedEM(
                        2, sums=steered, init=start_of(few, 2, rng), max_iter=25, tol=None, reg_covar=1e-4, record=False
                    )
                    parts = [row[None, None] for row in few]
                    run = em.run(parts, network=Network.complete(len(few)), rng=np.random.default_rng(k))
                    apart = [(float(np.linalg.norm(e.row - few[4])), e.rounds) for e in steered.isolated[0]]
                    off, rounds = min(apart, default=(np.inf, 0))
                    entry["rounds"].append(rounds if off < 1e-3 else None)
                    entry["error"].append(off if off < 1e-3 else None)
                    seen = detectability(run, parts, [i for i in range(len(few)) if i not in corrupt])
                    entry["drop"].append(float(seen.worst_drop[0]))
                    entry["move"].append(float(seen.shifts[1:].max()))
                out.append(entry)
    return out


def _score(train: Array, held_out: Array, start: Mixture, defences: Defences | None, k: int) -> float:
    """Mean log-likelihood of the held-out rows after EM on 40 nodes of five rows, nats a row."""
    em = DistributedEM(
        2, sums=Plain(), init=start, max_iter=ROUNDS, tol=None, reg_covar=REG_COVAR, defences=defences, record=False
    )
    parts = [part[None] for part in np.array_split(train, 40)]
    run = em.run(parts, network=Network.complete(40), rng=np.random.default_rng(k))
    return float(run.mixtures[-1][0, 0].log_density(held_out).mean())


def _sum_error(defences: Defences | None, path: Sequence[Mixture], n: int) -> Array:
    return np.zeros(len(path)) if defences is None else defences.error(path, n - 1, n)


def _inverted(sums: Array, path: list[Mixture], h: int, k: int, error: Array) -> Inversion | None:
    """The inversion of the rounds that count all rows, or None where none do, because nodes abstained."""
    off = np.abs(sums[..., 0].sum(axis=1) - h)
    complete = np.flatnonzero(off <= 0.5 + 4 * error * np.sqrt(sums.shape[1]))
    if not len(complete):
        return None
    chosen = [path[t] for t in complete]
    return invert_sums(sums[complete], chosen, h, rng=k, noise=error[complete, None, None], starts=64)


def components(rows: Array) -> Array:
    """Standardised rows on their first two principal components, themselves standardised."""
    kept = PCA(2, svd_solver="full").fit_transform(StandardScaler().fit_transform(rows))
    return np.asarray(kept / kept.std(axis=0))


def study(seed: int, quick: bool, path: Path | None) -> dict[str, Callable[[], Any]]:
    """All parts."""
    sizes = [(h, 2, c) for c in (2, 3) for h in (3, 5, 8, 12, 20, 40)] + [(h, 4, 2) for h in (3, 5, 8, 12)]
    if quick:
        sizes = [(3, 2, 2), (5, 2, 3)]
    noises = (0.0, 1e-8, 1e-3) if quick else (0.0, *10.0 ** np.arange(-12, 1))
    chosen = ("none", "noise 1", "covariance floor 0.5") if quick else tuple(DEFENCES)
    cancer = components(data.breast_cancer().rows)
    sets = {"breast cancer": cancer, "Parkinsons": components(data.parkinsons(path).rows)}
    seeds = 2 if quick else 5
    sums, effort = (4,) if quick else (5, 10, 20), 64 if quick else 160
    return {
        "phases": lambda: phases(sizes, 2 if quick else 4, seed, 64 if quick else 128),
        "noise": lambda: noise_curve([float(size) for size in noises], seeds, seed),
        "protocols": lambda: protocols(seeds, seed),
        "real": lambda: [each for name, rows in sets.items() for each in real(name, rows, sums, seeds, seed, effort)],
        "steering": lambda: steering(cancer, 1 if quick else 10, seed),
        "defences": lambda: [defence(name, cancer, 1 if quick else 5, seed) for name in chosen],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("When sums give rows away, and what defends them.", "sum-inversion")
    parser.add_argument("--data", type=Path, help="the Parkinsons file; found or downloaded when not given")
    given = parser.parse_args(arguments)
    try:
        numbers = provenance("sum_inversion.run", given.seed, given.quick) | {"seed": given.seed}
        parts = study(given.seed, given.quick, given.data or find_data("parkinsons.csv"))
        numbers = run_parts(given.out, numbers, parts)
    except SecmixError as error:
        print(f"sum_inversion: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    figures(numbers, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
