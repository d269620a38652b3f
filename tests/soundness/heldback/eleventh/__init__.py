"""A hundred and thirteen protocols of an eleventh hand, who had read the documentation alone: R are right, W wrong.

Of each class ``audited`` says before whom: the server, an eavesdropper, or nodes by number; what is wrong says why.
"""

from __future__ import annotations

from typing import Any

from ...case import Case
from ..audited import adversary, classes_in
from . import keys, lasting, more, numbers, scales, sessions, shares, slips, styles, types


def _case(kind: Any) -> Case:
    who = kind.audited["a"]
    network = {"kind": kind.audited.get("kind", "complete"), "nodes": kind.audited.get("n", 4)}
    why = (kind.__doc__ or "").split("\n")[0]
    truth = "safe" if kind.__name__.startswith("R") else "leaks"
    name = f"{kind.__name__.replace('_', ' ')}: {who}"
    return Case(name, "held back", kind, adversary(who), why, truth, settings={"network": network})  # type: ignore[arg-type]


_FILES = (keys, shares, styles, numbers, more, types, slips, sessions, lasting, scales)
CASES = [_case(kind) for kind in classes_in(_FILES)]
