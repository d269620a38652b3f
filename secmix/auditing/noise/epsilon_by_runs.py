"""Epsilon from below: a collaboration runs often on two neighbouring data sets, and its messages tell them apart.

How it is got: In the neighbours one row, or all rows of a node, take values far out, of other signs or zero, so that
clips shorten them; a few such pairs are tried in short, and the one that moves the messages most is run often, each run
by a call of its own. One half of the runs chooses a score and a threshold, the other half counts its errors, and by
Clopper and Pearson (1934) these bound epsilon at the policy's delta. The level holds over all nodes.

What it assumes: Only that runs are independent. It is a lower bound: other neighbours or scores may tell more, so it
can show that epsilon exceeds a limit and never that it does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind
from secmix.auditing.noise.noise_bounds import epsilon_in_words
from secmix.auditing.proof import proof_of
from secmix.auditing.report import Finding
from secmix.auditing.setup import CollaborationSetup
from secmix.auditing.soundness.collaborations.unusual_rows import FAR
from secmix.auditing.soundness.runner import deep_copy
from secmix.errors import SecmixError
from secmix.kernel import Clearance
from secmix.privacy import LowerBound, epsilon_lower_bound_of
from secmix.scenario import PolicySpec
from secmix.transcript import Channel

NAME = "epsilon by runs"
_CANDIDATES, _SHORT = 6, 30  # pairs of neighbours, and runs of each that choose among them
_LEAST, _MOST = 300, 4000  # runs
_ENOUGH = 30  # times e^ε runs: with fewer the limits of error rates alone keep a reading below ε
_MESSAGES = 400_000  # of all runs
_PARTS = 3
"""Of the level of an audit: one for what is counted, one for what is estimated, one for epsilon."""


@dataclass(frozen=True)
class _Pair:
    """Rows (1, N_i, d) of every node in two neighbouring data sets."""

    sides: tuple[list[Array], list[Array]]
    words: str


def _applies(case: CellContext) -> bool:
    """Say whether a policy limits epsilon of a collaboration of which the adversary reads anything."""
    asks = isinstance(case.setup, CollaborationSetup) and case.cell.policy.max_epsilon is not None
    return asks and not isinstance(proof_of(case), Clearance)


def _gather(case: CellContext) -> Gathered:
    findings, missed = [], []
    for node in case.setup.asked:
        try:
            findings.append(_finding(case, node))
        except SecmixError as error:
            missed.append(f"{NAME} of node {node}: {error}")
        except Exception as error:  # the protocol's code may raise anything on unusual rows
            missed.append(f"{NAME} of node {node}: a call ends with {type(error).__name__}")
    return Gathered(findings, missed=tuple(missed))


def _finding(case: CellContext, node: int) -> Finding:
    pair, bound = _measured(case, node)
    policy = case.cell.policy
    words = f"{epsilon_in_words(policy)} is at least {bound.epsilon:.3g}, the limit {policy.max_epsilon:g}"
    return Finding(
        **case.about(node),
        evidence=NAME,
        view="cumulative",
        target="row",
        method=f"error rates of the score '{bound.score}', chosen on one half of the runs and counted on the other",
        value=bound.epsilon,
        unit="epsilon, at least",
        low=bound.epsilon,
        high=None,
        kind="lower bound",
        status="resolved",
        normalised_leakage=0.0,
        normalised_low=0.0,
        normalised_high=1.0,
        confidence=bound.confidence,
        notes=[words, f"{pair.words}; {bound.runs} runs on each of the two"],
    )


def _measured(case: CellContext, node: int) -> tuple[_Pair, LowerBound]:
    """Return the pair of neighbours that the messages tell apart best, and the bound from many runs on them."""
    runs = _runs(case)
    pairs = list(_pairs(case, node))
    short = [_outputs(case, pair, _SHORT, node, key) for key, pair in enumerate(pairs)]
    best = max(range(len(pairs)), key=lambda key: _apart(*short[key]))
    first, second = _outputs(case, pairs[best], runs, node, len(pairs))
    level = case.cell.measure.level / _PARTS
    delta = case.cell.policy.delta or 0.0
    bound = epsilon_lower_bound_of(first, second, delta=delta, confidence=1 - level, looks=len(case.setup.asked))
    return pairs[best], replace(bound, confidence=1 - level / len(case.setup.asked))


def _runs(case: CellContext) -> int:
    """Return how many runs on each data set show that the limit is exceeded, if it is by much; raise if too many."""
    setup, limit = case.setup, case.cell.policy.max_epsilon or 0.0
    channel, rng = Channel(), stream(case.cell.seed, NAME, "one run")
    deep_copy(case.built).collaborate(setup.sample_rows(1, rng), setup.network, rng, channel=channel)
    most = min(_MESSAGES // (2 * len(setup.asked) * max(channel.transcript.messages, 1)), _MOST)
    runs = max(_ENOUGH * math.exp(min(limit, 100.0)), _LEAST)
    if runs > most:
        raise SecmixError(f"to show more than {limit:g} takes {runs:.3g} runs on each data set; {most} can be made")
    return int(runs)


def _pairs(case: CellContext, node: int) -> Iterator[_Pair]:
    """Yield neighbours: other values of a row or of all rows of the node, or one row more."""
    policy: PolicySpec = case.cell.policy
    rng = stream(case.cell.seed, NAME, "neighbours", node)
    for key in range(_CANDIDATES):
        parts, other = (case.setup.sample_rows(1, rng) for _ in range(2))
        rows, usual = parts[node], other[node][:, :1]
        signs = np.where(rng.random(usual.shape[2]) < 0.5, -1.0, 1.0)
        signs[-1] = -1.0
        far = FAR if key % 3 else 1.0
        one, two = far * usual, (far * signs * usual if key % 2 == 0 else 0 * usual)
        if policy.noise_relation == "add-or-remove":
            words = f"one row more, {far:g} times a usual one"
            sides = [rows, np.concatenate([rows, one], axis=1)]
        elif policy.noise_unit == "row":
            sides = [np.concatenate([value, rows[:, 1:]], axis=1) for value in (one, two)]
            words = f"a row that is {far:g} times a usual one, and {'of other signs' if key % 2 == 0 else 'zero'}"
        else:
            sides = [np.repeat(value, rows.shape[1], axis=1) for value in (one, two)]
            words = f"rows that are all {far:g} times a usual one, and {'of other signs' if key % 2 == 0 else 'zero'}"
        yield _Pair((_with(parts, node, sides[0]), _with(parts, node, sides[1])), f"node {node}: {words}")


def _with(parts: Sequence[Array], node: int, rows: Array) -> list[Array]:
    return [rows if i == node else part for i, part in enumerate(parts)]


def _outputs(case: CellContext, pair: _Pair, runs: int, node: int, key: int) -> tuple[Array, Array]:
    """Return what the adversary reads in each of so many calls on the two data sets, (runs, m) each."""
    first, second = (
        [_read(case, parts, rng) for rng in stream(case.cell.seed, NAME, "runs", node, key, side).spawn(runs)]
        for side, parts in enumerate(pair.sides)
    )
    if len({len(numbers) for numbers in [*first, *second]}) > 1:
        raise SecmixError("runs send messages of other number or length: what they tell apart was not counted")
    return np.stack(first), np.stack(second)


def _read(case: CellContext, parts: Sequence[Array], rng: np.random.Generator) -> Array:
    """Call the collaboration on rows (1, N_i, d) of each node and return the numbers that the adversary reads, (m,)."""
    setup: Any = case.setup
    channel = Channel()
    deep_copy(case.built).collaborate([part.copy() for part in parts], setup.network, rng, channel=channel)
    view = setup.adversary.observe(channel.transcript, setup.network)
    heard = [row for row, origin in zip(view.rows, view.origins, strict=True) if origin.line != "held"]
    return np.concatenate([np.empty(0), *(row.ravel() for row in heard if row.dtype.kind in "fiub")])


def _apart(first: Array, second: Array) -> float:
    """Return how far apart the means of a number are at most, in its spread."""
    if not first.size:
        return 0.0
    gap, spread = np.abs(first.mean(axis=0) - second.mean(axis=0)), np.hypot(first.std(axis=0), second.std(axis=0))
    return float(np.max(gap / np.maximum(spread, 1e-12 * (1 + gap))))


EVIDENCE = Evidence(
    "epsilon",
    (
        Kind(
            NAME,
            "Lower bound of epsilon",
            "The collaboration runs many times on two data sets that differ in one row, or in all rows of a node, and "
            "its messages tell them apart so often that epsilon is at least this. Other neighbours may tell more.",
        ),
    ),
    _applies,
    _gather,
    rank=9,
    always=True,
    bounds_epsilon=True,
    judges="all runs",
)
