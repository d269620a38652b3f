"""Report of a recorded run or job: the same sentences as Markdown, and as one HTML file like every other report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version

from secmix.auditing.recorded.accepted_in_recordings import RecordedConclusion
from secmix.auditing.report import Conclusion
from secmix.reporting import words

_BOLD, _ITALIC = re.compile(r"\*\*(.+?)\*\*"), re.compile(r"\*(.+?)\*")


@dataclass(frozen=True)
class Statement:
    """A line of a part, and the lines below it."""

    text: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordedReport:
    """Sentences about one recorded run, ready to be rendered."""

    title: str
    verdict: Conclusion
    lead: tuple[str, ...]  # what decides, the most important first; ``*`` and ``**`` stand for emphasis
    parts: tuple[tuple[str, tuple[Statement, ...]], ...]  # tuple of (heading, statements)
    command: str = ""  # makes the report again
    private: bool = False  # whether rows are shown


def statements(*texts: str) -> tuple[Statement, ...]:
    """Make statements with nothing below them."""
    return tuple(Statement(text) for text in texts)


def with_accepted(report: RecordedReport, judged: RecordedConclusion | None) -> RecordedReport:
    """Return the report with its conclusion and what somebody accepts; as it is where nobody does."""
    if judged is None or not judged.accepted:
        return report
    sentences = [
        f"{entry.what}: {entry.reason} ({f'by {entry.by} ' if entry.by else ''}until {entry.until}"
        f"{', which is over: it counts again' if entry.ended else ''})"
        for entry in judged.accepted
    ]
    lead = (judged.sentence,) * bool(judged.sentence) + report.lead
    parts = (("What somebody accepts", statements(*sentences)), *report.parts)
    return replace(report, verdict=judged.verdict, lead=lead, parts=parts)


def markdown(report: RecordedReport) -> Iterator[str]:
    """Render the report as lines of Markdown."""
    yield f"# {report.title}: {report.verdict}"
    for sentence in report.lead:
        yield from ("", sentence)
    for heading, lines in report.parts:
        yield from ("", f"## {heading}", "")
        for entry in lines:
            yield f"- {entry.text}"
            yield from (f"    - {text}" for text in entry.below)


def html(report: RecordedReport) -> str:
    """Render the report as one file, which loads nothing and runs no code."""
    from importlib.resources import files

    from markupsafe import Markup

    from secmix.reporting.formats.html import environment

    css = files("secmix.reporting").joinpath("templates/report.css").read_text("utf-8")
    parts = [[heading, [[entry.text, *entry.below] for entry in lines]] for heading, lines in report.parts]
    safe = words.walk({**vars(report), "lead": list(report.lead), "parts": parts})
    lead = [_emphasised(sentence) for sentence in safe["lead"]]
    template = environment().get_template("recorded.html.j2")
    return template.render(report=safe, lead=lead, css=Markup(css), version=version("secmix"))


def _emphasised(sentence: str) -> str:
    """Escape a sentence, and put its emphasis into tags."""
    from markupsafe import Markup, escape

    text = _BOLD.sub(r"<b>\1</b>", str(escape(sentence)))
    return Markup(_ITALIC.sub(r"<i>\1</i>", text))
