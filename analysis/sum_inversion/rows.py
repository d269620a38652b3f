"""Sums as a corrupt node of distributed EM gets them, and what inverting them gives: rounds, noise, protocols, data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from analysis.study import Numbers
from secmix._base.checks import Array
from secmix.adversaries import Inversion, invert_sums, rounds_needed
from secmix.adversaries.inversion.certificate import fit
from secmix.adversaries.inversion.coordinates import standard_of
from secmix.adversaries.inversion.starts import rounding
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols import PDMM, Defences, DistributedEM, Plain, SecureSum, SumProtocol
from secmix.transcript import Channel, Transcript

REG_COVAR = 1e-2
RECOVERED = 1e-6
EXTRA = (0, 1, 2, 5)  # rounds beyond T*


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
    noise = standard.noise(rounding(sums, path, len(rows)), path).ravel()
    return fit(standard.equations(path), standard.sums(sums, path).ravel(), noise, at).error


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
            chosen = rows[rng.choice(len(rows), h + 1, replace=False)]
            sums, path = honest_sums(chosen, start_of(chosen, 2, rng), rounds, rng)
            hits += recovered(invert_sums(sums, path, h, rng=k, starts=starts), chosen[1:])
        out.append({"data": name, "h": h, "rounds": rounds, "recovered": hits, "seeds": seeds})
    return out
