"""A report as a notebook shows it: the verdict, and the matrix of protocols and adversaries."""

from __future__ import annotations

from html import escape
from typing import Any

from secmix.errors import one_line

_COLOUR = {"violated": "#b3261e", "inconclusive": "#8a5a00", "holds": "#1b5e8a", "no worse": "#1b5e8a"}
_COLOUR["not asked"] = "#666666"
_MOST = 30


def page(report: Any) -> str:
    """Render HTML without scripts or styles of its own; every word of the report is escaped."""
    protocols = list(dict.fromkeys(cell.protocol for cell in report.cells))[:_MOST]
    adversaries = list(dict.fromkeys(cell.adversary for cell in report.cells))[:_MOST]
    at: dict[tuple[str, str], list[Any]] = {}
    for cell in report.cells:
        at.setdefault((cell.protocol, cell.adversary), []).append(cell)
    head = "".join(f"<th>{_words(name)}</th>" for name in adversaries)
    rows = "".join(
        f"<tr><th style='text-align:left'>{_words(protocol)}</th>"
        + "".join(f"<td>{'<br>'.join(map(_cell, at.get((protocol, adversary), [])))}</td>" for adversary in adversaries)
        + "</tr>"
        for protocol in protocols
    )
    return (
        f"<p><b>{_words(report.title)}</b><br>{_verdict(report.verdict, report.headline)} {_words(report.sentence)}</p>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _cell(cell: Any) -> str:
    revealed = sum(node.standing == "revealed" for node in cell.nodes)
    honest = sum(node.standing != "corrupt" for node in cell.nodes)
    return f"{_verdict(cell.verdict)}<br><small>{revealed} of {honest} honest nodes revealed</small>"


def _verdict(verdict: str, headline: str = "") -> str:
    return f"<b style='color:{_COLOUR[verdict]}'>{_words(headline or verdict)}</b>"


def _words(text: str) -> str:
    return escape(one_line(text))
