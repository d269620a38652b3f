"""Sentences on one recorded job of NVFlare: a report, a release page and plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from secmix.auditing.recorded import JobAudit
from secmix.auditing.recorded.rows import JobRow
from secmix.cli.run_in_words import result_in_words, spending
from secmix.reporting.formats.recorded_report import RecordedReport, Statement, statements
from secmix.reporting.release.of_recorded import page_of_job
from secmix.reporting.release.page import ReleasePage


def report(audit: JobAudit, show_private: bool = False, command: str = "") -> RecordedReport:
    """Put what was found into sentences, part by part; rows only if asked for."""
    alike: dict[tuple[object, ...], list[JobRow]] = {}
    for known in audit.rows:
        alike.setdefault((known.client, known.how, known.known_to, len(known.row)), []).append(known)
    rows = [_rows_in_words(rows, show_private) for rows in alike.values()]
    controls = [f"{c.title}: {c.outcome}; {c.how}" for c in audit.controls] or ["none: no filter is configured"]
    clients = dict.fromkeys(each.client for each in audit.learned)
    none = "none was found. One run never shows that there is none to be found"
    return RecordedReport(
        "A recorded job of NVFlare",
        audit.verdict,
        tuple(headline(audit)),
        (
            ("Controls that the configuration names", statements(*controls)),
            ("What the public gets at the end", statements(*result_in_words(audit.last))),
            *((f"What others learn of {client}", _of_client(audit, client)) for client in clients),
            ("Rows that follow from the messages", tuple(rows) or statements(none)),
            *spending(audit.spent),
            ("This run", statements(*audit.remarks)),
            ("What one run does not show", statements(*audit.not_said)),
        ),
        command,
        show_private,
    )


def page(audit: JobAudit, command: str) -> ReleasePage:
    """Build the release page, which ``command`` makes again."""
    return page_of_job(audit, list(headline(audit)), command)


def _of_client(audit: JobAudit, client: str) -> tuple[Statement, ...]:
    learned = [each for each in audit.learned if each.client == client]
    return tuple(
        Statement(f"{each.party}: {'reads' if each.reads else 'nothing of its messages'}", (*each.reads, *each.knows))
        for each in learned
    )


def _rows_in_words(rows: list[JobRow], show_private: bool) -> Statement:
    """Say of rows that follow in the same way how many they are, and list them if asked for."""
    first, off = rows[0], max(row.error for row in rows)
    exact = "exactly" if not off else f"each within {off:.1g}"
    count = f"{len(rows)} row{'s' * (len(rows) != 1)} of {len(first.row)} numbers, {exact}"
    hidden = "" if show_private else ". Not shown"
    below = tuple(", ".join(f"{value:.6g}" for value in row.row) for row in rows) if show_private else ()
    return Statement(f"{first.client}: {count}, known to {_names(first.known_to)}: {first.how}{hidden}", below)


def headline(audit: JobAudit) -> Iterator[str]:
    """Say what decides: that no client answered, then each control that did not act."""
    if audit.all_failed:
        yield "**No client sent anything but errors**: nothing can be learnt from this run."
    for control in audit.controls:
        if control.outcome == "violated":
            yield f"**{control.name} of {_names(control.participants)} was not in force**: {control.how}."
    clients = list(dict.fromkeys(row.client for row in audit.rows))
    if clients:
        count = len(audit.rows)
        yield f"The messages give {count} row{'s' * (count != 1)} of {', '.join(clients)} away."
    if audit.last.rows:
        yield "The last arrays give rows away to whoever gets the released model."
    elif audit.verdict == "inconclusive":
        yield "No row was found in the messages, and no control was found not to act. One run never shows more."


def as_plain(audit: JobAudit, show_private: bool = False) -> dict[str, object]:
    """Return the report as plain values."""
    return {
        "verdict": audit.verdict,
        "all_failed": audit.all_failed,
        "headline": list(headline(audit)),
        "controls": [vars(control) for control in audit.controls],
        "learned": [vars(each) for each in audit.learned],
        "rows": [
            {
                "client": row.client,
                "known_to": row.known_to,
                "numbers": len(row.row),
                "error": row.error,
                "how": row.how,
            }
            | ({"row": [float(value) for value in row.row]} if show_private else {})
            for row in audit.rows
        ],
        "spent": [each.as_plain() for each in audit.spent],
        "remarks": audit.remarks,
        "not_said": list(audit.not_said),
        "last": vars(audit.last),
    }


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)
