"""Who alone convicts in the corpus of protocols of known truth: every accuser is asked, whatever others found.

An audit ends its search where it has found something, and spares nodes that are settled. Here each accuser looks at all
nodes by itself, in one audit a case.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # the corpus is a part of the tests

from soundness.case import Case as Protocol
from soundness.corpus import WRONG

import secmix
from analysis.study import Numbers
from secmix.auditing import decide
from secmix.auditing.counterexamples import evidence as counterexamples
from secmix.auditing.evidence import interface
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered
from secmix.auditing.report import Finding
from secmix.errors import SecmixError

EVIDENCE = ("structure", "gaussian", "encoding", "decoders", "ksg", "inversion", "reconstruction")
"""What is gathered of every case; of collaborations the lower bound on information too, which takes seconds a node."""
_LOOKS = (
    "sealed words",
    "masks taken off",
    "sent as it is",
    "other iterations",
    "special inputs",
    "calls in long use",
)
"""The searches for counterexamples, in their order; the last, by decoders, is asked twice."""


def selected(every: int) -> list[Protocol]:
    """Return every so-manieth wrong case, and the first of each class."""
    first = {case.family: case for case in reversed(WRONG)}
    return [case for i, case in enumerate(WRONG) if not i % every or case is first[case.family]]


def convicting(every: int, seed: int, i: int) -> Numbers:
    """Audit the i-th of the selected cases, and say who convicts."""
    case = selected(every)[i]
    scenario, protocols, adversaries = case.build()
    slow = ["information"] if "model" not in scenario else []
    scenario = {**scenario, "measure": {**scenario["measure"], "evidence": [*EVIDENCE, *slow]}}
    convict: set[str] = set()
    about: Numbers = {"case": case.name, "class": case.family}
    with warnings.catch_warnings(), _all_asked(convict), patch.object(decide, "decides", lambda *_: False):
        warnings.simplefilter("ignore")
        try:
            report = secmix.audit(scenario, protocols=protocols, adversaries=adversaries, seed=seed)
        except Exception as error:  # a stranger's protocol; an audit that ends so has cleared nothing
            said = "refused" if isinstance(error, SecmixError) else "error"
            return about | {"verdict": said, "convict": [], "gathered": [], "failed": []}
    convict |= {f.evidence for f in report.findings if f.verdict == "violated" and f.evidence != "counterexample"}
    gathered = sorted({finding.evidence for finding in report.findings})
    failed = [words for cell in report.cells for words in cell.unmeasured]
    return about | {"verdict": report.verdict, "convict": sorted(convict), "gathered": gathered, "failed": failed}


@contextmanager
def _all_asked(convict: set[str]) -> Iterator[None]:
    """Run every search for counterexamples; those that convict are added to ``convict``."""

    def gather(case: CellContext) -> Gathered:
        found, missed = [], []
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for name, look in _named(case):
                try:
                    told = look()
                except (ArithmeticError, ValueError, np.linalg.LinAlgError, SecmixError) as error:
                    missed.append(f"{name}, {type(error).__name__}: {error}")
                    continue
                found += told
                if any(_convicts(finding, case) for finding in told):
                    convict.add(name)
        return Gathered(found, missed=tuple(missed))

    kept: tuple[Evidence, ...] = tuple(
        replace(each, gather=gather) if each.name == "counterexample" else each for each in interface.installed()
    )
    with patch.object(interface, "installed", lambda: kept):
        yield


def _named(case: CellContext) -> Iterator[tuple[str, Any]]:
    """Yield the looks with their names; where nothing is asked there are fewer."""
    looks = list(counterexamples._decoders(case, []))
    yield from zip(_LOOKS, looks[:-1], strict=False)
    if len(looks) > len(_LOOKS):
        yield "frames", _only(looks[-1], "number_features")
        yield "readings of numbers", _only(looks[-1], "metadata_features")


def _only(look: Any, other: str) -> Any:
    def asked() -> Any:
        with patch.object(counterexamples, other, lambda *_: []):
            return look()

    return asked


def _convicts(finding: Finding, case: CellContext) -> bool:
    policy = case.cell.policy
    by_leakage = decide.of_leakage(finding, policy).verdict == "violated"
    return by_leakage or (policy.max_revealed_nodes is not None and decide.is_revealed(finding))
