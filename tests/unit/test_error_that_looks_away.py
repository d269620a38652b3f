"""A collaboration measures its own error: one that is small where the outcome lies far out clears nothing."""

from __future__ import annotations

import numpy as np
import pytest
from example_protocols import Averaging

import secmix
from secmix.adversaries import Colluders
from secmix.adversaries.attacks.attack import Attack
from secmix.auditing.robustness import collaborations

LOUD = Attack(["mean"], lambda m: np.full_like(m.own, 1e9), name="loud", does="All send what is large.")


class Middle(Averaging):
    """Nodes send their means to the server, and end with the middle; a bound is claimed of it."""

    def __init__(self):
        super().__init__(rule="median", encrypted=True)

    def bound(self, transcript, reference, colluders):
        return 0.05


class Mean(Middle):
    """No middle, but a mean."""

    def __init__(self):
        Averaging.__init__(self, encrypted=True)


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


def report_on(protocol):
    return secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 5},
            "runs": 100,
            "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
            "policy": {"max_error_ratio": 5.0, "min_breakdown": 0.15},
        },
        protocols={"it": protocol},
        adversaries={"colluder": Colluders([4], attack=LOUD, eavesdrops=False)},
    )


def test_a_bound_of_a_strangers_clears_nobody():
    assert report_on(Middle()).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("protocol", "verdict"),
    [(Middle(), "holds"), (Mean(), "violated"), (OutliersLeftOut(), "inconclusive"), (NoError(), "inconclusive")],
)
def test_an_error_that_looks_away_proves_nothing(protocol, verdict, monkeypatch):
    monkeypatch.setattr(collaborations, "proven_protocol", lambda given: True)  # as if there were a theorem of it
    assert report_on(protocol).verdict == verdict


class ErrorOfEachNode(Mean):
    """The largest over entries, and not over nodes."""

    def error(self, results, reference):
        return np.abs(results - reference).max(axis=2)


def test_an_error_of_another_shape_is_named():
    report = report_on(ErrorOfEachNode())
    assert report.verdict == "inconclusive"
    assert "returned shape (8, 5), expected (8,): return one number for each run" in report.cells[0].sentence
