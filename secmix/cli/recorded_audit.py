"""``secmix audit --recorded``: audit one recorded run, or one recorded job, and write what it says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import typer

from secmix._base import safe_files
from secmix.auditing.recorded import JobAudit, RecordedAudit, audit_job, audit_recording
from secmix.auditing.recorded.accepted_in_recordings import RecordedConclusion, concluded
from secmix.auditing.recorded.recorded_spending import StatedClaim, read_stated
from secmix.auditing.report import Conclusion
from secmix.cli import console, job_in_words, run_in_words
from secmix.errors import SecmixError
from secmix.recording import read_recording
from secmix.recording.nvflare.ends import is_job, read_job
from secmix.reporting.formats.recorded_report import html, markdown, with_accepted
from secmix.reporting.formats.release_html import render
from secmix.reporting.release.of_recorded import page_with_accepted
from secmix.scenario import AcceptedInRecordingSpec
from secmix.scenario.accepted import read_accepted_in_recording

_FORMATS, _RELEASE = ("md", "json", "html"), "release"


def audited(
    recording: Path,
    out: Path,
    show_private: bool,
    formats: Sequence[str] | None = None,
    stated: StatedClaim | None = None,
    accepted: Sequence[AcceptedInRecordingSpec] = (),
) -> tuple[RecordedAudit | JobAudit, RecordedConclusion, list[Path]]:
    """Audit the recording and write it into ``out`` in these formats, by default md, json and html; rows if asked for.

    With a ``stated`` claim it has an account of what each node spent. Returns the audit, what it comes to with what is
    accepted, and the files. Raises SecmixError if another format is asked for, or none.
    """
    wanted = _wanted(formats)
    audit: RecordedAudit | JobAudit
    if is_job(recording):
        audit = audit_job(read_job(recording), stated)
    else:
        audit = audit_recording(read_recording(recording), stated)
    judged = concluded(audit, accepted, date.today())
    contents: dict[Path, str] = {}
    for kind in wanted:
        contents |= {out / name: text for name, text in _rendered(kind, audit, judged, recording, show_private).items()}
    out.mkdir(parents=True, exist_ok=True)
    for place, text in contents.items():
        safe_files.write(place, text.encode("utf-8", "replace"))
    return audit, judged, list(contents)


def audit_and_print(
    recording: Path,
    out: Path,
    show_private: bool,
    formats: Sequence[str] | None,
    claim: Path | None,
    accepted: Path | None,
) -> Conclusion:
    """Audit the recording, write it into ``out`` and print it; return what it comes to.

    ``claim`` and ``accepted`` are TOML files.
    """
    stated = None if claim is None else read_stated(claim)
    entries = [] if accepted is None else read_accepted_in_recording(accepted)
    audit, judged, written = audited(recording, out, show_private, formats, stated, entries)
    with console.printed():
        for line in [*as_lines(audit, show_private, judged), "", *map(str, written)]:
            typer.echo(line)
    return judged.verdict


def as_lines(
    audit: RecordedAudit | JobAudit, show_private: bool = False, judged: RecordedConclusion | None = None
) -> Iterator[str]:
    """Render the report as Markdown."""
    return markdown(with_accepted(_words(audit).report(audit, show_private), judged))


def _wanted(formats: Sequence[str] | None) -> list[str]:
    """Return the formats that are asked for, each once."""
    wanted = list(_FORMATS) if formats is None else list(dict.fromkeys(formats))
    strange = [each for each in wanted if each not in {*_FORMATS, _RELEASE}]
    if not wanted or strange:
        raise SecmixError(
            f"--format of a recording: expected {', '.join(_FORMATS)} or {_RELEASE}; "
            f"given {', '.join(strange) or 'nothing'}"
        )
    return wanted


def _words(audit: RecordedAudit | JobAudit) -> Any:
    """Return the module that puts audits of this kind into words."""
    return job_in_words if isinstance(audit, JobAudit) else run_in_words


def _rendered(
    kind: str, audit: RecordedAudit | JobAudit, judged: RecordedConclusion, recording: Path, show_private: bool
) -> dict[str, str]:
    """Return the text of each file of one format, with what is accepted."""
    words, again = _words(audit), ["secmix", "audit", "--recorded", str(recording)]
    if kind == _RELEASE:
        page = page_with_accepted(words.page(audit, shlex.join([*again, "--format", _RELEASE])), judged)
        return {"release.html": render(page), "release.json": page.to_json()}
    if kind == "json":
        accepted = [each.model_dump() for each in judged.accepted]
        plain = {**words.as_plain(audit, show_private), "conclusion": judged.verdict, "accepted": accepted}
        return {"recorded.json": json.dumps(plain, indent=1, ensure_ascii=False) + "\n"}
    report = with_accepted(words.report(audit, show_private, shlex.join(again)), judged)
    return {"recorded.html": html(report)} if kind == "html" else {"recorded.md": "\n".join(markdown(report)) + "\n"}
