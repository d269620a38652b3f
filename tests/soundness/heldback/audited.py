"""Make cases of classes that say themselves before whom they are audited: R are right, W wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from ..case import Case
from .truth import ADVERSARIES

_SETTINGS: dict[str, Any] = {
    "data": {"name": "wine", "features": 2, "rows_per_node": 20},
    "measure": {"evidence": ["structure", "gaussian"]},
}


def adversary(who: str) -> Any:
    """Return the adversary of a name: one of ``truth.py``, or nodes by number, with the server or without."""
    if who in ADVERSARIES:
        return ADVERSARIES[who]
    if who == "eaves":
        return Eavesdropper()
    first, *others = who.split("+")
    nodes = {int(node) for node in (others if first == "server" else (first, *others))}
    return CuriousServer(corrupt=sorted(nodes)) if first == "server" else HonestButCurious(nodes)


def classes_in(modules: Iterable[ModuleType]) -> Iterator[Any]:
    """Yield the audited classes of some modules, in order."""
    for module in modules:
        own = (each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__)
        yield from (each for each in own if hasattr(each, "audited") and each.__name__[:1] in "RW")


def cases_in(modules: Iterable[ModuleType]) -> list[Case]:
    """Return the cases of some modules; the docstring of a class says why."""
    return [_case(kind) for kind in classes_in(modules)]


def _case(kind: Any) -> Case:
    who, name = kind.audited["a"], kind.__name__
    network = {"kind": kind.audited.get("kind", "complete"), "nodes": kind.audited["n"]}
    settings = {"network": network, **_SETTINGS, **kind.audited.get("settings", {})}
    why = " ".join((kind.__doc__ or "").split())
    truth = "safe" if name.startswith("R") else "leaks"
    return Case(f"{name}: {who}", "held back", kind, adversary(who), why, truth, settings=settings)  # type: ignore[arg-type]
