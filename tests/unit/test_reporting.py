"""Reports in every format: complete, escaped, the same each time, and never half written."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, get_args

import jsonschema
import numpy as np
import pytest
from handmade_reports import (
    ADVERSARIES,
    HOSTILE,
    PROTOCOLS,
    Page,
    check_tables,
    hostile_cell,
    hostile_finding,
    hostile_report,
    terminal,
)
from rich.console import Console

from secmix.auditing.cell_parts import LeakageCurve, NodeSummary, SigmaPoint, Standing, Verdict
from secmix.auditing.report import SCHEMA_VERSION, Finding, Report
from secmix.errors import SecmixError
from secmix.reporting import (
    FORMATS,
    compare,
    json_schema,
    print_changes,
    print_report,
    read_json,
    words,
    write,
)
from secmix.reporting.figures.network_figure import apart
from secmix.reporting.figures.svg import inline
from secmix.reporting.formats.sarif import _MEANING

ALL = tuple(FORMATS)


@pytest.fixture(scope="module")
def report() -> Report:
    return hostile_report()


@pytest.fixture(scope="module")
def written(report: Report, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The text of each format."""
    paths = write(report, tmp_path_factory.mktemp("report"), ALL)
    return {name: path.read_text("utf-8") for name, path in zip(ALL, paths, strict=True)}


# --- HTML --------------------------------------------------------------------------------------------------


def test_page_escapes_every_string(written: dict[str, str]) -> None:
    page = Page(written["html"])
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.words.count("<script>alert(1)</script>") > 20  # shown, as words
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", written["html"])


def test_page_loads_nothing_and_its_links_lead_somewhere(written: dict[str, str]) -> None:
    page = Page(written["html"])
    assert page.links
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert "@import" not in written["html"]
    assert not re.search(r"url\((?!#)", written["html"])


def test_page_has_no_id_twice(written: dict[str, str]) -> None:
    ids = Page(written["html"]).ids
    assert len(ids) == len(set(ids))


def test_page_holds_what_a_report_says(written: dict[str, str], report: Report) -> None:
    page = Page(written["html"])
    for said in (
        "Node 2 is read exactly.",
        "Holds” is proved",
        "What this audit did not try",
        "What to change",
        "x0 + x4",
        "at least 0.215 nats = 0.311 bits",
        "95 %: 0 to ∞",
        "1 of 3 honest nodes revealed",
        "0–server",
        "secmix audit",
        "Seed 7",
    ):
        assert said in page.words, said
    assert page.tags.count("figure") == 3 * len(report.cells)
    assert page.words.count("violated") >= 4
    labels = [value for name, value in page.attributes if name == "aria-label"]
    assert any(label.startswith("Network of 5 nodes") for label in labels)
    assert any("Revealed nodes: 2." in label for label in labels)
    order = [written["html"].index(f'id="{name}"') for name in ("matrix", "cell-1", "how-to-read")]
    assert order == sorted(order)


def _luminance(code: str) -> float:
    """Relative luminance by WCAG 2."""
    full = code if len(code) == 7 else "#" + "".join(2 * sign for sign in code[1:])
    channels = [int(full[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    dark, light = sorted((_luminance(a), _luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_contrast_in_light_dark_and_print(written: dict[str, str]) -> None:
    blocks = re.findall(r":root \{(.*?)\}", written["html"], flags=re.S)
    assert len(blocks) == 3
    for block in blocks:
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block))
        for ground in ("paper", "card"):
            for word in ("ink", "muted", "bad", "warn", "calm", "link", "s1", "s2", "s3", "s4", "s5"):
                assert _contrast(colour[word], colour[ground]) >= 4.5, (word, ground)
        for verdict in ("bad", "warn", "calm"):
            for word in (verdict, "ink"):
                assert _contrast(colour[word], colour[f"{verdict}-tint"]) >= 4.5, (word, verdict)


def test_numbers_in_the_network_can_be_read_on_their_colour() -> None:
    from secmix.reporting.figures.svg import ink_on, shade

    for level in range(101):
        colour = shade(level / 100)
        assert _contrast(ink_on(colour), colour) >= 4.5, level


@pytest.mark.build
def test_many_cells_are_folded_unless_violated() -> None:
    cells = [hostile_cell("p", f"a{k}", "violated" if k == 3 else "holds") for k in range(8)]
    from secmix.reporting.formats.html import render

    page = render(hostile_report(cells=cells, findings=[]))
    opened = re.findall(r"<details open>\s*<summary>\s*<h3 id=\"cell-(\d+)-name", page)
    assert opened == ["4"]


def test_empty_and_odd_reports_render(tmp_path: Path) -> None:
    bare = hostile_cell("p", "a", "holds", curves=[], sigma_curve=[], leaked=[], advice=[], notes=[], tapped=[])
    single_point = hostile_cell(
        "p",
        "a",
        "violated",
        sigma_curve=[SigmaPoint(sigma=0.0, normalised_leakage=1.0, error=0.0)],
        curves=[LeakageCurve(node=2, evidence="ksg", iterations=[], single=[], cumulative=[])],
        positions=[(0.0, 0.0)] * 5,
    )
    for report in (
        hostile_report(cells=[], findings=[], policy={}, versions={}, scenario={}, not_tried=[], description=""),
        hostile_report(cells=[bare, single_point, bare]),
    ):
        assert all(path.stat().st_size for path in write(report, tmp_path, ALL))
        print_report(report, Console(file=StringIO(), width=80))


# --- JSON --------------------------------------------------------------------------------------------------


def test_json_validates_and_holds_no_infinity(written: dict[str, str]) -> None:
    def refuse(word: str) -> float:
        raise AssertionError(word)

    values = json.loads(written["json"], parse_constant=refuse)
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(values, json_schema())
    assert values["findings"][0]["value"] is None
    values["cells"][0]["verdict"] = "safe"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, json_schema())


def test_published_schema_is_current() -> None:
    published = files("secmix.reporting").joinpath("report.schema.json").read_text("utf-8")
    assert published == json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n", "see CONTRIBUTING.md"


def test_json_round_trip(report: Report, tmp_path: Path) -> None:
    (path,) = write(report, tmp_path, ["json"])
    assert read_json(path) == report
    assert read_json(path.parent) == report


def test_not_finite_number_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    report = hostile_report(cells=[hostile_cell("p", "a", "holds", output_error=math.inf)])
    with pytest.raises(SecmixError, match="not finite"):
        write(report, tmp_path, ["html", "json"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a report.json"),
        (b"\xff\xfe", "not a report.json"),
        (b"[]", "has no schema_version"),
        (b"{}", "has no schema_version"),
        (b'{"schema_version": "99"}', "'99'.*run the audit again"),
        (b'{"schema_version": "2", "seed": Infinity}', "Infinity"),
        (b'{"schema_version": "2", "odd": 1}', "Field required.*more"),
        (b"[" * 200_000, "not a report.json"),
    ],
)
def test_read_json_says_what_is_wrong(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(SecmixError, match=says):
        read_json(path)


def test_read_json_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(SecmixError, match="No such file"):
        read_json(tmp_path / "none.json")


# --- writing -----------------------------------------------------------------------------------------------


def test_same_report_same_bytes(written: dict[str, str], report: Report, tmp_path: Path) -> None:
    for name, path in zip(ALL, write(report, tmp_path, ALL), strict=True):
        assert path.read_text("utf-8") == written[name], name


def test_only_the_files_asked_for(report: Report, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    paths = write(report, folder, ["md", "json", "md"])
    assert paths == [folder / "report.md", folder / "report.json"]
    assert sorted(folder.iterdir()) == sorted(paths)


@pytest.mark.build
def test_no_file_of_an_earlier_report_is_left(report: Report, tmp_path: Path) -> None:
    other = report.model_copy(update={"title": "Another audit"})
    write(other, tmp_path, ALL)
    written = write(report, tmp_path, ["md"])
    assert written[0] == tmp_path / "report.md"
    assert sorted(written) == sorted(tmp_path.iterdir())
    assert not [path.name for path in written if "Another audit" in path.read_text("utf-8")]


def test_a_folder_that_cannot_be_written_to(report: Report, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    with pytest.raises(SecmixError, match="cannot write the report into"):
        write(report, file, ["json"])
    with pytest.raises(SecmixError, match="cannot write the report into"):
        write(report, file / "below", ["json"])
    assert file.read_text() == "kept"


def test_failure_half_way_leaves_old_files_whole(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.json").write_text("old")
    whole = Path.write_bytes

    def full_disk(path: Path, content: bytes) -> int:
        if "report.md" in path.name:
            whole(path, content[:10])
            raise OSError(28, "No space left on device")
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(SecmixError, match="No space left"):
        write(report, tmp_path, ["json", "md"])
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert (tmp_path / "report.json").read_text() == "old"


def test_failure_to_rename_leaves_nothing_behind(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SecmixError, match="Permission denied"):
        write(report, tmp_path, ["json"])
    assert not list(tmp_path.iterdir())


def test_unknown_format(report: Report, tmp_path: Path) -> None:
    with pytest.raises(SecmixError, match="did you mean 'html'"):
        write(report, tmp_path, ["htm"])
    with pytest.raises(SecmixError, match="a list of names"):
        write(report, tmp_path, "html")


@pytest.mark.build
def test_import_is_light() -> None:
    code = "import sys, secmix.reporting; print('matplotlib' in sys.modules, 'jinja2' in sys.modules)"
    # auditing itself is another matter: only what reporting adds is asked about.
    before = "import sys, secmix.auditing.report; print('matplotlib' in sys.modules, 'jinja2' in sys.modules)"
    run = [subprocess.run([sys.executable, "-c", c], capture_output=True, text=True) for c in (before, code)]
    assert run[1].returncode == 0, run[1].stderr
    assert run[0].stdout == run[1].stdout


# --- Markdown ----------------------------------------------------------------------------------------------


def test_markdown_escapes_and_keeps_tables_whole(written: dict[str, str], report: Report) -> None:
    text = written["md"]
    outside = re.sub(r"(?ms)^(`{3,})\w*\n.*?\n\1$", "", text)
    outside = re.sub(r"`[^`\n]*`", "", re.sub(r"\\`", "", outside))
    assert "<script" not in outside
    assert "://" not in outside
    assert "\x1b" not in text
    assert not re.search(r"(?<!\\)\[bold(?<!\\)\]", outside)
    check_tables(text)
    assert text.count("\n## ") == len(report.cells) + 4
    for said in ("**VIOLATED.**", "What this audit did not try", "is proved, under the assumptions"):
        assert said in text


# --- JUnit and SARIF ---------------------------------------------------------------------------------------


def test_junit(written: dict[str, str], report: Report) -> None:
    root = ET.fromstring(written["junit"].encode())
    assert root.tag == "testsuites"
    assert len(root) == len(report.cells)
    assert len(root.findall("testsuite/testcase")) == sum(len(c.nodes) for c in report.cells)
    failures = root.findall("testsuite/testcase/failure")
    assert [failure.get("type") for failure in failures] == ["violated", "inconclusive"]
    assert len(root.findall("testsuite/testcase/skipped")) == 8
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("20", "2", "8")
    assert "<script>" in str(failures[0].get("message"))
    texts = [str(failure.text) for failure in failures]
    assert texts[0].startswith("violated: revealed: ")
    assert texts[1].startswith("inconclusive: ")
    assert "inconclusive: inconclusive" not in texts[1]


@pytest.mark.parametrize("verdict", ["violated", "inconclusive"])
def test_a_verdict_that_no_node_explains_is_not_lost(verdict: Verdict, tmp_path: Path) -> None:
    clear = hostile_cell("p", "a", "holds")
    of_cell = hostile_report(cells=[clear.model_copy(update={"verdict": verdict})], findings=[], verdict=verdict)
    of_report = hostile_report(cells=[clear], findings=[], verdict=verdict)
    for report in (of_cell, of_report, hostile_report(cells=[], findings=[], verdict=verdict)):
        junit, sarif = write(report, tmp_path, ["junit", "sarif"])
        failures = ET.parse(junit).getroot().findall("testsuite/testcase/failure")
        assert [failure.get("type") for failure in failures] == [verdict]
        assert verdict.upper() in terminal(report, 80)
        if report is of_cell:
            assert "".join(HOSTILE.split("\x00")[0].split()) in "".join(terminal(report, 80).split())
        (result,) = json.loads(sarif.read_text("utf-8"))["runs"][0]["results"]
        assert result["level"] == {"violated": "error", "inconclusive": "warning"}[verdict]


def test_sarif(written: dict[str, str]) -> None:
    log = json.loads(written["sarif"])
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert [(r["ruleId"], r["level"]) for r in run["results"]] == [
        ("secmix/structure", "error"),
        ("secmix/ksg", "warning"),
    ]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert place == "attacks/my%20audit.toml"
        assert "\\[bold\\]" in result["message"]["text"]
        assert not re.search(r"(?<!\\)[\[\]]", result["message"]["text"])


@pytest.mark.parametrize("evidence", get_args(Finding.model_fields["evidence"].annotation))
def test_every_kind_of_evidence_has_its_rule_and_its_glossary_entry(evidence: str, tmp_path: Path) -> None:
    """SARIF once knew five of seven: an audit that found rows by inversion died when it wrote that file."""
    worst = hostile_finding(2, "violated", 1.0, evidence=evidence)
    html, sarif = write(
        hostile_report(cells=[hostile_cell(PROTOCOLS[0], ADVERSARIES[0], "violated")], findings=[worst]),
        tmp_path,
        ["html", "sarif"],
    )
    (run,) = json.loads(sarif.read_text("utf-8"))["runs"]
    (result,) = run["results"]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == result["ruleId"] == "secmix/" + evidence.replace(" ", "-")
    assert rule["fullDescription"]["text"] not in ("", _MEANING["violated"])
    assert f'id="g-{evidence.replace(" ", "-")}"' in html.read_text("utf-8")


def test_sarif_files_a_node_under_the_evidence_that_decides(tmp_path: Path) -> None:
    """Masks that were used again stood under the exact evidence, which had found nothing of them."""
    found = [
        hostile_finding(2, "violated", 0.0, evidence="structure"),
        hostile_finding(2, "holds", 1.0, evidence="counterexample"),
    ]
    cell = hostile_cell(PROTOCOLS[0], ADVERSARIES[0], "violated")
    nodes = [
        each.model_copy(update={"worst_evidence": "counterexample"} if each.node == 2 else {"verdict": "holds"})
        for each in cell.nodes
    ]
    report = hostile_report(cells=[cell.model_copy(update={"nodes": nodes})], findings=found)
    (path,) = write(report, tmp_path, ["sarif"])
    results = json.loads(path.read_text("utf-8"))["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["secmix/counterexample"]


@pytest.mark.parametrize(
    ("status", "said"),
    [("determined", "No combination of inputs."), ("unresolved", "Not known: the premises of the exact evidence")],
)
def test_what_the_exact_evidence_does_not_say_is_not_called_nothing(status: str, said: str) -> None:
    """Of masks used again the page said that nothing is known exactly, where the exact evidence had not been asked."""
    cell = hostile_cell(PROTOCOLS[0], ADVERSARIES[0], "inconclusive", leaked=[])
    found = [hostile_finding(2, "inconclusive", 0.0, evidence="structure", status=status)]
    assert words.nothing_exact(hostile_report(cells=[cell], findings=found), cell).startswith(said)


def test_the_terminal_says_which_limits_were_asked_and_how_to_see_it_again() -> None:
    report = hostile_report(reproduce="secmix audit mine.toml --seed 3")
    text = " ".join(terminal(report, 200).split())
    assert "Limits: max_normalised_leakage 0.1" in text
    assert "Again: secmix audit mine.toml --seed 3" in text
    holds = hostile_report(cells=[hostile_cell("p", "a", "holds")], verdict="holds")
    assert "Again:" not in terminal(holds, 200)


def test_sarif_without_a_source(tmp_path: Path) -> None:
    (path,) = write(hostile_report(source="scenario.toml"), tmp_path, ["sarif"])
    place = json.loads(path.read_text("utf-8"))["runs"][0]["results"][0]["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "scenario.toml"


# --- terminal ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_terminal_fits_and_takes_no_orders(report: Report, width: int) -> None:
    text = terminal(report, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    flat = "".join(text.split())
    assert "[bold]x[/bold]" in flat
    assert "VIOLATED" in flat
    assert "inconclusive" in flat
    assert "out/report.html" in flat


def test_terminal_colours_come_only_from_us(report: Report) -> None:
    text = terminal(report, 120, force_terminal=True, color_system="standard")
    assert "\x1b[1;31m" in text  # our own bold red for the verdict
    assert "\ufffd[31m" in text  # theirs, defused


def test_terminal_without_utf8() -> None:
    import io

    raw = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    print_report(hostile_report(), Console(file=raw, width=80))
    raw.flush()
    assert isinstance(raw.buffer, io.BytesIO)
    assert b"x VIOLATED" in raw.buffer.getvalue()


def test_terminal_reminds_that_a_proof_has_assumptions() -> None:
    assert "under assumptions" in terminal(hostile_report(cells=[hostile_cell("p", "a", "holds")], verdict="holds"), 80)


def test_nodes_that_leak_the_same_but_for_rounding_are_in_order() -> None:
    cell = hostile_cell("p", "a", "holds")
    nodes = [node.model_copy(update={"worst": 1 / 3 + node.node * 1e-16}) for node in cell.nodes]
    ordered = words.by_severity(cell.model_copy(update={"nodes": nodes}))
    assert [node.node for node in ordered] == [0, 2, 4, 1, 3]


def test_terminal_says_which_combination_a_change_is_for() -> None:
    cells = [
        hostile_cell(protocol, "eve", "violated", advice=advice)
        for protocol, advice in (("p", ["Encrypt.", "Stop."]), ("q", ["Encrypt."]), ("r", []))
    ]
    several = terminal(hostile_report(cells=cells, verdict="violated"), 200)
    assert "p against eve and 1 more: Encrypt." in several
    assert "p against eve: Stop." in several
    alone = terminal(hostile_report(cells=cells[:1], verdict="violated"), 200)
    assert "  Stop." in alone
    assert "eve: Stop." not in alone


def test_terminal_says_what_the_number_of_a_node_is() -> None:
    assert "revealed (leakage 1): " in terminal(hostile_report(), 200)


# --- comparing ---------------------------------------------------------------------------------------------


def _with_node(standing: Standing, worst: float, verdict: Verdict) -> Report:
    nodes = [NodeSummary(node=0, standing=standing, worst=worst, why="", verdict=verdict)]
    return hostile_report(cells=[hostile_cell("p", "a", verdict).model_copy(update={"nodes": nodes})])


OUTPUT: Standing = "no more than the output itself reveals"


@pytest.mark.parametrize(
    ("before", "after", "direction"),
    [
        ((OUTPUT, 0.2, "holds"), ("revealed", 1.0, "violated"), "worse"),
        (("revealed", 1.0, "violated"), (OUTPUT, 0.2, "holds"), "better"),
        (("revealed", 1.0, "violated"), ("inconclusive", 0.2, "inconclusive"), "unclear"),
        ((OUTPUT, 0.2, "holds"), ("inconclusive", 0.2, "inconclusive"), "worse"),
        (("inconclusive", 0.2, "inconclusive"), ("revealed", 1.0, "violated"), "worse"),
        (("partly leaked", 0.4, "violated"), ("revealed", 1.0, "violated"), "worse"),
        (("partly leaked", 0.4, "violated"), ("partly leaked", 0.6, "violated"), "worse"),
        (("partly leaked", 0.4, "violated"), ("partly leaked", 0.2, "violated"), "better"),
        (("revealed", 1.0, "violated"), ("corrupt", 1.0, "holds"), "unclear"),
        (("partly leaked", 0.4, "violated"), ("partly leaked", 0.405, "violated"), None),
    ],
)
def test_compare(before: Any, after: Any, direction: str | None) -> None:
    changes = [c for c in compare(_with_node(*before), _with_node(*after)) if c.node is not None]
    assert [c.direction for c in changes] == ([] if direction is None else [direction])


def _seeded(
    seed: int, standing: Standing, verdict: Verdict, low: float, worst: float, high: float, runs: int = 300
) -> Report:
    interval = {"worst_low": low, "worst_high": high}
    (cell,) = _with_node(standing, worst, verdict).cells
    nodes = [node.model_copy(update=interval) for node in cell.nodes]
    made = hostile_report(cells=[cell.model_copy(update={"nodes": nodes})])
    return made.model_copy(update={"seed": seed, "scenario": {"seed": seed, "runs": runs}})


def _ways(before: Report, after: Report) -> list[str]:
    return [change.direction for change in compare(before, after)]


def test_what_another_seed_flips_is_not_better() -> None:
    open_ = _seeded(0, OUTPUT, "inconclusive", 0.1, 0.19, 0.28)
    cleared = _seeded(1, OUTPUT, "holds", 0.1, 0.18, 0.26)
    assert _ways(open_, cleared) == ["unclear", "unclear"]  # the cell and its node
    assert _ways(cleared, open_) == ["worse", "worse"]
    # With the same seed, or more runs, something changed.
    assert _ways(open_, _seeded(0, OUTPUT, "holds", 0.1, 0.18, 0.26)) == ["better", "better"]
    assert _ways(open_, _seeded(0, OUTPUT, "holds", 0.17, 0.18, 0.19, runs=3000)) == ["better", "better"]
    # Another seed and another scenario: better where the intervals lie apart.
    leaky = _seeded(0, "partly leaked", "violated", 0.5, 0.6, 0.7)
    assert _ways(leaky, _seeded(1, OUTPUT, "holds", 0.1, 0.2, 0.3, runs=400)) == ["better", "better"]
    assert _ways(leaky, _seeded(1, OUTPUT, "holds", 0.1, 0.2, 0.55, runs=400)) == ["unclear", "unclear"]
    # The same scenario: whatever its seed flips.
    assert _ways(leaky, _seeded(1, OUTPUT, "holds", 0.1, 0.2, 0.3)) == ["unclear", "unclear"]
    # A number that another seed moves within its interval is no change.
    part = [_seeded(seed, "partly leaked", "violated", 0.3, 0.5 - seed / 10, 0.6) for seed in (0, 1)]
    assert _ways(*part) == []


def test_compare_equal_and_missing_cells(report: Report) -> None:
    assert compare(report, report) == []
    fewer = hostile_report(cells=report.cells[1:])
    assert [(c.direction, c.before, c.node) for c in compare(report, fewer)] == [("removed", "violated", None)]
    assert [(c.direction, c.after, c.node) for c in compare(fewer, report)] == [("added", "violated", None)]
    twice = hostile_report(cells=[report.cells[0], report.cells[0]])
    assert [c.direction for c in compare(hostile_report(cells=[report.cells[0]]), twice)] == ["added"]


def test_print_changes(report: Report) -> None:
    console = Console(file=StringIO(), width=60)
    print_changes(compare(report, hostile_report(cells=report.cells[:3])), console)
    print_changes([], console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert "1 removed" in text
    assert "Nothing changed." in text
    assert "\x1b" not in text


# --- numbers -----------------------------------------------------------------------------------------------


def test_shares_never_round_to_certainty() -> None:
    assert words.share(1 - 1e-9) == ">0.999"
    assert words.share(1e-9) == "<0.001"
    assert (words.share(1.0), words.share(0.0)) == ("1", "0")


def test_toml_of_a_scenario_reads_back() -> None:
    import tomllib

    text = words.toml({"a": HOSTILE, "b": {"c": None, "d": [1, 2]}})
    assert tomllib.loads(text) == {"a": HOSTILE, "b": {"d": [1, 2]}}


def test_schema_version_is_the_one_read() -> None:
    assert json_schema()["properties"]["schema_version"]["const"] == SCHEMA_VERSION


def test_figures_are_drawn_coarser_and_labelled_as_they_were() -> None:
    """Coordinates may be rounded, numbers that are read may not."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    axes = figure.add_subplot()
    axes.plot([0, 1 / 3], [0, 1 / 7])
    axes.set_xticks([0.0125, 0.3], ["0.0125", "0.3"])
    drawn = inline(figure, "x", "a line")
    assert ">0.0125<" in drawn
    assert not re.search(r"\d\.\d{3}", re.sub(r">[^<]*<", "><", drawn))
    ET.fromstring(drawn)


def test_nodes_are_not_drawn_upon_one_another() -> None:
    rng = np.random.default_rng(0)
    for points in (rng.random((12, 2)), np.zeros((3, 2)), np.tile(rng.random((4, 2)), (2, 1))):
        moved = apart(points, 0.1)
        distance = np.hypot(*(moved[:, None] - moved[None]).transpose(2, 0, 1)) + np.eye(len(points))
        assert distance.min() > 0.099
    far = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert np.array_equal(apart(far, 0.1), far)
