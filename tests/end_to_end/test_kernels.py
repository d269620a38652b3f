"""Verdicts and standings do not depend on the kernel, the code that NumPy's BLAS picks for the processor."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from kernels import NEEDED, environment, obstacle

# The main job with fewer runs.
JOB = """
import json
import secmix
from secmix.scenario.catalogue import find

report = secmix.audit({**find("passive-neighbours").scenario.to_dict(), "runs": 200})
print(json.dumps([
    [cell.protocol, cell.adversary, cell.verdict, [[node.node, node.standing] for node in cell.nodes]]
    for cell in report.cells
]))
"""


def judged(kernel):
    done = subprocess.run(
        [sys.executable, "-c", JOB], env=environment(kernel), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.build
def test_verdicts_and_standings_of_the_main_job_do_not_depend_on_the_kernel():
    obstacles = {kernel: obstacle(kernel) for kernel in NEEDED}
    usable = [kernel for kernel, why in obstacles.items() if not why]
    if len(usable) < 2:
        pytest.skip("two kernels are needed: " + "; ".join(f"{k}: {why}" for k, why in obstacles.items() if why))
    found = {kernel: judged(kernel) for kernel in usable[:2]}
    first = found[usable[0]]
    assert len(first) == 6
    assert {verdict for _, _, verdict, _ in first} >= {"violated", "holds"}
    assert found[usable[1]] == first
