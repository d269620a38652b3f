"""A hundred and thirteen protocols of an eleventh hand, who had read the documentation alone: R are right, W wrong.

Of each class ``audited`` says before whom: the server, an eavesdropper, or nodes by number; what is wrong says why.
"""

from __future__ import annotations

from typing import Any

from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ...case import Case
from . import keys, lasting, more, numbers, scales, sessions, shares, slips, styles, types


def _adversary(who: str) -> Any:
    if who == "eaves":
        return Eavesdropper()
    first, *others = who.split("+")
    nodes = {int(node) for node in (others if first == "server" else (first, *others))}
    return CuriousServer(corrupt=sorted(nodes)) if first == "server" else HonestButCurious(nodes)


def _cases(module: Any) -> list[Case]:
    own = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [_case(each) for each in own if hasattr(each, "audited") and each.__name__[:1] in "RW"]


def _case(kind: Any) -> Case:
    who = kind.audited["a"]
    network = {"kind": kind.audited.get("kind", "complete"), "nodes": kind.audited.get("n", 4)}
    why = (kind.__doc__ or "").split("\n")[0]
    truth = "safe" if kind.__name__.startswith("R") else "leaks"
    name = f"{kind.__name__.replace('_', ' ')}: {who}"
    return Case(name, "held back", kind, _adversary(who), why, truth, settings={"network": network})  # type: ignore[arg-type]


_FILES = (keys, shares, styles, numbers, more, types, slips, sessions, lasting, scales)
CASES = [case for module in _FILES for case in _cases(module)]
