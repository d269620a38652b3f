"""The critics of the lower bound on information, and what keeps it honest, switched off in turn.

All variants of a draw share what is fitted alike: a critic is fitted once, and asked once about the same rows. What
hangs on others, as neighbours do on the variates in which they are counted, is fitted anew.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import t as student

from analysis.information.run import Job, drawn, jobs_of
from analysis.information.tasks import Array, Task
from analysis.study import Numbers
from secmix.estimators import information_lower_bound
from secmix.estimators.information import bound, copula, folds, kernel_cca, near_equality
from secmix.estimators.information.contrast import contrasts
from secmix.estimators.information.critic import Family, Rows, Score
from secmix.estimators.information.stacking import stacking_weights
from secmix.estimators.samples import Floats

_FEW = 400  # rows up to which scores are kept: those of a batch, not of all training rows


class _Memory:
    """Critics that were fitted in one draw, and what they said."""

    def __init__(self) -> None:
        self.fitted: dict[Any, Any] = {}

    def once(self, name: str, fit: Callable[..., Any], sight: Callable[..., bytes]) -> Callable[..., Any]:
        """Return ``fit``, called once where name, rows and what ``sight`` says of its other arguments are the same."""

        def fitted(train: Rows, *given: Any) -> Any:
            key = name, train.x.tobytes(), train.y.tobytes(), sight(train, *given)
            if key not in self.fitted:
                found = fit(train, *given)
                variants = found if isinstance(found, dict) else {"": found}
                kept = {name: _asked(score) if callable(score) else score for name, score in variants.items()}
                self.fitted[key] = kept if isinstance(found, dict) else kept[""]
            return self.fitted[key]

        return fitted

    def family(self, family: Family) -> Family:
        """Return the family, fitted once for the same rows."""
        return replace(family, fit=self.once(family.name, family.fit, lambda *_: b""))


def _asked(score: Score) -> Score:
    """Return ``score`` with what it said of batches kept."""
    known: dict[tuple[bytes, bytes], Floats] = {}

    def ask(x: Floats, y: Floats) -> Floats:
        if len(x) > _FEW:
            return score(x, y)
        key = x.tobytes(), y.tobytes()
        if key not in known:
            known[key] = score(x, y)
        return known[key]

    return ask


@contextmanager
def _remembering() -> Iterator[None]:
    """Fit every critic once for the same rows, as long as this is open."""
    memory = _Memory()
    of_variates = kernel_cca.variates_score
    known: dict[int, tuple[Any, Score]] = {}

    def score(variates: Any) -> Score:
        if id(variates) not in known:
            known[id(variates)] = variates, _asked(of_variates(variates))
        return known[id(variates)][1]

    neighbours = memory.once(
        "neighbours",
        folds.fit_neighbours,
        lambda train, of_x, of_y, rng: of_x(train.x[:9]).tobytes() + of_y(train.y[:9]).tobytes(),
    )
    variates = memory.once(kernel_cca.NAME, kernel_cca.fit_variates, lambda *_: b"")
    with (
        patch.object(copula, "FAMILY", memory.family(copula.FAMILY)),
        patch.object(kernel_cca, "fit_variates", variates),
        patch.object(kernel_cca, "variates_score", score),
        patch.object(folds, "fit_neighbours", neighbours),
        patch.object(near_equality, "FAMILIES", tuple(map(memory.family, near_equality.FAMILIES))),
    ):
        yield


def _no_copula(begin: str = "") -> AbstractContextManager[Any]:
    """Drop the variants of the t-copula whose names begin so."""
    family = copula.FAMILY

    def fit(*given: Any) -> dict[str, Score]:
        return {name: score for name, score in family.fit(*given).items() if not name.startswith(begin)}

    return patch.object(copula, "FAMILY", replace(family, fit=fit))


def _no_nearness(which: int) -> AbstractContextManager[Any]:
    families = list(near_equality.FAMILIES)
    families[which] = replace(families[which], fit=lambda *_: {})
    return patch.object(near_equality, "FAMILIES", tuple(families))


def _best_alone(parts: list[Floats], choices: Any) -> Floats:
    """Give the best critic the weight one, and no other any."""
    means = [np.mean([contrasts(part[m]).mean() for part in parts]) for m in range(len(choices))]
    return np.eye(len(choices))[int(np.argmax(means))] * (max(means) > 0)


def _in_sample() -> AbstractContextManager[Any]:
    """Judge on the rows that critics were chosen, weighted and fitted again on."""
    judge = folds.judge_fold

    def judged(train: Rows, validation: Rows, test: Rows, *rest: Any) -> Any:
        return judge(train, validation, validation, *rest)

    return patch.object(bound, "judge_fold", judged)


OFF: dict[str, tuple[str, Callable[[], AbstractContextManager[Any]]]] = {
    "all": ("", nullcontext),
    "t-copula": ("copula.py", _no_copula),
    "t-copula: canonical": ("copula.py", lambda: _no_copula("canonical")),
    "t-copula: thresholded": ("copula.py", lambda: _no_copula("thresholded")),
    "kernel CCA": ("kernel_cca.py", lambda: patch.object(kernel_cca, "fit_variates", lambda *_: {})),
    "neighbours": ("neighbours.py", lambda: patch.object(folds, "fit_neighbours", lambda *_: {})),
    "near equality of x and y": ("near_equality.py", lambda: _no_nearness(0)),
    "near equality of entries": ("near_equality.py", lambda: _no_nearness(1)),
    "frugal weights": (
        "stacking.py",
        lambda: patch.object(folds, "frugal_weights", lambda parts, choices: stacking_weights(parts)),
    ),
    "stacking": ("stacking.py", lambda: patch.object(folds, "frugal_weights", _best_alone)),
    "rows of their own to judge on": ("folds.py", _in_sample),
}
"""What is switched off: its file below secmix/estimators/information, and how."""
AFTERWARDS = {"the jackknife": "contrast.py", "the unseen": "bound.py"}
"""What the bound's own arithmetic can do without: σ from the contrasts themselves, and no term for rare contrasts."""


def bounds(x: Array, y: Array, seed: int, names: tuple[str, ...] = tuple(OFF)) -> dict[str, list[float]]:
    """Return value and lower end of the bound, with all parts ("all") and without each."""
    found: dict[str, list[float]] = {}
    judged: list[tuple[Floats, Floats]] = []
    lower = bound.lower_confidence

    def noted(shown: Floats, pseudo: Floats, level: float) -> float:
        judged.append((shown, pseudo))
        return lower(shown, pseudo, level)

    with warnings.catch_warnings(), ExitStack() as stack:
        warnings.simplefilter("ignore")
        stack.enter_context(_remembering())
        stack.enter_context(patch.object(bound, "lower_confidence", noted))
        for name in names:
            with OFF[name][1]():
                read = information_lower_bound(x, y, rng=seed)
            found[name] = [read.value, read.low]
    (shown, pseudo), value = judged[0], found["all"][0]
    found["the jackknife"] = [value, lower(shown, shown, 0.95)]
    noise = float(student.ppf(0.95, len(shown) - 1) * pseudo.std(ddof=1)) / math.sqrt(len(shown))
    found["the unseen"] = [value, max(0.0, value - noise)]
    return found


def _an_entry(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw rows of two and of five columns, of which one entry is the same in one row of twenty."""
    x, y = rng.standard_normal((n, 2)), rng.standard_normal((n, 5))
    y[:, 3] = np.where(rng.uniform(size=n) < 0.05, x[:, 1], y[:, 3])
    return x, y


def jobs(quick: bool) -> list[Job]:
    """Return the draws that are read: one of every task with 500 rows, and some with 2,000."""
    parts = jobs_of(quick)
    peers = [job for job in parts["peers"] if job.rows <= 500 or (job.rows == 2000 and job.task % 4 == 1)]
    own = [job for job in parts["own"] if job.draw < 1 and (job.rows <= 500 or job.task % 4 == 3)]
    strangers = [job for job in parts["independent"] if job.draw < 1]
    return sorted([*peers, *own, *strangers], key=lambda job: job.rows)


def of_job(quick: bool, seed: int, i: int) -> Numbers:
    """Read the i-th draw; the last is of few rows of which one entry leaks, as no task of the study has them."""
    if i == len(jobs(quick)):
        job, task = Job("cases", 0, 1000, 0), Task("An entry leaks in 5% of rows 2 × 5", "", math.inf, _an_entry)
        x, y = task.draw(np.random.default_rng([seed, 8]), job.rows)
    else:
        job = jobs(quick)[i]
        task, x, y = drawn(job, seed)
    truth = None if math.isinf(task.truth) else task.truth
    about = {"task": task.name, "family": task.family, "truth": truth, "rows": job.rows, "part": job.part}
    return about | {"read": bounds(x, y, seed + job.draw)}
