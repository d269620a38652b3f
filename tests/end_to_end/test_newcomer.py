"""What a hospital network's privacy engineer does in a first hour, by README and tutorials alone: fourteen tasks.

They build on one another in one folder, as they do for a reader; each is tried once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from secmix.cli.app import app
from secmix.scenario import load

pytestmark = pytest.mark.build

HOSPITALS = ["St. Gallen", "Bern", "Chur", "Genf", "Zug"]
LINES = "von,nach\nSt. Gallen,Bern\nBern,Chur\nChur,Genf\nGenf,Zug\nZug,St. Gallen\nSt. Gallen,Chur\nChur,Zug\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("hospitals")
    rng = np.random.default_rng(0)
    rows = ["Nr;Spital;Alter;Blutdruck;Land"]
    for i in range(150):
        age, pressure = f"{rng.normal(55, 9):.1f}", f"{rng.normal(130, 12):.1f}"
        rows.append(f"{i};{HOSPITALS[i % 5]};{age};{'k.A.' if i == 7 else pressure};CH".replace(".", ","))
    text = "\n".join(rows).replace("St, Gallen", "St. Gallen").replace("k,A,", "k.A.")
    (place / "patienten.csv").write_text(text + "\n", encoding="utf-8")
    (place / "netz.csv").write_text(LINES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        yield place


def call(*arguments: str, status: int = 0) -> str:
    """Return what a command prints on both streams, in one line; it must end with ``status``."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == status, f"{arguments}: {done.exit_code}\n{done.output}"
    return " ".join(done.output.split())


def audit(*arguments: str, status: int = 0) -> str:
    return call("audit", *arguments, "--workers", "1", status=status)


def edited(path: str, *changes: tuple[str, str]) -> None:
    """Change a file as an editor does."""
    text = Path(path).read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    Path(path).write_text(text, encoding="utf-8")


def a_scenario_about_my_own_files() -> None:
    told = call("init", "erste.toml", "--csv", "patienten.csv", "--network", "netz.csv")
    assert "5 nodes, 7 lines" in told
    for name in HOSPITALS:
        assert name in told
    assert load("erste.toml").network.names == HOSPITALS
    protocols = {cell.protocol.name for cell in load("erste.toml").cells()}
    assert {"plain", "secure_sum", "secure_aggregation", "pdmm"} <= protocols


def what_is_wrong_with_it() -> None:
    edited("erste.toml", ("runs = 2000 ", "runz = 2000 "))
    assert "did you mean 'runs'" in call("validate", "erste.toml", status=2)
    edited("erste.toml", ("runz = 2000 ", "runs = 100 "))
    told = call("validate", "erste.toml")
    assert "is right: 10 combinations on 5 nodes, 100 runs each" in told
    assert "An audit takes roughly" in told


def a_gap_with_a_mark_of_our_own() -> None:
    """The column with the mark was taken for words and left out; the error names what mends it."""
    text = Path("erste.toml").read_text()
    table = text[text.index("[data]") : text.index("[network]")]
    mine = '[data]\nname = "csv"\npath = "patienten.csv"\ndelimiter = ";"\ndecimal = ","\ndrop = ["Nr", "Land"]\n'
    edited("erste.toml", (table, mine + 'group = "Spital"\nrows_per_node = 2\n\n'))
    assert "row 8, column 'Blutdruck'" in call("validate", "erste.toml", status=2)
    edited("erste.toml", ("rows_per_node = 2\n", 'rows_per_node = 2\nmissing_marks = ["k.A."]\nmissing = "drop"\n'))
    call("validate", "erste.toml")


def an_audit_that_names_my_hospitals() -> None:
    edited("erste.toml", ("[policy]", '[measure]\nevidence = ["structure"]\n\n[policy]'))
    assert "Curious Bern and Genf" in audit("erste.toml", status=1)
    page = Path("audit-erste/report.md").read_text(encoding="utf-8")
    assert "St. Gallen" in page
    assert not re.search(r"(?<!each )\bnode \d", page[: page.index("## How to read")])


def who_must_act_and_how_sure_it_is() -> None:
    first = Path("audit-erste/report.md").read_text(encoding="utf-8").partition("##")[0]
    assert "can compute the private data of" in first
    assert "certain" in first
    assert "Measures were tried" in first


def one_combination_again() -> None:
    before = Path("audit-erste/report.json").read_bytes()
    command = json.loads(before)["cells"][3]["reproduce"]
    assert "--cell 4" in command
    audit(*command.split()[2:], status=1)
    assert Path("audit-erste/report.json").read_bytes() == before
    assert Path("audit-erste/cell-4/report.json").exists()


def the_protocol_that_holds() -> None:
    kept = {
        (cell["protocol"], cell["verdict"]) for cell in json.loads(Path("audit-erste/report.json").read_text())["cells"]
    }
    assert ("Secure aggregation", "holds") in kept
    assert ("Plain federated", "violated") in kept


def a_limit_for_the_build_server() -> None:
    Path("grenzen.toml").write_text("max_revealed_nodes = 0\n")
    told = audit("erste.toml", "--policy", "grenzen.toml", "--format", "json,junit,sarif", "--cell", "4", status=1)
    assert "violated" in told
    results = json.loads(Path("audit-erste/cell-4/report.sarif").read_text())["runs"][0]["results"]
    assert any("Chur" in result["message"]["text"] for result in results)


def what_is_known_from_before() -> None:
    told = audit("erste.toml", "--cell", "4", "--baseline", "audit-erste/report.json", "--out", "spaeter")
    assert "NO WORSE THAN THE BASELINE" in told


def what_somebody_answers_for() -> None:
    mine = list(load("erste.toml").cells())[3]
    table = '[[accepted]]\nprotocol = "{}"\nadversary = "{}"\nstanding = "revealed"\nreason = "r"\nuntil = {}\n'
    for day, status, says in (
        ("2099-01-01", 0, "ACCEPTED UNTIL 2099-01-01"),
        ("2001-01-01", 1, "acceptance has ended"),
    ):
        Path("geduldet.toml").write_text(table.format(mine.protocol.title, mine.adversary.title, day))
        told = audit("erste.toml", "--cell", "4", "--accepted", "geduldet.toml", "--out", "da", status=status)
        assert says in told


def what_has_changed() -> None:
    edited("erste.toml", ('"Zug"]', '"Zug"] # as drawn'), ("edges = [[0, 1], ", "edges = [[0, 1], [0, 3], "))
    audit("erste.toml", "--cell", "4", "--out", "neu", status=1)
    told = call("compare", "audit-erste/cell-4/report.json", "neu/cell-4/report.json", status=3)
    assert "St. Gallen–Genf" in told


def who_would_have_to_collude() -> None:
    told = call("exposure", "erste.toml", "--cell", "5", "--min-colluders", "3", status=1)
    assert "the policy asks for at least 3" in told
    assert any(f"to know the vector of {name}" in told for name in HOSPITALS)


def what_would_mend_that() -> None:
    told = call("exposure", "erste.toml", "--cell", "5", "--min-colluders", "3", "--repair", status=1)
    assert "What would mend it Add the line" in told
    assert not re.search(r"\d–\d", told)


def no_more_time_and_memory_than_i_give() -> None:
    given = ("--time-limit", "600", "--memory-limit", "900")
    assert "violated" in audit("erste.toml", "--cell", "4", *given, "--out", "knapp", status=1)
    (cell,) = json.loads(Path("knapp/cell-4/report.json").read_text())["cells"]
    assert cell["unmeasured"] == []


TASKS: list[Callable[[], None]] = [
    a_scenario_about_my_own_files,
    what_is_wrong_with_it,
    a_gap_with_a_mark_of_our_own,
    an_audit_that_names_my_hospitals,
    who_must_act_and_how_sure_it_is,
    one_combination_again,
    the_protocol_that_holds,
    a_limit_for_the_build_server,
    what_is_known_from_before,
    what_somebody_answers_for,
    what_has_changed,
    who_would_have_to_collude,
    what_would_mend_that,
    no_more_time_and_memory_than_i_give,
]


def test_each_of_fourteen_tasks_succeeds_at_once(folder: Path) -> None:
    assert len(TASKS) == 14
    failed = []
    for task in TASKS:
        try:
            task()
        except AssertionError as error:
            failed.append(f"{task.__name__}: {error}")
    assert failed == []
