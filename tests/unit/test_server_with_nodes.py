"""A server and nodes as one coalition: an adversary that an audit can be told to take."""

from __future__ import annotations

import pytest

import secmix
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.auditing.exposure.cell_exposure import adversary_of, spec_of
from secmix.auditing.exposure.policy import listed, read


def test_every_coalition_is_an_adversary_of_the_house():
    assert adversary_of(frozenset({-1, 3, 1})) == CuriousServer(corrupt=[1, 3])
    assert adversary_of(frozenset({-1})) == CuriousServer()
    assert adversary_of(frozenset({2})) == HonestButCurious([2])
    assert adversary_of(frozenset()) == Eavesdropper()
    assert [spec_of(each).title for each in ([-1, 3, 1], [-1], [3, 1], [])] == [
        "Server with nodes 1, 3",
        "Server",
        "Colluding nodes 1, 3",
        "Eavesdropper",
    ]
    assert read(listed([1, -1])) == [-1, 1]


@pytest.mark.build
@pytest.mark.parametrize(("threshold", "verdict"), [(2, "violated"), (3, "holds")])
def test_a_server_with_as_many_nodes_as_the_threshold_unmasks(threshold, verdict):
    scenario = {
        "network": {"kind": "complete", "nodes": 5},
        "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
        "runs": 100,
        "model": {"iterations": 1},
        "protocol": {"name": "secure_aggregation", "threshold": threshold},
        "measure": {"evidence": ["structure", "gaussian"]},
    }
    report = secmix.audit(scenario, colluders=[-1, 1, 3])
    assert report.verdict == verdict
    assert (report.cells[0].adversary, report.cells[0].corrupt) == ("Server with nodes 1, 3", [1, 3])
