"""The README's examples run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


BLOCKS = re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_example_runs(block: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(block, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    if "invert_sums" in block:
        assert ran.stdout.split() == ["determined", "True"]
    if "ksg(" in block:
        bound, number = ran.stdout.splitlines()
        assert "nats, lower bound, unresolved" in bound
        assert "nats, estimate, resolved" in number


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", README))))
def test_every_file_it_points_to_is_there(target: str) -> None:
    assert (ROOT / target).exists()
