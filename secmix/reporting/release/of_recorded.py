"""Release page of one recorded run: readers of each client's messages, rows they determine, filters that acted.

One run clears nobody: every adversary on the page is *violated* or *inconclusive*. The public, who gets the
last arrays, is *not tried* where the recording has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from secmix.auditing import decide
from secmix.auditing.cell_parts import Verdict
from secmix.auditing.recorded import JobAudit
from secmix.auditing.recorded.accepted_in_recordings import RecordedConclusion, RecordedFault
from secmix.auditing.recorded.recorded_job import LISTENER
from secmix.auditing.recorded.recorded_run import RecordedAudit, RecordedReading
from secmix.auditing.released.last_arrays import OPEN as MEMBERSHIP_OPEN
from secmix.auditing.released.last_arrays import TRIED, LastArrays
from secmix.reporting.release.page import PUBLIC, Output, Question, Reader, ReleaseControl, ReleasePage, untried_public
from secmix.reporting.release.questions import (
    controlled,
    listed,
    machine_record,
    of_the_organisation,
    question,
    responsible,
    stepwise,
    trusted,
    unanswered,
)

_ACTED: dict[str, Any] = {"in force": "acted", "violated": "did not act", "unclear": "not shown"}
_RESULT, _SENT = "What is released at the end", "What {} sends"
_SOUGHT = "rows that follow from the messages, with certainty"
_OPEN = "how much the messages tell beyond what was found: one run never shows that"
_SERVER, _OUTSIDER = "the server", "an outsider"


def page_of_job(audit: JobAudit, sentences: Sequence[str], command: str) -> ReleasePage:
    """Build the page of a job of NVFlare; ``sentences`` are its verdict."""
    clients = list(dict.fromkeys(each.client for each in audit.learned))
    outputs = [_of_client(audit, client, clients) for client in clients]
    outputs.insert(0, _result(audit.last))
    return _page("A recorded job of NVFlare", audit.verdict, sentences, audit.remarks, outputs, audit.not_said, command)


def page_with_accepted(page: ReleasePage, judged: RecordedConclusion) -> ReleasePage:
    """Return the page with what somebody accepts of a recorded run, and the conclusion without it."""
    if not judged.accepted:
        return page
    asked = responsible(judged.accepted)
    return page.model_copy(
        update={
            "verdict": judged.verdict,
            "sentence": " ".join([judged.sentence.replace("**", ""), page.sentence]).strip(),
            "accepted": list(judged.accepted),
            "outputs": [_output_with_accepted(output, judged.reasons) for output in page.outputs],
            "questions": [asked if each.section == asked.section else each for each in page.questions],
        }
    )


def _output_with_accepted(output: Output, reasons: Mapping[RecordedFault, str]) -> Output:
    """Put reasons where they belong: to readers that know rows of the client, or of the result."""
    own = [
        reason
        for fault, reason in reasons.items()
        if (fault.kind == "result" and output.name == _RESULT)
        or (fault.kind == "rows" and output.name == _SENT.format(fault.whom))
    ]
    readers = [
        reader.model_copy(update={"accepted": own}) if reader.verdict == "violated" else reader
        for reader in output.readers
    ]
    return output.model_copy(update={"readers": readers})


def _of_client(audit: JobAudit, client: str, clients: Sequence[str]) -> Output:
    learned = sorted((each for each in audit.learned if each.client == client), key=lambda each: each.party != LISTENER)
    readers = [_reader(each.party, each.reads, each.knows, each.rows > 0) for each in learned]
    named = [c for c in audit.controls if client in c.participants or not set(c.participants) & set(clients)]
    controls = [ReleaseControl(name=c.title, acted=_ACTED[c.outcome], how=c.how) for c in named]
    revealed = any(row.client == client for row in audit.rows)
    return _output(client, readers, revealed or any(c.outcome == "violated" for c in named), controls)


def page_of_recording(
    audit: RecordedAudit, sentences: Sequence[str], in_words: Callable[[RecordedReading], str], command: str
) -> ReleasePage:
    """Build the page of a recording; ``sentences`` are its verdict, and ``in_words`` says what a party reads."""
    senders = dict.fromkeys(reading.sender for reading in audit.read)
    nodes = dict.fromkeys([*senders, *(f"node {known.node}" for known in audit.rows)])
    outputs = [_of_node(audit, node, in_words) for node in nodes]
    outputs.insert(0, _result(audit.last))
    title = "A recorded run"
    return _page(title, audit.verdict, sentences, audit.seen, outputs, audit.not_said, command)


def _of_node(audit: RecordedAudit, node: str, in_words: Callable[[RecordedReading], str]) -> Output:
    rows = [known for known in audit.rows if f"node {known.node}" == node]
    facts = [
        f"a row of {len(known.row)} numbers follows from what it got and what it sent: {known.how}" for known in rows
    ]
    read: dict[str, list[str]] = {_OUTSIDER: []}
    for reading in audit.read:
        if reading.sender == node:
            read.setdefault(reading.party, []).append(in_words(reading))
    # The server knows what it sent the node; who else reads both ways is not told apart here.
    readers = [
        _reader(party, reads, facts if reads else [], bool(rows and reads) and party == _SERVER)
        for party, reads in read.items()
    ]
    readers.append(_reader("others, who pool what they have", [], audit.coalitions, False))
    return _output(node, readers, bool(rows), [])


def _reader(party: str, reads: Sequence[str], knows: Sequence[str], violated: bool) -> Reader:
    return Reader(
        who=f"{party[0].upper()}{party[1:]}" if party in (LISTENER, _SERVER, _OUTSIDER) else party,
        verdict="violated" if violated else "inconclusive",
        reads=list(reads) or ["None of its messages."],
        found=list(knows) or ["Nothing was found."],
        tried=[_SOUGHT],
        holds=[],
        assumptions=[],
        undecided=[_OPEN],
        accepted=[],
    )


def _result(last: LastArrays) -> Output:
    """Return what leaves at the end, with the public as its reader."""
    verdict: Verdict = "violated" if last.rows else "inconclusive"
    return Output(
        name=_RESULT,
        what=last.what[:1].upper() + last.what[1:] or "No model was sent that the recording has",
        verdict=verdict,
        readers=[_public(last, verdict)],
        controls=[],
    )


def _public(last: LastArrays, verdict: Verdict) -> Reader:
    if not last.what or not last.readable:
        return untried_public(
            last.what or "The model or statistic that is released; this recording has none.",
            ["Whether the released model tells of single rows: no attack on it alone was tried."],
        )
    return Reader(
        who=PUBLIC,
        verdict=verdict,
        reads=[last.what],
        found=[*last.rows, *last.copies] or ["Nothing was found."],
        tried=list(TRIED),
        holds=[],
        assumptions=[],
        undecided=[MEMBERSHIP_OPEN],
        accepted=[],
    )


def _output(client: str, readers: Sequence[Reader], violated: bool, controls: list[ReleaseControl]) -> Output:
    verdicts = [reader.verdict for reader in readers if reader.verdict != "not tried"]
    return Output(
        name=_SENT.format(client),
        what="Its messages, and through them the model or statistic that is made of them",
        verdict=decide.worst([*verdicts, "violated" if violated else "inconclusive"]),
        readers=list(readers),
        controls=controls,
    )


def _page(
    title: str,
    verdict: Any,
    sentences: Sequence[str],
    remarks: Sequence[str],
    outputs: list[Output],
    not_said: Sequence[str],
    command: str,
) -> ReleasePage:
    return ReleasePage(
        secmix_version=version("secmix"),
        title=title,
        verdict=verdict,
        sentence=" ".join(sentence.replace("**", "") for sentence in sentences),
        description=f"Of this run: {'; '.join(remarks)}." if remarks else "",
        policy={},
        outputs=outputs,
        accepted=[],
        not_tried=list(not_said),
        questions=_questions(outputs),
        reproduce=command,
    )


def _questions(outputs: Sequence[Output]) -> list[Question]:
    return [
        listed(outputs),
        _memory(outputs),
        controlled(outputs),
        of_the_organisation(),
        responsible([]),
        question("basis", "answered in part", [
            "A row counts as known where it follows with certainty, and a filter as not acting where what passed shows "
            "that. One run clears nobody."
        ]),
        machine_record(),
        unanswered("unit", "One run does not show whose data noise protects."),
        unanswered("epsilon", "One run does not show ε and δ: an audit with repetitions of a scenario does."),
        trusted(outputs),
        stepwise(outputs),
    ]  # fmt: skip


def _memory(outputs: Sequence[Output]) -> Question:
    """Name the readers, the public included, who know rows of a client."""
    known = [
        f"{output.name}: known to {reader.who}: {'; '.join(reader.found)}"
        for output in outputs
        for reader in output.readers
        if reader.verdict == "violated"
    ]
    tried = any(reader.who == PUBLIC and reader.tried for output in outputs for reader in output.readers)
    alone = "In the last arrays rows were looked for; membership was not tested."
    alone = alone if tried else "The released model by itself was not attacked."
    if not known:
        return unanswered("memory", f"No row was found in the messages. {alone}")
    return question("memory", "answered in part", [*known, alone])
