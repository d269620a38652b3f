"""Pages that list what is installed: evidence, adversaries, the catalogue, attacks, protocols."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

from secmix._base import plugins
from secmix.auditing.evidence.interface import Evidence, installed
from secmix.scenario.catalogue import entries


def evidence() -> str:
    """The page on kinds of evidence."""
    lines = [
        "# Evidence\n",
        "What the audit says of a node rests on several kinds of evidence that do not depend on one another. This page "
        "is made from the objects themselves; [What a verdict means](verdict.md) says what all of them assume.\n",
        "| evidence | what its number is | can clear a node |",
        "|---|---|---|",
        *(f"| [{e.name}](#{e.name}) | {_number(e)} | {'yes' if e.bounds_leakage else 'no'} |" for e in installed()),
        "",
    ]
    for each in installed():
        lines += [f"## {each.name}\n", how_it_is_got(each), ""]
        lines += ["Findings:\n", *(f"- **{kind.name}** ({kind.title}): {kind.meaning}" for kind in each.kinds), ""]
        if each.not_tried:
            lines += [f"A scenario that leaves it out has a report that says: “not tried: {each.not_tried}”.\n"]
    return "\n".join(lines)


def threat_models() -> str:
    """The page on adversaries, attacks and the catalogue."""
    lines = ["# Threat models\n", "## Adversaries\n", "Under `[adversary]` a scenario names one of these.\n"]
    for name in plugins.available("adversaries"):
        lines += [f"### {name}\n", before_parameters(plugins.load("adversaries", name)), ""]
    lines += ["## Protocols, and what each reveals by design\n"]
    for name in plugins.available("protocols"):
        lines += [f"### {name} {{ #protocol-{name} }}\n", before_parameters(plugins.load("protocols", name)), ""]
    group = "attacks" if plugins.available("attacks") else "forgeries"
    lines += ["## Attacks\n", "What `Colluders` can send; the name goes under `attack`.\n"]
    lines += ["| attack | messages it replaces | what it does |", "|---|---|---|"]
    for name in plugins.available(group):
        attack = plugins.load(group, name)
        lines += [f"| `{name}` | {', '.join(sorted(attack.kinds))} | {attack.does} |"]
    lines += ["", "## The catalogue\n", "Each entry is a scenario with its threat model at the head.\n"]
    for entry in entries().values():
        lines += [f"### {entry.name}\n", f"*{entry.scenario.title}.*\n", f"{entry.threat_model}\n"]
        lines += [f"`secmix audit {entry.name}` · [the report](reports/catalogue/{entry.name}/report.html)\n"]
    return "\n".join(lines)


def before_parameters(part: Any) -> str:
    """A docstring up to its first section, and the paragraph on what it reveals by design, wherever that stands."""
    doc = inspect.getdoc(part) or ""
    kept = re.split(r"^\w[\w ]*\n-{3,}$", doc, maxsplit=1, flags=re.M)[0].strip()
    design = next((each for each in doc.split("\n\n") if "reveals by design" in each and each not in kept), "")
    design = re.sub(r"^\w[\w ]*\n-{3,}\n", "", design)
    return f"{kept}\n\n{design}".strip().replace("``", "`")


def _number(each: Evidence) -> str:
    if each.exact:
        return "exact"
    return "an estimate with an interval, or a lower bound" if each.bounds_leakage else "a lower bound"


def how_it_is_got(each: Evidence) -> str:
    """The docstring of the file that an evidence stands in."""
    return (inspect.getdoc(sys.modules[each.gather.__module__]) or "").replace("``", "`")


def at_home(text: str) -> str:
    """A page from the root of the checkout, with links that lead to the pages of the site."""
    places = {"attacks": "threat-models.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
    places |= {"CONTRIBUTING": "contributing.md", "CHANGELOG": "changelog.md", "CITATION": "CITATION.cff"}

    def moved(match: re.Match[str]) -> str:
        target = match[1].removeprefix("docs/")
        return f"]({places.get(target, re.sub(r'/report[.]md$', '/report.html', target))})"

    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", moved, text)


MADE_OF = {
    "secmix/auditing/evidence": "evidence.md",
    "secmix/adversaries/attacks": "threat-models.md#attacks",
    "secmix/scenario/settings.py": "scenario.md",
}
"""Code that pages of the site are made of: in a checkout, which has no such page, links lead to the code."""


def above_docs(text: str, where: str, copied: Mapping[str, str]) -> str:
    """A page of ``docs`` with links to files above ``docs`` that lead to the site's pages, beside those of ``docs``."""
    up = "../" * where.count("/")
    places = {**copied, **MADE_OF}

    def moved(match: re.Match[str]) -> str:
        return f"]({up}{places.get(match[1], match[1])}"

    return re.sub(rf"\]\({re.escape(up)}\.\./([^)#]+)", moved, text)


def names_alone(html: str) -> str:
    """Docstrings name other objects as Sphinx does; a reader of the page needs the name alone.

    >>> names_alone("as in :class:<code>~secmix.protocols.PDMM</code>")
    'as in <code>PDMM</code>'
    """
    html = re.sub(r":(?:class|func|meth|mod|data|attr):(?=<code>)", "", html)
    return re.sub(r"<code>~(?:[\w.]+\.)?(\w+)</code>", r"<code>\1</code>", html)


def report(text: str) -> str:
    """A study's page; the catalogue links to its reports as a browser shows them."""
    text = re.sub(r"\]\(([\w-]+)/report\.md\)", r"](\1/report.html)", text)
    return text.replace("](../../attacks)", "](../../threat-models.md)")
