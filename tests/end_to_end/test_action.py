"""The action for build servers: its steps take inputs from the environment alone, and end with the audit's status."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from action_steps import action, run

SCENARIO = """
runs = 100
[data]
name = "wine"
features = 2
[network]
kind = "cycle"
nodes = 4
[model]
iterations = 1
[protocol]
name = "plain"
[measure]
evidence = ["structure"]
"""


def test_no_input_is_part_of_a_script() -> None:
    """Else whoever names a scenario would write the script."""
    steps = action()["runs"]["steps"]
    assert all("${{" not in step.get("run", "") for step in steps)
    assert any(step.get("uses", "").startswith("github/codeql-action/upload-sarif@") for step in steps)


@pytest.mark.build
def test_the_audit_ends_with_its_status_and_leaves_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    Path("my scenario.toml").write_text(SCENARIO)
    assert run({"scenario": "my scenario.toml", "arguments": "--seed 3 --workers 1"}, only="Audit") == 1
    assert Path("secmix-report/report.sarif").exists()
    again = {"scenario": "my scenario.toml", "arguments": "--baseline secmix-report/report.json", "out": "again"}
    assert run(again, only="Audit") == 0
    assert run({"scenario": "absent.toml", "arguments": "$(touch here)"}, only="Audit") == 2
    assert not Path("here)").exists()
    assert not Path("here").exists()
