"""Reporting: a Report as HTML, JSON, Markdown, JUnit XML, SARIF, a page for a board, or on the terminal.

Renderers change no number and no verdict of the Report.
"""

from __future__ import annotations

from secmix.reporting.comparison import Change, caveats, compare, direction, print_changes
from secmix.reporting.formats.terminal import print_report
from secmix.reporting.report_files import FORMATS, files_of, json_schema, load, read_json, write

__all__ = [
    "FORMATS",
    "Change",
    "caveats",
    "compare",
    "direction",
    "files_of",
    "json_schema",
    "load",
    "print_changes",
    "print_report",
    "read_json",
    "write",
]
