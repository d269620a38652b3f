"""Links of the written pages lead somewhere, read as files of a checkout; mkdocs holds the built site to the same."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    chain(ROOT.glob("*.md"), *((ROOT / folder).rglob("*.md") for folder in ("docs", "reports", ".github", "attacks")))
)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)(?: *\{[^}]*\})?$", flags=re.M)


def written(page: Path) -> str:
    """Return the text of a page without its examples."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Return the names of the headings of a page, as GitHub makes them, and those that it gives itself."""
    text = written(page)
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in HEADING.findall(text))
    headings = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return headings | set(re.findall(r'<a id="([^"]+)"', text))


def dead(page: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    nowhere = []
    for link in LINK.findall(written(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        known = target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors(target))
        nowhere += [] if known else [link]
    return nowhere


def test_pages_are_found() -> None:
    named = {path.relative_to(ROOT).as_posix() for path in PAGES}
    assert {
        "README.md",
        "CONTRIBUTING.md",
        "docs/verdict.md",
        "docs/tutorials/own-data.md",
        "reports/README.md",
    } <= named


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    assert dead(page) == []


def test_a_link_to_no_file_and_one_to_no_heading_are_dead(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title, `coded`\n[a](none.md) [b](#a-title-coded) [c](page.md#other) [d](https://none.org)\n")
    assert dead(page) == ["none.md", "page.md#other"]
