"""What is sent as it is, in calls as they are audited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from secmix._base.checks import Array
from secmix.auditing.evidence.interface import Case
from secmix.auditing.report import Finding
from secmix.auditing.witnesses.plain import Told, readings, told
from secmix.auditing.witnesses.usage import Service, Use, truth_of
from secmix.estimators.estimate import wilson

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
    def honest(self) -> list[int]:
        """The nodes that are not corrupt."""
        return [node for node in range(self.case.setup.network.n) if node not in self.case.setup.corrupt]

    def as_audited(self) -> list[Finding]:
        """What is told in ordinary calls, one run at a time or many together."""
        for way in (self.service.single_calls, self.service.batches):
            for lives in way(self.inputs).values():
                if found := self._told(lives, self.case.judged):
                    return self._findings(found)
        return []

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
        low = wilson(runs, runs)[0]
        return Finding(
            **self.case.about(node),
            evidence="witness",
            view="single",
            target="input",
            method=f"numbers that are sent as they are, in {runs} runs that nothing was fitted on",
            value=error,
            unit="largest error in standard deviations",
            low=0.0,
            high=error,
            kind="upper bound",
            status="determined" if whole else "resolved",
            normalised_leakage=1.0,
            normalised_low=low,
            normalised_high=1.0,
            notes=[text, *self.doubts[:1]],
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
    return f"{what} sent as it is: {where}, read as {how}, in all {found.runs} runs"
