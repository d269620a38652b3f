"""Noise accuses nobody: whole audits of messages that never touch the data, at the level that an audit keeps.

``python tests/calibration/test_noise_only.py 200`` audits as many seeds as it is told, three minutes for 200, and says
which were called violated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from scipy.stats import binom

import secmix
from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.report import Report
from secmix.network import Network
from secmix.transcript import SERVER, Channel

pytestmark = pytest.mark.build

AUDITS = 20
LEVEL = 0.01  # 2 of 200


class Noise:
    """Every node sends draws of its own to the server and to its neighbours."""

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        runs, (first, second) = len(parts[0]), network.edges.T
        for sender, receiver in ((np.arange(network.n), SERVER), (first, second), (second, first)):
            channel.send(0, sender, receiver, "noise", rng.standard_normal((len(sender), runs, 2)))
        return np.zeros((runs, network.n, 1))

    def error(self, results: Array, reference: Array) -> Array:
        return np.zeros(len(results))


def audited(seed: int) -> Report:
    return secmix.audit(
        {
            "network": {"kind": "cycle", "nodes": 4},
            "data": {"name": "wine", "features": 2},
            "runs": 100,
            "seed": seed,
            "policy": {"max_normalised_leakage": 0.02},
        },
        protocols={"noise": Noise()},
        adversaries={"server": CuriousServer(), "node": HonestButCurious([0]), "lines": Eavesdropper()},
    )


def accused(seeds: Iterable[int]) -> list[int]:
    """Return the seeds of audits that say something false: a violation, or that a share of a row is known."""
    reports = ((seed, audited(seed)) for seed in seeds)
    return [
        seed
        for seed, report in reports
        if report.verdict == "violated"
        or any(node.standing in ("revealed", "partly leaked") for cell in report.cells for node in cell.nodes)
    ]


def test_noise_is_accused_as_seldom_as_promised() -> None:
    assert len(accused(range(AUDITS))) <= binom.ppf(0.99, AUDITS, LEVEL)


if __name__ == "__main__":
    count = int(sys.argv[1])
    print(f"accused: seeds {accused(range(count))} of {count}")
