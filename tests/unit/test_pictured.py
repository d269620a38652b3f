"""Rows in a report: those of public data, others only where they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import secmix
from secmix.auditing.cell_parts import Picture
from secmix.cli.app import app
from secmix.reporting.figures.curves import picture_alt, picture_figure

SCENARIO: dict[str, Any] = {
    "runs": 100,
    "network": {"kind": "complete", "nodes": 5},
    "data": {"name": "breast_cancer", "features": 2},
    "model": {"iterations": 4},
    "measure": {"evidence": ["structure", "inversion"]},
    "protocol": {"name": "secure_sum"},
    "adversary": {"name": "honest_but_curious", "corrupt": [0]},
}


@pytest.fixture
def mine(tmp_path: Path) -> dict[str, Any]:
    """The scenario on a file of one's own."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    place = tmp_path / "patients.csv"
    np.savetxt(place, rows, delimiter=",", header="age,dose", comments="")
    return {**SCENARIO, "data": {"name": "csv", "path": str(place)}}


@pytest.mark.build
def test_rows_of_public_data_are_shown_beside_the_true_ones() -> None:
    shown = secmix.audit(SCENARIO).cells[0].picture
    assert shown is not None
    assert (shown.nodes, shown.columns, shown.rows, shown.certified) == ([1, 2, 3, 4], [0, 1], 4, True)
    np.testing.assert_allclose(sorted(shown.found), sorted(shown.true), atol=2e-4)


@pytest.mark.build
def test_what_noise_leaves_is_shown_as_a_guess() -> None:
    shown = secmix.audit({**SCENARIO, "model": {"iterations": 4, "noise_std": 1.0}}).cells[0].picture
    assert shown is not None
    assert not shown.certified
    assert np.abs(np.sort(shown.found, axis=0) - np.sort(shown.true, axis=0)).max() > 0.01
    assert "cannot be sure" in picture_alt(shown)


@pytest.mark.build
@pytest.mark.parametrize(
    "changes",
    [{}, {"protocol": {"name": "graphfed_em", "n_components": 2, "n_rounds": 3}, "model": {}}],
    ids=["sums", "collaboration"],
)
def test_rows_of_a_file_stay_out_unless_asked_for(mine: dict[str, Any], changes: Any, tmp_path: Path) -> None:
    content = {**mine, **changes}
    if changes:
        content = {k: v for k, v in content.items() if k != "model"}
        content |= {"measure": {"evidence": ["reconstruction"]}, "data": {**mine["data"], "rows_per_node": 3}}
    report = secmix.audit(content, tmp_path / "out")
    assert any(node.standing == "revealed" for node in report.cells[0].nodes)
    assert report.cells[0].picture is None
    rows = np.loadtxt(mine["data"]["path"], delimiter=",", skiprows=1)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    text = (tmp_path / "out" / "report.json").read_text()
    assert not any(f"{value:.4f}"[:-1] in text for value in standard.ravel()[:20] if abs(value) > 0.1)
    assert secmix.audit(content, show_private=True).cells[0].picture is not None


@pytest.mark.build
def test_the_command_line_asks_for_them_by_name(mine: dict[str, Any], tmp_path: Path) -> None:
    scenario = tmp_path / "mine.toml"
    scenario.write_text(
        "runs = 100\n"
        'network = {kind = "complete", nodes = 5}\n'
        f'data = {{name = "csv", path = "{mine["data"]["path"]}"}}\n'
        "model = {iterations = 4}\n"
        'measure = {evidence = ["structure", "inversion"]}\n'
        'protocol = {name = "secure_sum"}\n'
        'adversary = {name = "honest_but_curious", corrupt = [0]}\n'
    )
    for flag in ([], ["--show-private"]):
        out = tmp_path / f"out{len(flag)}"
        CliRunner().invoke(app, ["audit", str(scenario), "--out", str(out), "--workers", "1", *flag])
        report = json.loads((out / "report.json").read_text())
        assert (report["cells"][0]["picture"] is not None) == bool(flag)
        assert ("Recovered rows, beside the true rows" in (out / "report.html").read_text()) == bool(flag)
        assert ("--show-private" in report["reproduce"]) == bool(flag)


def test_a_picture_of_one_column_and_of_a_guess_far_outside() -> None:
    one = Picture(nodes=[3], columns=[4], true=[(0.5,), (1.0,)], found=[(0.5,), (900.0,)], rows=50, certified=True)
    drawn = picture_figure(one, "p1")
    assert drawn.startswith("<svg")
    assert "column 5, standard deviations" in drawn
    assert picture_alt(one) == (
        "One run. Circles: the 50 true rows of node 3, the first 2 of them; crosses: what the adversary recovered "
        "(2 rows)."
    )
