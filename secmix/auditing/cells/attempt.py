"""Do one part of an audit, of which neither a failure nor want of time undoes what was shown before."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from secmix.auditing.evidence.interface import CellContext
from secmix.errors import SecmixError
from secmix.kernel.state import is_protocol

T = TypeVar("T")

_PACKAGE = str(Path(__file__).parents[2])
LATE = "the time limit had passed"


def attempted(
    case: CellContext, what: str, do: Callable[[], T], *, failed_matters: bool = True, late_matters: bool = True
) -> T | None:
    """Return what ``do`` returns; where it fails, or the case's time is up, note why and return None.

    What fails or is left out for time keeps every node from being cleared where that ``matters``.
    """
    if time.time() > case.deadline:
        case.unmeasured[f"{what}: {LATE}"] = late_matters
        return None
    try:
        return do()
    except BaseException as error:
        case.unmeasured[f"{what}: {why_failed(error)}"] = failed_matters
        return None


def why_failed(error: BaseException) -> str:
    """Say why something failed; an interrupt is raised again.

    The message of an error that is not ours may hold private values: only its kind is reported.
    """
    if isinstance(error, KeyboardInterrupt):
        raise error
    if isinstance(error, SecmixError):
        return str(error)
    if isinstance(error, MemoryError):
        return "it ran out of memory"
    return f"it failed with {type(error).__name__}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Say at which line of the user's code an error arose; nothing where it is not theirs."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_protocol(frame.filename) and not frame.filename.startswith(_PACKAGE)]
    return f" at {os.path.basename(own[-1].filename)}, line {own[-1].lineno}" if own else ""


def in_doubt(case: CellContext) -> list[str]:
    """Return what was not measured and might have spoken against a clearance, in words."""
    return [f"not measured: {what}" for what, needed in case.unmeasured.items() if needed]
