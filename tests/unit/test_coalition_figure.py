"""The picture of a coalition: its words are true of every outcome, and it is drawn for every outcome."""

from __future__ import annotations

import pytest

import secmix
from secmix.reporting.figures.coalition import coalition_alt, coalition_figure, guards_explained, letters


@pytest.fixture(scope="module")
def cell():
    setting = {
        "runs": 100,
        "data": {"name": "wine", "features": 2, "rows_per_node": 6},
        "network": {"kind": "cycle", "nodes": 5},
        "model": {"iterations": 1},
        "measure": {"evidence": ["structure"], "target": "input"},
        "policy": {"min_colluders": 3},
    }
    return secmix.audit(setting).cells[0]


def changed(cell, **weakest):
    coalitions = cell.coalitions
    return coalitions.model_copy(update={"weakest": coalitions.weakest.model_copy(update=weakest)})


@pytest.mark.build
def test_the_words_name_coalition_group_and_guards(cell):
    weakest = cell.coalitions.weakest
    assert coalition_alt(cell, cell.coalitions) == (
        "Network of 5 nodes. Squares: the smallest coalition, 1, 4. Ringed: what it exposes, node 0."
    )
    assert sorted(letters(weakest)) == [1, 4]
    sentence = guards_explained(weakest, cell.n_nodes)
    assert "each letter marks a guard" in sentence
    assert "takes at least 2" in sentence
    assert "letter" not in guards_explained(weakest, 30)  # a crowd has no room for letters


@pytest.mark.build
@pytest.mark.parametrize(
    "weakest",
    [
        {},
        {"coalition": [-1], "guards": [[-1]]},
        {"coalition": [], "guards": [], "at_least": 0},
        {"coalition": None, "group": [], "guards": [[]], "at_least": None, "status": "none up to the limit"},
        {"coalition": None, "group": [], "guards": [], "at_least": 0, "status": "inconclusive"},
    ],
    ids=["nodes", "server", "outsider", "nobody", "open"],
)
def test_every_outcome_is_drawn(cell, weakest):
    coalitions = changed(cell, **weakest)
    assert coalition_figure(cell, coalitions, "w").startswith("<svg")
    sentence = guards_explained(coalitions.weakest, cell.n_nodes)
    if coalitions.weakest.at_least is None:
        assert sentence == "All others together do not expose node 0."
    assert coalition_figure(cell, cell.coalitions.model_copy(update={"weakest": None}), "x").startswith("<svg")
