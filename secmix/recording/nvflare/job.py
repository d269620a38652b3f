"""Run a copy of a job folder in NVFlare's simulator, with the component that records in its configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from secmix.errors import DataError
from secmix.recording.nvflare.log_lines import FILE
from secmix.recording.nvflare.names import used, version

COMPONENT = "secmix.recording.nvflare.MessageRecorder"
_CONFIGURATIONS = ("config_fed_server", "config_fed_client")
_BYOC_NOTE = "NVFlare builds components of other packages only for jobs that bring code of their own.\n"
_SHOWN = 12


def with_recorder(job: Path, copy: Path, folder: Path, lines: str = "encrypted") -> list[Path]:
    """Copy a job folder and add the component that records to each of its configurations.

    The result: the configurations that have the line. Raises DataError if ``job`` is no job folder.
    """
    if not any((job / f"meta.{ending}").is_file() for ending in ("json", "conf", "yml", "yaml")):
        raise DataError(f"{job} has no meta.json; give the folder of a job, such as recipe.export(folder) writes")
    shutil.copytree(job, copy, symlinks=False)
    line = {"id": "secmix", "path": COMPONENT, "args": {"folder": str(folder), "lines": lines}}
    written = [place for place in _configurations(copy) if _add(place, line)]
    if not written:
        raise DataError(f"{job} has no app/config/config_fed_server or config_fed_client; give the folder of a job")
    for config in {place.parent for place in written}:
        own_code = config.parent / "custom"
        own_code.mkdir(exist_ok=True)
        (own_code / "recorded_by_secmix.txt").write_text(_BYOC_NOTE, encoding="utf-8")
    return written


def _configurations(job: Path) -> Iterator[Path]:
    for config in sorted(job.glob("*/config")):
        for name in _CONFIGURATIONS:
            candidates = [config / f"{name}.{ending}" for ending in ("json", "conf", "yml", "yaml")]
            yield from [place for place in candidates if place.is_file()][:1]  # as NVFlare chooses


def _add(place: Path, line: dict[str, Any]) -> bool:
    if place.suffix == ".json":
        content = json.loads(place.read_text(encoding="utf-8"))
    else:
        content = used("nvflare.fuel.utils.config_factory", "ConfigFactory.load_config")(str(place)).to_dict()
        place.unlink()
        place = place.with_suffix(".json")
    content.setdefault("components", []).append(line)
    place.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return True


def record(
    job: Path,
    folder: Path,
    workspace: Path,
    clients: str = "2",
    threads: int | None = None,
    lines: str = "encrypted",
) -> list[Path]:
    """Run a copy of ``job`` in NVFlare's simulator and record it.

    ``job``, ``folder``, ``workspace``: the job; where recordings go, a new folder; where the simulator works, a new
    folder; ``clients``: how many, or their names with commas; ``threads``: clients that run at a time; all by default.
    The result: the recordings, one of each participant. Raises DataError if the job cannot be run, or passed no
    message.
    """
    used("nvflare.apis.filter", "Filter")  # says how to install NVFlare where it is not
    for place in (folder, workspace):
        _must_be_new(place)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    workspace.mkdir(parents=True, exist_ok=True)
    copy = workspace / "job"
    with_recorder(job.resolve(), copy, folder.resolve(), lines)
    count = int(clients) if clients.isdecimal() else len(clients.split(","))
    whom = ["-n" if clients.isdecimal() else "-c", clients, "-t", str(threads or count)]
    command = [sys.executable, "-m", "nvflare.cli", "simulator", str(copy), "-w", str(workspace / "run"), *whom]
    log = workspace / "simulator.log"
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=_environment(), check=False)
    passed = [each.parent for each in sorted(folder.glob(f"*/{FILE}")) if (each.parent / "index.jsonl").exists()]
    if done.returncode or not passed:
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_SHOWN:])
        what = f"ended with status {done.returncode}" if done.returncode else "passed no message"
        raise DataError(f"the job {what} in the simulator of NVFlare {version()}; the end of {log}:\n{last}")
    return passed


def _must_be_new(place: Path) -> None:
    if place.exists() and any(place.iterdir()):
        raise DataError(f"{place} is not empty; name a new folder")
    if any(char.isspace() for char in str(place.resolve())):
        raise DataError(f"{place} has a space, at which NVFlare's simulator splits paths; name another folder")


def _environment() -> dict[str, str]:
    """Return the environment in which the simulator's processes find this package."""
    above = str(Path(__file__).parents[3])
    paths = [above, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
