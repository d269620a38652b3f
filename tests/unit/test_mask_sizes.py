"""The curve over sizes of masks: each point says what its own messages tell, however few rows they are reduced to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.auditing.cells import mask_size
from secmix.auditing.cells.mask_size import sigma_curve
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.observation.observe import observe, seeds_of
from secmix.auditing.setup import build_setup
from secmix.estimators.estimate import normalised
from secmix.estimators.exact.leakage import gaussian_leakage
from secmix.protocols import PDMM, SecureSum
from secmix.scenario import from_dict

SIGMAS = [0.3, 10.0, 1e4, 1e7]


def context(protocol: Any, adversary: Any) -> CellContext:
    cell = from_dict(
        {
            "network": {"kind": "complete", "nodes": 5},
            "runs": 100,
            "data": {"name": "wine", "features": 2},
            "model": {"iterations": 1},
            "measure": {"evidence": ["structure", "gaussian"], "sigmas": SIGMAS},
            "protocol": {"name": "p", "label": "p"},
            "adversary": {"name": "a", "label": "a"},
        }
    )
    setup = build_setup(cell, {("protocol", "p"): protocol, ("adversary", "a"): adversary})
    return CellContext(cell, setup, observe(cell, setup, seeds_of(cell)))


@pytest.mark.parametrize(
    ("protocol", "adversary"),
    [
        (PDMM, HonestButCurious({1, 3})),
        (PDMM, Eavesdropper()),
        (lambda sigma: PDMM(sigma=sigma, schedule="asynchronous"), HonestButCurious({1})),  # no point begins as another
        (SecureSum, HonestButCurious({1})),
    ],
)
def test_each_point_is_what_all_its_messages_tell(protocol: Any, adversary: Any) -> None:
    case = context(protocol(sigma=1.0), adversary)
    spread = max(case.observation.widest.values())
    points = {point.sigma: point.normalised_leakage for point in sigma_curve(case)}
    assert list(points) == SIGMAS
    for sigma, share in points.items():
        all_shares = [
            normalised(gaussian_leakage(protocol(sigma=sigma), case.setup.network, adversary, node, spread).value, 1)
            for node in case.setup.asked
        ]
        assert share == pytest.approx(max(s for s in all_shares if s < 1.0), rel=1e-6)


def test_rounds_that_all_points_have_are_taken_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heights, qr = [], np.linalg.qr

    def noted(rows: Any, mode: str = "reduced") -> Any:
        heights.append(len(rows))
        return qr(rows, mode=mode)

    monkeypatch.setattr(mask_size.np.linalg, "qr", noted)
    case = context(PDMM(sigma=1.0), HonestButCurious({1, 3}))
    heights.clear()
    assert len(sigma_curve(case)) == len(SIGMAS)
    alone = context(PDMM(sigma=1.0), HonestButCurious({1, 3}))
    read = len(mask_size._read_at(alone.setup, 1e7, np.zeros((1, 5, 2)) + 1.0, np.random.default_rng(0))[0].A)
    taken_in = [height for height in heights if height > 25]  # more rows than the 25 coefficients of one
    assert max(taken_in[1:]) < taken_in[0] < read
