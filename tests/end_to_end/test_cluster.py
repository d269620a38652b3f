"""An audit on a Dask cluster: the same result, and a worker that dies loses nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from filelock import FileLock

import secmix
from secmix.errors import SecmixError

distributed = pytest.importorskip("distributed", reason="the cluster extra is not installed")
pytestmark = [pytest.mark.build, pytest.mark.filterwarnings("default")]  # Dask's own warnings are its own business

SCENARIO = {
    "runs": 200,
    "network": {"kind": "cycle", "nodes": 5},
    "data": {"name": "wine", "features": 2, "rows_per_node": 3},
    "model": {"iterations": 2},
    "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1.0, 100.0]},
    "adversary": {"name": "honest_but_curious", "corrupt": [1, 3]},
    "sweep": {"protocol": [{"name": "plain"}, {"name": "secure_sum"}, {"name": "pdmm"}], "data.rows_per_node": [1, 2]},
}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as local:
        yield local


def test_a_cluster_gives_the_same_report_even_if_a_worker_dies(cluster, tmp_path: Path) -> None:
    expected = secmix.audit(SCENARIO)
    assert secmix.audit(SCENARIO, scheduler=cluster.scheduler_address).to_dict() == expected.to_dict()

    with distributed.Client(cluster.scheduler_address) as client:
        victim = next(iter(client.run(os.getpid).values()))

    def kill(done: int, total: int, what: str) -> None:
        if done == 1:
            os.kill(victim, signal.SIGKILL)

    died = secmix.audit(SCENARIO, tmp_path, scheduler=cluster.scheduler_address, progress=kill)
    assert {**died.to_dict(), "lines": []} == expected.to_dict()  # lines are those of the file in the folder


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secmix.auditing.engine.run_cells._ANSWERS_WITHIN", "1s")
    with pytest.raises(SecmixError, match="no Dask scheduler answers at"):
        secmix.audit(SCENARIO, scheduler="tcp://127.0.0.1:1")


def test_two_audits_in_one_folder(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".secmix-lock"), pytest.raises(SecmixError, match="another audit is writing into"):
        secmix.audit(SCENARIO, tmp_path)
    secmix.audit(SCENARIO, tmp_path, cell=1)
    assert not [*(tmp_path / "cell-1").glob(".secmix-lock")]  # filelock itself may leave its file behind: the one above
