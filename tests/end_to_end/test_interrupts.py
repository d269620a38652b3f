"""An audit that is broken off: one sentence, its own status, finished cells kept, and no process left.

Workers inherit the pipe of standard error: it is read to its end only once all of them are gone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import secmix
from secmix.cli import app as cli
from secmix.cli import console

ROOT = Path(__file__).parents[2]
KEPT = "secmix: interrupted; finished cells are kept in out; the same command resumes"
EARLIER = "the report in 'out' is of an earlier audit"
SCENARIO = """
runs = 200
[data]
name = "wine"
features = 2
[network]
kind = "cycle"
nodes = 4
[model]
iterations = 2
[measure]
evidence = ["structure"]
[adversary]
name = "curious_server"
[sweep]
protocol = [{name = "plain"}, {name = "pdmm"}, {name = "own:Own"}]
"""
OWN = """
import os, resource, signal, time
from multiprocessing import parent_process
from pathlib import Path
from secmix.protocols import Plain

class Own(Plain):
    def average(self, inputs, *rest, **named):
        if len(inputs) > 150:  # in the audit, not in a trial
            BODY
        return super().average(inputs, *rest, **named)
"""
LATE = """
import os, signal
from secmix.protocols import Plain

class Late(Plain):
    def advise(self, shown):  # what an audit asks last
        os.kill(os.getpid(), signal.SIGKILL)
"""
DIED = "a worker process died (SIGKILL), perhaps for lack of memory; run the same command again, with fewer --workers"
WAITS = "while Path('closed').exists(): time.sleep(0.05)"
DIES = "os.kill(os.getpid(), signal.SIGKILL)"
RUNS_OUT = "resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20)); held = [bytes(2**24) for _ in range(64)]"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)


@pytest.fixture
def _own_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def started(body: str, workers: int = 2) -> subprocess.Popen[str]:
    Path("mine.toml").write_text(SCENARIO)
    Path("own.py").write_text(OWN.replace("BODY", body))
    Path("closed").touch()
    options = ["--out", "out", "--workers", str(workers), "--format", "json", "--allow-code"]
    return subprocess.Popen(
        [sys.executable, "-m", "secmix", "audit", "mine.toml", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.getcwd()}"},
        # A shell that runs the tests in the background has them ignore interrupts, and they would hand that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,
    )


def kept() -> list[Path]:
    return list(Path("out/.unfinished").glob("*.json"))


def said(stderr: str) -> list[str]:
    """The lines that the command itself writes, but for how far it is."""
    return [line for line in stderr.splitlines() if line.startswith("secmix: ") and " done after " not in line]


@pytest.mark.build
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.build), 2])
def test_an_interrupted_audit_is_status_130_and_resumes(workers: int) -> None:
    process = started(WAITS, workers)
    while not kept() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    assert (process.returncode, stdout, said(stderr)) == (130, "", [KEPT]), stderr
    assert "Traceback" not in stderr
    assert {path.name for path in Path("out").iterdir()} == {".unfinished"}
    finished = {path: path.stat().st_mtime_ns for path in Path("out/.unfinished").iterdir()}
    assert set(finished) == set(kept())
    assert 1 <= len(finished) <= 2

    Path("closed").unlink()
    stamps: list[dict[Path, int]] = []

    def tell(done: int, total: int, what: str) -> None:
        stamps.append({path: path.stat().st_mtime_ns for path in finished if path.exists()})
        if what == "running":
            assert done == len(finished)

    resumed = secmix.audit("mine.toml", "out", formats=["json"], allow_code=True, progress=tell)
    assert stamps[-1] == finished
    assert not Path("out/.unfinished").exists()
    assert resumed.to_dict() == secmix.audit("mine.toml", "whole", formats=["json"], allow_code=True).to_dict()
    assert json.loads(Path("out/report.json").read_text()) == json.loads(Path("whole/report.json").read_text())


@pytest.mark.build
def test_ctrl_c_pressed_again_and_again_is_one_interrupt() -> None:
    Path("out").mkdir()
    Path("out/report.json").write_text("{}")  # of another audit
    process = started(WAITS)
    while not kept() and process.poll() is None:
        time.sleep(0.05)
    for _ in range(5):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.02)
    _, stderr = process.communicate()
    assert (process.returncode, said(stderr)) == (130, [f"{KEPT}; {EARLIER}"]), stderr
    assert "Traceback" not in stderr


@pytest.mark.build
def test_a_worker_that_dies_leaves_its_cell_open_and_the_others_stand() -> None:
    process = started(DIES)
    _, stderr = process.communicate()
    assert (process.returncode, said(stderr)) == (1, []), stderr
    cells = json.loads(Path("out/report.json").read_text())["cells"]
    assert [cell["verdict"] for cell in cells] == ["violated", "holds", "inconclusive"]
    assert cells[2]["unmeasured"] == [DIED]


@pytest.mark.build
def test_a_violation_stays_though_its_worker_dies_after_it_was_shown() -> None:
    Path("late.py").write_text(LATE)
    sweep = {"protocol": [{"name": "plain"}, {"name": "late:Late"}]}
    cell = secmix.audit(tomllib.loads(SCENARIO) | {"sweep": sweep}, workers=2, allow_code=True).cells[1]
    assert (cell.verdict, [node.standing for node in cell.nodes]) == ("violated", ["revealed"] * 4)
    assert cell.unmeasured[-1] == f"the rest: {DIED}"
    assert all(line.endswith(": not reached") for line in cell.unmeasured[:-1])
    assert cell.sentence.endswith(f"Not measured: the rest: {DIED}.")


@pytest.mark.build
def test_a_worker_that_runs_out_of_memory_leaves_one_cell_open_and_the_others_stand() -> None:
    process = started(RUNS_OUT)
    _, stderr = process.communicate()
    assert (process.returncode, said(stderr)) == (1, []), stderr
    cells = json.loads(Path("out/report.json").read_text())["cells"]
    assert [cell["verdict"] for cell in cells] == ["violated", "holds", "inconclusive"]
    assert "for lack of memory; run it again with fewer --workers" in cells[2]["sentence"]


def test_an_interrupt_before_the_command_has_begun_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from secmix import __main__

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("secmix.cli.app.main", interrupted)
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "secmix: interrupted\n"


@pytest.mark.usefixtures("_own_interrupts")
def test_an_interrupt_while_arguments_are_read_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def aborted(standalone_mode: bool) -> None:
        raise typer.Abort  # as typer makes of an interrupt

    monkeypatch.setattr(cli, "app", aborted)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "secmix: interrupted\n"


@pytest.mark.usefixtures("_own_interrupts")
def test_a_second_interrupt_waits_until_the_first_has_been_dealt_with(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now)
    console.interrupt_once()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    now += 60
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_the_status_stays_130_where_the_interrupt_came_in_an_exec() -> None:
    # Python itself ends by the signal then, though it was caught: an import that makes a dataclass is such an exec.
    Path("ends.py").write_text(
        "import os, signal\nfrom secmix.cli.console import end\n"
        "def interrupt():\n    os.kill(os.getpid(), signal.SIGINT)\n    [None for _ in range(1000)]\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n    exec('interrupt()')\nexcept KeyboardInterrupt:\n    end(130)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.getcwd()}"}
    assert subprocess.run([sys.executable, "-m", "ends"], env=environment, check=False).returncode == 130
