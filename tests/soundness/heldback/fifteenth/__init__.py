"""Protocols of a fifteenth hand, who had read the kernel and looked for what it looks past: R are right, W wrong.

Of each class ``audited`` says before whom, as ``truth.py`` names adversaries, and which settings it has
of its own. The docstring of a wrong one says what leaks, to whom and when; it was written before the audit.
"""

from __future__ import annotations

from typing import Any

from ...case import Case
from ..truth import ADVERSARIES
from . import aliases, casts, folds, fresh, journal, lengths, masks, more, numbers, pinned, right, rounds, sizes, slips

_SETTINGS: dict[str, Any] = {
    "data": {"name": "wine", "features": 2, "rows_per_node": 20},
    "measure": {"evidence": ["structure", "gaussian"]},
}


def _cases(module: Any) -> list[Case]:
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [_case(each) for each in own if hasattr(each, "audited") and each.__name__[:1] in "RW"]


def _case(kind: Any) -> Case:
    who, name = kind.audited["a"], kind.__name__
    network = {"kind": kind.audited.get("kind", "complete"), "nodes": kind.audited["n"]}
    settings = {"network": network, **_SETTINGS, **kind.audited.get("settings", {})}
    why = " ".join((kind.__doc__ or "").split())
    return Case(
        f"{name}: {who}",
        "held back",
        kind,
        ADVERSARIES[who],
        why,
        "safe" if name.startswith("R") else "leaks",
        settings=settings,
    )


_FILES = (rounds, folds, fresh, aliases, sizes, casts, more, journal, pinned, masks, lengths, numbers, slips, right)
CASES = [case for module in _FILES for case in _cases(module)]
