"""Tables 1 and 2 of Singh 2024 (Byzantine-resilient subspaces), the bounds' constants, costs and AltGDmin.

Run ``python -m analysis.singh_2024.run``; see analysis/README.md.
Everything goes through secmix's own rules, attacks and
protocols; the report says where the paper leaves something open and what was chosen.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from analysis.singh_2024.means import descent, of_means
from analysis.singh_2024.probability import probabilities
from analysis.singh_2024.report import figures, report
from analysis.singh_2024.report_means import times
from analysis.singh_2024.revealed import revealed
from analysis.study import Numbers, mean_and_half_width, options, provenance, run_parts, write
from secmix._base.checks import Array
from secmix.adversaries import SUBSPACE_FORGERIES, CuriousServer, TamperingChannel
from secmix.adversaries.against_rules.subspaces import geodesic, tightest, worst_basis
from secmix.adversaries.attacks.subspace import SUBSPACE_FIXED, SubspaceAttack, speaking
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.adversaries.reconstructions.subspace import reconstruct_basis
from secmix.aggregators import RejectedMessages
from secmix.aggregators.subspace_rules import (
    power_method,
    resilient_power_method,
    subspace_distance,
    subspace_median,
    subspace_median_bound,
    svd_rce,
)
from secmix.estimators.robustness.proven import geometric_median_constant
from secmix.network import Network
from secmix.protocols import ByzFedAltGDmin, FederatedPCA
from secmix.protocols.subspace.federated_pca import own_basis
from secmix.transcript import Channel

NORMS: tuple[Any, ...] = ("fro", 2)
TAILS: dict[str, Callable[[int], Array]] = {
    "rank r + 1": lambda m: np.ones(1),
    "flat tail": np.ones,
    "falling tail": lambda m: 1 - np.arange(m) / m,
}


def _larger(attack: SubspaceAttack, factor: float) -> SubspaceAttack:
    return lambda honest, f, rng: factor * attack(honest, f, rng)


ATTACKS = {name: SUBSPACE_FIXED[name] for name in ("alternating", "ones", "orthogonal")}
ATTACKS["orthogonal × 100"] = _larger(SUBSPACE_FIXED["orthogonal"], 100.0)


def draw(n: int, r: int, q: int, nodes: int, tail: str, rng: np.random.Generator) -> tuple[list[Array], Array]:
    """Each node's samples D_ℓ (n, q) of covariance U diag(15 × r, tail) Uᵀ, and U*."""
    roots = np.sqrt(np.concatenate([np.full(r, 15.0), TAILS[tail](n - r)]))
    turn = np.linalg.qr(rng.standard_normal((n, len(roots))))[0]
    return [turn @ (roots[:, None] * rng.standard_normal((len(roots), q))) for _ in range(nodes)], turn[:, :r]


def interval(values: Iterable[float]) -> dict[str, float]:
    """The mean over trials and half the width of its 95 % interval (Student's t)."""
    mean, half = mean_and_half_width(list(values))
    return {"mean": mean, "half": half}


def table(tail: str, sizes: dict[str, int], trials: int, seed: int) -> Numbers:
    """SD in both norms over trials of every rule under every attack by the first of the nodes."""
    n, r, q, nodes, rounds = (sizes[key] for key in ("n", "r", "q", "nodes", "rounds"))
    errors: dict[str, list[list[float]]] = {}

    def note(rule: str, attack: str, basis: Array) -> None:
        errors.setdefault(f"{rule} / {attack}", []).append([subspace_distance(truth, basis, norm) for norm in NORMS])

    for rng in np.random.default_rng(seed).spawn(trials):
        data, truth = draw(n, r, q, nodes, tail, rng)
        bases = np.stack([own_basis(d.T[None], r, rng)[0] for d in data])
        for name, attack in ATTACKS.items():
            exchange = speaking(attack, [0], rng)
            note("SubsMed", name, subspace_median(exchange(0, bases)).basis)
            start = np.random.default_rng(seed)
            note("ResPowMeth", name, resilient_power_method(data, r, iterations=rounds, rng=start, exchange=exchange))
        note("PowMeth", "none", power_method(data, r, iterations=rounds, rng=np.random.default_rng(seed)))
    return {
        key: {str(norm): interval(v[k] for v in values) for k, norm in enumerate(NORMS)}
        for key, values in errors.items()
    }


def constants(budget: int, draws: int, seed: int) -> list[dict[str, float | None]]:
    """The largest SD_F/δ and ‖P_gm − P*‖/ε found, beside what is proven, for several shares of colluders."""
    found: list[dict[str, float | None]] = []
    for h, f in ((18, 2), (16, 4), (14, 6), (12, 8), (8, 6), (10, 9)):
        tau, delta, searched = f / (h + f), 1e-3, 0.0
        for rng in np.random.default_rng([seed, f]).spawn(draws):
            truth = np.eye(12)[:, :3]
            tangents = rng.standard_normal((h, *truth.shape))
            tangents -= truth @ (truth.T @ tangents)
            honest = np.stack([geodesic(truth, delta * t / np.linalg.norm(t)) for t in tangents])
            searched = max(searched, worst_basis(honest, f, rng, truth=truth, budget=budget).constant)
        truth, honest, sent = tightest(12, 3, h, f, delta)
        attained = subspace_distance(truth, subspace_median(np.concatenate([honest, sent])).basis) / delta
        again = worst_basis(honest, f, np.random.default_rng([seed, f]), truth=truth, budget=budget).constant
        truth, honest, sent = _farthest(h, f, delta)
        bases = np.concatenate([honest, sent])
        z = np.einsum("l,lik->ik", subspace_median(bases).weights, np.stack([u @ u.T for u in bases]))
        found.append(
            {
                "tau": tau,
                "searched": searched,
                "searched among the worst": again,
                "attained": attained,
                "sharp": subspace_median_bound(tau),
                "triangle": subspace_median_bound(tau, "triangle"),
                "published": 23.0 if tau <= 0.4 + 1e-12 else None,
                "median attained": float(np.linalg.norm(z - truth @ truth.T)) / (np.sqrt(2) * delta),
                "median sharp": geometric_median_constant(tau),
                "median published": 2 * (1 - tau) / (1 - 2 * tau),
            }
        )
    return found


def _farthest(h: int, f: int, delta: float) -> tuple[Array, Array, Array]:
    """U*, honest bases at δ from it whose geometric median f colluders take to C δ, and the colluders' bases there.

    Honest ones lie where the tangents from that place touch the sphere of radius δ: the case of equality.
    """
    d = geometric_median_constant(f / (h + f))
    side = np.sqrt(1 - 1 / d**2)

    def basis(x: float, y: float) -> Array:
        u = np.eye(12)[:, :3]
        u[0, 0], u[3, 0], u[4, 0] = np.sqrt(1 - x * x - y * y), x, y
        return u

    honest = [basis(delta / d, delta * side * (-1) ** k) for k in range(h)]
    return np.eye(12)[:, :3], np.stack(honest), np.stack([basis(d * delta * (1 - 1e-5), 0.0)] * f)


def samples_needed(sizes: dict[str, int], goal: float, most: int, trials: int, seed: int) -> dict[str, int | None]:
    """The fewest samples a node, of 50, 100, 200 ... ``most``, with which the mean SD_F is ``goal`` or less.

    One of five nodes sends what the alternating attack says; to SVD-RCE, samples in that pattern.
    """
    n, r, nodes, rounds = (sizes[key] for key in ("n", "r", "nodes", "rounds"))
    attack = SUBSPACE_FIXED["alternating"]
    needed: dict[str, int | None] = dict.fromkeys(("SubsMed", "ResPowMeth", "SVD-RCE", "PowMeth, no attack"))
    q = 50
    while q <= most and None in needed.values():
        errors: dict[str, list[float]] = {rule: [] for rule in needed}
        for rng in np.random.default_rng([seed, q]).spawn(trials):
            data, truth = draw(n, r, q, nodes, "flat tail", rng)
            false = attack(np.stack(data[1:]), 1, rng)[0]
            exchange = speaking(attack, [0], rng)
            bases = np.stack([own_basis(d.T[None], r, rng)[0] for d in data])
            for rule, basis in (
                ("SubsMed", subspace_median(exchange(0, bases)).basis),
                ("ResPowMeth", resilient_power_method(data, r, iterations=rounds, rng=rng, exchange=exchange)),
                ("SVD-RCE", svd_rce([false, *data[1:]], r)),
                ("PowMeth, no attack", power_method(data, r, iterations=rounds, rng=rng)),
            ):
                errors[rule].append(subspace_distance(truth, basis))
        for rule, values in errors.items():
            if needed[rule] is None and np.mean(values) <= goal:
                needed[rule] = q
        q *= 2
    return needed


def costs(sizes: dict[str, int], seed: int) -> tuple[list[Numbers], dict[str, float]]:
    """Messages, numbers sent and SD_F of one run of each rule under nobody's attack; and the seconds, the best of 3."""
    rng = np.random.default_rng(seed)
    n, r, q, nodes, rounds = (sizes[key] for key in ("n", "r", "q", "nodes", "rounds"))
    data, truth = draw(n, r, q, nodes, "flat tail", rng)
    rows, seconds = [], {}
    for name, rule in (
        ("SubsMed", "subspace_median"),
        ("ResPowMeth", "resilient_power_method"),
        ("PowMeth", "power_method"),
    ):
        protocol = FederatedPCA(r, rule=rule, iterations=rounds)  # type: ignore[arg-type]
        parts = [d.T[None] for d in data]
        seconds[name], run = _timed(lambda p=protocol, d=parts: p.run(d, rng=np.random.default_rng(seed)))  # type: ignore[misc]
        sent = sum(len(b.sender) * b.payload.shape[2] for b in run.transcript if b.line != "held")
        error = subspace_distance(truth, run.bases[0])
        rows.append({"rule": name, "messages": run.transcript.messages, "numbers": sent, "error": error})
    seconds["SVD-RCE"], basis = _timed(lambda: svd_rce(data, r))
    numbers = nodes * (n * (n + 1) // 2 + n * r)  # a covariance from each node, the result to each
    rows.append(
        {"rule": "SVD-RCE", "messages": 2 * nodes, "numbers": numbers, "error": subspace_distance(truth, basis)}
    )
    return rows, seconds


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    took = []
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        took.append(time.perf_counter() - start)
    return min(took), result


def convergence(sizes: dict[str, int], seed: int) -> dict[str, list[float]]:
    """SD_F/√r in every iteration of AltGDmin."""
    n, q, r, m, nodes, rounds = (sizes[key] for key in ("n", "q", "r", "m", "nodes", "rounds"))
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
    X = rng.standard_normal((q, m, n))
    y = np.einsum("kmn,nk->km", X, truth @ rng.standard_normal((r, q)), optimize=True)
    curves = {}
    runs = [("geometric_median", "reverse", f) for f in (0, 1, 2)] + [("mean", "reverse", f) for f in (1, 2)]
    runs += [("geometric_median", name, 2) for name in ("alternating", "ones", "orthogonal")]
    for rule, attack, f in runs:
        protocol = ByzFedAltGDmin(r, iterations=rounds, rule=rule)  # type: ignore[arg-type]
        options: Numbers = {"protocol": protocol, "record": False}
        channel = TamperingChannel(SUBSPACE_FORGERIES[attack], range(f), np.random.default_rng(seed), **options)
        iterates = protocol.run(X, y, nodes=nodes, channel=channel).iterates
        name = f"{rule.replace('_', ' ')}, " + (f"{attack}, {f} of {nodes}" if f else "nobody corrupt")
        curves[name] = [subspace_distance(truth, u) / np.sqrt(r) for u in iterates]
    return curves


def leakage(seed: int) -> list[dict[str, float]]:
    """What a curious server knows of a node's samples in 100 dimensions, r = 10, by how many there are."""
    n, r, found = 100, 10, []
    rng = np.random.default_rng(seed)
    for q in (1, 5, 10, 11, 20, 100, 1000):
        data, _ = draw(n, r, q, 3, "flat tail", rng)
        row: dict[str, float] = {"q": q, "chance": r / n}
        for rule, key in (("subspace_median", "basis"), ("resilient_power_method", "products")):
            protocol, channel, network = FederatedPCA(r, rule=rule, iterations=10), Channel(), Network.complete(3)  # type: ignore[arg-type]
            protocol.collaborate([d.T[None] for d in data], network, rng, channel=channel)
            view = CuriousServer().observe(channel.transcript, network)
            solved = reconstruct_basis(known_in_run(view, 0, 0, [q] * 3, n, protocol, network, rng))
            row[key] = 0 if solved is None else _that_hold(solved.normals, data[0])
            if key == "basis":
                sent = next(block for block in channel.transcript if block.kind == "basis").payload[0, 0]
                row["captured"] = float(revealed(sent.reshape(n, r), data[0].T).captured.mean())
        found.append(row)
    return found


def _that_hold(normals: Array, data: Array) -> int:
    return int((np.abs(normals @ data).max(axis=1) < 1e-9 * np.linalg.norm(data, axis=0).max()).sum())


PARTS = ("tables", "constants", "costs", "samples", "convergence", "leakage", "of_means", "probability", "descent")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate tables 1 and 2 of Singh 2024, and what lies behind them.", "singh-2024")
    parser.add_argument("--trials", type=int, help="of the tables (default 10; at least 2)")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to make anew; the others are kept")
    given = parser.parse_args(arguments)
    trials = given.trials if given.trials is not None else (3 if given.quick else 10)
    if trials < 2 or given.seed < 0:
        words = f"--trials must be at least 2 and --seed at least 0; given {trials} and {given.seed}"
        print(f"singh_2024: {words}", file=sys.stderr)
        return 2
    numbers, seconds = measured(trials, given.seed, given.out, given.only, quick=given.quick)
    write(given.out, numbers, report(numbers), sort_keys=False)
    figures(numbers, given.out)
    if seconds:
        (given.out / "times.md").write_text(times(numbers, seconds) + "\n", encoding="utf-8")
    return 0


def measured(
    trials: int, seed: int, out: Path, only: Sequence[str] | None, *, quick: bool
) -> tuple[Numbers, dict[str, float]]:
    """Everything but the seconds, which differ from run to run; and the seconds, where costs were measured."""
    pca = {"n": 1000, "r": 60, "q": 600, "nodes": 3, "rounds": 10}
    learn = {"n": 600, "q": 600, "r": 4, "m": 198, "nodes": 6, "rounds": 160}
    needs = {"n": 100, "r": 6, "nodes": 5, "rounds": 10}
    if quick:
        pca |= {"n": 100, "r": 6, "q": 60}
        learn |= {"n": 40, "q": 60, "r": 2, "m": 60, "rounds": 160}
        needs |= {"n": 40, "r": 3}
    goal, most = 0.2, 3200 if quick else 25600
    seconds: dict[str, float] = {}

    def costly() -> list[Numbers]:
        rows, took = costs(pca, seed)
        seconds.update(took)
        return rows

    def needed() -> Numbers:
        found = samples_needed(needs, goal, most, 5, seed)
        return {"sizes": needs, "goal": goal, "most": most, "trials": 5, "needed": found}

    groups = {"n": 30, "r": 2, "q": 40} if quick else {"n": 100, "r": 6, "q": 100}
    small = {"n": 20, "q": 30, "r": 2, "m": 96, "rounds": 100}
    parts: dict[str, Callable[[], Any]] = {
        "tables": lambda: {tail: table(tail, pca, trials, seed) for tail in TAILS},
        "constants": lambda: constants(100, 1, seed) if quick else constants(800, 3, seed),
        "costs": costly,
        "samples": needed,
        "convergence": lambda: convergence(learn, seed),
        "leakage": lambda: leakage(seed),
        "of_means": lambda: of_means(4 if quick else 20, seed, **groups),
        "probability": lambda: probabilities(10 if quick else 200, seed),
        "descent": lambda: descent(*((2, seed) if quick else (5, seed)), **(small if quick else DESCENT)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectedMessages)  # the report says which attacks end that way
        head = provenance(f"singh_2024.run --trials {trials}", seed, quick, ("numpy", "scipy", "matplotlib"))
        head |= {"seed": seed, "trials": trials, "pca": pca, "learn": learn}
        return run_parts(out, head, parts, only, sort_keys=False), seconds


DESCENT = {"n": 30, "q": 40, "r": 2, "m": 96, "rounds": 120}


if __name__ == "__main__":
    sys.exit(main())
