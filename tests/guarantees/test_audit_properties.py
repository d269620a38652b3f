"""What an audit promises: the same numbers however it is run, no private value in a report, and no false all-clear."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import attacked

import secmix
from secmix import Network
from secmix.auditing.decide import ORDER
from secmix.auditing.report import Report
from secmix.data import csv, prepared

NETWORK = {"nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4], [0, 2], [2, 4]]}
CURIOUS = {"name": "honest_but_curious", "corrupt": [1, 3], "label": "curious"}


def scenario(**changes: Any) -> dict[str, Any]:
    return {
        "network": NETWORK,
        "runs": 200,
        "data": {"name": "wine", "features": 2},
        "model": {"iterations": 2},
        "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1.0, 1e6]},
        **changes,
    }


SWEEP = {
    "protocol": [{"name": "secure_sum", "label": "sum"}, {"name": "pdmm", "label": "pdmm"}],
    "adversary": [{"name": "eavesdropper", "label": "ear"}, CURIOUS],
}
WITH_KSG = {"evidence": ["structure", "gaussian", "ksg"], "sigmas": [1.0, 1e6]}
SWEPT: dict[str, Any] = {"measure": WITH_KSG, "sweep": SWEEP, "policy": {"max_revealed_nodes": 0}}


@pytest.fixture(scope="module")
def swept() -> Report:
    return secmix.audit(scenario(**SWEPT))


@pytest.mark.build
def test_the_number_of_workers_changes_nothing(swept: Report) -> None:
    told: list[tuple[int, str]] = []
    several = secmix.audit(scenario(**SWEPT), workers=2, progress=lambda done, total, what: told.append((done, what)))
    assert several.to_dict() == swept.to_dict()
    # A violation is told before all of the cell is measured, from another process too.
    assert [what for _, what in told].count("sum × curious: violated") == 2


@pytest.mark.build
def test_of_several_workers_none_begins_with_a_short_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    from secmix.auditing.engine import run_cells as engine

    trial, begun, clock = engine.try_out, [], [0.0]

    def longer(cell: Any, *rest: Any) -> Any:
        clock[0] += 0.2 if cell.adversary.title == "curious" else 0.1
        return trial(cell, *rest)

    def in_turn(cells: Any, commands: Any, todo: list[int], given: Any, allow_code: bool, *_: Any) -> Iterator[Any]:
        begun.extend(todo)
        return ((i, engine.run_cell(cells[i], given, commands[i], allow_code)) for i in todo)

    monkeypatch.setattr("time.process_time", lambda: clock[0])
    monkeypatch.setattr(engine, "try_out", longer)
    monkeypatch.setattr(engine, "_run", in_turn)
    few = scenario(sweep=SWEEP, measure={"evidence": ["structure"], "sigmas": [1.0]})
    report = secmix.audit(few, workers=2)
    assert set(begun[:2]) == {1, 3}
    assert [cell.adversary for cell in report.cells] == ["ear", "curious"] * 2


@pytest.mark.build
def test_a_cell_alone_is_the_cell_of_the_sweep(swept: Report) -> None:
    for number in (2, 3):
        alone = secmix.audit(scenario(**SWEPT), cell=number)
        # What to change may refer to the other cells of a report.
        mine, same = (
            cell.model_copy(update={"advice": [], "trials": []}) for cell in (alone.cells[0], swept.cells[number - 1])
        )
        assert mine == same
        named = (alone.cells[0].protocol, alone.cells[0].adversary)
        assert alone.findings == [f for f in swept.findings if (f.protocol, f.adversary) == named]


def lower_bounds(report: Report) -> set[int]:
    """The nodes of which nearest neighbours were asked."""
    return {f.node for f in report.findings if f.evidence == "ksg"}


@pytest.mark.build
def test_only_nodes_whose_data_are_not_known_are_measured_by_lower_bounds() -> None:
    evidence = {"evidence": ["structure", "decoders", "ksg"], "sigmas": [1.0]}
    given = scenario(measure=evidence, network={"nodes": 5, "kind": "cycle"}, adversary=CURIOUS)
    given["protocol"], given["policy"] = {"name": "pdmm"}, {"max_revealed_nodes": 0}
    report = secmix.audit(given)
    assert {node.node for node in report.cells[0].nodes if node.standing == "revealed"} == {2}
    assert lower_bounds(report) == {0, 4}
    (note,) = (note for note in report.cells[0].notes if "not measured of node 2" in note)
    assert "nearest neighbours" in note
    # A leakage of all there is exceeds no limit of 1: what remains unresolved must still be said.
    report = secmix.audit(given | {"policy": {"max_normalised_leakage": 1.0}})
    assert lower_bounds(report) == {0, 2, 4}


def test_a_violation_is_told_before_all_is_measured() -> None:
    told: list[tuple[int, str]] = []
    plain = [{"name": "plain", "label": label} for label in ("one", "other")]
    swept = scenario(policy={"max_revealed_nodes": 0}, adversary=CURIOUS, sweep={"protocol": plain})
    secmix.audit(swept, progress=lambda done, total, what: told.append((done, what)))
    assert [int(done) for done, what in told if what.endswith(": violated")] == [0, 1, 1, 2]


def test_what_goes_wrong_in_telling_early_is_no_fault_of_the_cell() -> None:
    def tell(done: int, total: int, what: str) -> None:
        if what.endswith(": violated"):
            raise FileNotFoundError(what)

    with pytest.raises(FileNotFoundError):
        secmix.audit(scenario(policy={"max_revealed_nodes": 0}, protocol={"name": "plain"}), progress=tell)


@pytest.mark.build
def test_the_order_of_the_sweep_changes_no_cell(swept: Report) -> None:
    turned = {"protocol": SWEEP["protocol"][::-1], "adversary": SWEEP["adversary"][::-1]}
    report = secmix.audit(scenario(sweep=turned))
    straight = secmix.audit(scenario(sweep=SWEEP))

    def plain(cells: list[Any]) -> dict[tuple[str, str], Any]:
        return {(c.protocol, c.adversary): c.model_copy(update={"reproduce": "", "number": 0}) for c in cells}

    assert plain(report.cells) == plain(straight.cells)


@pytest.mark.build
def test_the_seed_decides_the_numbers_and_not_the_standings(swept: Report) -> None:
    again = secmix.audit(scenario(**SWEPT), cell=4)
    other = secmix.audit(scenario(**SWEPT), cell=4, seed=1)
    assert again.cells == [swept.cells[3]]
    measured = [f.value for f in other.findings if f.evidence == "ksg" and f.kind != "exact"]
    assert measured
    assert measured != [f.value for f in again.findings if f.evidence == "ksg" and f.kind != "exact"]
    assert [n.standing for n in other.cells[0].nodes] == [n.standing for n in again.cells[0].nodes]
    structure = [[f.value for f in r.findings if f.evidence == "structure"] for r in (again, other)]
    assert structure[0] == structure[1]


@pytest.mark.build
def test_resuming_in_a_folder_changes_nothing(tmp_path: Path) -> None:
    report = secmix.audit(scenario(sweep=SWEEP), tmp_path / "out")
    without_file = secmix.audit(scenario(sweep=SWEEP)).to_dict()
    assert {**report.to_dict(), "lines": []} == without_file  # lines are those of the file that was written
    assert secmix.audit(tmp_path / "out" / "scenario.toml").cells == [
        c.model_copy(
            update={"reproduce": c.reproduce.replace("scenario.toml", str(tmp_path / "out" / "scenario.toml"))}
        )
        for c in report.cells
    ]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        yield from map(float, re.findall(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?", value))


@pytest.mark.build
@settings(max_examples=3)
@given(st.integers(0, 2**32 - 1))
def test_no_private_value_is_in_any_report(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Whatever the protocol reveals: the plain one gives every row away, and still the report must not."""
    folder = tmp_path_factory.mktemp("private")
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0.1, 1.0, size=(60, 3)) * 10.0 ** rng.integers(0, 4, size=(60, 3))
    lines = [",".join(f"{x:.12g}" for x in row) for row in rows]
    (folder / "rows.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
    measure = {"evidence": ["structure", "gaussian", "decoders"], "sigmas": [1.0]}
    content = scenario(
        network={"kind": "cycle", "nodes": 3},
        data={"name": "csv", "path": str(folder / "rows.csv"), "features": 2},
        model={"iterations": 1},
        measure=measure,
        protocol={"name": "plain"},
        adversary={"name": "curious_server"},
    )
    formats = ("html", "json", "md", "junit", "sarif")
    report = secmix.audit(content, folder / "out", formats=formats)
    assert report.verdict == "violated"
    data = csv(folder / "rows.csv")
    private = np.concatenate([data.rows.ravel(), prepared(data).ravel(), prepared(data, features=2).ravel()])
    told = np.array(list(_numbers(json.loads((folder / "out" / "report.json").read_text()))))
    told = told[~np.isin(told, [0.0, 1.0])]
    nearest = np.abs(told[:, None] - private).min(axis=1)
    assert (nearest > 1e-9 * np.abs(told)).all()
    for path in (folder / "out").iterdir():
        text = path.read_text(encoding="utf-8")
        for value in private:
            # Six significant digits as anybody would write them; longer numbers are compared above.
            for written in (f"{value:.6g}", f"{value:.5e}"):
                if len(written.strip("-0.").replace(".", "")) >= 6 and written in text:
                    assert not re.search(rf"(?<![\d.]){re.escape(written)}(?![\d.eE])", text), path.name


def test_a_cell_that_fails_is_inconclusive_with_its_cause_and_the_others_finish() -> None:
    protocols = [{"name": "pdmm", "max_sweeps": 2, "label": "hasty"}, {"name": "plain", "label": "plain"}]
    # In small, before anything runs, it must not be refused: other draws might have converged.
    report = secmix.audit(scenario(sweep={"protocol": protocols}))
    hasty, plain = report.cells
    assert hasty.verdict == "inconclusive"
    assert "did not agree in 2 sweeps" in hasty.sentence
    assert {node.standing for node in hasty.nodes} == {"inconclusive"}
    assert plain.verdict == "violated"
    assert plain.nodes[0].standing == "revealed"
    assert report.verdict == "violated"


def test_what_users_write_is_escaped(tmp_path: Path) -> None:
    bad = '<script>alert("x")</script>'
    content = scenario(title=bad, description=bad, protocol={"name": "plain", "label": bad})
    secmix.audit(content, tmp_path, formats=("html", "md", "junit", "sarif", "json"))
    assert bad not in (tmp_path / "report.html").read_text()
    assert bad not in (tmp_path / "report.junit.xml").read_text()
    assert json.loads((tmp_path / "report.json").read_text())["title"] == bad


def standing(report: Report) -> dict[int, str]:
    return {s.node: s.standing for s in report.cells[0].nodes}


PROTOCOLS = [{"name": "plain"}, {"name": "secure_sum"}, {"name": "pdmm", "tol": 1e-6}]
RANKS = ["no more than the output itself reveals", "partly leaked", "revealed", "corrupt"]


def audited(network: Network, protocol: dict[str, Any], corrupt: Collection[int], eavesdrops: bool) -> Report:
    return secmix.audit(
        scenario(
            runs=100,
            network={"nodes": network.n, "edges": network.edges.tolist()},
            model={"iterations": 1},
            data={"name": "wine", "features": 2, "rows_per_node": 10},
            measure={"evidence": ["structure"]},
            protocol=protocol,
            adversary={"name": "honest_but_curious", "corrupt": sorted(corrupt), "eavesdrops": eavesdrops},
        )
    )


@pytest.mark.build
@settings(max_examples=6)
@given(attacked(hamiltonian=True), st.sampled_from(PROTOCOLS), st.booleans(), st.data())
def test_a_stronger_adversary_never_gets_a_better_verdict(
    case: Any, protocol: dict[str, Any], eavesdrops: bool, data: st.DataObject
) -> None:
    network, corrupt = case
    weaker = data.draw(st.frozensets(st.sampled_from(sorted(corrupt)), min_size=1), label="weaker")
    strong, weak = audited(network, protocol, corrupt, True), audited(network, protocol, weaker, eavesdrops)
    # The output less the corrupt nodes' own inputs is the sum of all honest ones: who controls more learns more of it.
    output_says_it = set(standing(strong).values()) <= {RANKS[0], "corrupt"}
    for node, was in standing(weak).items():
        least = RANKS[0] if was == "partly leaked" and output_says_it else was
        assert RANKS.index(standing(strong)[node]) >= RANKS.index(least)
    revealed = [{n for n, s in standing(r).items() if s in ("revealed", "corrupt")} for r in (strong, weak)]
    assert revealed[0] >= revealed[1]
    for report in (strong, weak):
        if "revealed" in standing(report).values():
            assert report.verdict == "violated"


def test_to_more_colluders_the_output_itself_says_what_fewer_learn_beside_it() -> None:
    """Nodes 0 and 3 learn the sum of 4 and 5 from the ring; with the inputs of 1 and 2, the output gives it."""
    ring, protocol = Network.cycle(6), {"name": "secure_sum"}
    few, more = (standing(audited(ring, protocol, corrupt, False)) for corrupt in ({0, 3}, {0, 1, 2, 3}))
    assert [few[node] for node in (4, 5)] == ["partly leaked"] * 2
    assert [more[node] for node in (4, 5)] == ["no more than the output itself reveals"] * 2


@pytest.mark.build
@pytest.mark.parametrize("more", [["gaussian"], ["decoders"], ["gaussian", "decoders"]])
@pytest.mark.parametrize("protocol", ["plain", "secure_sum", "pdmm"])
def test_more_evidence_never_improves_a_verdict(protocol: str, more: list[str]) -> None:
    def verdict(evidence: list[str]) -> dict[int, str]:
        report = secmix.audit(
            scenario(
                protocol={"name": protocol},
                adversary=CURIOUS,
                data={"name": "wine", "features": 2, "rows_per_node": 20},
                measure={"evidence": evidence, "sigmas": [1.0]},
            )
        )
        return {node.node: node.verdict for node in report.cells[0].nodes}

    before, after = verdict(["structure"]), verdict(["structure", *more])
    for node, was in before.items():
        assert ORDER.index(after[node]) >= ORDER.index(was)


@pytest.mark.parametrize("limits", [{"max_normalised_leakage": 0.9}, {"max_revealed_nodes": 0}])
@pytest.mark.parametrize("evidence", [["decoders"], ["ksg"], ["structure"]])
@pytest.mark.parametrize("rows", [1, 20])
def test_evidence_that_reads_low_never_clears_the_plain_protocol(
    evidence: list[str], rows: int, limits: dict[str, float]
) -> None:
    report = secmix.audit(
        scenario(
            protocol={"name": "plain"},
            adversary={"name": "curious_server"},
            data={"name": "wine", "features": 2, "rows_per_node": rows},
            measure={"evidence": evidence},
            model={"iterations": 1},
            network={"kind": "cycle", "nodes": 3},
            policy=limits,
        )
    )
    assert report.verdict != "holds"
    if rows == 1 and evidence != ["ksg"]:
        assert report.verdict == "violated"


@pytest.mark.build
def test_decoders_alone_clear_nobody() -> None:
    report = secmix.audit(
        scenario(measure={"evidence": ["decoders"]}, policy={"max_normalised_leakage": 0.99}, adversary=CURIOUS)
    )
    assert report.verdict == "inconclusive"
    assert all(f.normalised_high == 1.0 for f in report.findings)


def test_an_unresolved_estimate_clears_nobody() -> None:
    report = secmix.audit(
        scenario(measure={"evidence": ["ksg"]}, policy={"max_normalised_leakage": 0.99}, adversary=CURIOUS)
    )
    unresolved = {f.node for f in report.findings if f.status == "unresolved"}
    assert unresolved
    for node in report.cells[0].nodes:
        if node.node in unresolved:
            assert node.verdict != "holds"


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("encrypted", [True, False])
def test_the_plain_protocol_is_always_violated_by_the_server(rows: int, encrypted: bool) -> None:
    report = secmix.audit(
        scenario(
            protocol={"name": "plain", "encrypted": encrypted},
            adversary={"name": "curious_server"},
            data={"name": "wine", "features": 2, "rows_per_node": rows},
        )
    )
    assert report.verdict == "violated"
    assert set(standing(report).values()) == {"revealed"}
    exact = [f for f in report.findings if f.evidence == "gaussian"]
    assert all(f.value is None and f.normalised_leakage == 1.0 for f in exact)


@pytest.mark.parametrize("sigma", [1e-9, 1e-3])
def test_masks_that_hide_nothing_are_no_clearance(sigma: float) -> None:
    report = secmix.audit(
        scenario(
            protocol={"name": "secure_sum", "sigma": sigma},
            adversary={"name": "honest_but_curious", "corrupt": [1]},
            data={"name": "gaussian", "features": 2, "rows_per_node": 20},
            policy={"max_revealed_nodes": 0, "max_normalised_leakage": 0.5},
        )
    )
    assert report.verdict == "violated"


@pytest.mark.parametrize("sigma", [1e-9, 1e-6])
def test_nor_where_only_revealed_nodes_count(sigma: float) -> None:
    """The starter's sum is known to better than a millionth."""
    report = secmix.audit(
        scenario(
            protocol={"name": "secure_sum", "sigma": sigma, "cycle": [0, 1, 2, 3, 4]},
            adversary={"name": "honest_but_curious", "corrupt": [1]},
            data={"name": "gaussian", "rows_per_node": 20},
        )
    )
    assert report.verdict == "violated"


def test_a_gaussian_formula_does_not_clear_data_that_are_not_gaussian(tmp_path: Path) -> None:
    """Powers of three: the sum of four tells them apart, whoever holds which; KSG measures 0.66 of the 0.6 allowed."""
    rows = 3.0 ** np.random.default_rng(0).integers(0, 8, size=3000)
    (tmp_path / "powers.csv").write_text("a\n" + "\n".join(map(str, rows)) + "\n")
    content = scenario(
        runs=1000,
        network={"kind": "complete", "nodes": 3},
        data={"name": "csv", "path": str(tmp_path / "powers.csv"), "rows_per_node": 2},
        model={"components": 1, "iterations": 1},
        protocol={"name": "secure_sum"},
        adversary={"name": "honest_but_curious", "corrupt": [1]},
        policy={"max_normalised_leakage": 0.6},
    )
    evidence = {"target": "input", "sigmas": [1.0]}
    measured = secmix.audit({**content, "measure": {**evidence, "evidence": ["structure", "gaussian", "ksg"]}})
    assert measured.verdict == "violated"
    assert secmix.audit({**content, "measure": {**evidence, "evidence": ["structure", "gaussian"]}}).verdict != "holds"


@pytest.mark.build
def test_exact_leakage_of_the_sum_is_that_of_theory() -> None:
    """Of n equal Gaussians the sum gives each one ½ ln(n/(n−1)) nats (spec: the anchor of all leakage)."""
    report = secmix.audit(scenario(data={"name": "gaussian", "rows_per_node": 20}, protocol={"name": "pdmm"}))
    exact = [f.value for f in report.findings if f.evidence == "gaussian"]
    assert exact == pytest.approx([0.5 * math.log(5 / 4)] * len(exact), abs=1e-6)
