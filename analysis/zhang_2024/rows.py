"""What the one mixture that a machine sends tells of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix.adversaries.reconstructions.interfaces import KnownMessages
from secmix.adversaries.reconstructions.mixture import reconstruct_mixture
from secmix.estimators.estimate import wilson
from secmix.network import Network
from secmix.protocols import DistributedMixture
from secmix.transcript import SERVER, Channel, Origin

Numbers = dict[str, Any]


def recovered(machines: int, seed: int, *, quick: bool) -> list[Numbers]:
    """Share of machines whose rows all come out, for some numbers of rows, features and components."""
    sizes = [(4, 2, 2), (5, 3, 2), (6, 3, 3), (8, 3, 3), (10, 4, 3)]
    return [
        _at(n, d, k, tolerance, machines, seed)
        for n, d, k in (sizes[:2] if quick else sizes)
        for tolerance in (1e-6, 1e-12)
    ]


def _at(n: int, d: int, k: int, tolerance: float, machines: int, seed: int) -> Numbers:
    rng = np.random.default_rng([seed, 7, n, d, k])
    parts = [(rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[np.arange(n) % k])[None] for _ in range(machines)]
    protocol = DistributedMixture(k, rule="dfmr", tolerance=tolerance, max_iterations=5000)
    channel = Channel()
    network = Network.complete(machines)
    protocol.collaborate(parts, network, rng, channel=channel)
    block = next(each for each in channel.transcript if each.kind == "mixture")
    certified = right = wrong = 0
    nearest: list[float] = []
    for j, part in enumerate(parts):
        where = Origin(0, 0, "mixture", "plain", j, (SERVER,))
        found = reconstruct_mixture(
            KnownMessages(
                j, ((where, block.payload[j, 0]),), n, d, protocol, network, np.random.default_rng([seed, 8, j])
            )
        )
        if found is None or found.rows is None:
            continue
        off = np.linalg.norm(part[0][:, None] - found.rows, axis=-1).min(axis=1)
        certified += found.certified
        wrong += found.certified and bool(off.max() > 1e-6)
        right += bool(off.max() <= 1e-6)
        nearest += off.tolist()
    low, high = wilson(right, machines)
    return {
        "rows": n,
        "features": d,
        "components": k,
        "tolerance": tolerance,
        "numbers": k * (1 + d + d * (d + 1) // 2) - 1,
        "unknowns": n * d,
        "machines": machines,
        "exact": right,
        "low": low,
        "high": high,
        "certified": certified,
        "certified_wrong": wrong,
        "within_1e-2": float(np.mean(np.asarray(nearest) < 1e-2)) if nearest else 0.0,
    }
