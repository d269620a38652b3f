"""The steps of ``action.yml`` as a build server runs them: in bash, with inputs in the environment.

``python tests/action_steps.py scenario=FILE [input=value ...]`` runs all of them but those of other actions, and ends
with the first exit status that is not 0.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ACTION = Path(__file__).parents[1] / "action.yml"
_INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


def action() -> dict[str, Any]:
    """Read what the file says."""
    content: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return content


def run(given: Mapping[str, str], only: str = "") -> int:
    """Run the steps, or the one called ``only``, in the working directory; return the exit status."""
    content = action()
    inputs = {name: str(each.get("default", "")) for name, each in content["inputs"].items()} | dict(given)
    for step in content["runs"]["steps"]:
        if "run" not in step or only not in ("", step["name"]):
            continue
        environment = {name: _INPUT.sub(lambda found: inputs[found[1]], text) for name, text in step["env"].items()}
        # As https://docs.github.com/actions says of "shell: bash".
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        if status := subprocess.run(command, env={**os.environ, **environment}, check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(run(dict(each.split("=", 1) for each in sys.argv[1:])))
