"""Repetitions of a long study: those made already are kept in a file, so that an interrupted study goes on from them.

What stands in the file counts only for the same sources of secmix and of the study, and the same setting: a repetition
of other code is made anew, never mixed in.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.study import ROOT

FOLDER = ".repetitions"


def repeated(
    folder: Path | None, name: str, setting: object, count: int, make: Callable[[int], Any], *, study: str
) -> list[Any]:
    """``make(i)`` for i = 0 .. count − 1, each as JSON gives it back; those in the file of ``folder`` are not made.

    ``make(i)`` hangs on i alone, so that more repetitions later leave the first as they were. ``study`` is its package
    under analysis/. Without a folder nothing is kept.
    """
    path = None if folder is None else folder / FOLDER / f"{name}.jsonl"
    header = {"sources": _sources(study), "setting": repr(setting)}
    done = {} if path is None else _kept(path, header)
    missing = [i for i in range(count) if i not in done]
    start = time.process_time()
    for at, i in enumerate(missing, start=1):
        done[i] = json.loads(json.dumps(make(i)))
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([i, done[i]]) + "\n")
        left = (time.process_time() - start) / at * (len(missing) - at)
        print(f"{name}: {i + 1} of {count}, {left:.0f} s of CPU left", file=sys.stderr, flush=True)
    return [done[i] for i in range(count)]


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
    whole = [json.dumps(header), *(json.dumps([i, value]) for i, value in done.items())]
    path.write_text("\n".join(whole) + "\n", encoding="utf-8")
    return done


def _sources(study: str) -> str:
    digest = hashlib.sha256()
    for folder in (ROOT / "secmix", ROOT / "analysis" / study):
        for path in sorted(folder.rglob("*.py")):
            if not path.name.startswith(("report", "figures")):  # they only write what was found
                digest.update(path.read_bytes())
    return digest.hexdigest()
