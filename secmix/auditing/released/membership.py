"""Membership: the released result tells whether a certain row was among the data, at a low rate of false alarms.

How it is got: Of each node the row that lies farthest from the others is put among its data in one half of many runs,
and left out in the other half; all other rows are drawn anew, but for those that the public knows. Half of either fits
a Gaussian likelihood ratio of the released numbers, the other half counts how often it finds the row where it is wrong
about one run in a hundred without it (Carlini et al. 2022, section V). The limits are those of Clopper and Pearson
(1934), at thresholds that keep the rate for sure.

What it assumes: Only that runs are independent. It is a lower bound: another test, another row or a public that knows
more of the data may tell more, so it accuses and clears nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array, Ints
from secmix._base.random import stream
from secmix.auditing.evidence.interface import CellContext, Evidence, Gathered, Kind, level_shares
from secmix.auditing.observation.memory import fitting
from secmix.auditing.report import Finding
from secmix.auditing.setup import CollaborationSetup, Setup, deep_copy
from secmix.data import sample_rows
from secmix.errors import SecmixError
from secmix.estimators.row_membership import RATE, Membership, least_runs, membership
from secmix.protocols.released import Released
from secmix.transcript import Channel

NAME = "membership"
_RUNS, _KINDS = 4000, 4  # runs of one kind: without the row, or with it at one of so many nodes less one
_MESSAGES = 400_000  # of all runs
MOST_RUNS = _KINDS * _RUNS
"""Runs of all kinds of a usual audit, where their messages allow so many."""
_ALIKE = 1e-6  # of the largest number: results of nodes that differ by less are one result
_NUMBERS = 5000  # of the results of all nodes, above which a node's own is read alone
_LARGEST = 1e100  # its square is finite


def _applies(case: CellContext) -> bool:
    """Say whether the adversary reads the result and nothing else."""
    return isinstance(case.setup, CollaborationSetup) and isinstance(case.setup.protocol, Released)


def _gather(case: CellContext) -> Gathered:
    confidence = 1 - level_shares(case.cell).membership / min(len(case.setup.asked), _KINDS - 1)
    try:
        shadows = _Shadows(case, least_runs(RATE, confidence))
        nodes = sorted(_unlike_first(case.setup)[: shadows.nodes])
        findings = [_finding(case, node, membership(*shadows.of(node), confidence=confidence)) for node in nodes]
    except Exception as error:  # the protocol's code may raise anything
        words = str(error) if isinstance(error, SecmixError) else f"a run ends with {type(error).__name__}"
        return Gathered(missed=(f"membership of a row: {words}",))
    others = ", ".join(str(node) for node in case.setup.asked if node not in nodes)
    missed = [f"membership of rows of nodes {others}: runs are made for some nodes alone"] * bool(others)
    return Gathered(findings, missed=tuple(missed))


def _unlike_first(setup: Setup) -> list[int]:
    """Order nodes so that of those with equally many rows of the same data one comes before all others."""
    alike: dict[object, list[int]] = {}
    for node in setup.asked:
        alike.setdefault((setup.counts[node], None if setup.groups is None else node), []).append(node)
    return [nodes[0] for nodes in alike.values()] + [node for nodes in alike.values() for node in nodes[1:]]


def _finding(case: CellContext, node: int, tested: Membership) -> Finding:
    often = f"in {tested.value:.0%} (at least {tested.low:.0%}) of the runs the result tells that its row farthest out"
    return Finding(
        **case.about(node),
        evidence=NAME,
        view="cumulative",
        target="row",
        method="likelihood ratio of released numbers with the row and without it, fitted on half of the runs",
        value=tested.value,
        unit=f"true-positive rate at a false-positive rate of {tested.rate:.0%}",
        low=tested.low,
        high=tested.high,
        kind="lower bound",
        status="resolved",
        normalised_leakage=0.0,
        normalised_low=0.0,
        normalised_high=1.0,
        confidence=tested.confidence,
        notes=[
            f"{often} is among the data, with {tested.rate:.0%} false alarms",
            f"counted on {tested.runs} runs with the row and as many without it; fitted on as many again",
            f"noise that kept an epsilon below {tested.epsilon():.2g} (one row exchanged, delta = 0) would exclude it",
        ],
    )


class _Shadows:
    """Runs of the protocol with a row and without it, whose results are compared."""

    def __init__(self, case: CellContext, least: int) -> None:
        self.case, self.setup = case, case.setup
        self.drawn: dict[tuple[int, int | None], Array] = {}
        channel, rng = Channel(), stream(case.cell.seed, NAME, "one run")
        self.known = self.setup.sample_rows(1, rng)  # rows of the nodes that the public knows do not change
        results = self._call([part.copy() for part in self.known], rng, channel)
        apart = np.abs(results - results[:, :1]).max(initial=0.0)
        self.is_common = bool(apart <= _ALIKE * np.abs(results).max(initial=0.0))
        self.own = not self.is_common and results.size > _NUMBERS
        known = {row.tobytes() for node in self.setup.corrupt for row in self.known[node][0]}
        free = [k for k, row in enumerate(self.setup.rows) if row.tobytes() not in known]
        self.free = np.array(free, dtype=np.intp)  # what nodes that are not known may get
        self.block = fitting(case.cell, channel.transcript, 1)
        calls = _MESSAGES // max(channel.transcript.messages, 1)
        self.nodes = min(calls // least - 1, _KINDS - 1, len(self.setup.asked))
        if self.nodes < 1:
            raise SecmixError(
                f"a rate of {RATE:.0%} takes {least} runs with a row and as many without it; of so many messages "
                f"{calls} runs can be made in all"
            )
        self.runs = max(min(calls // (self.nodes + 1), case.cell.measure.work(_RUNS)), least)

    def of(self, node: int) -> tuple[Array, Array]:
        """Return released numbers (runs, p) with a row of ``node`` and without it."""
        row = self._farthest(node)
        key = row, node if self.own else None
        if key not in self.drawn:
            self.drawn[key] = self._results(node, row, with_it=False)
        return self._results(node, row, with_it=True), self.drawn[key]

    def _farthest(self, node: int) -> int:
        """Find the row that the node may have and that lies farthest from the mean of all, in their covariance."""
        rows = self.setup.rows
        off = rows - rows.mean(axis=0)
        inverse = np.linalg.pinv(np.atleast_2d(np.cov(rows, rowvar=False)))
        far = np.einsum("ij,jk,ik->i", off, inverse, off)
        own = self.free if self.setup.groups is None else self.setup.groups[node]
        return int(own[np.argmax(far[own])])

    def _results(self, node: int, row: int, *, with_it: bool) -> Array:
        rng = stream(self.case.cell.seed, NAME, row, *([node] if with_it or self.own else []), with_it)
        done: list[Array] = []
        for begin in range(0, self.runs, self.block):
            runs = min(self.block, self.runs - begin)
            parts = self._rows(row, runs, rng)
            if with_it:
                parts[node][:, 0] = self.setup.rows[row]
            results = self._call(parts, rng, Channel(record=False))
            read = results[:, node] if self.is_common or self.own else results.reshape(runs, -1)
            done.append(np.clip(np.nan_to_num(read), -_LARGEST, _LARGEST))
        return np.concatenate(done)

    def _rows(self, row: int, runs: int, rng: np.random.Generator) -> list[Array]:
        """Draw rows (runs, N_i, d) for all nodes, ``row`` to none; those of known nodes stay as they are."""
        setup = self.setup
        honest = [node for node in range(setup.network.n) if node not in setup.corrupt]
        counts = [setup.counts[node] for node in honest]
        if setup.groups is None:
            pool = self.free[self.free != row]
            _check_enough([pool], [sum(counts)])
            parts = sample_rows(setup.rows[pool], counts, runs, rng)
        else:
            groups = [setup.groups[node][setup.groups[node] != row] for node in honest]
            _check_enough(groups, counts)
            parts = sample_rows(setup.rows, counts, runs, rng, groups)
        rows_of = dict(zip(honest, parts, strict=True))
        every = [rows_of.get(node, self.known[node]) for node in range(setup.network.n)]
        return [np.array(np.broadcast_to(part, (runs, *part.shape[1:]))) for part in every]

    def _call(self, parts: list[Array], rng: np.random.Generator, channel: Channel) -> Array:
        protocol = self.setup.protocol if self.case.built is None else self.case.built  # type: ignore[attr-defined]
        return np.asarray(deep_copy(protocol).collaborate(parts, self.setup.network, rng, channel=channel))


def _check_enough(pools: Sequence[Ints], counts: Sequence[int]) -> None:
    """Check that the rows suffice without the one that is left out."""
    if any(len(pool) < count for pool, count in zip(pools, counts, strict=True)):
        raise SecmixError("every row takes part in every run, so that none can be left out; lower rows_per_node")


EVIDENCE = Evidence(
    NAME,
    (
        Kind(
            NAME,
            "Membership of a row told by the released result",
            "Runs with a certain row and runs without it are told apart by what is released: of those with the row so "
            "many are found, where one in a hundred of those without it is taken for one. Another test may find more.",
        ),
    ),
    _applies,
    _gather,
    rank=10,
    always=True,
    tells_members=True,
    judges="all runs",
    collaborations_only=True,
)
