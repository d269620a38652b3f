"""Masks that fall off: used twice, made of seeds that the adversary holds, that are public, or that can be tried.

The trace says by which relation; what the adversary computes by it, on calls that nobody traces, is held against the
data of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.evidence.interface import Case
from secmix.auditing.proof import traced
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.auditing.witnesses.finding import in_all_runs
from secmix.auditing.witnesses.masks.public import PublicSeeds
from secmix.auditing.witnesses.masks.relations import (
    Known,
    Relation,
    Row,
    centred,
    relations,
    rows_read,
    whole_numbers_read,
)
from secmix.auditing.witnesses.masks.replay import Replayed, inputs_of, replayed, sizes
from secmix.auditing.witnesses.masks.tried import Guess, Tables, guesses, tried
from secmix.auditing.witnesses.plain import Reading, told
from secmix.kernel.trace import Fit
from secmix.network import Network

_RUNS, _LEAST = 80, 40  # half of them judge: fewer leave more open than a policy allows
_MESSAGES = 300_000  # that all runs send together, at most
_EPS = 2.0**-50  # of the largest number read a difference may be off


@dataclass(frozen=True)
class Claim:
    """A number of one node's data, and how the adversary gets it."""

    relation: Relation
    how: str


@dataclass(frozen=True)
class MasksOff:
    """A protocol of which the trace knows the relations, and the runs on which these are tried."""

    case: Case
    fit: Fit
    network: Network
    runs: Sequence[Replayed]
    rows: Sequence[Row]
    known: Known
    truth: Array  # (runs, n, entries of all calls)
    columns: Mapping[int, tuple[int, int]]  # of inputs, the node and the place in truth
    doubts: Sequence[str]
    tables: Tables
    public: PublicSeeds

    @property
    def not_tried(self) -> list[str]:
        """Name seeds that are short, and too long to be tried here."""
        return sorted({str(each) for each in guesses(self.known) if not each.is_tried})

    @staticmethod
    def of(case: Case, protocol: Any, inputs: Any, doubts: Sequence[str]) -> MasksOff | None:
        """Return nothing where nothing was traced, or other messages are sent untraced."""
        proof = traced(case)
        if proof is None or not isinstance(case.setup, SumSetup):
            return None
        fit, network, adversary = proof.fits[0], case.setup.network, case.setup.adversary
        many = min(_RUNS, _MESSAGES // max(sum(len(each.sender) for each in fit.messages), 1))
        if many < _LEAST:
            return None
        runs = replayed(protocol, network, fit, inputs_of(inputs, sizes(fit), many), case.cell.seed)
        if len(runs) < _LEAST:
            return None
        truth = np.concatenate([np.concatenate(one.inputs, axis=2) for one in runs])
        rows = rows_read(fit, network, adversary, [one.payloads for one in runs])
        corrupt = case.setup.corrupt
        columns = _columns(fit)
        data = {v: truth[:, node, k].tolist() for v, (node, k) in columns.items() if node in corrupt}
        known = Known.of(fit.trace, rows, data)
        read = whole_numbers_read(fit, network, adversary, [one.payloads for one in runs])
        public = PublicSeeds(protocol, network, fit, case.cell.seed, runs, read)
        return MasksOff(case, fit, network, runs, rows, known, truth, columns, doubts, Tables(known), public)

    def findings(self, nodes: Sequence[int]) -> list[Finding]:
        """Return what is computed of the nodes, the simplest way first."""
        found: dict[int, Finding] = {}
        for way in (self._by_relations, self._by_public_seeds, self._by_trying):
            for node in nodes:
                if node not in found and (finding := self._told(node, list(way(node)))):
                    found[node] = finding
        return list(found.values())

    def _by_relations(self, node: int) -> Iterator[Claim]:
        for each in relations(self.fit.trace, self.rows, self.known, node):
            if each.shared:
                yield Claim(each, self._twice(each))
            elif any(v in self.known.values for v in each.rows[0].terms):
                yield Claim(each, self._held(each))

    def _by_public_seeds(self, node: int) -> Iterator[Claim]:
        found = [each for each in relations(self.fit.trace, self.rows, self.known, node) if not each.shared]
        for each, of in self.public.taken_off(found):
            kind = self.fit.messages[each.rows[0].message].frame[2]
            yield Claim(
                each,
                f"its masks follow from {of}: anybody makes them, and less these '{kind}' is its input; draw seeds "
                "that nobody else has",
            )

    def _by_trying(self, node: int) -> Iterator[Claim]:
        for guess in filter(lambda each: each.is_tried, guesses(self.known)):
            masked = [row for row in self.rows if row.terms.keys() & guess.draws]
            if not any(self.fit.trace.variables[v].node == node for row in masked for v in row.terms):
                continue
            found = list(tried(self.known, masked, node, guess, self.tables))
            if found:
                yield from (Claim(each, self._tried(each, guess)) for each in found)
                return

    def _told(self, node: int, claims: Sequence[Claim]) -> Finding | None:
        """Hold what is computed against the data of the node, in runs that nothing was fitted on."""
        columns, fitted, alone = self.columns, len(self.truth) // 2, set[str]()
        honest = [each for each in range(self.network.n) if each not in self.case.setup.corrupt]
        entries: dict[str, set[int]] = {}
        for claim in claims:
            behind = {v for each in claim.relation.data for v in self.fit.encoded.get(each, {each})}
            places = sorted({columns[v][1] for v in behind if v in columns and columns[v][0] == node})
            values = centred(claim.relation.values, claim.relation.modulus)[:, None]
            reading = Reading("", claim.how, node, values, np.array([self._digits(claim.relation)]))
            if places and told(self.truth[:, :, places], [reading], [node], honest, fitted):
                entries.setdefault(claim.how, set()).update(places)
                alone |= {claim.how} if len(places) == 1 else set()
        if not entries:
            return None
        how = max(entries, key=lambda each: len(entries[each]))
        whole = how in alone and any(set(call) <= entries[how] for call in self._calls(node))
        return self._finding(node, how, len(self.truth) - fitted, whole=whole)

    def _calls(self, node: int) -> list[list[int]]:
        """Return the entries of each call that vary."""
        ends = np.cumsum([0, *sizes(self.fit)]).tolist()
        varies = np.ptp(self.truth[:, node], axis=0) > 0
        return [[k for k in range(a, b) if varies[k]] for a, b in pairwise(ends)]

    def _digits(self, relation: Relation) -> float:
        if all(isinstance(value, int) for value in relation.values):
            return 1.0
        return _EPS * max(abs(float(value)) for row in relation.rows for value in row.values)

    def _twice(self, each: Relation) -> str:
        one, other = (self.fit.messages[row.message] for row in each.rows)
        draws = [v for v in each.shared if self.fit.trace.variables[v].kind == "draw"]
        if not draws:
            return f"the adversary reads '{other.frame[2]}' before and after it adds to it: the difference is its input"
        line = str(self.fit.trace.variables[draws[0]].place)
        if one.frame[0] != other.frame[0]:
            return (
                f"its mask of iteration {other.frame[0]} comes again in iteration {one.frame[0]} ({line}): the "
                f"difference of '{one.frame[2]}' in both is that of its inputs; draw masks anew in each, or put the "
                "iteration into the seed"
            )
        if one is other and each.rows[0].row == each.rows[1].row:
            return (
                f"entries of '{one.frame[2]}' have one mask ({line}): their difference is that of its entries; draw a "
                "mask for each entry, and start no stream again"
            )
        if one.frame[2] == other.frame[2] and one.sender != other.sender:
            return f"the adversary reads '{one.frame[2]}' before and after it adds to it: the difference is its input"
        return (
            f"one mask is in '{other.frame[2]}' and '{one.frame[2]}' ({line}): their difference has none; use a mask "
            "once, and start no stream again"
        )

    def _held(self, each: Relation) -> str:
        opened = [self.known.opened[v] for v in each.rows[0].terms if v in self.known.opened]
        kind = self.fit.messages[each.rows[0].message].frame[2]
        if not opened:
            return (
                f"all masks of '{kind}' are held by the adversary: less these it is its input; keep masks between two"
            )
        sources = [self.known.told[v] for v in self.known.told if v in _pieces(opened[0])]
        where = f" in '{self.fit.messages[sources[0].message].frame[2]}'" if sources else ""
        return (
            f"the adversary holds the seeds of its masks{where} ({opened[0].place}): it expands them, and less these "
            f"masks '{kind}' is its input; let nobody but the two ends have a seed"
        )

    def _tried(self, each: Relation, guess: Guess) -> str:
        kind = self.fit.messages[each.rows[0].message].frame[2]
        return (
            f"its masks follow from a seed of {np.log2(guess.values):.0f} bits ({guess.streams[0].place}): all "
            f"{guess.values:,} were tried, and without the masks of one of them '{kind}' is its input; draw seeds of "
            "at least 128 bits"
        )

    def _finding(self, node: int, how: str, runs: int, *, whole: bool) -> Finding:
        return in_all_runs(
            self.case.about(node),
            runs,
            [f"{how}; shown in {runs} of {runs} runs", *self.doubts[:1]],
            method=f"what the adversary computes by the relations of the trace, in {runs} runs that were not traced",
            view="cumulative" if "comes again" in how else "single",
            whole=whole,
        )


def _pieces(stream: Any) -> set[int]:
    return {piece[1] if piece[0] == "draw" else piece[1][1] for piece in stream.pieces if _is_of_draw(piece)}


def _is_of_draw(piece: Any) -> bool:
    return piece[0] == "draw" or isinstance(piece[1], tuple)


def _columns(fit: Fit) -> dict[int, tuple[int, int]]:
    """Return of the variables that are inputs the node, and the place among its entries of all calls."""
    found: dict[int, tuple[int, int]] = {}
    begin, width = 0, 0
    for v, each in fit.trace.variables.items():
        if each.kind == "input":
            if each.node == 0 and each.entry == 0:
                begin, width = begin + width, 0
            if each.node == 0:
                width = each.entry + 1
            found[v] = each.node, begin + each.entry
    return found
