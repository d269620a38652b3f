"""Protocols whose masks follow from seeds, in an audit."""

from __future__ import annotations

from typing import Any

from soundness.right.seeds import Seeded

import secmix
from secmix.adversaries import CuriousServer

SCENARIO: dict[str, Any] = {
    "network": {"kind": "complete", "nodes": 5},
    "runs": 100,
    "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
    "model": {"components": 1, "iterations": 2},
    "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
    "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
}


def test_a_protocol_of_seeds_has_no_curve_over_sizes_of_masks() -> None:
    report = secmix.audit(SCENARIO, protocols={"it": Seeded()}, adversaries={"server": CuriousServer()})
    assert report.verdict == "holds", report.cells[0].notes
    assert report.cells[0].sigma_curve == []
