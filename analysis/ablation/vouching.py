"""What makes KSG doubt its number, switched off in turn: which readings it then vouches for wrongly, which it gains.

A reading is vouched for where it is *resolved* or *determined*. One safeguard at a time is switched off in the code
that runs; a reading is made again where that can change it, which the doubts of the reading with all of them tell.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np

from analysis.ablation.cases import cases
from analysis.information.run import Job, drawn, jobs_of
from analysis.information.tasks import Array
from analysis.study import Numbers
from secmix.estimators import Estimate, information_lower_bound, ksg
from secmix.estimators.ksg_estimator import estimator, invariance
from secmix.estimators.ksg_estimator.levels import Levels
from secmix.estimators.ksg_estimator.nearness import Nearness

_SAID = "at least this much: "
_PARTS = ("peers", "draws", "own", "again", "independent")
_MOST_ROWS = 2000
_REPLAYS = 2  # of each case of the tests, at most


@dataclass(frozen=True)
class Safeguard:
    """One reason to doubt a number, or one part of its interval.

    Attributes
    ----------
    file : str
        Where it stands, below secmix/estimators/ksg_estimator.
    words : tuple of str
        What its doubts say; empty where it has none.
    off : function
        Switches it off as long as what it returns is open.
    widens : bool
        Whether the interval of a number that is vouched for depends on it, or whether it excuses a doubt.
    """

    file: str
    words: tuple[str, ...]
    off: Callable[[], Any]
    widens: bool = False


@contextmanager
def _without_doubts(words: str) -> Iterator[None]:
    """Drop the doubts that have ``words`` in them."""
    about, of_scales = estimator.unmet_premises, invariance.Scales.unmet

    def kept(doubts: list[str]) -> list[str]:
        return [doubt for doubt in doubts if words not in doubt]

    with (
        patch.object(estimator, "unmet_premises", lambda *given: kept(about(*given))),
        patch.object(invariance.Scales, "unmet", lambda self, error: kept(of_scales(self, error))),
    ):
        yield


def _dropped(file: str, words: str) -> Safeguard:
    return Safeguard(file, (words,), lambda: _without_doubts(words))


def _nothing(owner: Any, name: str, instead: Any) -> Callable[[], Any]:
    return lambda: patch.object(owner, name, instead)


def _still(self: Levels) -> tuple[float, float]:
    """The interval of levels without the way that the reading still has to go."""
    if math.isinf(self.error):
        return -math.inf, math.inf
    return float(self.means[0]) - self.noise, float(self.means[0]) + self.noise


SAFEGUARDS: dict[str, Safeguard] = {
    "a linear function of y": Safeguard(
        "premises.py", ("determined",), _nothing(estimator, "determined", lambda *_: [])
    ),
    "growth with the rows": _dropped("levels.py", "still growing"),
    "rows too few to see growth": _dropped("levels.py", "too few to tell a settled"),
    "the way still to go": Safeguard("levels.py", (), _nothing(Levels, "interval", property(_still)), True),
    "planted information": _dropped("premises.py", "planted in data"),
    "the ceiling of distinct rows": _dropped("premises.py", "distinct rows of x cannot exceed"),
    "growth that fades": Safeguard("fading.py", (), _nothing(estimator, "steps", lambda *_: None), True),
    "lengths": _dropped("invariance.py", "the lengths of x and y alone"),
    "other scales": _dropped("invariance.py", "on other scales of the same data"),
    "a tenth above the largest scale": Safeguard(
        "invariance.py", (), _nothing(invariance.Scales, "high", lambda self, error: -math.inf), True
    ),
    "nearness": Safeguard(
        "nearness.py",
        ("how near x and y are", "rows where x and y are nearest"),
        _nothing(invariance, "nearness", lambda *_: Nearness(0.0, 0.0, 1.0)),
        True,
    ),
    "nearness of few rows": Safeguard(
        "invariance.py", ("rows where x and y are nearest",), _nothing(invariance, "_FEW", -1.0)
    ),
    "copies on a line": Safeguard("copies.py", ("lie on one line",), _nothing(invariance, "on_a_line", lambda *_: 0)),
    "the lower bound": Safeguard(
        "invariance.py",
        ("nats are known by", "nats were found by"),
        _nothing(invariance, "contradicted", lambda *_: []),
    ),
}


def _together(*names: str) -> Safeguard:
    """Return a safeguard that is several at once: each may stand in for another."""
    several = [SAFEGUARDS[name] for name in names]

    @contextmanager
    def off() -> Iterator[None]:
        with ExitStack() as stack:
            for each in several:
                stack.enter_context(each.off())
            yield

    return Safeguard(several[0].file, tuple(words for each in several for words in each.words), off, True)


SAFEGUARDS["other scales, lengths, the tenth and the bound at once"] = _together(
    "other scales", "lengths", "a tenth above the largest scale", "the lower bound"
)


def readings(x: Array, y: Array, bound: Estimate | bool, seed: int) -> dict[str, list[Any]]:
    """Return status and interval of KSG, with all safeguards ("all") and without each that can change them."""

    def read() -> Estimate:
        return ksg(x, y, bound=bound, rng=seed)

    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        if bound is True:  # the same one for all
            known = cache(lambda: information_lower_bound(x, y, rng=seed))
            stack.enter_context(patch.object(invariance, "information_lower_bound", lambda *_, **__: known()))
        whole = read()
        found = {"all": _plain(whole)}
        for name, safeguard in SAFEGUARDS.items():
            if _may_change(whole, safeguard):
                with safeguard.off():
                    found[name] = _plain(read())
    return found


def _may_change(whole: Estimate, safeguard: Safeguard) -> bool:
    doubts = [note[len(_SAID) :] for note in whole.notes if note.startswith(_SAID)]
    if whole.status == "determined":
        return safeguard.words == ("determined",)
    if not doubts:
        return safeguard.widens
    return all(any(words in doubt for words in safeguard.words) for doubt in doubts)


def _plain(found: Estimate) -> list[Any]:
    return [found.status, *(end if math.isfinite(end) else None for end in (found.low, found.high))]


def recorded_bounds(numbers: Numbers, draws: int) -> dict[Job, Estimate]:
    """Return the lower bounds that the study of information has read, of the first ``draws`` draws of each task."""
    empty = information_lower_bound(*np.random.default_rng(0).standard_normal((2, 10)))
    found = {}
    for part in _PARTS:
        cells = [cell for cell in numbers[part] if cell["method"] == "lower bound"]
        # Of the public tasks the first draw stands in one part, and the others in the next.
        most = min(draws, 2) if part == "draws" else draws
        for job, cell in zip(jobs_of()[part], cells, strict=True):
            if job.draw < most and job.rows <= _MOST_ROWS:
                found[job] = replace(empty, value=cell["value"], low=cell["low"])
    return found


def of_study(bounds: dict[Job, Estimate], seed: int, i: int) -> Numbers:
    """Read the i-th draw of the study of information, with the bound that stands there."""
    job, bound = list(bounds.items())[i]
    task, x, y = drawn(job, seed)
    truth = None if math.isinf(task.truth) else task.truth
    about = {"task": task.name, "truth": truth, "rows": job.rows, "part": job.part}
    return about | {"read": readings(x, y, bound, seed + job.draw)}


def of_case(replays: Sequence[tuple[int, int]], seed: int, i: int) -> Numbers:
    """Read the i-th of some draws of the cases of the tests, with a bound where one is asked for."""
    case, draw = replays[i]
    task, rows = _cases()[case]
    x, y = task.draw(np.random.default_rng([seed, 7, case, draw]), rows)
    truth = None if math.isinf(task.truth) else task.truth
    return {"task": task.name, "truth": truth, "rows": rows, "part": "cases", "read": readings(x, y, True, seed + draw)}


@cache
def _cases() -> list[Any]:
    return cases()


def replays(draws: int) -> list[tuple[int, int]]:
    """Return the draws of the cases: which case, and the how manieth."""
    return [(case, draw) for case in range(len(_cases())) for draw in range(min(draws, _REPLAYS))]
