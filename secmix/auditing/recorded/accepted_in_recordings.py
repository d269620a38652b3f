"""Apply accepted findings to a recorded run: what somebody accepts until a day does not count for its conclusion.

The audit keeps its own verdict, and everything stays in the report. One run clears nobody, so that without violations
it is *inconclusive*; where that is accepted too, nothing counts, and the conclusion is *no worse*.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from secmix.auditing import decide
from secmix.auditing.cell_parts import Verdict
from secmix.auditing.recorded.recorded_job import JobAudit
from secmix.auditing.recorded.recorded_run import RecordedAudit
from secmix.auditing.report import Acceptance, Conclusion
from secmix.errors import brief
from secmix.scenario import AcceptedInRecordingSpec

_log = logging.getLogger("secmix")
RESULT = "the released result"
OPEN = "what one run leaves open"


@dataclass(frozen=True)
class RecordedFault:
    """Something that counts against a recorded run: of ``whom``, a client, a filter, or the result."""

    kind: Literal["rows", "control", "result", "open"]
    whom: str

    @property
    def verdict(self) -> Verdict:
        """The verdict that it makes."""
        return "inconclusive" if self.kind == "open" else "violated"


@dataclass(frozen=True)
class RecordedConclusion:
    """Conclusion on a recorded run."""

    verdict: Conclusion
    accepted: tuple[Acceptance, ...]  # those that name something of this run, ended ones too
    # RecordedFault -> str: why and until when a fault is accepted, of those that are
    reasons: dict[RecordedFault, str]
    sentence: str = ""  # what is accepted, for the head of the report; empty if nothing is


def faults_of(audit: RecordedAudit | JobAudit) -> list[RecordedFault]:
    """List what counts against a recorded run; what it leaves open comes last, and is always there."""
    if isinstance(audit, JobAudit):
        rows = [row.client for row in audit.rows]
        controls = [control.name for control in audit.controls if control.outcome == "violated"]
    else:
        rows, controls = [f"node {known.node}" for known in audit.rows], []
    faults = [RecordedFault("control", name) for name in dict.fromkeys(controls)]
    faults += [RecordedFault("rows", client) for client in dict.fromkeys(rows)]
    faults += [RecordedFault("result", RESULT)] * bool(audit.last.rows)
    return [*faults, RecordedFault("open", OPEN)]


def concluded(
    audit: RecordedAudit | JobAudit, entries: Sequence[AcceptedInRecordingSpec], today: date | None = None
) -> RecordedConclusion:
    """Return the conclusion on a recorded run where ``entries`` are accepted; without ``today`` none has ended."""
    faults, reasons, accepted = faults_of(audit), dict[RecordedFault, str](), list[Acceptance]()
    for entry in entries:
        named = [fault for fault in faults if _names(entry, fault)]
        if not named:
            _log.warning("%s", brief(f"an accepted finding is none of this recording: {_what(entry)}"))
            continue
        ended = today is not None and today > entry.until
        about = {"protocol": "the recorded run", "adversary": "whoever reads it", "what": _what(entry)}
        accepted.append(Acceptance(**about, ended=ended, **entry.words()))
        if not ended:
            reasons |= dict.fromkeys(named, entry.why)
    verdict = decide.of_recording(fault.verdict for fault in faults if fault not in reasons)
    if not reasons:
        return RecordedConclusion(verdict, tuple(accepted), {})
    until = min(acceptance.until for acceptance in accepted if not acceptance.ended)
    whom = ", ".join(dict.fromkeys(fault.whom for fault in reasons))
    sentence = f"**Accepted, the first until {until}: {whom}.** Without that it is {audit.verdict}."
    return RecordedConclusion(verdict, tuple(accepted), reasons, sentence)


def _names(entry: AcceptedInRecordingSpec, fault: RecordedFault) -> bool:
    return {
        "rows": fault.whom in (entry.rows_of or ()),
        "control": fault.whom == entry.control,
        "result": entry.result,
        "open": entry.leaves_open,
    }[fault.kind]


def _what(entry: AcceptedInRecordingSpec) -> str:
    parts = [f"rows of {client}" for client in entry.rows_of or ()]
    parts += [f"{entry.control}, which did not act"] * (entry.control is not None)
    parts += ["rows that the released result gives away"] * entry.result + [OPEN] * entry.leaves_open
    return " and ".join(parts)
