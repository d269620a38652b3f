"""The pages that are made from the code: every key has a meaning, every evidence says how it is got."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

from secmix.auditing.evidence.interface import installed
from secmix.scenario import Scenario
from secmix.scenario.catalogue import entries

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "hooks"))

import keys
import lists


@pytest.mark.parametrize("table", keys.tables())
def test_every_key_of_a_scenario_has_a_meaning(table: str) -> None:
    model = keys.tables()[table]
    found = {key: told for key, _, _, told in keys.rows(model)}
    assert not [key for key, told in found.items() if not told]
    tables = set(keys.tables()) | {"sweep"}
    assert set(found) == set(model.model_fields) - (tables if model is Scenario else set())


def test_the_page_of_keys_has_types_bounds_and_defaults() -> None:
    page = keys.page()
    assert "| `runs` | integer, at least 100" in page
    assert '| `init` | "public" or "kmeans" or "moments" | `public` |' in page
    assert "| `max_normalised_leakage` | number, at least 0, at most 1 | none |" in page
    assert '**`name = "pdmm"`**' in page


def test_a_page_shows_no_words_of_other_programs() -> None:
    for page in (keys.page(), lists.evidence(), lists.threat_models()):
        assert "As in" not in page
        assert "<factory>" not in page
    assert "at most 1_000_000 |" in keys.page()


def test_every_file_that_a_page_names_is_there() -> None:
    root = Path(__file__).parents[2]
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py|/))`", page.read_text("utf-8"))}
    ours = {name for name in named if any((root / above / name.split("/")[0]).is_dir() for above in ("", "secmix"))}
    assert ours
    assert not [name for name in sorted(ours) if not any((root / above / name).exists() for above in ("", "secmix"))]


def test_the_site_has_pages_of_files_above_it_beside_its_own() -> None:
    text = "[a](../../CONTRIBUTING.md#add) [b](../../reports/noise/README.md) [c](../verdict.md)"
    expected = "[a](../contributing.md#add) [b](../reports/noise/README.md) [c](../verdict.md)"
    assert lists.above_docs(text, "tutorials/noise.md", {"CONTRIBUTING.md": "contributing.md"}) == expected
    below = "[a](../CONTRIBUTING.md) [b](tutorials/noise.md)"
    assert (
        lists.above_docs(below, "verdict.md", {"CONTRIBUTING.md": "contributing.md"})
        == "[a](contributing.md) [b](tutorials/noise.md)"
    )


def test_a_link_to_code_that_a_page_is_made_of_leads_to_that_page_in_the_site() -> None:
    root = Path(__file__).parents[2]
    written = "".join(page.read_text("utf-8") for page in (root / "docs").rglob("*.md"))
    made = {"evidence.md": lists.evidence, "threat-models.md#attacks": lists.threat_models, "scenario.md": keys.page}
    assert set(lists.MADE_OF.values()) == set(made)
    for code, page in lists.MADE_OF.items():
        assert (root / code).exists()
        assert f"../{code})" in written
        assert lists.above_docs(f"[it](../../{code})", "tutorials/own-data.md", {}) == f"[it](../{page})"


def test_every_evidence_says_how_it_is_got_and_what_it_assumes() -> None:
    page = lists.evidence()
    for each in installed():
        assert "How it is got:" in lists.how_it_is_got(each), each.name
        assert "What it assumes:" in lists.how_it_is_got(each), each.name
        assert lists.how_it_is_got(each) in page
        assert all(kind.meaning in page for kind in each.kinds)


def test_every_entry_of_the_catalogue_has_its_threat_model() -> None:
    page = lists.threat_models()
    for entry in entries().values():
        assert entry.threat_model, entry.name
        assert entry.threat_model in page


def test_the_readmes_links_lead_to_pages_of_the_site() -> None:
    places = {"docs/verdict.md": "verdict.md", "attacks": "threat-models.md", "CONTRIBUTING.md": "contributing.md"}
    for before, after in places.items():
        assert lists.at_home(f"[it]({before})") == f"[it]({after})"


def test_the_examples_in_the_hooks_run() -> None:
    for module in (keys, lists):
        assert doctest.testmod(module).failed == 0
    assert doctest.testmod(keys).attempted >= 1
