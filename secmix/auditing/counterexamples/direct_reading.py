"""Inputs that are sent unmasked: in ordinary calls, in other iterations, and on inputs that take a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array
from secmix.auditing.cell_parts import UNMASKED
from secmix.auditing.counterexamples.affine import DirectDecoding, decode_directly, marks, readings
from secmix.auditing.counterexamples.branches import Special, other_iterations, specials
from secmix.auditing.counterexamples.finding import in_all_runs
from secmix.auditing.counterexamples.instance import InstanceCall, ProtocolInstance, truth_of
from secmix.auditing.counterexamples.masks.given import given_secrets
from secmix.auditing.counterexamples.outside import OUTSIDE
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.proof import proof_of, traced
from secmix.auditing.report import Finding
from secmix.auditing.soundness.numbers_read import Place
from secmix.estimators.exact.leakage import KNOWN
from secmix.kernel import KnownSums

_FEW, _RUNS = 16, 60  # runs of the first test, and of the one that shows a violation
_ROUNDED = 0.01  # of standard deviations: by how much an average of fixed-point numbers may be off
Halves = tuple[list[InstanceCall], list[InstanceCall]]


@dataclass(frozen=True)
class DirectReading:
    """The simplest decoder, applied to a protocol in use."""

    case: CellContext
    instance: ProtocolInstance
    inputs: Mapping[int, Array]  # iteration -> (n, runs, m)
    steps: Sequence[float]  # moduli in which masks may vanish
    reasons: Sequence[str]  # reasons why nothing is proved

    @property
    def nodes(self) -> list[int]:
        """The nodes asked about whose data are not known already."""
        return [node for node in self.case.judged if node not in self.case.decided]

    @property
    def honest(self) -> list[int]:
        """The nodes that are not corrupt."""
        return [node for node in range(self.case.setup.network.n) if node not in self.case.setup.corrupt]

    def ordinary_calls(self) -> Iterator[tuple[int, Halves]]:
        """Yield calls of one run at a time and then batches, by iteration; they are made once, and when asked for."""
        yield from self._single_calls.items()
        yield from self._batches.items()

    @cached_property
    def _single_calls(self) -> dict[int, Halves]:
        return self.instance.single_calls(self.inputs)

    @cached_property
    def _batches(self) -> dict[int, Halves]:
        return self.instance.batches(self.inputs)

    @cached_property
    def calls_on_zeros(self) -> dict[Place, NDArray[Any]]:
        """Read calls in which all inputs are zero; made once, and when asked for."""
        iteration, inputs = next(iter(self.inputs.items()))
        return self.instance.zeros(iteration, len(inputs), inputs.shape[2])

    def as_audited(self) -> list[Finding]:
        """Find what ordinary calls reveal, of one run at a time or in batches."""
        for _, halves in self.ordinary_calls():
            if decoded := self._decoded(halves, self.nodes):
                return self._findings(decoded)
        return []

    def left_alone(self) -> list[Finding]:
        """Find the data of a node that all others collude against: the sum less the colluders' inputs."""
        if len(self.honest) != 1 or self.nodes != self.honest:
            return []
        [node] = self.honest
        train, test = next((halves for _, halves in self.ordinary_calls()), ([], []))
        ends = [(call, average) for call in (*train, *test) if (average := _average(call)) is not None]
        if len(ends) < _FEW:
            return []
        truth, averages = truth_of([call for call, _ in ends]), np.concatenate([average for _, average in ends])
        off = averages * truth.shape[1] - truth.sum(axis=1)
        error = float((np.abs(off).max(axis=0) / np.maximum(truth[:, node].std(axis=0), 1e-300)).max())
        if not error < _ROUNDED:
            return []
        text = "all other nodes collude: the average, less what they put in, is its input; have more honest nodes"
        return [self._finding(node, error, len(truth), text, complete=True, method="an average less known inputs")]

    def in_other_iterations(self) -> list[Finding]:
        """Find what is revealed in iterations in which the protocol takes another branch."""
        proof, outcome = traced(self.case), proof_of(self.case)
        if proof is None or (isinstance(outcome, KnownSums) and _is_traced_in_full(outcome)):
            return []
        inputs = next(iter(self.inputs.values()))[:, :_RUNS]
        for iteration in other_iterations(proof, sorted(self.inputs)):
            halves = self.instance.single_calls({iteration: inputs})[iteration]
            if decoded := self._decoded(halves, self.nodes):
                return self._findings(decoded, f"in iteration {iteration} ")
        return []

    def on_special_inputs(self) -> list[Finding]:
        """Find what is revealed if an input is at, above, below or within a number that it is compared with."""
        proof = traced(self.case)
        iteration, inputs = next(iter(self.inputs.items()))
        findings: dict[int, Finding] = {}
        for special in specials(proof, inputs) if proof is not None else []:
            for finding in self._revealed(special, iteration, inputs) or self._marked(special, iteration, inputs):
                findings.setdefault(finding.node, finding)
            if set(self.nodes) <= set(findings):
                break
        return list(findings.values())

    def _revealed(self, special: Special, iteration: int, inputs: Array) -> list[Finding]:
        """Test all nodes at once, and again each node by itself if something is revealed."""
        findings = []
        for node in self._decoded(self._halves(special, iteration, inputs[:, :_FEW], self.honest), self.nodes):
            decoded = self._decoded(self._halves(special, iteration, inputs[:, :_RUNS], [node]), [node])
            findings += self._findings(decoded, f"if {special}, ")
        return findings

    def _marked(self, special: Special, iteration: int, inputs: Array) -> list[Finding]:
        """Search for a number that is sent only if entries equal a code, and not in other calls or near that code."""
        findings = []
        for node in self.nodes if special.constant else ():
            mark = self._mark(special, node, iteration, inputs[:, :_FEW])
            mark = mark and self._mark(special, node, iteration, inputs[:, :_RUNS])
            if mark:
                text = f"if {special}, this is sent in the clear: {mark}, in all {_RUNS} runs and in no others"
                findings.append(self._finding(node, 0.0, _RUNS, text, complete=False))
        return findings

    def _mark(self, special: Special, node: int, iteration: int, inputs: Array) -> str:
        variants = (special.of(inputs, [node]), inputs, special.near.of(inputs, [node]))
        calls = [self.instance.single_calls({iteration: variant})[iteration] for variant in variants]
        return marks(node, *(list(readings([*first, *second], ())) for first, second in calls))

    def _halves(self, special: Special, iteration: int, inputs: Array, nodes: Sequence[int]) -> Halves:
        return self.instance.single_calls({iteration: special.of(inputs, nodes)})[iteration]

    def _decoded(self, halves: Halves, nodes: Sequence[int]) -> dict[int, DirectDecoding]:
        train, test = halves
        calls = [*train, *test]
        if not calls:
            return {}
        truth = truth_of(calls)
        decoded = decode_directly(truth, readings(calls, self.steps), nodes, self.honest, len(truth_of(train)))
        if not self._secrets_of_object:
            return decoded
        # A key that the object was given makes the same mask in each run: to an adversary it is no constant.
        return {node: each for node, each in decoded.items() if not each.has_offset(truth[:, node])}

    @cached_property
    def _secrets_of_object(self) -> list[bytes]:
        return given_secrets(getattr(self.case.setup, "protocol", None))

    def _findings(self, decoded: Mapping[int, DirectDecoding], begin: str = "") -> list[Finding]:
        return [
            self._finding(node, result.error, result.runs, begin + _in_words(result), complete=result.complete)
            for node, result in decoded.items()
        ]

    def _finding(
        self,
        node: int,
        error: float,
        runs: int,
        text: str,
        *,
        complete: bool,
        method: str = "numbers that are sent unmasked",
    ) -> Finding:
        return in_all_runs(
            self.case.about(node),
            runs,
            [text, *self.reasons[:1]],
            method=f"{method}, in {runs} runs that were not fitted on",
            error=(error, "largest error in standard deviations"),
            complete=complete,
        )


def _average(call: InstanceCall) -> Array | None:
    """Return what a corrupt node ends a call with, (runs, m); None if there is none."""
    ends = (row for (origin, _), row in call.rows.items() if origin.kind == "result")
    return next((row.astype(float) for row in ends if row.shape == call.truth[:, 0].shape), None)


def _is_traced_in_full(outcome: KnownSums) -> bool:
    """Say whether all branches were traced, and reveal nobody in any."""
    return not outcome.covers and max(outcome.exact.values(), default=0.0) < KNOWN


def _in_words(decoded: DirectDecoding) -> str:
    counts = Counter((reading.where, reading.how) for reading, _ in decoded.readings)
    where, how = max(counts, key=lambda source: counts[source])
    listed = ", ".join(map(str, decoded.entries))
    if decoded.complete:
        what = "its input is"
    elif decoded.entries:
        what = f"entry {listed} of its input is" if len(decoded.entries) == 1 else f"entries {listed} of its input are"
    else:
        what = "a linear function of its entries is"
    if where.endswith(OUTSIDE):
        return f"{what} in {where}, read as {how}, in all {decoded.runs} runs"
    return f"{what} {UNMASKED}: {where}, read as {how}, in all {decoded.runs} runs; add a secret mask to it"
