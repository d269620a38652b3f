"""Exposure from end to end: the real audit bears out what the search says, the policy, the command line, the report."""

from __future__ import annotations

import json
import re
from itertools import combinations

import numpy as np
import pytest
from typer.testing import CliRunner

import secmix
from secmix.adversaries import Eavesdropper, HonestButCurious
from secmix.auditing.exposure.exposures import exposures, parsed_costs
from secmix.auditing.exposure.policy import against, listed, named, read
from secmix.cli.app import app
from secmix.errors import ScenarioError, SecmixError
from secmix.protocols import PDMM
from secmix.reporting import read_json
from secmix.scenario.catalogue import find

TRIANGLES = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]]
NETWORKS = {
    "two triangles": TRIANGLES,
    "ring": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]],
    "tree": [[0, 1], [1, 2], [1, 3], [3, 4], [3, 5]],
    "ring with chords": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5], [0, 2], [2, 4], [1, 4]],
    "wheel": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [5, 0], [5, 1], [5, 2], [5, 3], [5, 4]],
}
RING = NETWORKS["ring"]


def scenario(edges, *, protocol=None, rows=6, nodes=6, iterations=1, **more):
    return {
        "runs": 100,
        "data": {"name": "wine", "features": 2, "rows_per_node": rows},
        "network": {"nodes": nodes, "edges": edges},
        "model": {"components": 2, "iterations": iterations},
        "measure": {"evidence": ["structure"], "target": "input"},
        "protocol": protocol or {"name": "pdmm", "sigma": 100.0},
        "policy": {"max_revealed_nodes": 0},
        **more,
    }


@pytest.mark.build
@pytest.mark.parametrize("name", NETWORKS)
def test_the_real_audit_is_violated_by_each_smallest_coalition_and_by_none_smaller(name):
    """Checked too: one smaller than the least, whoever it is, reveals nobody."""
    setting = scenario(NETWORKS[name])
    found = secmix.exposure(setting, taps=False, colluders=5)
    revealing = {each.coalition: each for each in found.nodes}
    smaller = list(combinations(range(6), int(found.least) - 1))
    too_few = smaller[:: max(len(smaller) // 3, 1)]
    # In one audit: all of them are judged by one proof.
    adversaries = {str(each): HonestButCurious(each) if each else Eavesdropper([]) for each in (*revealing, *too_few)}
    report = secmix.audit(setting, adversaries=adversaries)
    cells = {cell.adversary: cell for cell in report.cells}
    for each in revealing.values():
        assert cells[str(each.coalition)].verdict == "violated"
        assert next(s.standing for s in cells[str(each.coalition)].nodes if s.node == each.node) == "revealed"
    assert all(cells[str(each)].verdict == "holds" for each in too_few)


def test_secure_summation_too():
    setting = scenario(RING, protocol={"name": "secure_sum"})
    found = secmix.exposure(setting, taps=False)
    assert found.least == 2.0
    assert secmix.audit(setting, colluders=found.nodes[3].coalition).verdict == "violated"
    assert secmix.audit(setting, colluders=[2]).verdict == "holds"


@pytest.mark.parametrize(
    ("protocol", "colluders"), [({"name": "plain", "encrypted": True}, [-1]), ({"name": "plain"}, [])], ids=str
)
def test_a_server_and_an_outsider_are_coalitions_too(protocol, colluders):
    setting = scenario(RING, protocol=protocol)
    assert secmix.exposure(setting, taps=False).nodes[0].coalition == frozenset(colluders)
    assert secmix.audit(setting, colluders=colluders).verdict == "violated"


@pytest.mark.build
def test_what_is_counted_may_come_out_or_not():
    setting = scenario(TRIANGLES, rows=2)
    counted = secmix.exposure(setting, level="rows", taps=False, recover=False)
    assert counted.most_rows == 5  # ⌊(2·6 − 1)/2⌋
    assert {each.known for each in counted.nodes} == {"counted"}
    one = secmix.exposure({**setting, "measure": {"nodes": [0]}}, level="rows", taps=False)
    assert (one.nodes[0].coalition, one.nodes[0].group, one.nodes[0].rows) == ({2}, {0, 1}, 4)
    assert one.nodes[0].known == "recovered"
    # Masks of 1e9 cost the sums their last digits: as many numbers as before, and no rows.
    blunt = scenario(TRIANGLES, rows=2, protocol={"name": "pdmm", "sigma": 1e9}, measure={"nodes": [0]})
    assert secmix.exposure(blunt, level="rows", taps=False).nodes[0].known == "counted"


@pytest.mark.build
def test_the_policy_is_judged_with_the_coalition_that_decides(tmp_path):
    violated = secmix.audit(scenario(TRIANGLES, policy={"min_colluders": 3}), out=tmp_path)
    cell = violated.cells[0]
    assert cell.verdict == violated.verdict == "violated"
    assert cell.coalitions.least == 2
    assert cell.coalitions.weakest.coalition == [1, 2]
    assert cell.coalitions.weakest.guards == [[1], [2]] or cell.coalitions.weakest.guards == [[2], [1]]
    assert cell.coalitions.command == "secmix audit scenario.toml --seed 0 --colluders 1,2"
    assert cell.advice[0].startswith("Add the lines")
    assert read_json(tmp_path / "report.json").cells[0].coalitions == cell.coalitions
    page = (tmp_path / "report.html").read_text()
    assert "Who would have to collude" in page
    assert "Squares: the smallest coalition, 1, 2" in page
    assert "Who would have to collude" in (tmp_path / "report.md").read_text()
    again = CliRunner().invoke(
        app, ["audit", str(tmp_path / "scenario.toml"), "--colluders", "1,2", "--out", str(tmp_path / "w")]
    )
    assert again.exit_code == 1  # the coalition holds in an audit of its own
    fine = secmix.audit(scenario(TRIANGLES, policy={"min_colluders": 2}))
    assert fine.verdict == "holds"
    assert "by proof" in fine.cells[0].sentence


@pytest.mark.build
def test_the_policy_over_rows_needs_them_to_come_out():
    measure = {"evidence": ["structure"], "target": "row"}
    report = secmix.audit(scenario(TRIANGLES, rows=2, measure=measure, policy={"min_colluders": 2}))
    assert report.verdict == "violated"
    assert report.cells[0].coalitions.weakest.known == "recovered"
    blurred = {"components": 2, "iterations": 1, "noise_std": 0.5}
    noisy = secmix.audit(scenario(TRIANGLES, rows=2, measure=measure, model=blurred, policy={"min_colluders": 2}))
    assert noisy.verdict == "inconclusive"
    many = secmix.audit(scenario(TRIANGLES, rows=20, measure=measure, policy={"min_colluders": 2}))
    assert many.cells[0].coalitions.verdict == "holds"


@pytest.mark.build
def test_rows_of_few_values_follow_from_one_sum_however_many_they_are(tmp_path):
    """Of yes and no there are two: how often each occurs follows from the sum over all, which anybody may hear."""
    path = tmp_path / "answers.csv"
    answers = np.random.default_rng(0).integers(2, size=(300, 2))
    path.write_text("\n".join(["first,second", *(f"{a},{b}" for a, b in answers)]))
    data = {"name": "csv", "path": str(path), "rows_per_node": 40}
    measure = {"evidence": ["structure"], "target": "row"}
    setting = scenario(TRIANGLES, data=data, measure=measure, policy={"min_colluders": 1})
    found = secmix.exposure(setting, level="rows", taps=False, recover=False)
    assert found.most_rows == 300
    assert {(each.coalition, each.known) for each in found.nodes} == {(frozenset(), "counted")}
    assert secmix.audit(setting).cells[0].coalitions.verdict == "inconclusive"


def test_what_is_no_sum_is_inconclusive():
    setting = {
        "runs": 100,
        "data": {"name": "wine", "rows_per_node": 10},
        "network": {"kind": "complete", "nodes": 4},
        "protocol": {"name": "federated_pca", "r": 2},
        "policy": {"min_colluders": 2},
    }
    found = secmix.exposure(setting)
    assert found.inconclusive == (0, 1, 2, 3)
    assert found.least is None
    assert found.at_least == 0.0
    assert (
        secmix.audit({**setting, "measure": {"evidence": ["decoders"]}}).cells[0].coalitions.verdict == "inconclusive"
    )


@pytest.mark.build
def test_a_baseline_counts_fewer_colluders_as_worse():
    before = secmix.audit(scenario(TRIANGLES, policy={"min_colluders": 3}))
    same = secmix.audit(scenario(TRIANGLES, policy={"min_colluders": 3}), baseline=before)
    worse = secmix.audit(scenario(NETWORKS["tree"], policy={"min_colluders": 3}), baseline=before)
    assert same.verdict == "no worse"
    assert worse.verdict == "violated"


def test_the_command_line_tells_and_exits_as_an_audit():
    run = CliRunner().invoke
    told_ = run(app, ["exposure", "passive-neighbours", "--cell", "5", "--min-colluders", "3", "--repair"])
    assert told_.exit_code == 1
    assert "Nodes 0 and 2 suffice to know the vector of node 1" in told_.stdout
    assert re.search(r"Add the lines? ", told_.stdout)
    fine = run(app, ["exposure", "passive-neighbours", "--cell", "5", "--min-colluders", "2", "--json", "--no-taps"])
    assert fine.exit_code == 0
    content = json.loads(fine.stdout)
    assert [entry["colluders"]["nodes"] for entry in content[0]["nodes"]][:2] == [[1, 2, 4], [0, 2]]
    assert run(app, ["exposure", "sec-imitation"]).exit_code == 3
    wrong = run(app, ["exposure", "passive-neighbours", "--cell", "9"])
    assert wrong.exit_code == 2
    assert "there is no cell 9" in wrong.stderr


def test_a_sweep_is_told_apart_by_cell():
    with pytest.raises(ScenarioError, match="choose with cell: 1 \\(Plain federated\\), 3"):
        secmix.exposure("passive-neighbours")
    assert len(exposures("passive-neighbours", taps=False)) == 3


def test_a_protocol_of_ones_own_and_owners_by_name():
    class Mine(PDMM):
        exposure_graph = None

    found = secmix.exposure(scenario(RING), protocol=Mine(sigma=100.0), taps=False)
    assert found.least == 2.0
    assert found.method.startswith("unit inputs")
    owners = {0: "a", 1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}
    owned = secmix.exposure(scenario(RING), owners=owners, taps=False)
    assert owned.least is None
    turn = secmix.exposure(scenario(RING), owners=list("ababab"), costs={"a": 2.0}, taps=False)
    assert [each.colluders.cost for each in turn.nodes] == [1.0, 2.0] * 3
    with pytest.raises(SecmixError, match="no entry for node 5"):
        secmix.exposure(scenario(RING), owners=dict.fromkeys(range(5), "a"))
    with pytest.raises(SecmixError, match="costs: unknown node or owner 'c'"):
        secmix.exposure(scenario(RING), owners=list("ababab"), costs={"c": 2.0})


@pytest.mark.build
def test_every_repair_is_audited_again():
    cell = scenario(TRIANGLES, rows=2)
    found = exposures(cell, "rows", taps=False, recover=False, min_colluders=2, repair=True)[0]
    assert found.verdict == "inconclusive"  # by count alone nothing is violated, nor mended
    found = exposures({**cell, "seed": 1}, "rows", taps=False, min_colluders=2, repair=True)[0]
    added = next(repair for repair in found.repairs if "network" in repair.change)
    rows = next(repair for repair in found.repairs if "data.rows_per_node" in repair.change)
    assert (added.cost, added.before, added.after) == (1.0, 1.0, 2.0)
    assert added.audited == rows.audited == 2
    mended = secmix.exposure({**cell, "network": added.change["network"]}, "rows", taps=False, recover=False)
    assert mended.least == 2.0
    opened = scenario(RING, protocol={"name": "secure_sum", "encrypted": False})
    words = [repair.words for repair in exposures(opened, taps=False, min_colluders=2, repair=True)[0].repairs]
    assert words == ["Encrypt the lines", "Sum by PDMM on the same network"]
    consortium = scenario(
        [list(pair) for pair in combinations(range(6), 2)], protocol={"name": "secure_sum", "cycle": [0, 2, 4, 1, 3, 5]}
    )
    owners = list("aaabbb")
    repairs = exposures(consortium, taps=False, owners=owners, min_colluders=2, repair=True)[0]
    assert repairs.verdict == "violated"
    assert repairs.repairs[0].change == {"protocol.cycle": [0, 1, 2, 3, 4, 5]}


def test_coalitions_in_words():
    assert [read(listed(nodes)) for nodes in ([], [-1], [1, 3])] == [[], [-1], [1, 3]]
    assert named([-1, 4]) == "The server and node 4"
    with pytest.raises(ScenarioError, match="given 'one'"):
        read("one")
    with pytest.raises(ScenarioError, match="3-1"):
        parsed_costs("3-1")
    both = against(find("passive-neighbours").scenario, [-1, 0]).to_dict()["adversary"]
    assert (both["name"], both["corrupt"]) == ("curious_server", [0])
