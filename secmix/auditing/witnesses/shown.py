"""What is sent as it is: in calls as they are audited, in other iterations, and on inputs that take a branch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from secmix._base.checks import Array
from secmix.auditing.evidence.interface import Case
from secmix.auditing.proof import proof_of, traced
from secmix.auditing.report import Finding
from secmix.auditing.witnesses.finding import in_all_runs
from secmix.auditing.witnesses.plain import Told, marks, readings, told
from secmix.auditing.witnesses.usage import Service, Use, truth_of
from secmix.auditing.witnesses.ways import Special, other_iterations, specials
from secmix.auditing.witnesses.written import OUTSIDE
from secmix.kernel import KnownSums

_FEW, _RUNS = 16, 60  # runs of a first look, and of what convicts
KNOWN = 1 - 1e-6
"""Share of a direction's variance from which on it is known."""


@dataclass(frozen=True)
class Looks:
    """The simplest decoder on a protocol in use.

    Attributes
    ----------
    case : Case
    service : Service
    inputs : dict of iteration -> (n, runs, m)
    steps : list of float
        Modulo which masks may vanish.
    doubts : list of str
        Why nothing is proved.
    """

    case: Case
    service: Service
    inputs: Mapping[int, Array]
    steps: Sequence[float]
    doubts: Sequence[str]

    @property
    def nodes(self) -> list[int]:
        """The nodes of whom it is asked, and of whom not all is known already."""
        return [node for node in self.case.judged if node not in self.case.settled]

    @property
    def honest(self) -> list[int]:
        """The nodes that are not corrupt."""
        return [node for node in range(self.case.setup.network.n) if node not in self.case.setup.corrupt]

    def as_audited(self) -> list[Finding]:
        """What is told in ordinary calls, one run at a time or many together."""
        for way in (self.service.single_calls, self.service.batches):
            for lives in way(self.inputs).values():
                if found := self._told(lives, self.nodes):
                    return self._findings(found)
        return []

    def in_other_iterations(self) -> list[Finding]:
        """What is told in the iterations in which the protocol takes another turn."""
        proof, outcome = traced(self.case), proof_of(self.case)
        if proof is None or (isinstance(outcome, KnownSums) and max(outcome.exact.values(), default=0.0) < KNOWN):
            return []
        given = next(iter(self.inputs.values()))[:, :_RUNS]
        for iteration in other_iterations(proof, sorted(self.inputs)):
            lives = self.service.single_calls({iteration: given})[iteration]
            if found := self._told(lives, self.nodes):
                return self._findings(found, f"in iteration {iteration} ")
        return []

    def on_special_inputs(self) -> list[Finding]:
        """What is told where an input is at, above, below or within a number that the protocol compares it with."""
        proof = traced(self.case)
        iteration, given = next(iter(self.inputs.items()))
        out: dict[int, Finding] = {}
        for special in specials(proof, given) if proof is not None else []:
            for finding in self._told_of(special, iteration, given) or self._marked(special, iteration, given):
                out.setdefault(finding.node, finding)
            if set(self.nodes) <= set(out):
                break
        return list(out.values())

    def _told_of(self, special: Special, iteration: int, given: Array) -> list[Finding]:
        """Look at all nodes at once, and again with each by itself where something is told."""
        out = []
        for node in self._told(self._lives(special, iteration, given[:, :_FEW], self.honest), self.nodes):
            found = self._told(self._lives(special, iteration, given[:, :_RUNS], [node]), [node])
            out += self._findings(found, f"where {special}, ")
        return out

    def _marked(self, special: Special, iteration: int, given: Array) -> list[Finding]:
        """Look for a number that is sent where entries are a code, and neither in other calls nor near that code."""
        out = []
        for node in self.nodes if special.constant else ():
            found = self._mark(special, node, iteration, given[:, :_FEW])
            found = found and self._mark(special, node, iteration, given[:, :_RUNS])
            if found:
                text = f"where {special}, that is sent in the clear: {found}, in all {_RUNS} runs and in no others"
                out.append(self._finding(node, 0.0, _RUNS, text, whole=False))
        return out

    def _mark(self, special: Special, node: int, iteration: int, given: Array) -> str:
        inputs = (special.of(given, [node]), given, special.near.of(given, [node]))
        calls = [self.service.single_calls({iteration: each})[iteration] for each in inputs]
        return marks(node, *(list(readings([*first, *second], ())) for first, second in calls))

    def _lives(
        self, special: Special, iteration: int, given: Array, nodes: Sequence[int]
    ) -> tuple[list[Use], list[Use]]:
        return self.service.single_calls({iteration: special.of(given, nodes)})[iteration]

    def _told(self, lives: tuple[list[Use], list[Use]], nodes: Sequence[int]) -> dict[int, Told]:
        uses = [*lives[0], *lives[1]]
        if not uses:
            return {}
        return told(truth_of(uses), readings(uses, self.steps), nodes, self.honest, len(truth_of(lives[0])))

    def _findings(self, found: Mapping[int, Told], begin: str = "") -> list[Finding]:
        return [
            self._finding(node, each.error, each.runs, begin + _in_words(each), whole=each.whole)
            for node, each in found.items()
        ]

    def _finding(self, node: int, error: float, runs: int, text: str, *, whole: bool) -> Finding:
        return in_all_runs(
            self.case.about(node),
            runs,
            [text, *self.doubts[:1]],
            method=f"numbers that are sent as they are, in {runs} runs that nothing was fitted on",
            error=(error, "largest error in standard deviations"),
            whole=whole,
        )


def _in_words(found: Told) -> str:
    often = Counter((each.where, each.how) for each, _ in found.readings)
    where, how = max(often, key=lambda each: often[each])
    listed = ", ".join(map(str, found.entries))
    if found.whole:
        what = "its input is"
    elif found.entries:
        what = f"entry {listed} of its input is" if len(found.entries) == 1 else f"entries {listed} of its input are"
    else:
        what = "a linear function of its entries is"
    told = f"in {where}" if where.endswith(OUTSIDE) else f"sent as it is: {where}"
    return f"{what} {told}, read as {how}, in all {found.runs} runs"
