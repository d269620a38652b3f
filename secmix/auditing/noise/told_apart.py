"""Neighbouring data of a collaboration far apart, and what an adversary reads in many calls on the two of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.setup import deep_copy
from secmix.auditing.soundness.collaborations.unusual_rows import FAR
from secmix.errors import SecmixError
from secmix.privacy import LowerBound, epsilon_lower_bound_of
from secmix.privacy.protocol_runs import mechanism_of, outputs_on
from secmix.scenario import PrivacyTerms
from secmix.transcript import Channel

T = TypeVar("T")
PURPOSE = "epsilon by runs"
_OTHERS = ((-1.0, "of other signs"), (0.0, "zero"), (-1.0, "of other signs"), (0.25, "a quarter of it"))
"""Share of a row that the other data set has in its place, below 0 with other signs, and that in words."""

_CANDIDATES, _SHORT = 8, 80  # pairs of neighbours, and runs of each that choose among them
_LEAST, _MOST = 300, 4000  # runs
_ENOUGH = 30  # times e^ε runs: with fewer the limits of error rates alone keep a reading below ε
_MESSAGES = 400_000  # of all runs


@dataclass(frozen=True)
class Pair:
    """Rows (1, N_i, d) of every node in two neighbouring data sets, which differ at one ``node``."""

    node: int
    sides: tuple[list[Array], list[Array]]
    words: str


def most_distinguishable(
    case: CellContext, node: int, terms: PrivacyTerms, level: float, *, least: int = _LEAST
) -> tuple[Pair, LowerBound]:
    """Return the pair of neighbours that the messages tell apart best, and the bound from many runs on them.

    These are at least ``least``, where so many can be made. Raises SecmixError if it takes too many runs, or runs send
    messages of other length.
    """
    runs = _runs(case, terms, least)
    pairs = list(enumerate(pairs_of(case, node, terms)))
    short = of_those_that_run(pairs, lambda key, pair: _outputs(case, pair, _SHORT, key))
    best, _ = max(short, key=lambda tried: (_suggested(tried[1], terms.delta), _apart(*tried[1])))
    first, second = _outputs(case, best, runs, len(pairs))
    bound = epsilon_lower_bound_of(first, second, delta=terms.delta, confidence=1 - level)
    return best, replace(bound, confidence=1 - level)


def of_those_that_run(pairs: Iterable[tuple[int, Pair]], measure: Callable[[int, Pair], T]) -> list[tuple[Pair, T]]:
    """Measure pairs of neighbours, but those on which the protocol's code fails; raise its error if it always does."""
    measured, failure = [], None
    for key, each in pairs:
        try:
            measured.append((each, measure(key, each)))
        except Exception as error:  # the protocol's code may raise anything on unusual rows
            failure = error
    if failure is not None and not measured:
        raise failure
    return measured


def _runs(case: CellContext, terms: PrivacyTerms, least: int) -> int:
    """Return how many runs on each data set show that the limit is exceeded, if it is by much; raise if too many."""
    setup, limit = case.setup, terms.limit or 0.0
    channel, rng = Channel(), stream(case.cell.seed, PURPOSE, "one run")
    deep_copy(case.built).collaborate(setup.sample_rows(1, rng), setup.network, rng, channel=channel)
    most = min(_MESSAGES // (2 * len(setup.asked) * max(channel.transcript.messages, 1)), _MOST)
    runs = max(_ENOUGH * math.exp(min(limit, 100.0)), _LEAST, min(least, most))
    if runs > most:
        raise SecmixError(f"to show more than {limit:g} takes {runs:.3g} runs on each data set; {most} can be made")
    return int(runs)


def pairs_of(case: CellContext, node: int, terms: PrivacyTerms) -> Iterator[Pair]:
    """Yield neighbours: other values of a row or of all rows of the node, or one row more."""
    rng = stream(case.cell.seed, PURPOSE, "neighbours", node)
    for key in range(_CANDIDATES):
        parts, other = (case.setup.sample_rows(1, rng) for _ in range(2))
        usual = other[node][:, :1]
        signs = np.where(rng.random(usual.shape[2]) < 0.5, -1.0, 1.0)
        signs[-1] = -1.0
        far = FAR if key % 3 else 1.0
        share, second = _OTHERS[key % len(_OTHERS)]
        two = far * (signs if share < 0 else share) * usual
        yield pair(parts, node, far * usual, two, terms, (f"{far:g} times a usual one", second))


def pair(
    parts: Sequence[Array], node: int, first: Array, second: Array, terms: PrivacyTerms, words: tuple[str, str]
) -> Pair:
    """Return neighbours: a row, or all rows of a node, are ``first`` or ``second`` (1, 1, d), or a row is more."""
    rows = parts[node]
    if terms.relation == "add-or-remove":
        description = f"one row more, {words[0]}"
        sides = [rows, np.concatenate([rows, first], axis=1)]
    elif terms.unit == "row":
        sides = [np.concatenate([value, rows[:, 1:]], axis=1) for value in (first, second)]
        description = f"a row that is {words[0]}, and {words[1]}"
    else:
        sides = [np.repeat(value, rows.shape[1], axis=1) for value in (first, second)]
        description = f"rows that are all {words[0]}, and {words[1]}"
    return Pair(node, (_with(parts, node, sides[0]), _with(parts, node, sides[1])), f"node {node}: {description}")


def _with(parts: Sequence[Array], node: int, rows: Array) -> list[Array]:
    return [rows if i == node else part for i, part in enumerate(parts)]


def _outputs(case: CellContext, pair: Pair, runs: int, key: int) -> tuple[Array, Array]:
    """Return what the adversary reads in each of so many calls on the two data sets, (runs, m) each."""
    setup: Any = case.setup
    release = mechanism_of(case.built, setup.network, setup.adversary, deep_copy)
    rngs = [stream(case.cell.seed, PURPOSE, "runs", pair.node, key, side).spawn(runs) for side in range(2)]
    return outputs_on(release, pair.sides, rngs)


def _suggested(outputs: tuple[Array, Array], delta: float) -> float:
    """Return an epsilon that a few runs suggest, to choose among neighbours."""
    return epsilon_lower_bound_of(*outputs, delta=delta, confidence=0.5).epsilon if outputs[0].size else 0.0


def _apart(first: Array, second: Array) -> float:
    """Return how far apart the means of a number are at most, in its spread."""
    if not first.size:
        return 0.0
    gap, spread = np.abs(first.mean(axis=0) - second.mean(axis=0)), np.hypot(first.std(axis=0), second.std(axis=0))
    return float(np.max(gap / np.maximum(spread, 1e-12 * (1 + gap))))
