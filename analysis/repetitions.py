"""Repetitions of a long study: those made already are kept in a file, so that an interrupted study goes on from them.

What stands in the file counts only for the same sources of secmix and of the study, and the same setting: a repetition
of other code is made anew, never mixed in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from analysis.study import ROOT
from secmix.errors import SecmixError

FOLDER = ".repetitions"


@dataclass(frozen=True)
class Repetitions:
    """How the repetitions of a study are made: its package under analysis/, where they are kept, in how many processes.

    Without a folder nothing is kept.
    """

    study: str
    folder: Path | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise SecmixError(f"--workers must be at least 1; given {self.workers}")

    def __call__(self, name: str, setting: object, count: int, make: Callable[[int], Any]) -> list[Any]:
        """``make(i)`` for i = 0 .. count − 1, each as JSON gives it back; those that are kept are not made.

        ``make(i)`` hangs on i alone, so that more repetitions later leave the first as they were. It is pickled where
        there is more than one process.
        """
        path = None if self.folder is None else self.folder / FOLDER / f"{name}.jsonl"
        done = {} if path is None else _kept(path, {"sources": _sources(self.study), "setting": repr(setting)})
        missing = [i for i in range(count) if i not in done]
        start = time.perf_counter()
        for at, (i, value) in enumerate(self._made(make, missing), start=1):
            done[i] = json.loads(json.dumps(value))
            if path is not None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([i, done[i]]) + "\n")
            left = (time.perf_counter() - start) / at * (len(missing) - at)
            print(f"{name}: {len(done)} of {count}, {left:.0f} s left", file=sys.stderr, flush=True)
        return [done[i] for i in range(count)]

    def _made(self, make: Callable[[int], Any], missing: list[int]) -> Iterator[tuple[int, Any]]:
        """Each repetition as it is ready."""
        if self.workers == 1 or len(missing) < 2:
            yield from ((i, make(i)) for i in missing)
            return
        context = multiprocessing.get_context("spawn")
        begin = (sys.path, make)
        with ProcessPoolExecutor(self.workers, mp_context=context, initializer=_begin, initargs=begin) as pool:
            running = {pool.submit(_one, i): i for i in missing}
            try:
                for each in as_completed(running):
                    yield running[each], each.result()
            finally:  # an error is told at once, and does not wait for all that are left
                pool.shutdown(cancel_futures=True)


def stream(place: Sequence[int], i: int) -> np.random.Generator:
    """The generator of repetition i: the same one however many repetitions there are."""
    return np.random.default_rng(np.random.SeedSequence(place, spawn_key=(i,)))


def processes(parser: argparse.ArgumentParser) -> None:
    """The option of a study whose repetitions can be shared; their number changes the time alone."""
    parser.add_argument("--workers", type=int, default=1, help="processes that share the repetitions (1)")


_make: list[Callable[[int], Any]] = []


def _begin(path: list[str], make: Callable[[int], Any]) -> None:
    """What a process is given once, since ``make`` may hold the data; one thread each."""
    sys.path[:] = path
    threadpool_limits(1)
    _make[:] = [make]


def _one(i: int) -> Any:
    return _make[0](i)


def _kept(path: Path, header: dict[str, str]) -> dict[int, Any]:
    """The repetitions in the file; a file of other sources or another setting is begun anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    done: dict[int, Any] = {}
    if lines and lines[0] == json.dumps(header):
        for line in lines[1:]:
            try:
                i, value = json.loads(line)
            except ValueError:  # cut off while it was written
                continue
            done[i] = value
    lines = [json.dumps(header), *(json.dumps([i, value]) for i, value in done.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return done


def _sources(study: str) -> str:
    digest = hashlib.sha256()
    for folder in (ROOT / "secmix", ROOT / "analysis" / study):
        for path in sorted(folder.rglob("*.py")):
            if not path.name.startswith(("report", "figures")):  # they only write what was found
                digest.update(path.read_bytes())
    return digest.hexdigest()
