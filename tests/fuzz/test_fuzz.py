"""Mutated scenarios end in a verdict or in one clear line, soon, and leave nothing half-made behind.

200 of them in a normal run. By hand, as many as you like: ``SECMIX_FUZZ=10000 pytest tests/fuzz``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from secmix.cli.app import app
from secmix.errors import UNSEEN

pytestmark = pytest.mark.build

CASES = int(os.environ.get("SECMIX_FUZZ", "200"))
BATCH = 25
LIMIT = 60.0  # seconds of the processor: a machine that others keep busy is no fault of ours
WAIT = 300.0  # seconds on the clock: who waits for a pipe uses none of the processor

# What Python says of itself; it tells a user nothing.
PYTHONS_WORDS = re.compile(
    r"Traceback|object is not|has no attribute|unsupported operand|NoneType|positional argument|keyword argument|"
    r"invalid literal|codec can't|out of range|unhashable|not subscriptable|cannot unpack|must be str|\[Errno|"
    r"could not convert|broadcast|truth value|adversarie\b|known: *$"
)


def _mutants() -> ModuleType:
    place = Path(__file__).with_name("mutants.py")
    made = importlib.util.spec_from_file_location("secmix_mutants", place)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


mutants = _mutants()


class TooLong(BaseException):
    """Not an Exception, so that nobody takes it for a part's own."""


@contextmanager
def _limited() -> Iterator[list[float]]:
    """Raises after ``LIMIT`` seconds, and notes that it did: whatever catches it cannot hide it."""
    rang: list[float] = []

    def ring(*_: object) -> None:
        rang.append(time.monotonic())
        raise TooLong

    timers = {signal.SIGALRM: (signal.ITIMER_REAL, WAIT), signal.SIGPROF: (signal.ITIMER_PROF, LIMIT)}
    before = {kind: signal.signal(kind, ring) for kind in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield rang
    except TooLong:
        pass
    finally:
        for kind, (timer, _) in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(kind, before[kind])


@pytest.fixture
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the mutants name."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b,c\n" + "".join(f"{i % 7},{i % 5}.5,{i}\n" for i in range(40)))
    gaps = "".join(
        f"{'NA' if i == 3 else i % 7},5;{999 if i == 5 else i % 4 + i / 64};{i};\xe9\n".replace(".", ",")
        for i in range(40)
    )
    Path("gaps.csv").write_bytes(f"a;b;c;who\n{gaps}".encode("cp1252"))
    Path("headerless.csv").write_text("5.25,3.5\n4.75,3.25\n")
    Path("binary.csv").write_bytes(bytes(range(256)) * 4)
    Path("folder.csv").mkdir()
    os.mkfifo("pipe.csv")


def faults(seed: int) -> tuple[int, list[str]]:
    """Exit status of one mutant, and what is wrong with how it ended."""
    text = mutants.mutant(seed)
    scenario, out = Path(f"case-{seed}.toml"), Path(f"audit-{seed}")
    scenario.write_bytes(text.encode("utf-8", "surrogatepass"))
    wrong = []
    with _limited() as rang, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a user's terminal shows them; here they would be errors
        result = None
        result = CliRunner().invoke(
            app, ["audit", str(scenario), "--out", str(out), "--workers", "1", "--format", "json"]
        )
    scenario.unlink()
    if rang or result is None:
        return -1, [f"ran for more than {LIMIT:.0f} s, or hung for {WAIT:.0f}"]
    said = [line for line in result.stderr.splitlines() if not re.match(r"secmix: \d+ of \d+ done", line)]
    if result.exit_code not in (0, 1, 2, 3):
        wrong.append(f"status {result.exit_code}: {said}")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        wrong.append(f"traceback: {result.exception!r}")
    if result.exit_code == 2:
        if len(said) != 1 or not said[0].startswith("secmix: "):
            wrong.append(f"not one line: {said}")
        if out.exists():
            wrong.append("a folder is left behind")
    for line in said:
        if len(line) > 300:
            wrong.append(f"{len(line)} characters: {line}")
        if UNSEEN.search(line):
            wrong.append(f"control characters: {line!r}")
        if PYTHONS_WORDS.search(line):
            wrong.append(f"Python's own words: {line}")
    if out.exists() and not any(out.iterdir()):
        wrong.append("an empty folder is left behind")
    return result.exit_code, wrong


@pytest.mark.usefixtures("_surroundings")
@pytest.mark.parametrize("first", range(0, CASES, BATCH))
def test_mutated_scenarios_end_well(first: int) -> None:
    ended: Counter[int] = Counter()
    bad = {}
    for seed in range(first, min(first + BATCH, CASES)):
        status, wrong = faults(seed)
        ended[status] += 1
        if wrong:
            bad[seed] = wrong
    assert not bad, bad
    assert ended[2] >= 5  # else they are too tame to find anything
