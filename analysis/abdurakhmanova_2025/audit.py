"""What GraphFed-EM's messages give away, and what lying neighbours do to it: the part of the study that is ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Eavesdropper, HonestButCurious, TamperingChannel
from secmix.adversaries.attacks import graphfed as neighbour_forgeries
from secmix.adversaries.reconstructions.graphfed import reconstruct_graphfed
from secmix.adversaries.reconstructions.interfaces import known_in_run
from secmix.estimators.estimate import wilson
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols import GraphFedEM
from secmix.transcript import Channel

Numbers = dict[str, Any]
FAR = 1e6
# The paper names shrinkage and diagonal loading, and no sizes.
REGULAR: Numbers = {"shrinkage": 0.1, "reg_covar": 1e-3}
RECOVERED = 1e-6


def _rows(n: int, size: int, d: int, runs: int, rng: np.random.Generator, k: int = 3) -> list[Array]:
    """n nodes that share a mixture of k standard Gaussians, centres N(0, 2² I): (runs, size, d) each."""
    centres = 2.0 * rng.standard_normal((k, d))
    mixture = Mixture(np.full(k, 1 / k), centres, np.repeat(np.eye(d)[None], k, axis=0))
    return [np.stack([mixture.sample(size, rng) for _ in range(runs)]) for _ in range(n)]


def recovered(quick: bool, seed: int) -> list[Numbers]:
    """Rows that an eavesdropper reads off, to 1e-6, against N_i and d; five nodes that all talk to each other."""
    out = []
    network = Network.complete(5)
    runs = 3 if quick else 8
    settings = [(5, 1.0)] if quick else [(5, 1.0), (1, 1.0)]
    for steps, alpha in settings:
        for d in (10,) if quick else (2, 6, 10):
            for size in (5, 20) if quick else (5, 10, 20, 50, 100):
                em = GraphFedEM(3, alpha=alpha, local_steps=steps, **REGULAR)
                parts = _rows(5, size, d, runs, np.random.default_rng([seed, 11, d, size]))
                channel = Channel()
                em.collaborate(parts, network, np.random.default_rng([seed, 12]), channel=channel)
                view = Eavesdropper().observe(channel.transcript, network)
                curious = HonestButCurious({4}, eavesdrops=False).observe(channel.transcript, network)
                shares, wrong, equations, near = [], 0, [], []
                # A search from random starts takes seconds, so the nodes of a run are not all tried there.
                nodes = range(5 if steps > 1 else 1)
                for run in range(runs if steps > 1 else min(runs, 4)):
                    for node in nodes:
                        share, false, known = _attacked(em, network, view, parts, run, node, seed)
                        shares.append(share)
                        wrong += false
                        equations.append(known)
                        near.append(_attacked(em, network, curious, parts, run, node, seed)[0] if node != 4 else share)
                hit = sum(share > 0 for share in shares)
                out.append(
                    {
                        "local_steps": steps,
                        "d": d,
                        "rows": size,
                        "attacked": len(shares),
                        "share": float(np.mean(shares)),
                        "share_error": float(np.std(shares, ddof=1) / np.sqrt(len(shares))),
                        "share_neighbour": float(np.mean(near)),
                        "any": hit / len(shares),
                        "any_interval": list(wilson(hit, len(shares))),
                        "wrong": wrong,
                        "equations": float(np.min(equations)),
                    }
                )
    return out


def _attacked(
    em: GraphFedEM, network: Network, view: Any, parts: list[Array], run: int, node: int, seed: int
) -> tuple[float, int, int]:
    """Share of the node's rows recovered, rows claimed that are none of its own, equations known on each row."""
    counts, d = [part.shape[1] for part in parts], parts[0].shape[2]
    rng = np.random.default_rng([seed, 13, run, node])
    found = reconstruct_graphfed(known_in_run(view, run, node, counts, d, em, network, rng))
    truth = parts[node][run]
    if found is None:
        return 0.0, 0, 0
    holds = np.abs(truth @ found.normals.T - found.offsets).max(axis=0, initial=0.0) if found.normals.size else []
    known = int(np.sum(np.asarray(holds) < RECOVERED * np.abs(truth).max()))
    if found.rows is None:
        return 0.0, 0, known
    apart = np.linalg.norm(truth[:, None] - found.rows[None], axis=-1)
    limit = RECOVERED * np.abs(truth).max()
    return float((apart.min(axis=1) < limit).mean()), int((apart.min(axis=0) >= limit).sum()), known


def liars(quick: bool, seed: int) -> Numbers:
    """How far 1 … 4 of nine neighbours push the honest ones' mixtures, by each lie and under each rule."""
    network, runs = Network.complete(9), 2 if quick else 3
    # All start at one public mixture, so that the lies make the difference and no k-means.
    start = Mixture(np.full(3, 1 / 3), [[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0]], np.repeat(4 * np.eye(2)[None], 3, axis=0))
    both = _rows(9, 60, 2, runs, np.random.default_rng([seed, 21]))
    first, second = [part[:, :30] for part in both], [part[:, 30:] for part in both]
    rules: dict[str, Numbers] = {
        "weighted mean": {},
        "coordinate-wise median": {"rule": "coordinate_median"},
        "geometric median": {"rule": "geometric_median"},
    }
    if quick:
        del rules["geometric median"]
    colluders = (2,) if quick else (1, 2, 4)
    out: Numbers = {"runs": runs, "nodes": 9, "rows": 30, "colluders": list(colluders), "rules": {}}
    for name, rule in rules.items():
        out["rules"][name] = {}
        for f in colluders:
            em = GraphFedEM(3, n_rounds=5, init=start, **REGULAR, **(rule | ({"f": f} if rule else {})))
            honest = _fitted(em, network, first, Channel(record=False), seed)
            typical = float(np.median(em.error(_fitted(em, network, second, Channel(record=False), seed), honest)))
            out["rules"][name][str(f)] = {"typical": typical, "lies": {}}
            corrupt = list(range(9 - f, 9))
            for lie in ("claim", "means") if quick else neighbour_forgeries.__all__:
                forgery = getattr(neighbour_forgeries, lie)
                errors = {}
                for scale in (1.0, FAR):
                    rng = np.random.default_rng([seed, 23])
                    channel = TamperingChannel(forgery, corrupt, rng, protocol=em, scale=scale, record=False)
                    rows = first
                    if forgery.poison is not None:
                        rows = [forgery.poison(p, scale, rng) if i in corrupt else p for i, p in enumerate(first)]
                    pushed = _fitted(em, network, rows, channel, seed)
                    loyal = 9 - f
                    errors[f"{scale:g}"] = float(np.max(em.error(pushed[:, :loyal], honest[:, :loyal]))) / typical
                out["rules"][name][str(f)]["lies"][lie] = errors
    return out


def _fitted(em: GraphFedEM, network: Network, rows: list[Array], channel: Channel, seed: int) -> Array:
    with np.errstate(all="ignore"):  # what liars send may overflow
        return em.collaborate(rows, network, np.random.default_rng([seed, 24]), channel=channel)
