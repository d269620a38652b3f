"""report.html: one file that needs neither network nor JavaScript, for people before machines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from secmix.auditing.cell_parts import IN_VAIN, NodeSummary
from secmix.auditing.report import Cell, Finding, Report, covered
from secmix.reporting import robustness as robust
from secmix.reporting import words
from secmix.reporting.glossary import HOW_TO_READ, anchor, glossary
from secmix.reporting.linked import as_html, link
from secmix.reporting.summary import linked_summary

if TYPE_CHECKING:
    from jinja2 import Environment

# Counts in the sentence of a report.
_COMBINATIONS = re.compile(r"\b\d+( of \d+)?(?= combination)|(?<=but for )\d+|(?<=Of the rest, )\d+")
# More open sections, or a longer table of nodes, would hide the important ones.
OPEN_SECTIONS = 6
ROWS = 24
# More findings are left out of a printed report: they are in report.html and report.json.
PRINTED = 100


@dataclass(frozen=True)
class Section:
    """One cell with the content of its part of the page."""

    cell: Cell
    anchor: str
    open: bool
    nodes: list[NodeSummary]
    more_nodes: list[NodeSummary]
    findings: list[Finding]
    network: Any
    lines: dict[str, set[tuple[int, int]]]
    served: bool
    leakage: Any
    sigma: Any
    push: Any
    picture: Any
    coalition: Any


def render(report: Report) -> str:
    """Render the whole page."""
    from importlib.resources import files

    from markupsafe import Markup

    safe = words.cleaned(report)
    css = files("secmix.reporting").joinpath("templates/report.css").read_text("utf-8")
    sections = _sections(safe)
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            report=safe,
            short=list(map(as_html, linked_summary(safe))),
            sections=sections,
            matrix=matrix(safe, sections),
            css=Markup(css),
            scenario=words.toml(safe.scenario),
            tallies=_tallies(safe),
            glossary=glossary(safe),
            trades=robust.trades(safe),
            several=len({cell.adversary for cell in safe.cells if cell.robustness}) > 1,
            fields=robust.fields(safe),
            how_to_read=HOW_TO_READ,
            single=len(sections) == 1,
            long=len(safe.findings) > PRINTED,
        )
    )


def _has_sigma(cell: Cell) -> bool:
    return any(point.sigma > 0 for point in cell.sigma_curve)


def _tallies(report: Report) -> list[str]:
    verdicts: list[str] = [cell.verdict for cell in report.cells]
    counts = ((verdicts.count(verdict), verdict) for verdict in words.VERDICTS)
    return [f"{count} {verdict}" for count, verdict in counts if count] or ["none"]


@cache
def environment() -> Environment:
    """Return the environment in which every page is rendered; it escapes all that it is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from secmix.reporting.figures.coalition import guards_explained
    from secmix.reporting.figures.curves import picture_alt
    from secmix.reporting.formats import exposure_tables

    environment = Environment(
        loader=PackageLoader("secmix.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"words": words, "robust": robust, "anchor": anchor, "picture_alt": picture_alt}
    environment.globals |= {
        "exposure_tables": exposure_tables,
        "guards_explained": guards_explained,
        "in_vain": IN_VAIN,
    }
    environment.globals["covered"] = covered
    environment.filters |= {
        "number": words.number,
        "share": words.share,
        "slug": slug,
        "counted": lambda sentence: as_html(_COMBINATIONS.sub(lambda count: link("matrix", count[0]), sentence)),
    }
    return environment


def slug(text: str) -> str:
    """Convert a verdict, standing or kind of evidence to an anchor of the glossary."""
    return {"no more than the output itself reveals": "output"}.get(text, text.replace(" ", "-"))


def _sections(report: Report) -> list[Section]:
    from markupsafe import Markup

    from secmix.reporting.figures.coalition import coalition_figure
    from secmix.reporting.figures.curves import leakage_figure, picture_figure, sigma_figure
    from secmix.reporting.figures.network_figure import lines, network_figure, spots
    from secmix.reporting.figures.robustness_figure import robustness_figure

    limit = report.limits.get("max_normalised_leakage")
    by_cell: dict[tuple[str, str], list[Finding]] = {}
    for finding in sorted(report.findings, key=lambda f: f.node):
        by_cell.setdefault((finding.protocol, finding.adversary), []).append(finding)
    all_open = len(report.cells) <= 4
    opened = 0
    sections = []
    for k, cell in words.numbered(report):
        shown = all_open or (cell.verdict == "violated" and opened < OPEN_SECTIONS)
        opened += shown
        nodes = words.by_severity(cell)
        measured = cell.robustness
        push = robustness_figure(cell, measured, report.limits, f"r{k}") if measured and measured.points else None
        sections.append(
            Section(
                cell=cell,
                anchor=f"cell-{k}",
                open=shown,
                nodes=nodes[:ROWS],
                more_nodes=nodes[ROWS:],
                findings=by_cell.get((cell.protocol, cell.adversary), []),
                # These strings are SVG that we made ourselves; the only words in them are ours and escaped.
                network=Markup(network_figure(cell, f"n{k}")),
                lines=lines(cell),
                served=-1 in spots(cell),
                leakage=Markup(leakage_figure(cell.curves, limit, f"l{k}", cell.names)) if cell.curves else None,
                sigma=Markup(sigma_figure(cell.sigma_curve, limit, f"s{k}")) if _has_sigma(cell) else None,
                push=Markup(push) if push else None,
                picture=Markup(picture_figure(cell.picture, f"p{k}", cell.names)) if cell.picture else None,
                coalition=Markup(coalition_figure(cell, cell.coalitions, f"w{k}")) if cell.coalitions else None,
            )
        )
    return sections


@dataclass(frozen=True)
class Matrix:
    """Protocol × adversary, transposed so that the shorter list runs across."""

    corner: str
    rows: list[str]
    columns: list[str]
    at: dict[tuple[str, str], list[Section]]


def matrix(report: Report, sections: list[Section]) -> Matrix:
    """Arrange the sections by protocol and adversary; a sweep may put several cells in one place."""
    protocols = list(dict.fromkeys(cell.protocol for cell in report.cells))
    adversaries = list(dict.fromkeys(cell.adversary for cell in report.cells))
    transposed = len(adversaries) > max(4, len(protocols))
    at: dict[tuple[str, str], list[Section]] = {}
    for section in sections:
        key = (section.cell.protocol, section.cell.adversary)
        at.setdefault(key[::-1] if transposed else key, []).append(section)
    if transposed:
        return Matrix("Adversary", adversaries, protocols, at)
    return Matrix("Protocol", protocols, adversaries, at)
