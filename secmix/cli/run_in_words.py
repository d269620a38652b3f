"""Sentences on one recorded run: a report, a release page and plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from secmix.auditing.recorded.recorded_run import RecordedAudit, RecordedReading
from secmix.auditing.recorded.recorded_spending import RecordedSpending, spending_in_words
from secmix.auditing.released.last_arrays import OPEN, LastArrays
from secmix.reporting.formats.recorded_report import RecordedReport, Statement, statements
from secmix.reporting.release.of_recorded import page_of_recording
from secmix.reporting.release.page import ReleasePage

_NAMED = 12


def report(audit: RecordedAudit, show_private: bool = False, command: str = "") -> RecordedReport:
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
            ("Metadata", statements(*(audit.seen or ["nothing"]))),
            *spending(audit.spent),
            ("What one run does not show", statements(*audit.not_said)),
        ),
        command,
        show_private,
    )


def page(audit: RecordedAudit, command: str) -> ReleasePage:
    """Build the release page, which ``command`` makes again."""
    return page_of_recording(audit, list(headline(audit)), _in_words, command)


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
    left = len(reading.names) - _NAMED
    names = ", ".join(reading.names[:_NAMED]) + (f" and {left} more" if left > 0 else "")
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
