"""Running and judging: from a scenario to a report, cell by cell."""

from secmix.auditing.cell_parts import NodeSummary
from secmix.auditing.report import Cell, Finding, Report

__all__ = ["Cell", "Finding", "NodeSummary", "Report"]
