"""From sums to rows: when inversion works, what noise does to it, what steering adds, and what defences cost.

Run ``python analysis/sum_inversion.py``; see analysis/README.md. Every sum that is attacked was taken by secmix's own
distributed EM: the corrupt node 0 gets the average, and knows what it put in itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler
from sum_inversion_report import figures, report

from secmix import __version__ as SECMIX
from secmix import data
from secmix.adversaries import Inversion, Steering, detectability, invert_sums, rounds_needed
from secmix.adversaries._inversion.certificate import fit
from secmix.adversaries._inversion.starts import rounding, standard_of
from secmix.checks import Array
from secmix.errors import SecmixError
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols import PDMM, Defences, DistributedEM, Plain, SecureSum, SumProtocol, epsilon
from secmix.transcript import Channel, Transcript

ROOT = Path(__file__).resolve().parents[1]
REG_COVAR = 1e-2
RECOVERED = 1e-6
DELTA = 1e-5
EXTRA = (0, 1, 2, 5)  # rounds beyond T*

Numbers = dict[str, Any]


class Heard:
    """A sum protocol whose averages are kept as the corrupt node 0 gets them, less what it put in."""

    def __init__(self, inner: SumProtocol) -> None:
        self.inner = inner
        self.sums: list[Array] = []

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """The protocol's own."""
        return self.inner.draw_masks(runs, m, network, rng)

    def average(
        self,
        inputs: Any,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """The protocol's own."""
        averages, transcript = self.inner.average(inputs, network, rng, masks=masks, channel=channel)
        self.sums.append(network.n * averages[:, 0] - np.asarray(inputs)[:, 0])
        return averages, transcript


def start_of(rows: Array, c: int, rng: np.random.Generator) -> Mixture:
    """Public parameters to start from: means at random about the data, one wide covariance."""
    d = rows.shape[1]
    around = rows.mean(axis=0) + rng.standard_normal((c, d)) * rows.std(axis=0)
    return Mixture(np.full(c, 1 / c), around, np.repeat(np.diag(rows.var(axis=0) + 0.1)[None], c, axis=0))


def honest_sums(
    rows: Array,
    start: Mixture,
    rounds: int,
    rng: np.random.Generator,
    *,
    sums: SumProtocol | None = None,
    defences: Defences | None = None,
) -> tuple[Array, list[Mixture]]:
    """Sums (T, c, q) over all rows but the first, one row a node, and θ^0 … θ^{T−1}."""
    heard = Heard(sums or Plain())
    em = DistributedEM(
        start.n_components,
        sums=heard,
        init=start,
        max_iter=rounds,
        tol=None,
        reg_covar=REG_COVAR,
        defences=defences,
        record=False,
    )
    run = em.run([row[None, None] for row in rows], network=Network.complete(len(rows)), rng=rng)
    table = np.stack([each[0] for each in heard.sums])
    return table.reshape(rounds, start.n_components, -1), [mixture[0, 0] for mixture in run.mixtures[:rounds]]


def distances(found: Array, rows: Array) -> Array:
    """How far each row is from its match, in standard deviations of the columns; inf where nothing was found."""
    if not np.isfinite(found).all():
        return np.full(len(rows), np.inf)
    apart = np.linalg.norm((found[:, None] - rows[None]) / np.maximum(rows.std(axis=0), 1e-12), axis=2)
    return np.asarray(apart[linear_sum_assignment(apart)])


def recovered(found: Inversion, rows: Array) -> bool:
    """Certified, and every row right to 1e-6."""
    return bool(found.certified and distances(found.rows, rows).max() < RECOVERED)


def certainty(rows: Array, path: Sequence[Mixture], sums: Array) -> float:
    """How far off the sums' rounding leaves the true rows at worst, three standard errors, in standard deviations."""
    standard = standard_of(sums, path, len(rows))
    at = np.linalg.solve(standard.lower, (rows - standard.centre).T).T
    noise = standard.noise(rounding(sums, path, len(rows))).ravel()
    return fit(standard.equations(path), standard.sums(sums).ravel(), noise, at).error


def synthetic(h: int, d: int, c: int, rng: np.random.Generator) -> Array:
    """h + 1 rows of a mixture; the first is the adversary's."""
    centres = 2.0 * rng.standard_normal((c, d))
    return np.asarray(centres[rng.integers(c, size=h + 1)] + rng.standard_normal((h + 1, d)))


def phases(sizes: Sequence[tuple[int, int, int]], seeds: int, seed: int, starts: int) -> list[Numbers]:
    """Success over (h, d, c) and rounds."""
    out = []
    for h, d, c in sizes:
        needed = int(rounds_needed(h, d, c))
        for extra in EXTRA:
            hits = wrong = beyond = 0
            for k in range(seeds):
                rng = np.random.default_rng([seed, 1, h, d, c, k])  # the same rows for every number of rounds
                rows = synthetic(h, d, c, rng)
                sums, path = honest_sums(rows, start_of(rows, c, rng), needed + extra, rng)
                found = invert_sums(sums, path, h, rng=k, starts=starts)
                right = recovered(found, rows[1:])
                hits += right
                beyond += not right and certainty(rows[1:], path, sums) > RECOVERED
                wrong += bool(found.certified and distances(found.rows, rows[1:]).max() > max(RECOVERED, found.error))
            out.append({"h": h, "d": d, "c": c, "T*": needed, "rounds": needed + extra})
            out[-1] |= {"seeds": seeds, "recovered": hits, "wrong": wrong, "missed_beyond_precision": beyond}
    return out


def noise_curve(sizes: Sequence[float], seeds: int, seed: int) -> list[Numbers]:
    """The error of the rows against Gaussian noise on the sums, beside the error that inversion states."""
    h, d, c = 5, 2, 2
    rounds = int(rounds_needed(h, d, c)) + 4
    out = []
    for size in sizes:
        errors, stated, certified = [], [], 0
        for k in range(seeds):
            rng = np.random.default_rng([seed, 2, k])
            rows = synthetic(h, d, c, rng)
            start = start_of(rows, c, rng)
            sums, path = honest_sums(rows, start, rounds, rng, defences=Defences(noise_std=size) if size else None)
            found = invert_sums(sums, path, h, rng=k, noise=size, starts=64)
            errors.append(float(distances(found.rows, rows[1:]).max()))
            stated.append(found.error)
            certified += found.certified
        out.append({"noise": size, "error": errors, "stated": stated, "certified": certified, "seeds": seeds})
    return out


def protocols(seeds: int, seed: int) -> list[Numbers]:
    """What the protocols' own arithmetic leaves of it: h = 5, d = c = 2."""
    made: dict[str, SumProtocol] = {
        "plain": Plain(),
        "secure summation, mask 1e6": SecureSum(sigma=1e6),
        "secure summation, modular, grid 2^-24": SecureSum(arithmetic="modular"),
        "PDMM, masks 1e2": PDMM(sigma=1e2),
        "PDMM, masks 1e6": PDMM(sigma=1e6),
    }
    out = []
    for name, sums in made.items():
        errors, certified, off = [], 0, []
        for k in range(seeds):
            rng = np.random.default_rng([seed, 3, k])
            rows = synthetic(5, 2, 2, rng)
            start = start_of(rows, 2, rng)
            noisy, path = honest_sums(rows, start, 5, rng, sums=sums)
            clean, _ = honest_sums(rows, start, 5, np.random.default_rng(0))
            off.append(float(np.abs(noisy - clean).max()))
            found = invert_sums(noisy, path, 5, rng=k, noise=off[-1], starts=64)
            errors.append(float(distances(found.rows, rows[1:]).max()))
            certified += found.certified
        out.append({"protocol": name, "sums_off": off, "error": errors, "certified": certified, "seeds": seeds})
    return out


def real(name: str, rows: Array, sizes: Sequence[int], seeds: int, seed: int, starts: int) -> list[Numbers]:
    """Rows of a real data set, one a node: success at T* + 2 rounds."""
    out = []
    for h in sizes:
        rounds = int(rounds_needed(h, 2, 2)) + 2
        hits = 0
        for k in range(seeds):
            rng = np.random.default_rng([seed, 4, h, k])
            mine = rows[rng.choice(len(rows), h + 1, replace=False)]
            sums, path = honest_sums(mine, start_of(mine, 2, rng), rounds, rng)
            hits += recovered(invert_sums(sums, path, h, rng=k, starts=starts), mine[1:])
        out.append({"data": name, "h": h, "rounds": rounds, "recovered": hits, "seeds": seeds})
    return out


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
                    entry["move"].append(float(seen.moves[1:].max()))
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
    whole = np.flatnonzero(off <= 0.5 + 4 * error * np.sqrt(sums.shape[1]))
    if not len(whole):
        return None
    chosen = [path[t] for t in whole]
    return invert_sums(sums[whole], chosen, h, rng=k, noise=error[whole, None, None], starts=64)


def components(rows: Array) -> Array:
    """Standardised rows on their first two principal components, themselves standardised."""
    kept = PCA(2, svd_solver="full").fit_transform(StandardScaler().fit_transform(rows))
    return np.asarray(kept / kept.std(axis=0))


def find_data() -> Path | None:
    """The Parkinsons file where this project keeps it, or None: the loader then downloads it."""
    folders = [Path(os.environ["SECMIX_DATA"])] if os.environ.get("SECMIX_DATA") else []
    candidates = [folder / "parkinsons.csv" for folder in (*folders, ROOT.parent / "shared" / "data")]
    return next((path for path in candidates if path.is_file()), None)


def study(seed: int, quick: bool, path: Path | None) -> Numbers:
    """All numbers."""
    sizes = [(h, 2, c) for c in (2, 3) for h in (3, 5, 8, 12, 20)] + [(h, 4, 2) for h in (3, 5, 8, 12)]
    if quick:
        sizes = [(3, 2, 2), (5, 2, 3)]
    noises = (0.0, 1e-8, 1e-3) if quick else (0.0, *10.0 ** np.arange(-12, 1))
    chosen = ("none", "noise 1", "covariance floor 0.5") if quick else tuple(DEFENCES)
    cancer = components(data.breast_cancer().rows)
    sets = {"breast cancer": cancer, "Parkinsons": components(data.parkinsons(path).rows)}
    seeds = 2 if quick else 5
    found = [
        each
        for name, rows in sets.items()
        for each in real(name, rows, (4,) if quick else (5, 10, 20), seeds, seed, 64 if quick else 160)
    ]
    return {
        "phases": phases(sizes, 2 if quick else 4, seed, 64 if quick else 128),
        "noise": noise_curve([float(size) for size in noises], seeds, seed),
        "protocols": protocols(seeds, seed),
        "real": found,
        "steering": steering(cancer, 1 if quick else 10, seed),
        "defences": [defence(name, cancer, 1 if quick else 5, seed) for name in chosen],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = argparse.ArgumentParser(description="When sums give rows away, and what defends them.")
    parser.add_argument("--data", type=Path, help="the Parkinsons file; found or downloaded when not given")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "sum-inversion", help="folder for the report")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="small settings, to see that it works")
    given = parser.parse_args(arguments)
    try:
        if given.seed < 0:
            raise SecmixError(f"--seed must be at least 0; given {given.seed}")
        numbers = study(given.seed, given.quick, given.data or find_data())
    except SecmixError as error:
        print(f"sum_inversion: {error}", file=sys.stderr)
        return 2
    libraries = ("numpy", "scipy", "scikit-learn", "matplotlib")
    numbers |= {
        "command": f"python analysis/sum_inversion.py --seed {given.seed}" + (" --quick" if given.quick else ""),
        "seed": given.seed,
        "versions": {"Python": platform.python_version(), "secmix": SECMIX}
        | {name: version(name) for name in libraries},
    }
    given.out.mkdir(parents=True, exist_ok=True)
    figures(numbers, given.out)
    text = json.dumps(numbers, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    (given.out / "numbers.json").write_text(text + "\n", encoding="utf-8")
    (given.out / "README.md").write_text(report(numbers) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
