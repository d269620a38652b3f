"""What the studies share: their command line, where they look for data, and how they write what they found."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from secmix import __version__ as SECMIX
from secmix.errors import SecmixError

ROOT = Path(__file__).resolve().parents[1]
Numbers = dict[str, Any]
TIMES = "seconds.json"


def options(about: str, report: str) -> argparse.ArgumentParser:
    """The options of every study; a study adds its own. ``report`` is its folder under reports/."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / report, help="folder for the report")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="small settings, to see that it works")
    return parser


def provenance(
    call: str,
    seed: int,
    quick: bool,
    libraries: Sequence[str] = ("numpy", "scipy", "scikit-learn", "matplotlib"),
) -> Numbers:
    """The command that gives the same numbers again, and the versions it ran with; a seed below 0 is refused."""
    if seed < 0:
        raise SecmixError(f"--seed must be at least 0; given {seed}")
    return {
        "command": f"python -m analysis.{call} --seed {seed}" + (" --quick" if quick else ""),
        "versions": {"Python": platform.python_version(), "secmix": SECMIX} | {n: version(n) for n in libraries},
    }


def mean_and_half_width(values: Sequence[float]) -> list[float]:
    """Mean and half the width of its 95 % interval (Student's t)."""
    found = np.asarray(values, dtype=float)
    if len(found) < 2:
        return [float(found.mean()), float("inf")]
    half = float(student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return [float(found.mean()), half]


def summary(values: Any) -> Numbers:
    """Mean and standard error over the repeats: the last axis of a table, the first of a list of scores."""
    table = np.asarray(values, dtype=np.float64)
    axis = 0 if isinstance(values, list) else -1
    count = table.shape[axis]
    error = table.std(axis=axis, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(table.mean(axis=axis).shape)
    return {"mean": table.mean(axis=axis).tolist(), "error": error.tolist()}


def data_folders(given: Path | None = None) -> list[Path]:
    """Where data files may lie: in the folder given, in that of SECMIX_DATA, and beside the repository."""
    named = os.environ.get("SECMIX_DATA")
    return [*([given] if given else []), *([Path(named)] if named else []), ROOT.parent / "shared" / "data"]


def find_data(name: str) -> Path | None:
    """The data file where this project keeps it, or None: loaders then download it."""
    return next((folder / name for folder in data_folders() if (folder / name).is_file()), None)


def run_parts(
    out: Path,
    numbers: Numbers,
    parts: dict[str, Callable[[], Any]],
    only: Sequence[str] | None = None,
    *,
    sort_keys: bool = True,
) -> Numbers:
    """``numbers`` with every part; with ``only``, those named are made anew and the others kept from ``out``.

    Only what the same command wrote with the same versions is kept, so that the file is that of one whole run. Each
    part is written as soon as it is there: a study that was interrupted goes on with the parts that are missing. What
    a part took is kept beside it, in a file of its own, since it is not the same twice.
    """
    path = out / "numbers.json"
    earlier: Numbers = {}
    if only is not None and path.is_file():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if any(earlier.get(key) != numbers[key] for key in ("command", "versions")):
            earlier = {}
    found = numbers | {name: earlier[name] for name in parts if name in earlier}
    took = {name: seconds for name, seconds in _took(out).items() if name in earlier}
    for name in (name for name in parts if only is None or name in only):
        print(f"{name} ...", file=sys.stderr, flush=True)
        start = _spent()
        found[name] = parts[name]()
        took[name] = round(_spent() - start, 1)
        if only is not None:
            out.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps(found, sort_keys=sort_keys, allow_nan=False, ensure_ascii=False), encoding="utf-8"
            )
            _note(out, took)
    if only is None:
        _note(out, took)
    return found


def _note(out: Path, took: dict[str, float]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / TIMES).write_text(json.dumps(took, indent=1) + "\n", encoding="utf-8")


def _spent() -> float:
    """Processor seconds of this process and of those it has waited for."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def _took(out: Path) -> dict[str, float]:
    path = out / TIMES
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _how_long(out: Path) -> str:
    """What the parts took when each was made last, in a sentence; empty where that was not noted."""
    took = _took(out)
    each = ", ".join(f"{name} {_minutes(seconds)}" for name, seconds in took.items())
    total = f"It took {_minutes(sum(took.values()))} of processor time"
    return f"\n\n{total}{f' ({each})' if len(took) > 1 else ''}.\n" if took else ""


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def write(out: Path, numbers: Numbers, text: str, *, indent: int | None = 1, sort_keys: bool = True) -> None:
    """``numbers.json`` and ``README.md``, in a folder that is made where there is none; at the end, what it took."""
    out.mkdir(parents=True, exist_ok=True)
    packed = json.dumps(numbers, indent=indent, sort_keys=sort_keys, allow_nan=False, ensure_ascii=False)
    (out / "numbers.json").write_text(packed + "\n", encoding="utf-8")
    (out / "README.md").write_text(text.rstrip() + (_how_long(out) or "\n"), encoding="utf-8")
