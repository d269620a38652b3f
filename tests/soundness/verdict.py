"""What an audit says of a case, and whether that is true."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.auditing.evidence import interface
from secmix.errors import SecmixError

from .case import Case
from .deployment import deploy


@dataclass(frozen=True)
class Outcome:
    """The audit's verdict of a case and its first reason."""

    case: Case
    verdict: str
    reason: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the verdict is true: no leak is cleared, nothing safe is accused."""
        if self.case.truth == "leaks":
            return self.verdict in ("violated", "inconclusive", "refused")
        return self.verdict == "holds" or bool(self.case.undecided and self.verdict == "inconclusive")


def audited(case: Case, *, seed: int = 0) -> Outcome:
    """Audit ``case``. An audit that refuses in words has cleared nothing; any other error is a fault of its own."""
    scenario, protocols, adversaries = case.build()
    begin, threads = time.perf_counter(), set(threading.enumerate())
    try:
        report = secmix.audit(scenario, protocols=protocols, adversaries=adversaries, seed=seed)
    except Exception as error:  # told, and judged by the test
        verdict = "refused" if isinstance(error, SecmixError) else "error"
        return Outcome(case, verdict, f"{type(error).__name__}: {error}", time.perf_counter() - begin)
    finally:  # what they say later is not to be taken for the next case's
        for thread in threading.enumerate():
            if thread not in threads:
                thread.join(5)
        gc.collect(1)
    return Outcome(case, report.verdict, _reason(report, case.node), time.perf_counter() - begin)


@contextmanager
def without_accusers() -> Iterator[None]:
    """Gather only what may clear: evidence that follows from the protocol, or bounds what is known."""
    kept = tuple(
        each if each.exact or each.bounds_leakage else replace(each, gather=lambda case: interface.Gathered())
        for each in interface.installed()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interface, "installed", lambda: kept)
        yield


def _reason(report: Any, node: int) -> str:
    """The first reason for the verdict, of the case's own node if it has it."""
    nodes = [s for cell in report.cells for s in cell.nodes if s.verdict == report.verdict]
    first = next((s for s in nodes if s.node == node), nodes[0] if nodes else None)
    return report.sentence if first is None else f"{first.standing}: {first.why}"


@dataclass(frozen=True)
class Shown:
    """What an attack got: in which share of the calls it claims something, and how good that is.

    ``score`` is the largest error in standard deviations, the share of right bits, or the explained variance.
    """

    claimed: float
    score: float
    chance: float
    success: bool


def shown(case: Case) -> Shown:
    """Run the attack of a wrong case, and compare with the truth."""
    assert case.attack is not None
    assert case.secret is not None
    heard, truth = zip(*deploy(case), strict=True)
    secrets = np.stack([np.asarray(case.secret(one), dtype=float) for one in truth]).reshape(len(truth), -1)
    guesses = np.asarray(case.attack(heard), dtype=float).reshape(secrets.shape)
    if case.relative:
        secrets, guesses = secrets[1:] - secrets[0], guesses[1:] - guesses[0]
    made = np.isfinite(guesses)
    claimed = float(made.any(axis=1).mean())
    enough = made.any() and claimed >= case.claims
    if not enough:
        return Shown(claimed, np.nan, np.nan, False)
    off = (guesses - secrets)[made]
    if case.goal == "bits":
        right, ones = float((off == 0).mean()), float(secrets.mean())
        chance = max(ones, 1 - ones)
        return Shown(claimed, right, chance, right >= 0.95 and chance <= 0.85)
    spread = np.broadcast_to(secrets.std(axis=0), secrets.shape)[made]
    if case.goal == "share":
        left = ((guesses - secrets) ** 2).mean(axis=0) / secrets.var(axis=0)
        share = float(1 - np.median(left))
        limit = case.build()[0]["policy"]["max_normalised_leakage"]
        return Shown(claimed, share, limit, share > limit)
    error = float(np.abs(off / np.where(spread > 0, spread, 1.0)).max())
    return Shown(claimed, error, 1.0, error <= case.accuracy)
