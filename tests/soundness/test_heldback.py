"""Protocols that were held back, by proof alone: what is wrong does not hold. A sample, and all of the last hands'."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import secmix
from secmix.kernel import proving

from . import heldback
from .case import SCENARIO, Case
from .pending import BY_PROOF
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
ALL_OF = {name: cases for name, cases in PROTOCOLS.items() if name.partition(": ")[0] in BY_PROOF}


def test_they_are_all_there() -> None:
    assert len(PROTOCOLS) == 854
    assert {case.truth for cases in PROTOCOLS.values() for case in cases.values()} == {"safe", "leaks"}


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in ALL_OF][::EACH])
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


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ALL_OF)
def test_all_of_the_last_hands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ((who, case),) = ALL_OF[name].items()
    if getattr(case.protocol, "large", False):
        monkeypatch.setattr(proving, "_LARGE", 0)
    with without_accusers():
        report = secmix.audit(
            {**SCENARIO, **case.settings}, protocols={name: case.protocol()}, adversaries={who: case.adversary}
        )
    verdict = report.cells[0].verdict
    hand, _, protocol = name.partition(": ")
    if protocol in BY_PROOF[hand]:
        assert verdict == BY_PROOF[hand][protocol], f"'{name}' is now {verdict}: correct the list of its hand"
    else:
        assert (verdict == "holds") == (case.truth == "safe"), f"{verdict}, while it {case.truth}: {case.why}"


def test_what_is_pending_is_of_these_hands() -> None:
    assert {f"{hand}: {name}" for hand, several in BY_PROOF.items() for name in several} <= set(ALL_OF)
