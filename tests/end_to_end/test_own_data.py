"""Data of a user's own: where the file is looked for, and what a report says of it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import secmix
from secmix.errors import SecmixError
from secmix.scenario import parse

SCENARIO = """
runs = 100
[data]
name = "csv"
path = "rows.csv"
missing = "drop"
[network]
kind = "cycle"
nodes = 4
[model]
iterations = 1
[adversary]
name = "curious_server"
[protocol]
name = "plain"
[measure]
evidence = ["structure"]
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study").mkdir()
    rows = "".join(f"{i % 7},{(i * i) % 5 + i / 100}\n" for i in range(40))
    Path("study/rows.csv").write_text("a,b\n" + rows + "NA,1\n")
    Path("study/scenario.toml").write_text(SCENARIO)


def test_a_path_starts_from_the_folder_of_the_scenario() -> None:
    report = secmix.audit("study/scenario.toml", "out/of")
    assert report.verdict == "violated"
    assert report.scenario["data"]["path"] == "rows.csv"  # as it was written
    assert any("1 of 41 rows left out" in note for note in report.cells[0].notes)
    beside = tomllib.loads(Path("out/of/scenario.toml").read_text())
    assert beside["data"]["path"] == "../../study/rows.csv"
    again = secmix.audit("out/of/scenario.toml", seed=report.seed)
    assert again.cells[0].nodes == report.cells[0].nodes
    assert [entry.least for entry in [secmix.exposure("study/scenario.toml")]] == [0.0]


def test_a_path_in_python_starts_from_where_python_runs() -> None:
    scenario = parse(SCENARIO)
    with pytest.raises(SecmixError, match="cannot be read"):
        secmix.audit(scenario)
    absolute = parse(SCENARIO.replace("rows.csv", str(Path("study/rows.csv").absolute())))
    assert secmix.audit(absolute).verdict == "violated"


def test_swept_paths_start_there_too_and_keep_their_names() -> None:
    Path("study/more.csv").write_text(Path("study/rows.csv").read_text())
    text = SCENARIO.replace('path = "rows.csv"\n', "") + '[sweep]\n"data.path" = ["rows.csv", "more.csv"]\n'
    Path("study/scenario.toml").write_text(text)
    report = secmix.audit("study/scenario.toml", "out")
    assert [cell.protocol for cell in report.cells] == ["plain, data.path = rows.csv", "plain, data.path = more.csv"]
    beside = tomllib.loads(Path("out/scenario.toml").read_text())
    assert beside["sweep"]["data.path"] == ["../study/rows.csv", "../study/more.csv"]
    tables = SCENARIO + '[sweep]\ndata = [{name = "csv", path = "rows.csv", missing = "mean"}, {name = "wine"}]\n'
    Path("study/scenario.toml").write_text(tables)
    assert len(secmix.audit("study/scenario.toml").cells) == 2
