"""Names of nodes stand wherever their numbers would: in every format of a report, in figures, and in exposures."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import secmix
from secmix._base.naming import called, label, named
from secmix.auditing.cell_parts import LeakageCurve
from secmix.auditing.exposure.exposures import exposures
from secmix.errors import ScenarioError, brief
from secmix.network import listed
from secmix.reporting import FORMATS, compare, print_changes, print_report
from secmix.reporting.figures.curves import leakage_figure
from secmix.reporting.formats.exposure_tables import print_exposures
from secmix.scenario import from_dict

NAMES = ["St. Gallen", "Bern & Thun", "Chur", "Genève"]
NUMBER = re.compile(r"(?<!revealed )\b[nN]odes? \d|participant \d|\{\d|–\d(?!\d{3})")


def scenario(**changes: Any) -> dict[str, Any]:
    return {
        "network": {"kind": "cycle", "nodes": 4, "names": NAMES},
        "runs": 100,
        "data": {"name": "wine", "features": 2},
        "protocol": {"name": "secure_sum"},
        "adversary": {"name": "honest_but_curious", "corrupt": [0, 2], "label": "two"},
        "policy": {"max_revealed_nodes": 0, "min_colluders": 3},
        "measure": {"evidence": ["structure", "decoders"]},
        **changes,
    }


@pytest.fixture(scope="module")
def report() -> secmix.Report:
    return secmix.audit(scenario())


def escaped(name: str, how: str) -> str:
    return (
        name.replace("&", "&amp;")
        if how in ("html", "junit", "release")
        else name.replace("&", "\\&")
        if how == "md"
        else name
    )


@pytest.mark.build
@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_names_the_nodes(kind: str, report: secmix.Report) -> None:
    text = FORMATS[kind][1](report)
    text = text[: text.index("min_colluders = ")] if "min_colluders = " in text else text  # the scenario's own text
    text = re.sub(r"x0 \+ x2 means.*?count from 0\.", "", text, flags=re.S)  # of the glossary: about any network
    assert report.verdict == "violated"
    assert report.cells[0].leaked[0] == "x(St. Gallen)"
    for name in ("Bern & Thun", "Genève"):
        assert name in text or escaped(name, kind) in text
    seen = [text[max(0, m.start() - 60) : m.end() + 40] for m in NUMBER.finditer(text)]
    assert seen == []


def test_the_terminal_and_comparisons_name_them(report: secmix.Report) -> None:
    out = io.StringIO()
    print_report(report, Console(file=out, width=200))
    other = secmix.audit(scenario(adversary={"name": "honest_but_curious", "corrupt": [0], "label": "two"}))
    print_changes(compare(other, report), Console(file=out, width=200))
    assert "Bern & Thun" in out.getvalue()
    assert not NUMBER.search(out.getvalue()), out.getvalue()


def test_exposures_name_them() -> None:
    found = exposures(scenario(protocol={"name": "pdmm"}), colluders=3, min_colluders=3, repair=True)
    assert found[0].repairs
    out = io.StringIO()
    print_exposures(found, Console(file=out, width=200))
    assert "St. Gallen" in out.getvalue()
    assert not NUMBER.search(out.getvalue()), out.getvalue()
    assert json.loads(json.dumps(found[0].to_dict()))["names"] == NAMES
    assert "names" not in exposures(scenario(network={"kind": "cycle", "nodes": 4}), colluders=3)[0].to_dict()


def test_figures_name_them(report: secmix.Report) -> None:
    page = FORMATS["html"][1](report)
    for drawing in re.findall(r"<svg[^>]*role=.img.*?</svg>", page, re.S)[:1]:
        assert "St. Gallen" in drawing


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a", "b"], "names lists 2 names for 4 nodes"), (["a", "b", "a", "c"], "names lists a name twice")],
)
def test_names_that_are_too_few_or_doubled_are_refused(names: list[str], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        from_dict(scenario(network={"kind": "cycle", "nodes": 4, "names": names}))


def test_names_in_sentences() -> None:
    assert named("node 1, node 7 and nodes 0, 9", NAMES) == "Bern & Thun, node 7 and nodes 0, 9"
    assert (
        named("sent from 0 to the server, from 1 to 2", NAMES)
        == "sent from St. Gallen to the server, from Bern & Thun to Chur"
    )
    assert named("sums over [0, 3]; {2}", NAMES) == "sums over [St. Gallen, Genève]; {Chur}"
    assert named("new lines 0–2, server–1", NAMES) == "new lines St. Gallen–Chur, server–Bern & Thun"
    assert named("Node 0 and nodes 0, 1", ["10", "20"]) == "node 10 and nodes 10, 20"
    assert named("nodes 0 and 1", []) == "nodes 0 and 1"
    assert (called(3, NAMES), called(3, []), label(-1, NAMES)) == ("Genève", "node 3", "server")


def test_init_writes_the_names_of_a_network(tmp_path: Path) -> None:
    from secmix.cli.scaffold import network_of

    path = tmp_path / "net.csv"
    path.write_text("St. Gallen,Bern\nBern,Chur\nChur,St. Gallen\n", encoding="utf-8")
    settings = {key: value for key, value, _ in network_of(path).settings}
    assert settings["names"] == ["St. Gallen", "Bern", "Chur"]


def test_a_range_of_nodes_is_spread_where_they_have_names() -> None:
    nodes = [0, *range(2, 17)]
    sentence = f"the sum over nodes {listed(nodes)} is known"
    assert sentence == "the sum over nodes 0, 2 to 16 is known"
    names = [f"site {chr(97 + k)}" for k in range(17)]
    assert named(sentence, names) == f"the sum over {', '.join(names[k] for k in nodes)} is known"
    assert named(sentence, names[:16]) == sentence


def test_labels_of_a_figure_are_cut_at_a_name_and_say_how_many_are_left() -> None:
    curves = [
        LeakageCurve(node=k, evidence="gaussian", iterations=[0, 1], single=[0.1, 0.1], cumulative=[0.1, 0.2])
        for k in range(5)
    ]
    clinics = leakage_figure(curves, None, "f", [f"Clinic {k}" for k in range(5)])
    assert re.findall(r"<text[^>]*>([^<]*more)</text>", clinics) == ["Clinic 0 and 4 more"]
    assert "nodes 0, 1, 2, 3, 4" in re.findall(r"<text[^>]*>([^<]*)</text>", leakage_figure(curves, None, "f"))


def test_a_text_is_cut_between_words() -> None:
    listed = "of " + ", ".join(f"Northern Hospital {k}" for k in range(50)) + ": give each a row"
    cut = brief(listed, 100)
    assert len(cut) <= 100
    head, tail = cut.split(" … ")
    assert listed.startswith(head)
    assert listed[len(head)] == " "
    assert listed.endswith(tail)
