"""``secmix audit --recorded``: what one recorded run says, in plain words."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from secmix._base import files
from secmix.auditing.accepted_in_recordings import RecordedConclusion, concluded
from secmix.auditing.noise.recorded_spending import RecordedSpending, StatedClaim, spending_in_words
from secmix.auditing.recorded import RecordedAudit, RecordedReading, audit_recording
from secmix.auditing.released.last_arrays import OPEN, LastArrays
from secmix.errors import SecmixError
from secmix.recording import read_recording
from secmix.reporting.formats.recorded_report import (
    RecordedReport,
    Statement,
    html,
    markdown,
    statements,
    with_accepted,
)
from secmix.reporting.formats.release_html import render
from secmix.reporting.release.of_recorded import page_of_recording, page_with_accepted
from secmix.reporting.release.page import ReleasePage
from secmix.scenario import AcceptedInRecordingSpec

_FORMATS, _RELEASE = ("md", "json", "html"), "release"
_NAMED = 12


def audited(
    recording: Path,
    out: Path,
    show_private: bool,
    formats: Sequence[str] | None = None,
    stated: StatedClaim | None = None,
    accepted: Sequence[AcceptedInRecordingSpec] = (),
) -> tuple[RecordedAudit, list[Path]]:
    """Audit the recording and write it into ``out`` in these formats, by default md, json and html; rows if asked for.

    With a ``stated`` claim it has an account of what each node spent. Raises SecmixError if another format is asked
    for, or none.
    """
    refusal = "what one recorded run says is written as {known}; asked for is {given}"
    wanted = wanted_formats(formats, refusal)
    result = audit_recording(read_recording(recording), stated)
    page = page_of_recording(result, list(headline(result)), _in_words, command_of(recording, _RELEASE))
    judged = concluded(result, accepted, date.today())
    report = report_of_run(result, show_private, command_of(recording))
    return result, written(out, wanted, report, as_plain(result, show_private), page, judged)


def wanted_formats(given: Sequence[str] | None, refusal: str) -> list[str]:
    """Return the formats in which a recorded audit is written, each once; md, json and html where none are given.

    Raises SecmixError if another format is asked for, or none: ``refusal``, with the ``known`` and the ``given``
    formats put in.
    """
    wanted = list(_FORMATS) if given is None else list(dict.fromkeys(given))
    strange = [each for each in wanted if each not in {*_FORMATS, _RELEASE}]
    if not wanted or strange:
        known = f"{', '.join(_FORMATS)} or {_RELEASE}"
        raise SecmixError(refusal.format(known=known, given=", ".join(strange) or "nothing"))
    return wanted


def written(
    out: Path,
    wanted: Sequence[str],
    report: RecordedReport,
    plain: Mapping[str, object],
    page: ReleasePage,
    judged: RecordedConclusion,
) -> list[Path]:
    """Write a recorded audit and its release page, with what is accepted, in the formats that are wanted."""
    contents: dict[Path, str] = {}
    report, page = with_accepted(report, judged), page_with_accepted(page, judged)
    plain = {**plain, "conclusion": judged.verdict, "accepted": [each.model_dump() for each in judged.accepted]}
    for kind in wanted:
        if kind == _RELEASE:
            contents |= {out / "release.html": render(page), out / "release.json": page.to_json()}
        elif kind == "md":
            contents[out / "recorded.md"] = "\n".join(markdown(report)) + "\n"
        elif kind == "html":
            contents[out / "recorded.html"] = html(report)
        else:
            contents[out / "recorded.json"] = json.dumps(plain, indent=1, ensure_ascii=False) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    for place, text in contents.items():
        files.write(place, text.encode("utf-8", "replace"))
    return list(contents)


def command_of(recording: Path, format: str | None = None) -> str:
    """Return the command that makes the report of a recording again, or what ``format`` names."""
    named = [] if format is None else ["--format", format]
    return shlex.join(["secmix", "audit", "--recorded", str(recording), *named])


def as_lines(
    audit: RecordedAudit, show_private: bool = False, judged: RecordedConclusion | None = None
) -> Iterator[str]:
    """Render the report as Markdown."""
    return markdown(with_accepted(report_of_run(audit, show_private), judged))


def report_of_run(audit: RecordedAudit, show_private: bool = False, command: str = "") -> RecordedReport:
    """Put what was found into sentences, part by part; rows only if asked for."""
    *first, last = headline(audit)
    rows = [
        f"node {known.node}: a row of {len(known.row)} numbers, each within {known.error:.1g}: {known.how}. "
        f"Row: {', '.join(f'{value:.6g}' for value in known.row) if show_private else 'not shown'}"
        for known in audit.rows
    ]
    return RecordedReport(
        "A recorded run",
        audit.verdict,
        (*first, f"{last} Verdicts of one run are *violated* or *inconclusive*."),
        (
            ("What the public gets at the end", statements(*result_in_words(audit.last))),
            ("Who reads what", statements(*map(_in_words, audit.read))),
            ("Rows that follow from the messages", statements(*(rows or ["none"]))),
            ("What a coalition could compute", statements(*audit.coalitions)),
            ("What is noticed without reading", statements(*(audit.seen or ["nothing"]))),
            *spending(audit.spent),
            ("What one run does not show", statements(*audit.not_said)),
        ),
        command,
        show_private,
    )


def spending(spent: Sequence[RecordedSpending]) -> list[tuple[str, tuple[Statement, ...]]]:
    """Return the account of epsilon as a part of the report; nothing where there is none."""
    sentences = statements(*map(spending_in_words, spent))
    return [("What each spent, on the configuration's word", sentences)] if sentences else []


def result_in_words(last: LastArrays) -> list[str]:
    """Say what the public gets, what follows from it and what was not tried; of a recording without models nothing."""
    if not last.what:
        return ["no model was sent that the recording has: what is released is not known"]
    if not last.readable:
        return [last.what, "nothing was looked for: what is released once it is decrypted is not known"]
    parts = [*last.rows, *last.copies] or ["no row was found in it"]
    return [last.what, *parts, OPEN]


def headline(audit: RecordedAudit) -> Iterator[str]:
    """Say what has to be known first, then whether a row was found."""
    yield from (f"**{sentence[0].upper()}{sentence[1:]}.**" for sentence in audit.first)
    rows = len(audit.rows)
    if rows:
        last = ", and so does the last model, to whoever gets it" if audit.last.rows else ""
        yield f"{rows} node{'s' * (rows != 1)} of which the messages give the row away{last}."
    else:
        yield "No row was found in the messages. One run never shows that there is none to be found."


def _in_words(reading: RecordedReading) -> str:
    names = ", ".join(reading.names[:_NAMED]) + ", ..." * (len(reading.names) > _NAMED)
    return (
        (
            f"{reading.party} reads of {reading.sender}: {reading.kind}, {reading.messages} time"
            f"{'s' * (reading.messages != 1)}, {reading.numbers} number{'s' * (reading.numbers != 1)}"
        )
        + (f" ({names})" if names else "")
        + ", opaque to this adversary" * (reading.role == "opaque")
    )


def as_plain(audit: RecordedAudit, show_private: bool = False) -> dict[str, object]:
    """Return the report as plain values."""
    return {
        "verdict": audit.verdict,
        "first": audit.first,
        "read": [vars(reading) for reading in audit.read],
        "rows": [
            {"node": known.node, "numbers": len(known.row), "error": known.error, "how": known.how}
            | ({"row": [float(value) for value in known.row]} if show_private else {})
            for known in audit.rows
        ],
        "coalitions": audit.coalitions,
        "seen": audit.seen,
        "spent": [each.as_plain() for each in audit.spent],
        "not_said": list(audit.not_said),
        "last": vars(audit.last),
    }
