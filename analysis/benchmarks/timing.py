"""Timing ours and others side by side: interleaved, on one thread, with intervals for the ratios and the exponents."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student

OURS = "secmix"
_LEAST = 0.005  # seconds below which a sample is taken over several calls
_LONG = 2.0  # seconds above which the first call counts: next to them, filling caches is nothing
_ROUNDS = (3, 15)  # where there is somebody to compare with


@dataclass(frozen=True)
class Work:
    """One piece of work, done by us and by others.

    Attributes
    ----------
    group, name : str
    calls : mapping from who does it to a function of nothing, ours first
    difference : function of our result and theirs, or None where nothing is compared
    allowed : float
        Differences up to here count as the same result.
    seconds : mapping from who to a function that returns (seconds, result)
        Where the seconds of a call are not what is asked, such as those of one step among many.
    notes : mapping from who to words
    """

    group: str
    name: str
    calls: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    difference: Callable[[Any, Any], float] | None = None
    allowed: float = 0.0
    seconds: Mapping[str, Callable[[], tuple[float, Any]]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


def once(call: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """Processor seconds of one of ``times`` calls, and the last result.

    Processor time, all threads together: what else a machine does meanwhile does not count, and neither does anybody
    gain by threads.
    """
    before = time.process_time()
    for _ in range(times):
        result = call()
    return (time.process_time() - before) / times, result


def measured(work: Work, target: float) -> dict[str, Any]:
    """Samples of everybody in turn, about ``target`` seconds of them, at least three each; the order rotates."""
    samplers = dict(work.seconds) or {who: _sampler(call) for who, call in work.calls.items()}
    samples: dict[str, list[float]] = {who: [] for who in samplers}
    results: dict[str, Any] = {}
    spent, rounds = 0.0, 0
    who = list(samplers)
    least, most = _ROUNDS if len(who) > 1 else (1, _ROUNDS[1])
    while rounds < least or (spent < target and rounds < most):
        shift = rounds % len(who)
        for name in who[shift:] + who[:shift]:
            before = time.process_time()
            took, results[name] = samplers[name]()
            samples[name].append(took)
            spent += time.process_time() - before
        rounds += 1
    entry: dict[str, Any] = {"group": work.group, "name": work.name, "rounds": rounds, "by": {}}
    for name in who:
        entry["by"][name] = {"least_ms": 1e3 * min(samples[name]), "median_ms": 1e3 * float(np.median(samples[name]))}
        if name in work.notes:
            entry["by"][name]["note"] = work.notes[name]
        if name != OURS:
            entry["by"][name] |= ratio(samples[name], samples[OURS])
            if work.difference is not None:
                apart = work.difference(results[OURS], results[name])
                entry["by"][name] |= {"difference": apart, "same": bool(apart <= work.allowed)}
    return entry


def _sampler(call: Callable[[], Any]) -> Callable[[], tuple[float, Any]]:
    times: list[int] = []

    def sample() -> tuple[float, Any]:
        if not times:  # the first time also compiles, loads and fills caches
            took, result = once(call)
            if took > _LONG:
                times.append(1)
                return took, result
            took, _ = once(call)
            times.append(max(1, math.ceil(_LEAST / max(took, 1e-7))))
        return once(call, times[0])

    return sample


def ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    """How many times as long they take: the mean over the rounds and its 95 % interval, on a logarithmic scale."""
    logs = np.log(theirs) - np.log(ours)
    half = float(student.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs)))
    middle = float(logs.mean())
    return {
        "ratio": math.exp(middle),
        "low": math.exp(middle - half),
        "high": math.exp(middle + half),
        "ratio_of_least": min(theirs) / min(ours),
    }


def exponent(sizes: list[int], seconds: list[float]) -> dict[str, float]:
    """b in seconds ≈ a sizeᵇ, by least squares of the logarithms, with its 95 % interval (Student)."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(seconds))
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    rest = y - y.mean() - slope * x
    half = float(student.ppf(0.975, len(x) - 2) * math.sqrt(rest @ rest / (len(x) - 2) / (x @ x)))
    return {"exponent": slope, "low": slope - half, "high": slope + half}


def growth(what: str, letter: str, sizes: list[int], make: Callable[[int], Callable[[], Any]]) -> dict[str, Any]:
    """The least seconds of each size, the sizes measured in turn three times over, and the exponent fitted to them."""
    samplers = [_sampler(make(size)) for size in sizes]
    least = [math.inf] * len(sizes)
    for _ in range(3):
        for i, sample in enumerate(samplers):
            least[i] = min(least[i], sample()[0])
    return {"what": what, "in": letter, "sizes": sizes, "least_ms": [1e3 * s for s in least]} | exponent(sizes, least)
