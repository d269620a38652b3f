"""A real run of several processes, by hand: ``flwr run`` in Flower's simulation, recorded and audited.

It takes half a minute, starts a SuperLink and Ray, and needs ``pip install 'flwr[simulation]'``:
``SECMIX_FLWR_RUN=1 pytest tests/unit/test_flower_simulation.py -n 0``.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from secmix import Network
from secmix.auditing.recorded import audit_recording
from secmix.recording import read_recording
from secmix.transcript import Channel

PROJECT = Path(__file__).parents[1] / "flower_projects" / "recorded"
BY_HAND = bool(os.environ.get("SECMIX_FLWR_RUN"))
CONFIG = """
[superlink]
default = "own"
[superlink.own]
address = "127.0.0.1:{port}"
insecure = true
options.num-supernodes = 3
options.backend.client-resources.num-cpus = 1
"""

pytestmark = [
    pytest.mark.skipif(not BY_HAND, reason="a run of many processes; SECMIX_FLWR_RUN=1 runs it"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs pip install 'flwr[simulation]'"),
]


@pytest.fixture
def superlink(tmp_path):
    """The environment of commands that talk to a SuperLink of this test's own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home, beside = tmp_path / "home", Path(sys.executable).parent
    home.mkdir()
    (home / "config.toml").write_text(CONFIG.format(port=port))
    settings = {"FLWR_HOME": str(home), "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    settings |= {"FLWR_TELEMETRY_ENABLED": "0", "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}"}
    environment = {**os.environ, **settings}
    command = [str(beside / "flower-superlink"), "--insecure", "--simulation", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--disable-runtime-dependency-installation"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for _ in range(60):
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.5)
        yield environment
        process.terminate()


def numbers(folder):
    """All that passed, in an order of its own: nodes are counted as they come."""
    messages = read_recording(folder).messages
    return sorted((m.iteration, m.round, kind, each.tolist()) for m in messages for kind, _, each in m.parts)


def test_a_run_of_many_processes_sends_what_one_process_does_and_its_recording_is_audited(superlink, tmp_path):
    from secmix.protocols.flower import FlowerApp

    copy, out = tmp_path / "app", tmp_path / "out"
    shutil.copytree(PROJECT, copy)  # flwr writes beside the app
    command = ["flwr", "run", str(copy), "--stream", "--run-config", f'folder="{out}"']
    done = subprocess.run(command, env=superlink, capture_output=True, text=True, timeout=600, check=False)
    assert (out / "server" / "index.jsonl").exists(), done.stdout[-3000:] + done.stderr[-3000:]

    app = FlowerApp(project=PROJECT, config={"folder": str(tmp_path / "one")})
    rows = [np.ones((1, 1, 3))] * 3  # not asked for: the app reads its own
    app.collaborate(rows, Network.complete(3), np.random.default_rng(0), channel=Channel())
    real, one = numbers(out / "server"), numbers(tmp_path / "one" / "server")
    assert [each[:3] for each in real] == [each[:3] for each in one]
    for there, here in zip(real, one, strict=True):
        assert_allclose(there[3], here[3], rtol=1e-12, atol=1e-15)  # sums are taken in any order

    found = audit_recording(read_recording(out / "server"))
    assert (found.verdict, len(found.rows)) == ("violated", 3)
    true = sorted(np.random.default_rng(k).standard_normal((1, 3))[0, :2].tolist() for k in range(3))
    assert_allclose(sorted(known.row.tolist() for known in found.rows), true, rtol=1e-9)
    assert len(list((out / "clients").iterdir())) == 3
