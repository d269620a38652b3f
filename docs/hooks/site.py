"""What mkdocs builds beside the written pages: the README, the changelog, lists made from the code, the reports."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import keys  # noqa: E402
import lists  # noqa: E402

COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
API = ("secmix", "secmix.protocols", "secmix.adversaries", "secmix.aggregators", "secmix.estimators", "secmix.auditing",
       "secmix.privacy", "secmix.recording", "secmix.reporting", "secmix.testing", "secmix.wrap")  # fmt: skip
_SHOWN = {".png", ".svg", ".html", ".json"}


def on_config(config: Any) -> Any:
    """Studies that no line of the navigation names stand below those that one does."""
    results = next(each["Results"] for each in config.nav if "Results" in each)
    listed = {where for each in results for where in each.values()}
    for path in sorted(ROOT.glob("reports/*/README.md")):
        where = path.relative_to(ROOT).as_posix()
        if where not in listed:
            results.append({path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "): where})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that are made, and the real outputs that pages show."""
    made = {COPIED[name]: lists.at_home((ROOT / name).read_text(encoding="utf-8")) for name in COPIED}
    made |= {"evidence.md": lists.evidence(), "threat-models.md": lists.threat_models(), "scenario.md": keys.page()}
    made |= {f"api/{name}.md": api(name) for name in API}
    for path in sorted((ROOT / "reports").rglob("*")):
        where = path.relative_to(ROOT).as_posix()
        if path.suffix in _SHOWN and path.name != "report.json":
            files.append(File.generated(config, where, abs_src_path=str(path)))
        elif path.suffix == ".md" and path.name != "report.md":
            made[where] = lists.report(path.read_text(encoding="utf-8"))
    for name in ("LICENSE", "CITATION.cff"):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for where, text in made.items():
        files.append(File.generated(config, where, content=text))
    return files


def api(name: str) -> str:
    """Every public name of a package, from its docstring."""
    package = importlib.import_module(name)
    public = [each for each in package.__all__ if not each.startswith("_")]
    lines = [f"# {name}\n", (package.__doc__ or "").strip().replace("``", "`"), ""]
    return "\n".join([*lines, *(f"::: {name}.{each}\n" for each in public)])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files of the checkout to the pages of the site that are made of them."""
    written = (ROOT / "docs" / page.file.src_uri).exists()
    return lists.above_docs(markdown, page.file.src_uri, COPIED) if written else markdown


def on_page_content(html: str, **_: Any) -> str:
    return lists.names_alone(html)
