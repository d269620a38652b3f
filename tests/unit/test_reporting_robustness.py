"""What colluders can do, in every format: complete, escaped, and never kinder than the numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from handmade_reports import (
    HELD,
    HOSTILE,
    Page,
    audit,
    damage,
    hostile_cell,
    hostile_finding,
    hostile_report,
    point,
    robustness,
    terminal,
)

from secmix.auditing.cell_parts import RobustnessPoint
from secmix.auditing.report import Cell, Report
from secmix.reporting import FORMATS, read_json, words, write
from secmix.reporting import robustness as robust
from secmix.reporting.glossary import anchor, glossary


@pytest.fixture(scope="module")
def report() -> Report:
    return audit(robustness(), robustness(**HELD))


@pytest.fixture(scope="module")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    paths = write(report, tmp_path_factory.mktemp("robustness"), tuple(FORMATS))
    return {name: path.read_text("utf-8") for name, path in zip(FORMATS, paths, strict=True)}


# --- the page ----------------------------------------------------------------------------------------------


def test_page_escapes_and_its_links_lead_somewhere(written: dict[str, str]) -> None:
    page = Page(written["html"])
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", written["html"])
    assert not re.search(r"url\((?!#)", written["html"])


def test_page_says_what_colluders_can_do(written: dict[str, str], report: Report) -> None:
    page = Page(written["html"])
    flat = " ".join(page.words.split())
    for said in (
        "Privacy against robustness",
        "with 2 of 5 (0.40)proven up to 1 of 5 (0.20)",
        "not found up to 2 of 5 (0.40)",
        "Protocols against attacks by",
        "0.300 (0.100 to 0.700)",
        "no fit ▲ (4.50 to no fit)",
        "without bound ▲",
        "6.18×10⁴",
        "<0.001",
        "breakdown: 2 of 5 push it without bound",
        "no unbounded error found up to 2 of 5",
        "a search shows damage, but never that there is no larger damage",
        "attack: min-max",
        "policy: max error ratio",
    ):
        assert said in flat, said
    assert flat.count("The numbers behind this figure") == 4  # of the masks, and of the colluders, in two cells
    labels = [value for name, value in page.attributes if name == "aria-label"]
    (alt,) = (label for label in labels if "with 2 of 5: found without bound" in label)
    assert "with 1 of 5: found 0.250, proven at most 0.500" in alt
    assert page.tags.count("figure") == 4 * len(report.cells)
    # In the order of the argument: the matrix, the bargain, the attacks, the sections.
    order = [written["html"].index(f'id="{name}"') for name in ("matrix", "robustness", "attacks-1", "cell-1")]
    assert order == sorted(order)


@pytest.mark.build
def test_a_cell_without_robustness_is_as_ever(written: dict[str, str], tmp_path: Path) -> None:
    plain, mixed = hostile_report(), audit(None, robustness())
    (page,) = write(plain, tmp_path, ["html"])
    text = page.read_text("utf-8")
    for word in ("colluders", "obustness", 'class="pips"', "breakdown"):
        assert word not in re.sub(r"<style>.*?</style>", "", text, flags=re.S), word
    # Beside a cell that has it, the other keeps its own section to the letter.
    alone = hostile_report(cells=mixed.cells[:1], findings=[], policy=mixed.policy)
    sections = []
    for each in (alone, mixed):
        (page,) = write(each, tmp_path, ["html"])
        sections.append(page.read_text("utf-8").split('<section class="cell')[1].split("</section>")[0])
    assert sections[0] == sections[1]


@pytest.mark.parametrize(
    ("points", "policy"),
    [
        ([], {}),
        ([point(1, None)], {"min_breakdown": 0.2}),
        ([point(1, 0.0, 0.0), point(2, 0.0)], {"max_error_ratio": 1.0}),
        ([point(1, 1e-9, 2.0), point(2, 1e9, None)], {"max_error_ratio": 3.0, "min_breakdown": 1.0}),
        ([point(k, 0.1 * k, None, 100) for k in range(1, 50)], {"min_breakdown": 0.01}),
        ([point(1, None, 0.5), point(2, 0.3, 0.6)], {}),
    ],
)
def test_odd_points_render(points: list[RobustnessPoint], policy: dict[str, float], tmp_path: Path) -> None:
    odd = robustness(points=points, damages=[], colluders=3)
    report = audit(odd, odd).model_copy(update={"policy": policy})
    pages = write(report, tmp_path, tuple(FORMATS))
    assert pages[0].read_text("utf-8").count('<figure class="push">') == (2 if points else 0)
    assert "not measured" in pages[0].read_text("utf-8")
    assert read_json(pages[1]) == report
    assert max(map(len, terminal(report, 40).splitlines())) <= 40


def test_figure_is_logarithmic_where_the_range_asks() -> None:
    from secmix.reporting.figures.robustness_figure import robustness_figure

    cell: Cell = hostile_cell("p", "a", "violated")
    near = robustness_figure(cell, robustness(points=[point(1, 0.2, 0.5), point(2, 0.4)]), {}, "a")
    far = robustness_figure(cell, robustness(points=[point(1, 0.01, 0.5), point(2, 400.0)]), {}, "b")
    assert ">0.1<" not in near  # a linear axis starts at nought
    assert ">0<" in near
    assert ">0<" not in far
    assert {">0.1<", ">10<"} <= set(re.findall(r">[\d.]+<", far))
    assert "found" in near
    assert "proven bound" in near


# --- numbers -----------------------------------------------------------------------------------------------


def test_unbounded_outweighs_every_number() -> None:
    assert robust.largest(robustness()) == ("without bound", HOSTILE)
    assert robust.hardest(robustness()) == ("no fit", "worst case")
    assert robust.largest(robustness(damages=[damage("ipm", None, 1.0)], points=[point(2, 0.1)])) == (
        "without bound",
        "IPM",
    )
    # An attack that reaches further than the search counts.
    assert robust.largest(robustness(damages=[damage("ipm", 3.0, 1.0)], points=[point(2, 0.1)])) == ("3.00", "IPM")
    assert robust.marked([1.0, None, 2.0, None]) == [False, True, False, True]
    assert robust.marked([1e-16, 0.0]) == [False, False]


def test_a_proof_never_hides_what_was_found() -> None:
    found = robustness(points=[point(1, None, 0.5), point(2, 0.1)], breakdown_proven=0.4)
    assert robust.states(found) == ["unbounded", "proven"]
    assert robust.breaks(audit(found).cells[0], found) == "with 1 of 5 (0.20)"


def test_intervals_that_are_open_above_are_told_by_their_lower_end() -> None:
    node = hostile_report().cells[0].nodes[0]
    said = [
        words.node_interval(node.model_copy(update={"worst_low": low, "worst_high": high}))
        for low, high in ((0.3, 1.0), (0.0, 1.0), (0.3, 0.6), (1.0, 1.0))
    ]
    assert said == ["at least 0.300", "[0, 1]", "[0.300, 0.600]", ""]
    finding = hostile_finding(2, "inconclusive", 0.35, normalised_low=0.3, low=0.18)
    assert words.share_interval(finding) == "at least 0.300"
    assert words.interval(finding) == "95 %: at least 0.180"


def test_every_attack_of_ours_is_explained(report: Report) -> None:
    from secmix.adversaries.attacks.sums import FIXED

    anchors = [each for each, _, _ in glossary(report)]
    assert len(anchors) == len(set(anchors))
    assert {anchor(name) for name in (*FIXED, "worst_case")} <= set(anchors)
    assert anchor("from elsewhere") == ""
