"""Removable masks: used twice, or made of seeds that the adversary knows, that are public, or that can be tried.

The trace gives the relations. What the adversary computes from them, in calls that are not traced, is compared with the
data of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.counterexamples.affine import AffineReading, decode_directly
from secmix.auditing.counterexamples.finding import in_all_runs
from secmix.auditing.counterexamples.masks.given import given_secrets, is_made_of
from secmix.auditing.counterexamples.masks.public_seeds import PublicSeeds
from secmix.auditing.counterexamples.masks.relations import (
    Known,
    Relation,
    Row,
    centred,
    integers_read,
    relations,
    rows_read,
    rows_sent,
)
from secmix.auditing.counterexamples.masks.replayed_fits import Replayed, inputs_of, replayed, sizes
from secmix.auditing.counterexamples.masks.tried import Guess, Tables, guesses, tried
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.proof import traced
from secmix.auditing.report import Finding
from secmix.auditing.setup import SumSetup
from secmix.kernel.tracing.trace import Fit
from secmix.network import Network

_RUNS, _LEAST = 80, 40  # half of them judge; with fewer, intervals are wider than a policy allows
_MESSAGES = 300_000  # most messages of all runs together
_EPS = 2.0**-50  # largest error of a difference, as a share of the largest number read


@dataclass(frozen=True)
class Claim:
    """A number that depends on one node's data, and how the adversary computes it."""

    relation: Relation
    how: str


@dataclass(frozen=True)
class MaskRemoval:
    """A protocol with the relations of its trace, and the runs on which these are tested."""

    case: CellContext
    fit: Fit
    network: Network
    runs: Sequence[Replayed]
    rows: Sequence[Row]
    known: Known
    truth: Array  # (runs, n, entries of all calls)
    columns: Mapping[int, tuple[int, int]]  # node and place in truth, of each input
    reasons: Sequence[str]
    tables: Tables
    public: PublicSeeds

    @property
    def not_tried(self) -> list[str]:
        """Short seeds that are too long to be tried in an audit."""
        return sorted({str(guess) for guess in guesses(self.known) if not len(self.tables.candidates(guess))})

    @staticmethod
    def of(case: CellContext, protocol: Any, inputs: Any, reasons: Sequence[str]) -> MaskRemoval | None:
        """Replay the protocol; return None if nothing was traced, or if it sends different messages untraced."""
        proof = traced(case)
        if proof is None or not isinstance(case.setup, SumSetup):
            return None
        fit, network, adversary = proof.fits[0], case.setup.network, case.setup.adversary
        count = min(_RUNS, _MESSAGES // max(sum(len(message.sender) for message in fit.messages), 1))
        if count < _LEAST:
            return None
        runs = replayed(protocol, network, fit, inputs_of(inputs, sizes(fit), count), case.cell.seed)
        if len(runs) < _LEAST:
            return None
        truth = np.concatenate([np.concatenate(run.inputs, axis=2) for run in runs])
        rows = rows_read(fit, network, adversary, [run.payloads for run in runs])
        corrupt = case.setup.corrupt
        columns = _columns(fit)
        data = {v: truth[:, node, k].tolist() for v, (node, k) in columns.items() if node in corrupt}
        known = Known.of(fit.trace, rows, data)
        read = integers_read(fit, network, adversary, [run.payloads for run in runs])
        public = PublicSeeds(protocol, network, fit, case.cell.seed, runs, read, given_secrets(case.setup.protocol))
        actual: Mapping[int, Any] = {}
        if not all(guess.is_tried for guess in guesses(known)):
            actual = Known.of(fit.trace, rows_sent(fit, [run.payloads for run in runs]), {}).values
        tables = Tables(known, actual)
        return MaskRemoval(case, fit, network, runs, rows, known, truth, columns, reasons, tables, public)

    def findings(self, nodes: Sequence[int]) -> list[Finding]:
        """Compute the data of the nodes, by the simplest way first."""
        findings: dict[int, Finding] = {}
        for way in (self._by_relations, self._by_public_seeds, self._by_trying):
            for node in nodes:
                if node not in findings and (finding := self._tested(node, list(way(node)))):
                    findings[node] = finding
        return list(findings.values())

    def _by_relations(self, node: int) -> Iterator[Claim]:
        for relation in relations(self.fit.trace, self.rows, self.known, node):
            if relation.shared:
                yield Claim(relation, self._used_twice(relation))
            elif any(v in self.known.values for v in relation.rows[0].terms) and not self._has_object_secret(relation):
                yield Claim(relation, self._known_masks(relation))

    def _has_object_secret(self, relation: Relation) -> bool:
        """Say whether a mask follows from a key that the adversary reads nowhere."""
        opened = (self.known.opened[v] for v in relation.rows[0].terms if v in self.known.opened)
        return any(is_made_of(_public_octets(stream), self.public.object_secrets) for stream in opened)

    def _by_public_seeds(self, node: int) -> Iterator[Claim]:
        single = [each for each in relations(self.fit.trace, self.rows, self.known, node) if not each.shared]
        for relation, seeds in self.public.without_masks(single):
            kind = self.fit.messages[relation.rows[0].message].frame[2]
            yield Claim(
                relation,
                f"its masks follow from {seeds}: anybody computes them, and '{kind}' without them is its input; draw "
                "secret seeds",
            )

    def _by_trying(self, node: int) -> Iterator[Claim]:
        for guess in guesses(self.known):
            masked = [row for row in self.rows if row.terms.keys() & guess.draws]
            if not any(self.fit.trace.variables[v].node == node for row in masked for v in row.terms):
                continue
            opened = list(tried(self.known, masked, node, guess, self.tables))
            if opened:
                yield from (Claim(relation, self._tried(relation, guess)) for relation in opened)
                return

    def _tested(self, node: int, claims: Sequence[Claim]) -> Finding | None:
        """Compare what is computed with the data of the node, in runs that were not fitted on."""
        columns, fitted, alone = self.columns, len(self.truth) // 2, set[str]()
        honest = [other for other in range(self.network.n) if other not in self.case.setup.corrupt]
        entries: dict[str, set[int]] = {}
        for claim in claims:
            behind = {
                v for variable in claim.relation.data for v in self.fit.encodings.inputs.get(variable, {variable})
            }
            components = sorted({columns[v][1] for v in behind if v in columns and columns[v][0] == node})
            values = centred(claim.relation.values, claim.relation.modulus)[:, None]
            reading = AffineReading("", claim.how, node, values, np.array([self._digits(claim.relation)]))
            if components and decode_directly(self.truth[:, :, components], [reading], [node], honest, fitted):
                entries.setdefault(claim.how, set()).update(components)
                alone |= {claim.how} if len(components) == 1 else set()
        if not entries:
            return None
        how = max(entries, key=lambda claim: len(entries[claim]))
        complete = how in alone and any(set(call) <= entries[how] for call in self._calls(node))
        return self._finding(node, how, len(self.truth) - fitted, complete=complete)

    def _calls(self, node: int) -> list[list[int]]:
        """Select the varying entries of each call."""
        ends = np.cumsum([0, *sizes(self.fit)]).tolist()
        varies = np.ptp(self.truth[:, node], axis=0) > 0
        return [[k for k in range(a, b) if varies[k]] for a, b in pairwise(ends)]

    def _digits(self, relation: Relation) -> float:
        if all(isinstance(value, int) for value in relation.values):
            return 1.0
        return _EPS * max(abs(float(value)) for row in relation.rows for value in row.values)

    def _used_twice(self, relation: Relation) -> str:
        later, other = (self.fit.messages[row.message] for row in relation.rows)
        draws = [v for v in relation.shared if self.fit.trace.variables[v].kind == "draw"]
        if not draws:
            return f"the adversary reads '{other.frame[2]}' before and after it adds to it: the difference is its input"
        line = str(self.fit.trace.variables[draws[0]].place)
        if later.frame[0] != other.frame[0]:
            return (
                f"its mask of iteration {other.frame[0]} is used again in iteration {later.frame[0]} ({line}): the "
                f"difference of '{later.frame[2]}' in both is that of its inputs; draw new masks in each, or put the "
                "iteration into the seed"
            )
        if later is other and relation.rows[0].row == relation.rows[1].row:
            return (
                f"entries of '{later.frame[2]}' have one mask ({line}): their difference is that of its entries; "
                "draw a "
                "mask for each entry, and do not restart a stream"
            )
        if later.frame[2] == other.frame[2] and later.sender != other.sender:
            return f"the adversary reads '{later.frame[2]}' before and after it adds to it: the difference is its input"
        return (
            f"one mask is in '{other.frame[2]}' and '{later.frame[2]}' ({line}): their difference has none; use each "
            "mask once, and do not restart a stream"
        )

    def _known_masks(self, relation: Relation) -> str:
        opened = [self.known.opened[v] for v in relation.rows[0].terms if v in self.known.opened]
        kind = self.fit.messages[relation.rows[0].message].frame[2]
        if not opened:
            return f"the adversary knows all masks of '{kind}': without them it is its input; use secret masks"
        sources = [self.known.sent[v] for v in self.known.sent if v in _pieces(opened[0])]
        where = f" in '{self.fit.messages[sources[0].message].frame[2]}'" if sources else ""
        return (
            f"the adversary reads the seeds of its masks{where} ({opened[0].place}): it expands them, and '{kind}' "
            "without these masks is its input; share a seed between its two nodes only"
        )

    def _tried(self, relation: Relation, guess: Guess) -> str:
        kind = self.fit.messages[relation.rows[0].message].frame[2]
        seed = f"a seed of {np.log2(guess.values):.0f} bits ({guess.streams[0].place})"
        return (
            f"its masks follow from {seed}: {guess.trials}, and '{kind}' without its masks is its input; draw seeds of "
            "at least 128 bits"
        )

    def _finding(self, node: int, how: str, runs: int, *, complete: bool) -> Finding:
        return in_all_runs(
            self.case.about(node),
            runs,
            [f"{how}; shown in {runs} of {runs} runs", *self.reasons[:1]],
            method=f"what the adversary computes from the relations of the trace, in {runs} runs that were not traced",
            view="cumulative" if "is used again" in how else "single",
            complete=complete,
        )


def _pieces(stream: Any) -> set[int]:
    of_draws = (piece for piece in stream.pieces if piece[0] == "draw" or isinstance(piece[1], tuple))
    return {piece[1] if piece[0] == "draw" else piece[1][1] for piece in of_draws}


def _public_octets(stream: Any) -> bytes:
    """Return the constant bytes of a stream's key, one after the other."""
    constants = (piece[1] for piece in stream.key[1:] if isinstance(piece, tuple) and piece[:1] == ("public",))
    return b"".join(
        each if isinstance(each, bytes) else bytes([each]) if 0 <= each < 256 else b"" for each in constants
    )


def _columns(fit: Fit) -> dict[int, tuple[int, int]]:
    """Map each variable that is an input to its node, and to its place among the entries of all calls."""
    columns: dict[int, tuple[int, int]] = {}
    begin, width = 0, 0
    for v, variable in fit.trace.variables.items():
        if variable.kind == "input":
            if variable.node == 0 and variable.entry == 0:
                begin, width = begin + width, 0
            if variable.node == 0:
                width = variable.entry + 1
            columns[v] = variable.node, begin + variable.entry
    return columns
