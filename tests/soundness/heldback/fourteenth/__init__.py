"""Protocols of a fourteenth hand, who had read the kernel and looked for what it looks past: R are right, W wrong.

Of each class ``audited`` says before whom: the server, an eavesdropper, or nodes by number, and which settings it has
of its own; ``large`` are for the way that proofs of large protocols go, whatever their size.
"""

from __future__ import annotations

from typing import Any

from ...case import Case
from ..eleventh import _adversary
from . import batches, columns, idioms, kinds, large, more, others, right, turns, weights

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
        _adversary(who),
        why,
        "safe" if name.startswith("R") else "leaks",
        settings=settings,
    )


_FILES = (kinds, turns, large, weights, columns, batches, others, right, more, idioms)
CASES = [case for module in _FILES for case in _cases(module)]
