"""Scenarios: what is written comes back, what is wrong is named with its key, its line and the nearest right name."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix._base.toml_text import line_of
from secmix.errors import ScenarioError
from secmix.scenario import Scenario, from_dict, load, parse, render

RING = '[network]\nkind = "cycle"\n'

words = st.text(max_size=20)
names = st.text(min_size=1, max_size=20)
keys = st.from_regex(r"[a-z]{3,8}", fullmatch=True).filter(lambda k: k not in ("name", "label"))
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.booleans())
values = st.recursive(
    st.one_of(words, numbers),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=5,
)
positive = st.floats(1e-9, 1e9)
whole = st.integers(1, 1000)


def parts(label: st.SearchStrategy[str] = names) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda name, label, settings: {**settings, "name": name, "label": label},
        names,
        label,
        st.dictionaries(keys, values, max_size=3),
    )


def tables(fixed: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fixed)


edges = st.lists(st.tuples(whole, whole).map(list), min_size=1, max_size=5)
networks = st.one_of(
    st.fixed_dictionaries({"edges": edges}, optional={"nodes": whole, "kind": st.just("edges")}),
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["complete", "cycle", "random_geometric"])},
        optional={"nodes": whole, "radius": positive, "seed": st.integers(0, 2**40)},
    ),
)
policies = st.one_of(
    st.fixed_dictionaries({"max_revealed_nodes": st.integers(0, 9)}),
    st.fixed_dictionaries(
        {"max_normalised_leakage": st.floats(0, 1)}, optional={"max_revealed_nodes": st.integers(0, 9)}
    ),
)
sweeps = tables(
    {
        "protocol": st.lists(parts(), min_size=1, max_size=3, unique_by=lambda part: part["label"]),
        "adversary": st.lists(parts(), min_size=1, max_size=3, unique_by=lambda part: part["label"]),
        "model.components": st.lists(whole, min_size=1, max_size=3, unique=True),
        "data.rows_per_node": st.lists(whole, min_size=1, max_size=3, unique=True),
        "title": st.lists(words, min_size=1, max_size=2, unique=True),
    }
)
contents = st.fixed_dictionaries(
    {"network": networks},
    optional={
        "title": words,
        "description": words,
        "seed": st.integers(0, 2**53),
        "runs": st.integers(100, 10**6),
        "data": st.one_of(
            parts().map(lambda part: {k: v for k, v in part.items() if k != "label"}),
            tables({"standardise": st.booleans(), "features": whole, "rows_per_node": st.lists(whole, max_size=3)}),
        ),
        "model": tables(
            {
                "components": whole,
                "iterations": whole,
                "init": st.sampled_from(["public", "kmeans", "moments"]),
                "reg_covar": positive,
                "covariance_center": st.sampled_from(["new", "old"]),
                "hold_parameters": st.booleans(),
            }
        ),
        "protocol": parts(),
        "adversary": parts(),
        "measure": tables(
            {
                "evidence": st.lists(
                    st.sampled_from(["structure", "gaussian", "ksg", "decoders"]), min_size=1, unique=True
                ),
                "target": st.sampled_from(["row", "input"]),
                "nodes": st.lists(st.integers(0, 50), max_size=4),
                "neighbours": whole,
                "sigmas": st.lists(positive, max_size=3),
            }
        ),
        "policy": policies,
        "sweep": sweeps,
    },
)
scenarios = contents.map(from_dict)


@given(scenarios)
def test_a_scenario_written_as_toml_reads_back_the_same(scenario: Scenario) -> None:
    assert parse(render(scenario)) == scenario


@given(scenarios)
def test_every_cell_of_a_sweep_reads_back_the_same_and_sweeps_nothing(scenario: Scenario) -> None:
    cells = list(scenario.cells())
    for cell in cells:
        assert parse(render(cell)) == cell
        assert not cell.sweep
    called = [(cell.protocol.title, cell.adversary.title) for cell in cells]
    assert len(set(called)) == len(called)


@given(words)
def test_titles_keep_every_character(title: str) -> None:
    scenario = from_dict({"title": title, "description": title, "network": {"kind": "cycle"}})
    assert parse(render(scenario)).title == title
    assert tomllib.loads(render(scenario))["description"] == title


def test_a_setting_that_is_infinite_reads_back() -> None:
    scenario = parse(RING + '[protocol]\nname = "pdmm"\nsigma = inf')
    assert parse(render(scenario)) == scenario


# What is wrong, the line that is to be named, and words that must be in the message.
WRONG = {
    "unknown at the top": (RING + "[measur]\nx = 1", 3, ["'measur'", "did you mean 'measure'"]),
    "unknown in network": (RING + "node = 3", 3, ["'network.node'", "'nodes'"]),
    "unknown in model": (RING + "[model]\nseed = 1\n", 4, ["'model.seed'", "components"]),
    "unknown in measure": (RING + "[measure]\nevidense = []", 4, ["'measure.evidense'", "did you mean 'evidence'"]),
    "unknown in policy": (RING + "[policy]\nmax_revealed = 3", 4, ["'max_revealed_nodes'"]),
    "odd unknown key": ('"net work" = 1\n' + RING, 1, ["'net work'", "did you mean 'network'"]),
    "wrong evidence": (RING + '[measure]\nevidence = ["ksgg"]', 4, ["measure.evidence", "'ksg'", "'ksgg'"]),
    "no evidence": (RING + "[measure]\nevidence = []", 4, ["measure.evidence"]),
    "wrong choice": ('[network]\nkind = "cycl"', 2, ["network.kind", "'cycle'"]),
    "wrong type of title": ("title = 3\n" + RING, 1, ["'title'", "text, in quotes"]),
    "wrong type of table": ("network = 3", 1, ["'network'"]),
    "array of tables": ('[[network]]\nkind = "cycle"', 1, ["'network'"]),
    "fraction for whole": ("runs = 1000.5\n" + RING, 1, ["'runs'", "whole number"]),
    "text for whole": ('seed = "1"\n' + RING, 1, ["'seed'", "whole number"]),
    "truth for whole": (RING + "nodes = true", 3, ["network.nodes"]),
    "negative seed": ("seed = -1\n" + RING, 1, ["'seed'", "-1"]),
    "runs too few": ("runs = 10\n" + RING, 1, ["'runs'", "100", "10"]),
    "no nodes": (RING + "nodes = 0", 3, ["network.nodes"]),
    "edge of three": ("[network]\nedges = [[0, 1, 2]]", 2, ["network.edges.0"]),
    "edge of words": ('[network]\nedges = [[0, "a"]]', 2, ["network.edges.0.1"]),
    "edges missing": ("[network]\nnodes = 5", 1, ["edges", "kind"]),
    "edges too many": (RING + "edges = [[0, 1]]", 1, ["edges", "kind"]),
    "infinite radius": (RING + "radius = inf", 3, ["network.radius", "finite"]),
    "no name": (RING + "[protocol]\nsigma = 3", 3, ["'protocol.name' is missing"]),
    "empty name": (RING + '[adversary]\nname = ""', 4, ["adversary.name"]),
    "no rows": (RING + "[data]\nrows_per_node = 0", 4, ["data.rows_per_node"]),
    "no components": (RING + "[model]\ncomponents = 0", 4, ["model.components"]),
    "reg_covar of zero": (RING + "[model]\nreg_covar = 0.0", 4, ["model.reg_covar"]),
    "mask size of zero": (RING + "[measure]\nsigmas = [0.0]", 4, ["measure.sigmas"]),
    "mask size not a number": (RING + "[measure]\nsigmas = [nan]", 4, ["measure.sigmas", "finite"]),
    "node below zero": (RING + "[measure]\nnodes = [-1]", 4, ["measure.nodes"]),
    "policy without limits": (RING + "[policy]", 3, ["max_revealed_nodes", "max_normalised_leakage"]),
    "limit above one": (RING + "[policy]\nmax_normalised_leakage = 1.5", 4, ["policy.max_normalised_leakage"]),
    "limit not a number": (RING + "[policy]\nmax_normalised_leakage = nan", 4, ["policy.max_normalised_leakage"]),
    "limit below zero": (RING + "[policy]\nmax_revealed_nodes = -1", 4, ["policy.max_revealed_nodes"]),
    "sweep of an unknown table": (RING + "[sweep]\nmodle = [1]", 3, ["'modle'", "did you mean 'model'"]),
    "sweep of an unknown setting": (RING + '[sweep]\n"model.component" = [1]', 3, ["component", "'components'"]),
    "sweep below a number": (RING + '[sweep]\n"seed.x" = [3]', 3, ["seed.x", "no settings of its own"]),
    "sweep of nothing": (RING + '[sweep]\n"model.components" = []', 4, ["sweep.model.components"]),
    "sweep without a list": (RING + '[sweep]\n"model.components" = 3', 4, ["sweep.model.components", "list"]),
    "sweep with a wrong value": (RING + '[sweep]\n"model.components" = [1, -2]', 3, ["model.components", "-2"]),
    "sweep with a part without name": (RING + '[[sweep.protocol]]\nnam = "plain"', 3, ["protocol.name"]),
    "sweep of itself": (RING + '[sweep]\n"sweep.seed" = [[1]]', 3, ["sweep"]),
    "two cells of one name": (RING + '[sweep]\nprotocol = [{name = "plain"}, {name = "plain"}]', 3, ["label"]),
    "bad TOML": (RING + "seed = ", 3, ["TOML"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_line(case: str) -> None:
    text, line, expected = WRONG[case]
    with pytest.raises(ScenarioError) as caught:
        parse(text, "'mine.toml'")
    message = str(caught.value)
    assert "'mine.toml'" in message
    assert "\n" not in message
    assert f"line {line}" in message or (case == "bad TOML" and "end of document" in message), message
    for word in expected:
        assert word in message


def test_an_empty_scenario_misses_its_network() -> None:
    with pytest.raises(ScenarioError, match="'network' is missing"):
        parse("")


def test_files_that_cannot_be_read_are_named(tmp_path: Any) -> None:
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    (tmp_path / "empty.toml").write_bytes(b"")
    for name in ("latin.toml", "empty.toml", "absent.toml", "."):
        with pytest.raises(ScenarioError) as caught:
            load(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_a_byte_order_mark_is_no_error(tmp_path: Any) -> None:
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + RING.replace("\n", "\r\n").encode())
    assert load(tmp_path / "windows.toml").network.kind == "cycle"


def test_sweeps_multiply_in_the_order_they_are_written() -> None:
    scenario = parse(
        RING
        + '[sweep]\nprotocol = [{name = "plain", label = "P"}, {name = "pdmm", label = "D"}]\n'
        + 'adversary = [{name = "eavesdropper", label = "E"}, {name = "curious_server", label = "S"}]\n'
    )
    assert [(c.protocol.title, c.adversary.title) for c in scenario.cells()] == [
        ("P", "E"),
        ("P", "S"),
        ("D", "E"),
        ("D", "S"),
    ]


def test_a_swept_setting_is_named_once() -> None:
    text = """network.kind = "cycle"
        [protocol]
        name = "pdmm"
        [adversary]
        name = "honest_but_curious"
        [sweep]
        "protocol.sigma" = [10.0, 20.0]
        "adversary.corrupt" = [[1], [1, 2]]
        runs = [100, 200]
    """
    titles = [(cell.protocol.title, cell.adversary.title) for cell in parse(text).cells()]
    assert titles[0] == ("pdmm, sigma = 10.0, runs = 100", "honest_but_curious, corrupt = [1]")
    assert titles[-1] == ("pdmm, sigma = 20.0, runs = 200", "honest_but_curious, corrupt = [1, 2]")
    assert len(set(titles)) == 8


def test_a_setting_that_a_label_hides_is_named_with_it() -> None:
    text = """network.kind = "cycle"
        [protocol]
        name = "pdmm"
        label = "D"
        [adversary]
        name = "honest_but_curious"
        label = "A"
        [sweep]
        "protocol.sigma" = [10.0, 20.0]
        "adversary.corrupt" = [[1], [1, 2]]
    """
    [first, *_] = parse(text).cells()
    assert first.protocol.title == "D, protocol.sigma = 10.0, adversary.corrupt = [1]"
    labels = text.replace('label = "D"', "").replace('"protocol.sigma" = [10.0, 20.0]', '"protocol.label" = ["E", "F"]')
    assert [cell.protocol.title.split(",")[0] for cell in parse(labels).cells()] == ["E", "E", "F", "F"]


@pytest.mark.parametrize("order", [("protocol", '"protocol.sigma"'), ('"protocol.sigma"', "protocol")])
def test_a_setting_swept_beside_its_table_reaches_the_cell_in_either_order(order: tuple[str, str]) -> None:
    swept = {"protocol": '[{name = "pdmm", label = "D"}]', '"protocol.sigma"': "[1.0, 20.0]"}
    scenario = parse(RING + "[sweep]\n" + "\n".join(f"{key} = {swept[key]}" for key in order))
    assert [cell.protocol.settings["sigma"] for cell in scenario.cells()] == [1.0, 20.0]


def test_other_swept_settings_stand_in_the_label() -> None:
    scenario = parse(RING + '[sweep]\n"data.rows_per_node" = [1, 20]')
    assert [cell.data.rows_per_node for cell in scenario.cells()] == [1, 20]
    assert all(f"= {cell.data.rows_per_node}" in cell.protocol.title for cell in scenario.cells())


def test_without_labels_parts_are_called_by_name_and_settings() -> None:
    scenario = parse(RING + '[protocol]\nname = "my.module:Own"\nsigma = 2.0\nrounds = 3')
    assert scenario.protocol.title == "Own, sigma = 2.0, rounds = 3"


@pytest.mark.parametrize(
    ("path", "line"),
    [(("a",), 1), (("t",), 2), (("t", "b"), 3), (("t", "absent"), 2), (("t", "u", "c"), 5), (("absent",), None)],
)
def test_lines_are_found(path: tuple[str, ...], line: int | None) -> None:
    assert line_of("a = 1\n[t]\nb = 2\n[t.u]\nc = 3\n", path) == line


def test_a_swept_table_is_told_by_what_differs() -> None:
    tables = [{"iterations": 6}, {"iterations": 6, "covariance_floor": 0.2}, {"iterations": 6, "rounding": 0.1}]
    scenario = from_dict({"network": {"kind": "cycle"}, "sweep": {"model": tables}})
    titles = [cell.protocol.title for cell in scenario.cells()]
    assert titles == ["pdmm", "pdmm, model.covariance_floor = 0.2", "pdmm, model.rounding = 0.1"]
