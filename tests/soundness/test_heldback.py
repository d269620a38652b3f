"""A sample of the protocols that were held back, by proof alone: what is wrong does not hold."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import secmix

from . import heldback
from .case import SCENARIO, Case
from .verdict import without_accusers

pytestmark = pytest.mark.soundness
EACH = 12


def _protocols() -> dict[str, dict[str, Case]]:
    """Return the cases of each protocol by adversary."""
    by_protocol: dict[str, dict[str, Case]] = {}
    for module in pkgutil.iter_modules(heldback.__path__):
        cases = getattr(importlib.import_module(f"{heldback.__name__}.{module.name}"), "CASES", ())
        for case in cases if module.name != "__main__" else ():
            protocol, who = case.name.rsplit(": ", 1)
            by_protocol.setdefault(f"{module.name}: {protocol}", {})[who] = case
    return by_protocol


PROTOCOLS = _protocols()


def test_they_are_all_there() -> None:
    assert len(PROTOCOLS) == 357
    assert {case.truth for cases in PROTOCOLS.values() for case in cases.values()} == {"safe", "leaks"}


@pytest.mark.parametrize("name", [*PROTOCOLS][::EACH])
def test_what_is_wrong_does_not_hold(name: str) -> None:
    cases = PROTOCOLS[name]
    first = next(iter(cases.values()))
    with without_accusers():
        report = secmix.audit(
            {**SCENARIO, **first.settings},
            protocols={name: first.protocol()},
            adversaries={who: case.adversary for who, case in cases.items()},
        )
    wrong = [cell.adversary for cell in report.cells if cases[cell.adversary].truth == "leaks"]
    held = [cell.adversary for cell in report.cells if cell.verdict == "holds"]
    assert not {*wrong} & {*held}
