"""A collaboration measures its own error: one that is small where the outcome lies far out clears nothing."""

from __future__ import annotations

import numpy as np
import pytest

import secmix
from secmix.adversaries import Colluders
from secmix.adversaries.attacks.attack import Attack
from secmix.auditing.robustness import collaborations
from secmix.transcript import SERVER

LOUD = Attack(["mean"], lambda m: np.full_like(m.own, 1e9), name="loud", does="All send what is large.")


class Middle:
    """Nodes send their means to the server, and end with the middle; a bound is claimed of it."""

    def rule(self, received):
        return np.median(received, axis=0)

    def collaborate(self, parts, network, rng, *, channel):
        means = np.stack([part.mean(axis=1) for part in parts])
        received = channel.send(0, np.arange(network.n), SERVER, "mean", means, encrypted=True)
        middle, to = self.rule(received)[None], np.zeros(network.n, dtype=int)
        end = channel.send(1, SERVER, np.arange(network.n), "end", middle, encrypted=True, content=to)[0]
        return np.repeat(end[:, None], network.n, axis=1)

    def error(self, results, reference):
        return np.abs(results - reference).max(axis=(1, 2))

    def bound(self, transcript, reference, colluders):
        return 0.05


class Mean(Middle):
    """No middle, but a mean."""

    def rule(self, received):
        return received.mean(axis=0)


class OutliersLeftOut(Mean):
    """Errors that are too large to be true are left out."""

    def error(self, results, reference):
        errors = super().error(results, reference)
        return np.where(errors > 10, 0.0, errors)


class NoError(Mean):
    """There is none."""

    def error(self, results, reference):
        return np.zeros(len(results))

    def bound(self, transcript, reference, colluders):
        return 0.0


def verdict_on(protocol):
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 5},
            "runs": 100,
            "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
            "policy": {"max_error_ratio": 5.0, "min_breakdown": 0.15},
        },
        protocols={"it": protocol},
        adversaries={"colluder": Colluders([4], attack=LOUD, eavesdrops=False)},
    )
    return report.verdict


def test_a_bound_of_a_strangers_clears_nobody():
    assert verdict_on(Middle()) == "inconclusive"


@pytest.mark.parametrize(
    ("protocol", "verdict"),
    [(Middle(), "not refuted"), (Mean(), "violated"), (OutliersLeftOut(), "inconclusive"), (NoError(), "inconclusive")],
)
def test_an_error_that_looks_away_proves_nothing(protocol, verdict, monkeypatch):
    monkeypatch.setattr(collaborations, "proven_protocol", lambda given: True)  # as if there were a theorem of it
    assert verdict_on(protocol) == verdict
