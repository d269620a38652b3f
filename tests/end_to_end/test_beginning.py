"""To begin with: ``init`` about a user's own files, ``validate``, and the schema for editors."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from datetime import date, time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from secmix.cli.app import app
from secmix.errors import SecmixError
from secmix.scenario import faults, load
from secmix.scenario.catalogue import entries
from secmix.scenario.editor_schema import json_schema

DIGITS = re.compile(r"line (\d+)")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def a_file(delimiter: str = ",", decimal: str = ".", header: bool = True, encoding: str = "utf-8") -> None:
    rng = np.random.default_rng(0)
    names = delimiter.join(["id", "größe", "weight", "city", "one"]) + "\n"
    lines = []
    for i in range(40):
        size, weight = f"{rng.normal(170, 9):.1f}", f"{rng.normal(70, 9):.2f}"
        fields = [str(i), "NA" if i == 5 else size, weight, "Oslo" if i % 2 else "Bern", "1"]
        lines.append(delimiter.join(fields[:1] + [f.replace(".", decimal) for f in fields[1:]]) + "\n")
    Path("rows.csv").write_text((names if header else "") + "".join(lines), encoding=encoding)


def test_init_looks_at_the_data_and_writes_what_it_found() -> None:
    a_file(";", ",", encoding="cp1252")
    Path("study").mkdir()
    told = call("init", "study/mine.toml", "--csv", "rows.csv")
    assert told.exit_code == 0, told.stderr
    assert "39 rows, 2 columns of numbers, without id, city, one" in told.stdout
    data = load("study/mine.toml").data
    assert data.settings == {
        "path": "../rows.csv",
        "delimiter": ";",
        "decimal": ",",
        "encoding": "cp1252",
        "drop": ["id", "city", "one"],
        "missing": "drop",
    }
    assert data.rows_per_node == 7
    text = Path("study/mine.toml").read_text()
    assert "1 of 40 rows lack values" in text
    for private in ("Oslo", "Bern", "170"):
        assert private not in text + told.stdout
    said = call("validate", "study/mine.toml")
    assert (said.exit_code, said.stderr) == (0, "")
    assert "is right: 10 combinations on 5 nodes" in said.stdout
    assert re.search(r"An audit takes roughly \d+ (s|min) on one processor and up to \d+ MiB of memory", said.stdout)


def test_init_of_a_file_without_names_says_so() -> None:
    a_file(header=False)
    assert call("init", "mine.toml", "--csv", "rows.csv").exit_code == 0
    data = load("mine.toml").data.settings
    assert data["header"] is False
    assert data["drop"] == ["column 1", "column 4", "column 5"]


@pytest.mark.parametrize(
    ("text", "nodes", "edges"),
    [
        ("0 1\n1 2\n2 3\n3 0 # a remark\n", 4, [[0, 1], [0, 3], [1, 2], [2, 3]]),
        ("source,target\nBern,Oslo\nOslo,Rome\nRome,Bern\n", 3, [[0, 1], [0, 2], [1, 2]]),
        ("1;2\n2;3\n3;1\n1;1\n2;1\n", 3, [[0, 1], [0, 2], [1, 2]]),
    ],
)
def test_init_reads_a_network(text: str, nodes: int, edges: list[list[int]]) -> None:
    Path("lines.txt").write_text(text)
    assert call("init", "mine.toml", "--network", "lines.txt").exit_code == 0
    network = load("mine.toml").network
    assert (network.nodes, network.edges) == (nodes, edges)
    names = ["Bern", "Oslo", "Rome"] if "Bern" in text else ["1", "2", "3"] if "1;2" in text else None
    assert network.names == names
    assert {cell.adversary.settings.get("corrupt", [1])[-1] for cell in load("mine.toml").cells()} == {1}


def test_init_names_the_nodes_and_lines_that_it_read() -> None:
    Path("sites.csv").write_text("von,nach\nSt. Gallen,Bern\nBern,Chur\nChur,St. Gallen\n")
    told = call("init", "mine.toml", "--network", "sites.csv")
    assert "3 nodes, 3 lines between them" in told.stdout
    assert "nodes: 0 'St. Gallen', 1 'Bern', 2 'Chur'" in told.stdout
    assert "lines: St. Gallen–Bern, St. Gallen–Chur, Bern–Chur" in told.stdout
    assert "'von', 'nach'" in told.stdout
    assert load("mine.toml").network.names == ["St. Gallen", "Bern", "Chur"]
    assert load("mine.toml").title == "Curious Bern"
    Path("apart.csv").write_text("St. Gallen,Bern\nBern,Chur\nDavos,Arosa\n")
    told = call("init", "other.toml", "--network", "apart.csv")
    assert told.exit_code == 2
    assert "'Davos', 'Arosa' cannot reach the other 3 nodes" in told.stderr
    assert not Path("other.toml").exists()


def test_init_leaves_out_what_cannot_run_there() -> None:
    Path("star.txt").write_text("0 1\n0 2\n0 3\n0 4\n")
    told = call("init", "mine.toml", "--network", "star.txt")
    assert "left out secure_sum: no Hamiltonian cycle" in told.stdout
    offered = {cell.protocol.name for cell in load("mine.toml").cells()}
    assert offered == {"plain", "pdmm", "secure_aggregation", "robust_server"}


def test_init_offers_every_protocol_that_sums() -> None:
    a_file()
    assert call("init", "mine.toml", "--csv", "rows.csv").exit_code == 0
    offered = {cell.protocol.name: cell.protocol.title for cell in load("mine.toml").cells()}
    assert offered.keys() == {"plain", "secure_sum", "pdmm", "secure_aggregation", "robust_server"}
    assert offered["secure_aggregation"] == "Secure aggregation"


@pytest.mark.parametrize(
    ("option", "content", "expected"),
    [
        ("--csv", b"name,city\nA,B\nC,D\n", "no column"),
        ("--csv", b"a,b\n1,2\n2,4\n", "2 rows for 5 nodes"),
        ("--csv", b"", "0 line"),
        ("--network", b"0\n1\n", "line 1 is not a pair"),
        ("--network", b"", "fewer than two nodes"),
        ("--network", b"0 1\n2 3\n", "connected"),
        ("--network", b"\xff\xfe\x00", "cannot be read"),
    ],
)
def test_init_tells_what_is_wrong_with_a_file_and_writes_nothing(option: str, content: bytes, expected: str) -> None:
    Path("file").write_bytes(content)
    told = call("init", "mine.toml", option, "file")
    assert told.exit_code == 2
    assert expected in told.stderr
    assert not Path("mine.toml").exists()
    assert call("init", "mine.toml", option, "absent").exit_code == 2


WRONG = """title = 3
runs = "many"
[network]
kind = "cycle"
node = 4
[data]
name = "wine"
rows_per_node = "x"
[adversary]
name = "nobody"
[sweep]
protocol = [
    { name = "pdmm", sigam = 3.0 },
    { name = "pdmm", schedule = "never", loss = "some" },
]
"""


def test_validate_tells_all_faults_with_key_and_line() -> None:
    Path("wrong.toml").write_text(WRONG)
    told = call("validate", "wrong.toml")
    assert told.exit_code == 2
    assert told.stdout == ""
    lines = told.stderr.splitlines()
    expected = {
        1: "'title'", 2: "'runs'", 5: "'network.node'; did you mean 'nodes'", 8: "'data.rows_per_node'",
        10: "no adversary is called 'nobody'", 13: "no setting 'sigam'; did you mean 'sigma'",
    }  # fmt: skip
    by_line = {int(DIGITS.search(line)[1]): line for line in lines}  # type: ignore[index]
    assert {number: words in by_line.get(number, "") for number, words in expected.items()} == dict.fromkeys(
        expected, True
    )
    assert sum("line 14" in line for line in lines) == 2
    assert all(line.startswith("secmix: 'wrong.toml', line ") and len(line) <= 300 for line in lines)
    assert len(lines) == 8


def test_validate_tries_what_fits_together_without_an_audit() -> None:
    text = "network.kind = 'cycle'\n[data]\nname = 'csv'\npath = 'rows.csv'\n[protocol]\nname = 'plain'\n"
    Path("mine.toml").write_text(text)
    told = call("validate", "mine.toml")
    assert (told.exit_code, "cannot be read" in told.stderr, "line 4" in told.stderr) == (2, True, True)
    before = set(Path().iterdir())
    assert call("validate", "lone-honest-node").exit_code == 0
    assert set(Path().iterdir()) == before
    Path("code.toml").write_text("network.kind = 'cycle'\n[protocol]\nname = 'os:system'\n")
    assert "--allow-code" in call("validate", "code.toml").stderr
    assert call("validate", "absent.toml").exit_code == 2


def plain(value: Any) -> Any:
    """As an editor sees TOML: dates are text."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.isoformat() if isinstance(value, (date, time)) else value


VALIDATOR = jsonschema.Draft7Validator(json_schema())


@pytest.mark.parametrize("name", entries())
def test_every_scenario_of_the_catalogue_is_valid_by_the_schema(name: str) -> None:
    content = plain(tomllib.loads(entries()[name].path.read_text(encoding="utf-8")))
    assert list(VALIDATOR.iter_errors(content)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"network": {"kind": "cycle", "node": 4}},
        {"network": {"kind": "circle"}},
        {},
        {"runs": 5},
        {"protocol": {"sigma": 3.0}},
        {"protocol": {"name": "pdmm", "sigam": 3.0}},
        {"protocol": {"name": "pdmm", "schedule": "never"}},
        {"protocol": {"name": "pdm"}},
        {"data": {"features": 2, "rows": 4}},
        {"data": {"name": "csv"}},
        {"data": {"name": "csv", "path": "rows.csv", "missing": "guess"}},
        {"sweep": {"protocol": [{"name": "pdmm", "sigam": 3.0}]}},
        {"sweep": {"runs": []}},
        {"policy": {"max_revealed_node": 0}},
    ],
)
def test_the_schema_refuses(wrong: dict[str, Any]) -> None:
    content = wrong if not wrong else {"network": {"kind": "cycle"}, **wrong}
    assert list(VALIDATOR.iter_errors(content))


def test_an_editor_is_told_what_keys_mean() -> None:
    assert call("schema").stdout == json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    schema = json_schema()
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema["definitions"]["ModelSpec"]["properties"]["min_count"]["description"]
    pdmm = next(
        branch["then"]
        for branch in schema["definitions"]["protocol"]["allOf"]
        if branch["if"].get("properties", {}).get("name") == {"const": "pdmm"}
    )
    assert "mask" in pdmm["description"] + pdmm["properties"]["masks"]["description"]
    assert pdmm["properties"]["schedule"]["enum"] == ["coloured", "synchronous", "asynchronous"]


def test_what_the_schema_refuses_the_audit_refuses() -> None:
    place = Path(__file__).parents[1] / "fuzz" / "mutants.py"
    made = importlib.util.spec_from_file_location("secmix_mutants_for_schema", place)
    assert made is not None
    assert made.loader is not None
    mutants = importlib.util.module_from_spec(made)
    made.loader.exec_module(mutants)
    refused = 0
    for seed in range(300):
        text = mutants.mutant(seed)
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError):
            continue
        try:
            wrong = bool(faults(content)) or _parts_are_wrong(content, text)
        except SecmixError:
            wrong = True
        if not wrong:
            assert list(VALIDATOR.iter_errors(plain(content))) == [], text
        refused += wrong
    assert 50 < refused < 290


def _parts_are_wrong(content: dict[str, Any], text: str) -> bool:
    from secmix._base.plugins import code_allowed
    from secmix.cli.validation import faults_of_parts

    with code_allowed(False):
        return next(iter(faults_of_parts(content, "it", text)), None) is not None
