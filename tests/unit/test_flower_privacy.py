"""Flower's own noise, fixed and adaptive clipping: what a claim of their epsilon comes to, against the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flower_apps import flower_app

import secmix
from secmix.adversaries import CuriousServer
from secmix.auditing.cell_parts import PrivacyClaim

pytest.importorskip("flwr", reason="flwr is not installed; pip install 'secmix[flower]' to run these tests")

pytestmark = pytest.mark.build
LOCAL = {"imports": "from flwr.clientapp.mod import LocalDpMod", "mods": "LocalDpMod(1.0, 1.0, 2.0, 1e-5)"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("secmix.auditing.noise.privacy_claims._RUNS", 300)
    monkeypatch.setattr("secmix.auditing.noise.told_apart._SHORT", 40)
    return tmp_path


def claimed(app: Any) -> PrivacyClaim:
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 2},
            "data": {"name": "gaussian", "features": 3, "rows_per_node": 5},
            "runs": 100,
            "claim": {"epsilon": 2.0, "delta": 1e-5, "public": ["rows_per_node"]},
            "measure": {"evidence": ["decoders"], "nodes": [0]},
        },
        protocols={"app": app},
        adversaries={"server": CuriousServer()},
    )
    claim = report.cells[0].claim
    assert claim is not None
    return claim


@pytest.mark.filterwarnings("ignore")
def test_local_noise_that_nobody_proves_is_neither_cleared_nor_accused(folder: Path) -> None:
    claim = claimed(flower_app(folder, **LOCAL, metric="0.0", rounds=1))
    assert claim.verdict == "inconclusive"
    assert "'train reply: arrays/0' from node 0 to the server in round 1 changes" in claim.nodes[0].follows


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (LOCAL, "metrics"),  # the loss is sent beside the noisy model
        (
            {
                "imports": "from flwr.clientapp.mod import fixedclipping_mod",
                "mods": "fixedclipping_mod",
                "strategy": "DifferentialPrivacyClientSideFixedClipping",
                "settings": "FedAvg(), 1.0, 1.0, 2",
                "metric": "0.0",
            },
            "arrays/0",  # noise is added at the server, who reads every client's update
        ),
        (
            {
                "imports": "from flwr.clientapp.mod import adaptiveclipping_mod",
                "mods": "adaptiveclipping_mod",
                "strategy": "DifferentialPrivacyClientSideAdaptiveClipping",
                "settings": "FedAvg(), 0.1, 2",
                "metric": "0.0",
            },
            "arrays/0",
        ),
    ],
)
def test_what_the_server_reads_bare_refutes_a_claim_against_it(
    folder: Path, settings: dict[str, Any], message: str
) -> None:
    claim = claimed(flower_app(folder, rounds=1, **settings))
    assert claim.verdict == "violated", claim.nodes[0]
    assert f"'train reply: {message}' from node 0 to the server in round 1 changes" in claim.nodes[0].fails
