"""A disk that fills up, a limit on the size of files, a folder out of reach: one clear error, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from typer.testing import CliRunner

import secmix
from secmix.cli.app import app
from secmix.errors import SecmixError

SCENARIO = {
    "runs": 200,
    "network": {"kind": "cycle", "nodes": 4},
    "data": {"name": "wine", "features": 2},
    "measure": {"evidence": ["structure"]},
    "adversary": {"name": "honest_but_curious", "corrupt": [0, 2]},
    "sweep": {"protocol": [{"name": "plain"}, {"name": "secure_sum"}, {"name": "pdmm"}], "data.rows_per_node": [1, 2]},
}

# Audits into a folder while something is in the way, says what was left behind, takes it away and audits again.
DRIVER = """
import json, os, pathlib, sys
import secmix
from secmix.errors import SecmixError

folder, scenario, hindrance, room = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4])
ballast = folder.parent / "ballast"
if hindrance == "disk":
    disk = os.statvfs(folder.parent)
    ballast.write_bytes(b"x" * max(disk.f_bavail * disk.f_frsize - room, 0))
else:
    import resource
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
try:
    secmix.audit(scenario, folder, formats=("json", "md"))
    said = None
except SecmixError as error:
    said = str(error)
left = {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}
if hindrance == "disk":
    ballast.unlink()
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
already = []
report = secmix.audit(
    scenario, folder, formats=("json", "md"),
    progress=lambda done, total, what: what == "running" and already.append(done),
)
files = sorted(p.name for p in folder.rglob("*"))
print(json.dumps({"said": said, "left": left, "already": already, "files": files, "report": report.to_dict()}))
"""


def drive(folder: Path, hindrance: str, room: int, *, before: str = "") -> Any:
    """What the driver prints; with ``before``, run by a shell in a mount namespace of its own after these commands."""
    python = [sys.executable, "-c", DRIVER, str(folder), json.dumps(SCENARIO), hindrance, str(room)]
    if before:
        python = ["unshare", "--mount", "--map-root-user", "sh", "-c", f'{before} && exec "$@"', "sh", *python]
    # The cache of compiled code must not run into what is in the way here.
    done = subprocess.run(
        python, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of an audit with room enough; into a folder too, for only then its cells have lines in a file."""
    return secmix.audit(SCENARIO, out=tmp_path_factory.mktemp("expected")).to_dict()


@pytest.fixture(scope="module")
def tiny_disk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder, and the command that makes it a disk of one MiB in a namespace of its own."""
    place = tmp_path_factory.mktemp("disk")
    mount = f"mount -t tmpfs -o size=1m tmpfs '{place}'"
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare` here, so no small disk can be mounted")
    tried = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", mount], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"no small disk can be mounted here: {tried.stderr.strip()}")
    return place, mount


def check(found: Any, expected: dict[str, Any], cells_kept: range) -> None:
    kept = [name for name in found["left"] if name.startswith(".unfinished/")]
    assert len(kept) in cells_kept
    assert set(found["left"]) == set(kept), "nothing else is left: no draft, no half of a report, no lock"
    for name in kept:
        assert set(json.loads(found["left"][name])) == {"digest", "kept"}
    assert found["already"][0] == len(kept), "the same call goes on from the cells that were kept"
    assert found["report"] == expected
    assert found["files"] == ["report.json", "report.md", "scenario.toml"]


@pytest.mark.build
def test_a_disk_that_is_full_before_the_first_cell(tiny_disk: tuple[Path, str], expected: dict[str, Any]) -> None:
    place, mount = tiny_disk
    found = drive(place / "out", "disk", 8192, before=mount)
    assert "No space left on device" in found["said"]
    assert "run the same command again" in found["said"]
    check(found, expected, range(0, 2))


@pytest.mark.build
def test_a_disk_that_fills_up_between_cells(tiny_disk: tuple[Path, str], expected: dict[str, Any]) -> None:
    place, mount = tiny_disk
    found = drive(place / "out", "disk", 40_960, before=mount)
    assert "No space left on device" in found["said"]
    check(found, expected, range(1, 6))


@pytest.mark.build
def test_a_disk_with_room_for_the_cells_but_not_for_the_report(
    tiny_disk: tuple[Path, str], expected: dict[str, Any]
) -> None:
    place, mount = tiny_disk
    found = drive(place / "out", "disk", 86_000, before=mount)
    assert "No space left on device" in found["said"]
    check(found, expected, range(6, 7))


@pytest.mark.build
def test_a_limit_on_the_size_of_files(tmp_path: Path, expected: dict[str, Any]) -> None:
    pytest.importorskip("resource", reason="limits on files are known on Unix only")
    for room, cells in ((1000, range(0, 1)), (20_000, range(6, 7))):
        found = drive(tmp_path / str(room), "limit", room)
        assert "File too large" in found["said"]
        check(found, expected, cells)


def refused(out: Path) -> str:
    """What the command line says, on one line of standard error, with status 2."""
    done = CliRunner().invoke(app, ["audit", "lone-honest-node", "--out", str(out)])
    assert done.exit_code == 2
    assert done.stdout.strip() == ""
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_a_folder_below_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    message = refused(file / "out")
    assert "cannot be written" in message
    assert "choose another --out" in message


def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the folder below a file stands for it")
    tmp_path.chmod(0o500)
    try:
        assert "cannot be written" in refused(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_a_lock_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / ".secmix-lock").mkdir()
    with pytest.raises(SecmixError, match=r"cannot be written: Is a directory; choose another --out"):
        secmix.audit(SCENARIO, tmp_path)


def test_an_error_that_has_nothing_to_do_with_the_folder_is_not_dressed_up(tmp_path: Path) -> None:
    def progress(done: int, total: int, what: str) -> None:
        (tmp_path / "elsewhere" / "absent").read_text()

    with pytest.raises(FileNotFoundError):
        secmix.audit(SCENARIO, tmp_path / "out", progress=progress)


def test_who_waits_in_vain_for_a_folder_leaves_the_drafts_of_the_other(tmp_path: Path) -> None:
    draft = tmp_path / ".report.json.1.tmp"
    draft.write_text("half")
    with FileLock(tmp_path / ".secmix-lock"), pytest.raises(SecmixError, match="another audit is writing into"):
        secmix.audit(SCENARIO, tmp_path)
    assert draft.exists()


def test_a_folder_that_cannot_be_locked_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(lock: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(FileLock, "acquire", unsupported)
    with pytest.raises(SecmixError, match=r"cannot lock \(No locks available\)"):
        secmix.audit(SCENARIO, tmp_path)


def test_an_error_elsewhere_is_not_told_as_one_of_the_folder(tmp_path: Path) -> None:
    """`out` is not `output`, though one begins as the other does."""

    def progress(done: int, total: int, what: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "output" / "data"))

    with pytest.raises(OSError, match="No space left on device"):
        secmix.audit(SCENARIO, tmp_path / "out", progress=progress)
