"""Figure 3 of Li et al. (2022): what an adversary learns of one node, read from real transcripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.li_2022.decoder import (
    Numbers,
    decoder_bounds,
    moments,
    power_sum_bound,
    power_sum_information,
    power_sums,
)
from secmix._base.checks import Array
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.estimators.estimate import normalised
from secmix.estimators.exact.leakage import gaussian_leakage, mask_range, subspace_of
from secmix.estimators.exact.linear import Probed, read_off
from secmix.estimators.ksg_estimator.estimator import ksg
from secmix.network import Network
from secmix.protocols import PDMM, Plain, SecureSum, SumProtocol
from secmix.transcript import Channel

SIGMA = 1e6  # standard deviation of the masks; the data have standard deviation 1
TARGET, CORRUPT = 0, (1, 3)
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
CHORDS = [(0, 2), (2, 4)]  # they keep the honest nodes 0, 2, 4 connected without 1 and 3
MU_0 = np.array([-1.0, 1.0])  # the paper gives neither the number of components nor where the means start


@dataclass(frozen=True)
class Leak:
    """The combinations of inputs that an adversary computes from what it holds of the real runs.

    Attributes
    ----------
    basis : (c, n)
        The combinations in which every mask cancels.
    sums : (c, runs, m)
        Their values, read from the transcript.
    """

    basis: Array
    sums: Array

    @property
    def of_target(self) -> Array | None:
        """The (runs, m) combination that node 0's input is part of, None if there is none."""
        rows = np.flatnonzero(np.abs(self.basis[:, TARGET]) > 1e-6)
        return self.sums[rows[0]] if len(rows) else None

    @property
    def members(self) -> list[int]:
        """The nodes in that combination."""
        rows = np.flatnonzero(np.abs(self.basis[:, TARGET]) > 1e-6)
        return np.flatnonzero(np.abs(self.basis[rows[0]]) > 1e-6).tolist() if len(rows) else []


def leak(
    protocol: SumProtocol, network: Network, adversary: Adversary, vectors: Array, rng: np.random.Generator
) -> tuple[Array, Leak]:
    """Average ``vectors`` (runs, n, m); the averages (runs, m), and what the adversary reads off.

    Units travel with the real runs and give view = A s + M r. A combination w of the view with wM = 0 is free
    of masks: those with wA a basis vector of the leaked subspace are applied to the view of the real runs.
    """
    channel = Channel()
    probed = Probed(protocol)
    averages, transcript = probed.average(vectors, network, rng, channel=channel)
    view = adversary.observe(transcript, network)
    runs = len(vectors)
    if not len(view):
        return averages[:, 0], Leak(np.empty((0, network.n)), np.empty((0, runs, vectors.shape[2])))
    masks = probed.recorded[0][1].shape[1]
    linear = read_off(view, [0], runs=runs, masks=masks, network=network, protocol=protocol)
    basis = subspace_of(linear, adversary.corrupt_nodes(network)).basis
    reached, _ = mask_range(linear)
    free = np.eye(len(linear.A)) - reached @ reached.T
    weights = basis @ np.linalg.pinv(free @ linear.A, rcond=1e-6) @ free
    # Reduced echelon form: corrupt nodes' own inputs have no part in the combination of the target.
    return averages[:, 0], Leak(basis, np.tensordot(weights, np.stack([row[:runs] for row in view.rows]), 1))


def local_vectors(x: Array, share: Array, mu: Array) -> Array:
    """(A, B, C) of eq. (4) for x (runs, n), responsibilities (runs, n, c), means (runs, c): (runs, n, 3c)."""
    off = x[..., None] - mu[:, None]
    return np.concatenate([share, share * x[..., None], share * off**2], axis=2)


def ksg_reading(x: Array, features: Array, self_information: float, seed: int) -> Numbers:
    """The KSG number and its interval, the paper's ratio, and what may be relied on of it.

    ``nats`` is the bare number even where the estimate's value is infinite; ``low`` and ``high`` (None:
    infinite) are what is known of the information.
    """
    estimate = ksg(x, features, k=3, rng=seed)
    number = estimate.value
    if math.isinf(number):
        number = ksg(x, features, k=3, interval=False, checks=False).value
    half = number - estimate.low
    return {
        "nats": number,
        "half_width": half,
        "nmi_paper": number / self_information,
        "nmi_half_width": half / self_information,
        "low": estimate.low,
        "high": None if math.isinf(estimate.high) else estimate.high,
        "kind": estimate.kind,
        "status": estimate.status,
        "normalised_leakage": normalised(estimate.value, 1),
        "normalised_low": 1.0 if estimate.status == "determined" else normalised(estimate.low, 1),
        "normalised_high": normalised(estimate.high, 1),
        "notes": list(estimate.notes),
    }


def individual_privacy(*, runs: int, iterations: int, seed: int) -> Numbers:
    """Figure 3, and beside it what its numbers leave out."""
    network = Network.from_edges(5, [*RING, *CHORDS])
    insiders = HonestButCurious(CORRUPT)
    settings: dict[str, tuple[SumProtocol, Adversary]] = {
        "federated": (Plain(encrypted=True), CuriousServer()),
        "secure summation": (SecureSum(sigma=SIGMA, cycle=range(5)), insiders),
        "PDMM": (PDMM(sigma=SIGMA), insiders),
    }
    data_rng, *rngs = np.random.default_rng([seed, 4]).spawn(1 + len(settings))
    x = data_rng.standard_normal((runs, 5))
    target = x[:, TARGET]
    self_information = ksg(target, target, checks=False, interval=False).value
    npeet_self = _npeet(target, target)
    uniform = data_rng.random((iterations, runs, 5, len(MU_0)))
    shares = uniform / uniform.sum(axis=3, keepdims=True)
    out: Numbers = {
        "runs": runs,
        "iterations": iterations,
        "components": len(MU_0),
        "sigma": SIGMA,
        "self_information": self_information,
        "protocols": {},
    }
    for (name, (protocol, adversary)), rng in zip(settings.items(), rngs, strict=True):
        entry: Numbers = {
            "raw": [],
            "gaussian_anchor": _anchor(protocol, network, adversary),
        }
        mu, history, raw = np.tile(MU_0, (runs, 1)), [], np.empty(0)
        for t in range(iterations):
            averages, leaked = leak(protocol, network, adversary, local_vectors(x, shares[t], mu), rng)
            sums = leaked.of_target
            assert sums is not None  # each of the three adversaries learns something of node 0
            history.append(moments(sums, mu))
            entry["raw"].append(ksg_reading(target, sums, self_information, seed))
            raw = sums if t == 0 else raw
            if len(leaked.members) == 1:  # the feature that eq. (6) is about
                a, b, _ = np.split(sums, 3, axis=1)
                entry.setdefault("ratio", []).append(ksg_reading(target, (b / a)[:, 0], self_information, seed))
            a, b, _ = np.split(averages, 3, axis=1)
            mu = b / a  # eq. (5)
        # Σx and Σx² are the same in all iterations.
        entry["power_sums"] = ksg_reading(target, power_sums(history[0]), self_information, seed)
        entry["leaked"] = [_in_words(row) for row in leaked.basis]
        entry["sum_over"] = [node + 1 for node in leaked.members]
        entry["exact_power_sums"] = _finite(power_sum_information(len(leaked.members)))
        entry["npeet_ratio"] = _npeet(target, raw) / npeet_self
        if len(leaked.members) == 1:
            a, b, _ = np.split(raw, 3, axis=1)
            entry["npeet_ratio_b_over_a"] = _npeet(target, (b / a)[:, :1]) / npeet_self
        entry |= _recovered(x, history, leaked.members)
        if len(leaked.members) == 3:
            entry["decoder_single"] = decoder_bounds(target, history, cumulative=False)
            entry["decoder_cumulative"] = decoder_bounds(target, history, cumulative=True)
            entry["decoder_check"] = power_sum_bound(target, history[0])
        out["protocols"][name] = entry
    out["lone_node"] = _lone_node(x, shares[0], network, settings, seed)
    out["eavesdropper"] = _eavesdropper(x, shares[0], network, self_information, seed)
    return out


def _npeet(x: Array, y: Array) -> float:
    """The number the paper's own tool gives, in bits."""
    return ksg(x, y, npeet_compatible=True).value


def _anchor(protocol: SumProtocol, network: Network, adversary: Adversary) -> float | None:
    """Exact I(s_0; view) for one Gaussian number a node, in nats; None is infinite."""
    return _finite(gaussian_leakage(protocol, network, adversary, TARGET).value)


def _finite(nats: float) -> float | None:
    return None if math.isinf(nats) else nats


def _in_words(row: Array) -> str:
    return " + ".join(f"s{i + 1}" for i in np.flatnonzero(np.abs(row) > 1e-6))


def _recovered(x: Array, history: Sequence[Array], members: list[int]) -> Numbers:
    """Data recovered from the first iteration's transcript by algebra: one node, or two up to their order."""
    if len(members) > 2:
        return {}
    total, square = power_sums(history[0]).T
    half = np.sqrt(np.maximum(2 * square - total**2, 0.0)) / 2 if len(members) == 2 else 0.0
    mean = total / len(members)
    found = np.stack([mean - half, mean + half], axis=1)
    error = np.abs(found - np.sort(x[:, members][:, [0, -1]], axis=1)).max(axis=1)
    return {
        "candidates": len(members),
        "recovered_median_error": float(np.median(error)),
        "recovered_largest_error": float(error.max()),
        "recovered_to_1e-6": float((error < 1e-6).mean()),
    }


def _lone_node(
    x: Array, share: Array, network: Network, settings: dict[str, tuple[SumProtocol, Adversary]], seed: int
) -> Numbers:
    """Eq. (11): the node between the two corrupt ones, node 3 of the paper."""
    out: Numbers = {}
    vectors = local_vectors(x, share, np.tile(MU_0, (len(x), 1)))
    for name, (protocol, adversary) in settings.items():
        _, leaked = leak(protocol, network, adversary, vectors, np.random.default_rng(seed))
        alone = (np.abs(leaked.basis[:, 2]) > 1e-6) & (np.count_nonzero(np.abs(leaked.basis) > 1e-6, axis=1) == 1)
        out[name] = {"revealed": bool(alone.any())}
        if alone.any():
            read = leaked.sums[np.flatnonzero(alone)[0]]
            out[name]["largest_error"] = float(np.abs(read[:, 2:4].sum(axis=1) - x[:, 2]).max())
    return out


def _eavesdropper(x: Array, share: Array, network: Network, self_information: float, seed: int) -> Numbers:
    """What an outsider on every line learns of node 0 in one iteration."""
    protocols: dict[str, SumProtocol] = {
        "plain, lines open": Plain(),
        "secure summation": SecureSum(sigma=SIGMA, cycle=range(5)),
        "PDMM": PDMM(sigma=SIGMA),
    }
    out: Numbers = {}
    mu = np.tile(MU_0, (len(x), 1))
    for name, protocol in protocols.items():
        _, leaked = leak(protocol, network, Eavesdropper(), local_vectors(x, share, mu), np.random.default_rng(seed))
        out[name] = {"sum_over": [node + 1 for node in leaked.members]}
        if leaked.of_target is not None:
            features = power_sums(moments(leaked.of_target, mu))
            out[name]["power_sums"] = ksg_reading(x[:, TARGET], features, self_information, seed)
            out[name]["exact_power_sums"] = _finite(power_sum_information(len(leaked.members)))
    return out
