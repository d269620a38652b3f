"""The study of exposure at scale in small: its counts, theory and bounds are what they say, and it runs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

pytestmark = pytest.mark.build

FOLDER = Path(__file__).resolve().parents[2] / "analysis" / "exposure_at_scale"


@pytest.fixture(scope="module")
def study() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The modules of the study; neither stays behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER.parents[1])
        at_scale = "analysis.exposure_at_scale"
        yield importlib.import_module(f"{at_scale}.networks"), importlib.import_module(f"{at_scale}.corruption")


def graph_of(compressed: tuple[np.ndarray, np.ndarray]) -> nx.Graph:
    indptr, indices = compressed
    graph = nx.empty_graph(len(indptr) - 1)
    graph.add_edges_from((i, int(j)) for i in graph for j in indices[indptr[i] : indptr[i + 1]])
    return graph


def test_networks_are_what_they_are_called(study: tuple[ModuleType, ModuleType]) -> None:
    networks, _ = study
    degrees = {"random, degree 6": 6, "geometric, degree 6": 6, "geometric, degree 12": 12, "small world": 6}
    for kind in networks.KINDS:
        graph = graph_of(networks.drawn(kind, 4000, np.random.default_rng(0)))
        assert not list(nx.selfloop_edges(graph))
        mean = 2 * graph.number_of_edges() / 4000
        assert mean == pytest.approx(degrees.get(kind, 6), rel=0.06)
        triangles = nx.transitivity(graph)
        assert (triangles > 0.2) == (kind.startswith("geometric") or kind == "small world")


def test_random_corruption_counts_pieces(study: tuple[ModuleType, ModuleType]) -> None:
    networks, corruption = study
    compressed = networks.drawn("geometric, degree 6", 300, np.random.default_rng(1))
    measured = corruption.at_random(compressed, 0.4, np.random.default_rng(2))
    honest = np.random.default_rng(2).random(300) >= 0.4
    left = graph_of(compressed).subgraph(np.flatnonzero(honest).tolist())
    sizes = [len(piece) for piece in nx.connected_components(left) for _ in piece]
    assert measured == pytest.approx([np.mean([size <= most for size in sizes]) for most in corruption.SIZES])


def test_the_theory_of_being_alone_is_exact_and_branching_is_for_trees(study: tuple[ModuleType, ModuleType]) -> None:
    networks, corruption = study
    rng = np.random.default_rng(3)
    for kind, low, high in (("random, degree 6", 0.9, 1.1), ("geometric, degree 6", 1.5, 5.0)):
        compressed = networks.drawn(kind, 20_000, rng)
        runs = np.mean([corruption.at_random(compressed, 0.4, rng) for _ in range(20)], axis=0)
        alone, three = corruption.mean_field(compressed, 0.4)
        assert runs[0] == pytest.approx(alone, rel=0.05)
        assert low < runs[1] / three < high


def relaxed(graph: nx.Graph, most: int) -> float:
    """The linear programme: as many alone as ``most`` shares of nodes buy, each needing all its neighbours."""
    n, directed = len(graph), list(graph.to_directed().edges)
    needs = np.zeros((len(directed) + 1, 2 * n))
    for row, (v, w) in enumerate(directed):  # alone v takes corrupt w
        needs[row, v], needs[row, n + w] = 1, -1
    needs[-1, n:] = 1
    limits = np.append(np.zeros(len(directed)), most)
    return -float(linprog(np.repeat([-1.0, 0.0], n), needs, limits, bounds=(0, 1)).fun)


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_beats_the_bound_and_greed_counts_right(study: tuple[ModuleType, ModuleType], seed: int) -> None:
    networks, corruption = study
    rng = np.random.default_rng(seed)
    compressed = networks.compressed(rng.integers(0, 11, size=(14, 2)), 11)
    graph, most = graph_of(compressed), 4
    best = [
        max(
            sum(v not in corrupt and set(graph[v]) <= set(corrupt) for v in graph)
            for corrupt in combinations(range(11), k)
        )
        for k in range(most + 1)
    ]
    course = corruption.chosen(compressed, most)
    assert len(course) == most + 1
    for k in range(most + 1):
        assert max(course[: k + 1]) <= max(best[: k + 1]) <= corruption.bound(compressed, k) + 1e-6
        assert corruption.bound(compressed, k) == pytest.approx(relaxed(graph, k), abs=0.01)


def test_it_runs_and_reports(tmp_path: Path) -> None:
    script = [sys.executable, "-m", "analysis.exposure_at_scale.run", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(script, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "numbers.json").read_text(encoding="utf-8"))
    assert {path.name for path in tmp_path.iterdir()} == {
        "numbers.json",
        "README.md",
        "random.png",
        "targeted.png",
        "seconds.json",
    }
    for entry in numbers["targeted"]:
        assert all(greedy <= most + 1e-6 for greedy, most in zip(entry["greedy"], entry["bound"], strict=True))
    for entry in numbers["scale"]:
        fewer = entry["coalitions"]["fewer_than_neighbours"]
        # Where neighbours are neighbours of each other, their number misleads; in a tree it does not.
        assert 0.3 < fewer < 0.7 if entry["kind"].startswith("geometric") else fewer < 0.3
