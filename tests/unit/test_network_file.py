"""Networks that ``secmix init`` reads: edge lists, adjacency matrices and GraphML, with the names that stand there."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from secmix.cli.network_file import NetworkFile, read_network
from secmix.errors import NetworkError

RING = [("St. Gallen", "Bern"), ("Bern", "Bad Ragaz"), ("Bad Ragaz", "Chur"), ("Chur", "St. Gallen")]


def read(folder: Path, content: str | bytes, name: str = "sites.csv") -> NetworkFile:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_network(path)


def named_edges(network: NetworkFile) -> set[frozenset[str]]:
    return {frozenset((network.names[a], network.names[b])) for a, b in network.edges}


AS_SETS = {frozenset(pair) for pair in RING}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ", ", " - ", " -> ", " – ", " <--> "])
@pytest.mark.parametrize("quote", ["", '"', "'"])
@pytest.mark.parametrize("header", ["", "von,nach\n", "source,target\n"])
def test_names_with_blanks_stay_whole(tmp_path: Path, delimiter: str, quote: str, header: str) -> None:
    lines = [delimiter.join(f"{quote}{name}{quote}" for name in pair) for pair in RING]
    network = read(tmp_path, header.replace(",", delimiter) + "\n".join(lines) + "\n")
    assert set(network.names) == {name for pair in RING for name in pair}
    assert named_edges(network) == AS_SETS


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ('"Basel, Stadt",Bern\nBern,"Chur ""Süd"""\n', {("Basel, Stadt", "Bern"), ("Bern", 'Chur "Süd"')}),
        ('"St. Gallen" Bern\nBern   Chur\n', {("St. Gallen", "Bern"), ("Bern", "Chur")}),
        ("id,from,to,km\n1,A,B,3\n2,B,C,4\n3,C,A,9\n", {("A", "B"), ("B", "C"), ("C", "A")}),
        ("# made by hand\n\nA,B\n# more\nB,C\n", {("A", "B"), ("B", "C")}),
        ("0 1 {}\n1 2 {}\n", {("0", "1"), ("1", "2")}),
        ("0 1 # a remark\n1 2\n", {("0", "1"), ("1", "2")}),
        ("Côte d'Or,Bern\nBern,L'Isle\n", {("Côte d'Or", "Bern"), ("Bern", "L'Isle")}),
        ("Zürich,Bern\nBern,Zu\u0308rich Nord\nZu\u0308rich,Bern\n", {("Zürich", "Bern"), ("Bern", "Zürich Nord")}),
        ("A B 0.5\nB C 0.7\n", {("A", "B"), ("B", "C")}),
        ("source target weight\nA B 0.5\nB C 7\n", {("A", "B"), ("B", "C")}),
        ("0 1 {'weight': 3}\n1 2 {'weight': 5}\n", {("0", "1"), ("1", "2")}),
        (
            'Bern,"Zürich - Triemli"\nChur,"Zürich - Triemli"\n',
            {("Bern", "Zürich - Triemli"), ("Chur", "Zürich - Triemli")},
        ),
        ('"Ward #3",B\nB,"Ward #4"\n', {("Ward #3", "B"), ("B", "Ward #4")}),
        ("A,B,\nB,C,\n", {("A", "B"), ("B", "C")}),
    ],
)
def test_an_edge_list_is_read_as_a_csv_file(tmp_path: Path, text: str, edges: set[tuple[str, str]]) -> None:
    network = read(tmp_path, text)
    assert named_edges(network) == {frozenset(edge) for edge in edges}
    assert len(network.names) == len({name for edge in edges for name in edge})


def test_text_that_is_not_utf_8_is_read_and_said(tmp_path: Path) -> None:
    network = read(tmp_path, "Zürich;Bern\nBern;Genève\n".encode("cp1252"))
    assert network.names == ("Zürich", "Bern", "Genève")
    assert any("cp1252" in note for note in network.notes)


def test_what_was_read_as_a_header_is_said(tmp_path: Path) -> None:
    assert any("'von', 'nach'" in note for note in read(tmp_path, "von,nach\nA,B\nB,C\n").notes)
    assert any("'from' and 'to'" in note for note in read(tmp_path, "id,from,to\n1,A,B\n2,B,C\n").notes)
    assert any("first two of 3 columns" in note for note in read(tmp_path, "A,B,fibre\nB,C,fibre\n").notes)


def test_lines_left_out_are_counted(tmp_path: Path) -> None:
    network = read(tmp_path, "A,B\nB,A\nB,B\nB,C\n")
    assert len(network.edges) == 2
    assert any("1 line from a node to itself" in note for note in network.notes)
    assert any("1 line given twice" in note for note in network.notes)


MATRIX = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
NAMES = ["St. Gallen", "Bern", "Bad Ragaz", "Chur"]


def matrix_text(delimiter: str, names_on_top: bool, names_at_left: bool, corner: str = "") -> str:
    rows = [list(map(str, row)) for row in MATRIX]
    if names_at_left:
        rows = [[name, *row] for name, row in zip(NAMES, rows, strict=True)]
    if names_on_top:
        rows.insert(0, [corner, *NAMES] if names_at_left else NAMES)
    return "\n".join(delimiter.join(row) for row in rows) + "\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(("top", "left", "corner"), [(1, 1, ""), (1, 1, "site"), (1, 0, ""), (0, 1, "")])
def test_an_adjacency_matrix_with_names(tmp_path: Path, delimiter: str, top: int, left: int, corner: str) -> None:
    network = read(tmp_path, matrix_text(delimiter, bool(top), bool(left), corner))
    assert network.names == tuple(NAMES)
    assert named_edges(network) == AS_SETS
    assert any("adjacency matrix" in note for note in network.notes)


@pytest.mark.parametrize("delimiter", [",", " ", "  "])
@pytest.mark.parametrize("nodes", [3, 4, 7])
def test_an_adjacency_matrix_without_names(tmp_path: Path, delimiter: str, nodes: int) -> None:
    matrix = nx.to_numpy_array(nx.cycle_graph(nodes)) * 0.5
    network = read(tmp_path, "\n".join(delimiter.join(map(str, row)) for row in matrix))
    assert network.names == tuple(map(str, range(nodes)))
    assert set(network.edges) == {tuple(sorted(edge)) for edge in nx.cycle_graph(nodes).edges}


def test_three_weighted_lines_are_no_matrix(tmp_path: Path) -> None:
    network = read(tmp_path, "0 1 1\n1 2 1\n2 3 1\n")
    assert set(network.edges) == {(0, 1), (1, 2), (2, 3)}


def test_graphml(tmp_path: Path) -> None:
    graph = nx.DiGraph(RING)
    nx.write_graphml(graph, tmp_path / "sites.graphml", infer_numeric_types=True)
    network = read_network(tmp_path / "sites.graphml")
    assert named_edges(network) == AS_SETS


def test_graphml_nodes_are_called_by_their_labels(tmp_path: Path) -> None:
    graph = nx.cycle_graph(4)
    nx.set_node_attributes(graph, dict(enumerate(NAMES)), "label")
    nx.write_graphml_xml(graph, tmp_path / "sites.graphml")
    assert read_network(tmp_path / "sites.graphml").names == tuple(NAMES)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("A,B\nB,C\nSt. Moritz,Davos\n", ["not connected", "'St. Moritz', 'Davos'"]),
        (matrix_text(",", True, True).replace("Chur,1,0,1,0", "Chur,1,0,0,0"), ["not symmetric", "Bad Ragaz", "Chur"]),
        ("A,B\nC\n", ["line 2", "pair"]),
        ("A,B,3\nC,D\n", ["line 2", "2 fields", "line 1 has 3"]),
        ("St. Gallen Bern\nBern Chur\n", ["line 2", "2 fields", "line 1 has 3", "comma"]),
        ("St. Gallen Bern\n", ["line 1", "blanks", "comma"]),
        ("St. Gallen Bern\nBad Ragaz Chur\n", ["line 2", "blanks", "comma"]),
        ("St. Gallen, SG - Bern, BE\nBern, BE - Chur, GR\n", ["dashes", "commas", "quotes"]),
        ("A,B # both\nB,C\n", ["line 1", "#", "quotes"]),
        ('"A,B\nB,C\n', ["quot"]),
        ("A,\n,B\n", ["line 1", "pair"]),
        ("<html><body/></html>", ["GraphML"]),
        ("<graphml><graph", ["GraphML"]),
        ("", ["fewer than two nodes"]),
        ("only\n", ["line 1", "pair"]),
    ],
)
def test_a_file_that_is_no_network_is_an_error_that_says_why(tmp_path: Path, content: str, expected: list[str]) -> None:
    with pytest.raises(NetworkError) as error:
        read(tmp_path, content)
    for words in expected:
        assert words in str(error.value)


def test_a_node_without_lines_is_named(tmp_path: Path) -> None:
    graph = nx.Graph([("A", "B")])
    graph.add_node("St. Gallen")
    nx.write_graphml(graph, tmp_path / "sites.graphml")
    with pytest.raises(NetworkError, match=r"not connected: 'St\. Gallen' cannot reach"):
        read_network(tmp_path / "sites.graphml")
