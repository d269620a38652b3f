"""What a build server and a notebook see: commands that are true, a baseline, accepted findings, lines."""

from __future__ import annotations

import datetime
import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import secmix
from secmix._base.toml_text import line_of, locations
from secmix.auditing.baseline import counted, different_scenarios
from secmix.auditing.report import Report
from secmix.cli import console
from secmix.cli.app import app
from secmix.errors import SecmixError
from secmix.protocols import Plain
from secmix.reporting import compare, direction
from secmix.scenario import from_dict, load

TEXT = """# Two protocols
runs = 100
[data]
name = "wine"
features = 2
[network]
kind = "cycle"
nodes = 4
[model]
iterations = 2
[measure]
evidence = ["structure"]
[adversary]
name = "curious_server"
[sweep]
protocol = [
  {name = "secure_sum", label = "summed"},
  # the open one
  {name = "plain", label = "open [x]"},
]
"""
ACCEPTED = """
[[accepted]]
protocol = "open [x]"
adversary = "curious_server"
standing = "revealed"
reason = "replaced in May"
until = {until}
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def audit(text: str = TEXT, *options: str, name: str = "mine.toml", out: str = "out") -> Result:
    Path(name).write_text(text, encoding="utf-8")
    wanted = "json,junit,sarif,md"
    return call("audit", name, "--out", out, "--workers", "1", "--format", wanted, *options)


def report(out: str = "out") -> Report:
    return Report.model_validate_json(Path(out, "report.json").read_text())


def junit(out: str = "out") -> ET.Element:
    return ET.parse(Path(out, "report.junit.xml")).getroot()


def sarif(out: str = "out") -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads(Path(out, "report.sarif").read_text())["runs"][0]["results"]
    return results


# Commands that are true.


@pytest.mark.build
def test_a_command_with_odd_names_and_every_option_reproduces_the_report() -> None:
    Path("my limits.toml").write_text("max_revealed_nodes = 1\n")
    Path("not now.toml").write_text(ACCEPTED.format(until="2099-01-01").replace("revealed", "inconclusive"))
    options = ["--seed", "7", "--memory-limit", "50", "--policy", "my limits.toml", "--accepted", "not now.toml"]
    assert audit(TEXT, *options, name="it's; mine.toml").exit_code == 1
    words = shlex.split(report().reproduce)
    assert words[:3] == ["secmix", "audit", "it's; mine.toml"]
    assert call(*words[1:], "--out", "again", "--workers", "1", "--format", "json").exit_code == 1
    assert report("again") == report()
    words = shlex.split(report().cells[1].reproduce)
    assert call(*words[1:], "--out", "cell", "--workers", "1", "--format", "json").exit_code == 1
    # What to change may refer to the other cells of a report.
    alone, among = (
        each.model_copy(update={"advice": [], "trials": []})
        for each in (report("cell/cell-2").cells + report().cells[1:])
    )
    assert alone == among


def test_a_file_whose_name_begins_with_a_dash() -> None:
    Path("-mine.toml").write_text(TEXT)
    made = secmix.audit("-mine.toml")
    assert call(*shlex.split(made.reproduce)[1:], "--out", "out", "--workers", "1", "--format", "json").exit_code == 1


def test_objects_are_reproduced_in_python_and_it_says_so() -> None:
    content = {key: value for key, value in load_text().items() if key != "sweep"}
    made = secmix.audit(content, "out", protocols={"mine": Plain(), "yours": Plain()}, seed=3)
    for command in (made.reproduce, made.cells[1].reproduce):
        assert command.startswith("# in Python")
        call_again = command.partition(": ")[2]
        assert call_again.startswith("secmix.audit(")
        assert "secmix audit" not in command
    made_again = eval(  # the line itself, with the same objects in place of the dots
        made.cells[1]
        .reproduce.partition(": ")[2]
        .replace("scenario.toml", "out/scenario.toml")
        .replace("...", "Plain()"),
        {"secmix": secmix, "Plain": Plain},
    )
    assert made_again.cells[0].nodes == made.cells[1].nodes
    assert "--policy" not in secmix.audit(TOML(), policy=from_dict(content).policy).reproduce


def load_text() -> dict[str, Any]:
    Path("mine.toml").write_text(TEXT)
    return load("mine.toml").to_dict()


def TOML() -> str:
    Path("mine.toml").write_text(TEXT)
    return "mine.toml"


# A baseline.


@pytest.mark.build
def test_what_the_baseline_had_is_no_failure_and_marked() -> None:
    assert audit(out="before").exit_code == 1
    assert junit("before").get("failures") == "4"
    assert all("baselineState" not in result for result in sarif("before"))
    assert audit(TEXT, "--baseline", "before/report.json").exit_code == 0
    assert junit().get("failures") == "0"
    assert "no worse than in the baseline" in Path("out/report.junit.xml").read_text()
    assert [result["baselineState"] for result in sarif()] == ["unchanged"] * 4
    assert report().cells[1].verdict == "violated"
    assert "--baseline before/report.json" in report().reproduce


def headlines(out: str = "out") -> tuple[str, str, str]:
    """The title of the page, what stands in its seal, and the first verdict of the Markdown."""
    page, text = (Path(out, f"report.{form}").read_text(encoding="utf-8") for form in ("html", "md"))
    (title,) = re.findall("<title>(.*)</title>", page)
    (seal,) = re.findall(r'<div class="seal">.*</svg><span>(.*)</span></div>', page, flags=re.S)
    return title, seal, re.findall(r"\*\*(.*?)\.\*\*", text)[0]


@pytest.mark.build
def test_the_headline_says_what_is_known_from_before() -> None:
    assert audit(out="before").exit_code == 1
    told = audit(TEXT, "--baseline", "before/report.json", "--format", "html,md,json")
    assert told.exit_code == 0
    assert "NO WORSE THAN THE BASELINE: 4 VIOLATIONS ARE KNOWN" in " ".join(told.stdout.split())
    title, seal, first = headlines()
    assert "no worse than the baseline: 4 violations are known" in title
    assert seal == "no worse"
    assert first == "NO WORSE THAN THE BASELINE: 4 VIOLATIONS ARE KNOWN"
    assert report("before").headline == ""
    assert "no worse than the baseline: 4 violations are known" in report()._repr_html_()


@pytest.mark.build
def test_the_headline_says_until_when_it_is_accepted() -> None:
    first, last = ACCEPTED.format(until="2098-01-01") + "nodes = [0]\n", ACCEPTED.format(until="2099-01-01")
    Path("accepted.toml").write_text(first + last)
    told = audit(TEXT, "--accepted", "accepted.toml", "--format", "html,md,json")
    assert told.exit_code == 0
    assert "ACCEPTED UNTIL 2098-01-01: 4 VIOLATIONS" in " ".join(told.stdout.split())
    assert headlines()[1] == "accepted"
    assert "accepted, the first until 2098-01-01" in report().sentence
    some = ACCEPTED.format(until="2099-01-01") + "nodes = [0]\n"
    Path("some.toml").write_text(some)
    assert audit(TEXT, "--accepted", "some.toml", "--format", "html,md,json", out="part").exit_code == 1
    assert headlines("part")[1:] == ("violated", "VIOLATED")
    both = ["--accepted", "some.toml", "--baseline", "part/report.json", "--format", "html,md,json"]
    assert audit(TEXT, *both, out="both").exit_code == 0
    said = "no worse than the baseline: 3 violations are known; 1 finding is accepted until 2099-01-01"
    assert report("both").headline == said


def test_a_baseline_clears_no_policy_that_asks_nothing() -> None:
    assert audit(out="before").exit_code == 1
    Path("robustness.toml").write_text("min_breakdown = 0.2\n")  # of adversaries that deviate, which there are none of
    assert audit(TEXT, "--policy", "robustness.toml", "--baseline", "before/report.json").exit_code == 3
    assert report().verdict == "inconclusive"


@pytest.mark.build
def test_what_is_new_or_worse_counts_and_is_marked() -> None:
    better = TEXT.replace('{name = "plain", label', '{name = "secure_sum", label')
    assert audit(better, out="before").exit_code == 0
    assert audit(TEXT, "--baseline", "before/report.json").exit_code == 1
    assert junit().get("failures") == "4"
    assert [result["baselineState"] for result in sarif()] == ["updated"] * 4
    assert audit(TEXT.replace("open [x]", "other"), "--baseline", "before/report.json").exit_code == 1
    assert [result["baselineState"] for result in sarif()] == ["new"] * 4


def test_a_cell_that_is_worse_than_all_in_it_counts_against_a_baseline() -> None:
    audit()
    made = report()
    clear = [node.model_copy(update={"verdict": "holds"}) for node in made.cells[1].nodes]
    odd = made.model_copy(update={"cells": [made.cells[1].model_copy(update={"nodes": clear})]})
    fine = odd.model_copy(update={"cells": [odd.cells[0].model_copy(update={"verdict": "holds"})]})
    assert counted(odd, fine).verdict == "violated"
    assert counted(odd, odd).verdict == "no worse"
    assert counted(fine, odd).verdict == "holds"


@pytest.mark.build
def test_reports_of_different_scenarios_are_compared_with_a_warning() -> None:
    audit(out="before")
    audit(TEXT.replace("runs = 100", "runs = 101").replace("features = 2", "features = 3"), out="after")
    told = call("compare", "before/report.json", "after/report.json")
    assert told.exit_code == 3
    assert "the scenarios of the two reports differ in" in told.stderr
    assert "data, runs" in told.stderr
    again = audit(TEXT, "--baseline", "after/report.json", out="again")
    assert again.exit_code == 0
    assert "another scenario" in report("again").sentence
    assert not different_scenarios(report("before"), report("again"))


def test_compare_says_that_seeds_differ() -> None:
    audit(out="before")
    audit(TEXT, "--seed", "3", out="after")
    told = call("compare", "before/report.json", "after/report.json")
    assert told.exit_code == 0
    assert "the seeds of the two reports differ (0 and 3)" in told.stderr


def test_compare_has_a_status_for_worse() -> None:
    audit(out="bad")
    audit(TEXT.replace('{name = "plain", label', '{name = "secure_sum", label'), out="good")
    for before, after, status in (("bad", "good", 0), ("good", "bad", 4), ("good", "good", 0)):
        assert call("compare", f"{before}/report.json", f"{after}/report.json").exit_code == status
    one = report("bad")
    fewer = one.model_copy(update={"cells": one.cells[:1]})
    assert direction(compare(fewer, one)) == "worse"  # what is new is violated
    assert direction(compare(one, fewer)) == "unclear"  # what was audited is so no longer


# Accepted findings.


def test_accepted_findings_are_shown_and_do_not_count() -> None:
    Path("accepted.toml").write_text(ACCEPTED.format(until="2099-01-01"))
    assert audit(TEXT, "--accepted", "accepted.toml").exit_code == 0
    made = report()
    assert made.verdict == "no worse"
    assert made.cells[1].verdict == "violated"
    for words in ("4 findings are accepted", "2099-01-01", "replaced in May", "violated"):
        assert words in made.sentence
    assert "replaced in May" in Path("out/report.md").read_text()
    assert junit().get("failures") == "0"
    assert "replaced in May" in Path("out/report.junit.xml").read_text()
    assert {result["suppressions"][0]["status"] for result in sarif()} == {"accepted"}
    again = secmix.audit("out/scenario.toml")  # the scenario beside the report holds them
    assert again.verdict == "no worse"


def test_an_acceptance_that_is_over_counts_again_and_says_so() -> None:
    assert audit(TEXT + ACCEPTED.format(until="2020-01-01")).exit_code == 1
    assert any("which is over" in note for note in report().cells[1].notes)
    assert junit().get("failures") == "4"


@pytest.mark.build
def test_what_is_worse_than_accepted_counts() -> None:
    assert audit(TEXT + ACCEPTED.format(until="2099-01-01").replace('"revealed"', '"partly leaked"')).exit_code == 1
    some = ACCEPTED.format(until="2099-01-01") + "nodes = [0, 1, 2]\n"
    assert audit(TEXT + some).exit_code == 1
    assert junit().get("failures") == "1"


def test_the_last_day_is_still_in_force() -> None:
    audit(TEXT + ACCEPTED.format(until="2030-01-01"))
    made, entry = report(), load("mine.toml").accepted
    for day, verdict in ((1, "no worse"), (2, "violated")):
        fresh = made.model_copy(update={"verdict": "violated"})
        assert counted(fresh, None, entry, datetime.date(2030, 1, day)).verdict == verdict


def test_an_acceptance_of_nothing_is_said() -> None:
    told = audit(TEXT + ACCEPTED.format(until="2099-01-01").replace("open [x]", "gone"))
    assert told.exit_code == 1
    assert "no combination of this audit" in told.stderr


@pytest.mark.parametrize("missing", ["reason", "until", "standing", "protocol"])
def test_an_acceptance_needs_a_reason_and_an_end(missing: str) -> None:
    text = "".join(
        f"{line}\n" for line in ACCEPTED.format(until="2099-01-01").splitlines() if not line.startswith(missing)
    )
    told = audit(TEXT + text)
    assert told.exit_code == 2
    assert missing in told.stderr


def test_accepting_changes_no_finding() -> None:
    Path("accepted.toml").write_text(ACCEPTED.format(until="2099-01-01"))
    assert secmix.audit(TOML(), accepted="accepted.toml").findings == secmix.audit(TOML()).findings
    with pytest.raises(SecmixError, match=r"\[\[accepted\]\]"):
        secmix.audit(TOML(), accepted=TOML())


# Lines.


def test_findings_are_at_the_line_of_their_protocol() -> None:
    audit()
    places = {result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in sarif()}
    assert places == {19}
    assert TEXT.splitlines()[18].strip().startswith('{name = "plain"')


def test_without_a_file_they_are_at_the_line_of_the_one_beside_the_report() -> None:
    secmix.audit(load_text(), "out", formats=["sarif"])
    (line,) = {result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in sarif()}
    written = Path("out/scenario.toml").read_text().splitlines()
    assert "plain" in " ".join(written[line - 1 : line + 1])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TEXT.replace('{name = "plain"', '{name = "plan"'), 19),
        (TEXT.replace('{name = "plain"', '{name = "plain", sigm = 1'), 19),
        (TEXT.replace('"curious_server"', '"honest_but_curious"\neavesdrops = true\ncorrupt = [7]'), 16),
        (TEXT.replace("features = 2", "rows_per_node = 200\nfeatures = 2"), 5),
        (TEXT.replace('"wine"', '"wien"'), 4),
    ],
)
def test_errors_of_parts_tell_the_line_too(text: str, line: int) -> None:
    told = audit(text)
    assert told.exit_code == 2
    assert f"line {line}" in told.stderr, told.stderr


def test_places_in_all_that_toml_can_write() -> None:
    text = (
        'a.b = """\nx = 1\n"""\nc = \'\'\'\n[t]\n\'\'\'\n"d e" = [ # [\n  1, "]", [2,\n  3], {f = 1, "g.h" = [4]}\n]\n'
        "[t]\nx = 1979-05-27T07:32:00Z # y = 2\ny = 'z'\n[[u.v]]\nw = 1\n[u.v.q]\nr = 2\n[[u.v]]\nw = 3\n"
    )
    found = locations(text)
    expected = {("a", "b"): 1, ("c",): 4, ("d e", 2, 1): 9, ("d e", 3, "g.h", 0): 9, ("t",): 11, ("t", "y"): 13}
    expected |= {("u", "v", 0, "w"): 15, ("u", "v", 0, "q", "r"): 17, ("u", "v", 1, "w"): 19}
    assert {path: found.get(path) for path in expected} == expected
    assert ("x",) not in found
    assert line_of(text, ("u", "v", 1, "nothing")) == 18


# Notebooks, logs.


def test_a_report_is_short_in_a_notebook_and_escapes_what_it_shows() -> None:
    made = secmix.audit({**load_text(), "title": "<script>alert(1)</script>\x1b[31m" + "x" * 500})
    assert len(repr(made)) < 200
    assert "\n" not in repr(made)
    assert "violated" in repr(made)
    page = made._repr_html_()
    assert "<script>" not in page
    assert "\x1b" not in page
    for words in ("summed", "open [x]", "curious_server", "violated", "4 of 4 honest nodes revealed"):
        assert words in page


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the console reads, which a test may set."""
    seconds = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: seconds[0])
    return seconds


def test_how_long_the_first_steps_took_says_nothing_of_the_rest(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    tell = console._LoggedProgress()
    tell(0, 6, "running")
    clock[0] = 12.0
    tell(0.9, 6, "a")
    assert capsys.readouterr().err == "secmix: 0 of 6 done after 12 s (a)\n"


def test_the_time_left_is_that_of_combinations_as_long_as_those_before(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    tell = console._LoggedProgress()
    tell(0, 3, "running")
    for seconds, done, what, said in (
        (20, 0.1, "a: step", "0 of 3 done after 20 s (a: step)"),
        (40, 1, "a: holds", "1 of 3 done after 40 s, about 80 s to go"),
        (60, 1.9, "b: step", "1 of 3 done after 60 s, about 60 s to go"),
        (130, 1.9, "b: step", "1 of 3 done after 2 min (b: step)"),  # it takes longer than foreseen: nobody knows
    ):
        clock[0] = float(seconds)
        tell(done, 3, what)
        assert said in capsys.readouterr().err


def test_a_log_says_how_far_it_is_and_how_long_it_will_take(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    tell = console._LoggedProgress()
    steps = (0, 0, "checking"), (5, 2, "running"), (9, 3, "a: holds"), (25, 4, "b\x1b[31m: violated"), (30, 5, "c")
    for seconds, done, what in steps:
        clock[0] = float(seconds)
        tell(done, 6, what)
    (line,) = capsys.readouterr().err.splitlines()
    assert "4 of 6 done after 25 s, about 20 s to go" in line  # the five seconds before were no cell's
    tell(0, 6, "estimate: 6 combinations, roughly 3 h")
    assert capsys.readouterr().err == "secmix: estimate: 6 combinations, roughly 3 h\n"
    assert "\x1b" not in line
