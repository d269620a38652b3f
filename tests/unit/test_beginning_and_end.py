"""How the command begins and ends: with what workers need at hand, and at once, but not before all is done."""

import gc
import subprocess
import sys

import pytest

from secmix.auditing.engine import processes


def ended(body: str) -> subprocess.CompletedProcess[str]:
    """A process that does ``body`` and is ended with status 3."""
    script = f"from secmix._front.console import end\n{body}\nend(3)\n"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("print('out', end='')", "out"),
        ("import atexit; atexit.register(print, 'registered')", "registered\n"),
        ("import threading; threading.Timer(0.3, print, ['a thread']).start()", "a thread\n"),
    ],
    ids=["what was printed", "what was registered", "a thread that goes on"],
)
def test_nothing_is_lost_at_the_end(body, says):
    done = ended(body)
    assert (done.returncode, done.stdout, done.stderr) == (3, says, "")


def test_a_profile_is_written_at_the_end(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from secmix._front.console import end\nend(0)\n")
    line = [sys.executable, "-m", "cProfile", "-o", str(tmp_path / "profile"), str(script)]
    assert subprocess.run(line, timeout=300, check=False).returncode == 0
    assert (tmp_path / "profile").stat().st_size > 0


def test_workers_find_numba_ready_and_the_collector_at_work():
    script = (
        "import gc, sys\n"
        f"import {processes._PRELOADED}\n"
        "from secmix.estimators.neighbours.scan import _scan\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 10_000, len(_scan.signatures))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split() == ["True", "True", "1"]


def test_importing_collects_nothing_and_goes_on_collecting_after_an_error():
    collecting = []

    def fails():
        with processes.importing():
            collecting.append(gc.isenabled())
            raise ImportError

    with pytest.raises(ImportError):
        fails()
    assert (collecting, gc.isenabled()) == ([False], True)
    gc.unfreeze()
