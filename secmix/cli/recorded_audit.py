"""``secmix audit --recorded``: what one recorded run says, in plain words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from secmix._base import files
from secmix.auditing.recorded import RecordedAudit, RecordedReading, audit_recording
from secmix.errors import SecmixError
from secmix.recording import read_recording

_NAMED = 12


def audited(
    recording: Path, out: Path, show_private: bool, formats: Sequence[str] | None = None
) -> tuple[RecordedAudit, list[Path]]:
    """Audit the recording and write ``recorded.md`` and ``recorded.json`` into ``out``; rows only if asked for.

    Raises
    ------
    SecmixError
        If another format is asked for, or none.
    """
    wanted = list(_FORMATS) if formats is None else list(dict.fromkeys(formats))
    if not wanted or set(wanted) - set(_FORMATS):
        strange = ", ".join(each for each in wanted if each not in _FORMATS) or "nothing"
        raise SecmixError(f"what one recorded run says is written as {' or '.join(_FORMATS)}; asked for is {strange}")
    found = audit_recording(read_recording(recording))
    out.mkdir(parents=True, exist_ok=True)
    places = [out / f"recorded.{each}" for each in wanted]
    for place, each in zip(places, wanted, strict=True):
        files.write(place, _FORMATS[each](found, show_private).encode())
    return found, places


def as_lines(found: RecordedAudit, show_private: bool = False) -> Iterator[str]:
    """Render the report as Markdown."""
    yield f"# A recorded run: {found.verdict}"
    yield ""
    for sentence in found.first:
        yield from (f"**{sentence[0].upper()}{sentence[1:]}.**", "")
    rows = len(found.rows)
    yield (
        f"{rows} node{'s' * (rows != 1)} of which the messages give the row away. "
        if rows
        else "No row was found in the messages. One run never shows that there is none to be found. "
    ) + "Verdicts of one run are *violated* or *inconclusive*."
    yield from ("", "## Who reads what", "")
    for reading in found.read:
        yield f"- {_in_words(reading)}"
    yield from ("", "## Rows that follow from the messages", "")
    for known in found.rows:
        numbers = ", ".join(f"{value:.6g}" for value in known.row) if show_private else "not shown"
        yield (
            f"- node {known.node}: a row of {len(known.row)} numbers, each within {known.error:.1g}: {known.how}. "
            f"Row: {numbers}"
        )
    if not found.rows:
        yield "- none"
    yield from ("", "## What a coalition could compute", "", *(f"- {each}" for each in found.coalitions))
    yield from ("", "## What is noticed without reading", "", *(f"- {each}" for each in found.seen or ["nothing"]))
    yield from ("", "## What one run does not show", "", *(f"- {each}" for each in found.not_said))


def _markdown(found: RecordedAudit, show_private: bool) -> str:
    return "\n".join(as_lines(found, show_private)) + "\n"


def _json(found: RecordedAudit, show_private: bool) -> str:
    return json.dumps(as_plain(found, show_private), indent=1, ensure_ascii=False) + "\n"


_FORMATS: dict[str, Callable[[RecordedAudit, bool], str]] = {"md": _markdown, "json": _json}


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


def as_plain(found: RecordedAudit, show_private: bool = False) -> dict[str, object]:
    """Return the report as plain values."""
    return {
        "verdict": found.verdict,
        "first": found.first,
        "read": [vars(reading) for reading in found.read],
        "rows": [
            {"node": known.node, "numbers": len(known.row), "error": known.error, "how": known.how}
            | ({"row": [float(value) for value in known.row]} if show_private else {})
            for known in found.rows
        ],
        "coalitions": found.coalitions,
        "seen": found.seen,
        "not_said": list(found.not_said),
    }
