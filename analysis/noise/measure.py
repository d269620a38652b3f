"""Measures of noise: the loss of a learner at each epsilon, and the bounds between which that epsilon lies."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import secmix
from analysis.noise.federations import LEARNERS, NoisyFederation
from analysis.noise.rows import NODES, Rows, rows_of
from analysis.study import Numbers
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper
from secmix.network import Network
from secmix.privacy import explained_variance_bound, gaussian_mu
from secmix.transcript import Channel

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
REPEATS = 40
_AUDITED = 8  # rows a node where a claim is audited: sensitivity and noise of a sum do not depend on how many
_NO_CLIP = 1e9
_ROUNDING = 1e-9  # of an epsilon, which noise for it keeps but for the last digits


def measured(name: str, *, seed: int, quick: bool) -> Numbers:
    """Measure one learner at every epsilon."""
    rows = rows_of(name)
    repeats, epsilons = (4, EPSILONS[2::3]) if quick else (REPEATS, EPSILONS)
    learner = LEARNERS[name]
    found: Numbers = {
        "source": rows.source,
        "rows": len(rows.values) // NODES,
        "rounds": learner.rounds,
        "clipped": _lost(learner(0.0), rows, seed, repeats),
        "points": [],
    }
    for epsilon in epsilons:
        mu = gaussian_mu(epsilon, DELTA)
        scale = 2 * learner.norm * np.sqrt(learner.rounds) / mu
        found["points"].append(
            {
                "claimed": epsilon,
                "scale": float(scale),
                "lost": _lost(learner(float(scale)), rows, seed, repeats),
                "explained": explained_variance_bound(gaussian=[mu]),
                **_audited(learner(float(scale)), rows, name, epsilon, seed),
            }
        )
    return found


def network_of(name: str) -> dict[str, Any]:
    """Return the network of a learner, as a scenario has it."""
    return {"kind": "cycle" if name == "GraphFed-EM" else "complete", "nodes": NODES}


def _lost(learner: NoisyFederation, rows: Rows, seed: int, repeats: int) -> list[float]:
    """Return quartiles of what is lost, over repeats with other draws and rows dealt anew."""
    graph = type(learner).__name__ == "NoisyGraphFedEM"
    network = Network.cycle(NODES) if graph else Network.complete(NODES)
    without = type("Without", (type(learner),), {"norm": _NO_CLIP})(0.0)
    losses = []
    for repeat in range(repeats):
        dealing, first, second = np.random.default_rng([seed, repeat]).spawn(3)
        parts = rows.parts(dealing)
        best = without.collaborate(parts, network, first, channel=Channel())[0]
        models = learner.collaborate(parts, network, second, channel=Channel())[0]
        losses.append(np.mean([learner.lost(m, b, rows.values) for m, b in zip(models, best, strict=True)]))
    return [float(q) for q in np.quantile(losses, [0.25, 0.5, 0.75])]


def _audited(learner: NoisyFederation, rows: Rows, name: str, epsilon: float, seed: int) -> Numbers:
    """Return between which bounds epsilon lies, and the verdict on the claim of it."""
    adversary: Adversary = Eavesdropper() if name == "GraphFed-EM" else CuriousServer()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        head = ",".join(f"x{k}" for k in range(rows.values.shape[1]))
        np.savetxt(path, rows.values, delimiter=",", header=head, comments="")
        report = secmix.audit(
            {
                "network": network_of(name),
                "data": {"name": "csv", "path": str(path), "standardise": False, "rows_per_node": _AUDITED},
                "runs": 100,
                "seed": seed,
                "claim": {"epsilon": epsilon * (1 + _ROUNDING), "delta": DELTA, "unit": "row"},
                "measure": {"evidence": ["decoders"], "nodes": [0]},
            },
            protocols={name: learner},
            adversaries={"them": adversary},
        )
    claim: Any = report.cells[0].claim
    return {"proved": claim.nodes[0].proved, "seen": claim.nodes[0].seen, "verdict": claim.verdict}
