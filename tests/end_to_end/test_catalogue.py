"""The catalogue: every entry reads, tells its threat model, and reveals the nodes that the theorems name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from golden_record import read

import secmix
from secmix.errors import ScenarioError
from secmix.scenario import parse, render
from secmix.scenario.catalogue import entries, find

FILES = Path(__file__).parents[2] / "attacks"
FIVE, TWO, NONE = {0, 1, 2, 3, 4}, {0, 2, 4}, set[int]()
PASSIVE = {"eavesdropper", "honest_but_curious", "curious_server"}

# Entry, protocol, adversary: the nodes whose summed vectors lie in the leaked subspace.
REVEALED: dict[str, dict[tuple[str, str], set[int]]] = {
    "curious-server": {
        (f"{protocol}, data.rows_per_node = {rows}", "Server"): FIVE if protocol.startswith("Plain") else NONE
        for protocol in ("Plain, encrypted lines", "PDMM")
        for rows in (1, 20)
    },
    # In the plain protocol, the tapped line is that of node 0 to the server; open sums pass from node 0 to node 1.
    "eavesdropper-one-edge": {
        ("Plain", "Eavesdropper on 0-1"): {0},
        ("Secure summation", "Eavesdropper on 0-1"): NONE,
        ("Secure summation, open lines", "Eavesdropper on 0-1"): NONE,
        ("PDMM", "Eavesdropper on 0-1"): NONE,
    },
    "eavesdropper": {
        ("Plain, open lines", "Eavesdropper"): FIVE,
        ("Plain, encrypted lines", "Eavesdropper"): NONE,
        ("Secure summation, open lines", "Eavesdropper"): FIVE,
        ("Secure summation, encrypted lines", "Eavesdropper"): NONE,
        ("PDMM", "Eavesdropper"): NONE,
    },
    # Behind secure sums and PDMM structure shows the total alone; solving it is what these entries are about.
    "inversion-passive": {(protocol, "Curious node 1"): NONE for protocol in ("Secure summation", "PDMM")},
    "inversion-cumulative": {
        (f"Secure summation{defence}", "Curious node 0"): NONE
        for defence in (
            "",
            ", model.covariance_floor = 0.2",
            ", model.rounding = 0.01",
            ", model.noise_std = 0.1",
        )
    },
    # On the cycle 0-1-3-4-2 nodes 1 and 2 are neighbours of 0 on both sides.
    "lone-honest-node": {
        ("Secure summation", "Curious nodes 1 and 2"): {0},
        ("PDMM", "Curious nodes 1 and 2"): {0},
    },
    # What all five sum to is heard before node 4 drops out, what the other four sum to after: the difference is node 4.
    "lossy-network": {
        (protocol, adversary): {4} if protocol.endswith("drops out") else NONE
        for protocol in ("PDMM, quiet network", "PDMM, asynchronous, 30 % lost", "PDMM, node 4 drops out")
        for adversary in ("Eavesdropper", "Curious nodes 1 and 3")
    },
    # The only cycle is 0-1-...-7: 0 alone between 7 and 1, 4 between 3 and 5, 6 between 5 and 7. PDMM joins 0 and 4.
    "majority-corrupt": {
        ("Secure summation", "Curious nodes 1, 2, 3, 5 and 7"): {0, 4, 6},
        ("Secure summation, modular", "Curious nodes 1, 2, 3, 5 and 7"): {0, 4, 6},
        ("PDMM", "Curious nodes 1, 2, 3, 5 and 7"): {6},
    },
    "mask-reuse": {
        ("PDMM, masks reused", "Eavesdropper"): NONE,
        ("PDMM, masks reused", "Curious nodes 1 and 3"): NONE,
        ("PDMM, fresh masks", "Eavesdropper"): NONE,
        ("PDMM, fresh masks", "Curious nodes 1 and 3"): NONE,
    },
    "passive-neighbours": {
        ("Plain federated", "Eavesdropper"): FIVE,
        ("Plain federated", "Curious nodes 1 and 3"): TWO,
        ("Secure summation", "Eavesdropper"): NONE,
        ("Secure summation", "Curious nodes 1 and 3"): {2},
        ("PDMM, subspace perturbation", "Eavesdropper"): NONE,
        ("PDMM, subspace perturbation", "Curious nodes 1 and 3"): NONE,
    },
    "secure-aggregation-server": {("Plain, encrypted lines", "Server"): FIVE, ("Secure aggregation", "Server"): NONE},
    # Two shares of two unmask every node.
    "secure-aggregation-colluders": {
        ("Secure aggregation, threshold 2", "Server with nodes 1 and 3"): TWO,
        ("Secure aggregation, threshold 3", "Server with nodes 1 and 3"): NONE,
    },
    "secure-aggregation-dropout": {
        (f"Secure aggregation, node 4 {how}", "Server with node 1"): NONE
        for how in ("drops out", "is late", "falls silent")
    },
    # Sensor 3 talks to 5 and 10 alone.
    "smallest-coalition": {("pdmm", "Eavesdropper"): NONE, ("pdmm", "Sensors 5 and 10"): {3}},
    # In turn, every site of C stands between one of A and one of B.
    "hospital-owners": {
        ("Sites in turn", "Hospitals A and B"): {6, 7, 8},
        ("Hospital by hospital", "Hospitals A and B"): NONE,
    },
    # The difference of what goes into node 3 and what comes out of it; two lines apart give the sum of 2, 3 and 4.
    "tapped-lines": {
        (protocol, lines): {3} if (protocol, lines) == ("Open lines", "Both lines of node 3") else NONE
        for protocol in ("Open lines", "Encrypted lines")
        for lines in ("One line", "Both lines of node 3", "Two lines apart")
    },
    "weak-masks": {
        (f"{protocol}, protocol.sigma = {sigma}", "Curious nodes 1 and 3"): NONE
        for protocol in ("PDMM", "Secure summation")
        for sigma in (30.0, 300.0, 3000.0, 30000.0)
    },
}


# Protocols that are no sums: the nodes of which rows, or most of each row, come out of messages.
RECONSTRUCTED: dict[str, dict[tuple[str, str], set[int]]] = {
    # Two rows span the basis of two columns that is sent, of six dimensions: four are known.
    "basis-before-the-server": {
        (protocol, adversary): FIVE if adversary == "Server" or protocol.endswith("open lines") else NONE
        for protocol in (
            "Subspace Median, open lines",
            "Subspace Median, encrypted lines",
            "Power method, encrypted lines",
        )
        for adversary in ("Server", "Eavesdropper")
    },
    # One row a client: it is along the model's move. Four clients know the fifth's model from the average.
    "federated-regression": {
        ("FedAvg", "Server"): FIVE,
        ("FedAvg", "Clients 1 to 4"): {0},
        ("FedAvg", "Client 1"): NONE,
    },
    # On the ring node 1 hears 0 and 2 alone; six rows, three components of them.
    "graphfed-curious-neighbour": {
        (protocol, "Curious node 1"): {0, 2} for protocol in ("GraphFed-EM", "GraphFed-EM with coordinate-wise median")
    },
    # A nearest-neighbour model is its rows; who asks for predictions sends its rows; six equations on thirty columns.
    "sec-curious-learner": {
        ("SEC, least squares sent", "Curious learner 1"): NONE,
        ("SEC, nearest neighbours sent", "Curious learner 1"): {0, 2, 3, 4, 5},
        ("SEC, predictions sent", "Curious learner 1"): {0, 2, 3, 4, 5},
    },
}
# What several local steps leave to see depends on the rows; of one step all is seen, of what is encrypted nothing.
EAVESDROPPED = {
    "GraphFed-EM": None,
    "GraphFed-EM, one local step": FIVE,
    "GraphFed-EM, encrypted": NONE,
}


def test_the_catalogue_is_the_folder() -> None:
    assert set(entries()) == {path.stem for path in FILES.glob("*.toml")}
    # Whoever only watches stands in the table above; what active adversaries do to the result is tested elsewhere.
    watching = {
        name for name, entry in entries().items() if {cell.adversary.name for cell in entry.scenario.cells()} <= PASSIVE
    }
    assert watching == {*REVEALED, *RECONSTRUCTED, "graphfed-eavesdropper"}


@pytest.mark.parametrize("name", [path.stem for path in sorted(FILES.glob("*.toml"))])
def test_each_entry_reads_and_tells_its_threat_model(name: str) -> None:
    entry = find(name)
    assert entry.threat_model.startswith("Threat model: ")
    assert len(entry.threat_model.splitlines()) >= 3
    scenario = entry.scenario
    assert scenario.title
    assert scenario.description
    assert parse(render(scenario)) == scenario
    labels = {(cell.protocol.title, cell.adversary.title) for cell in scenario.cells()}
    assert labels == set(REVEALED.get(name) or RECONSTRUCTED.get(name) or labels)


# The golden record is what the audits said; that they still say it is its own test.
RECORD = read()


@pytest.mark.parametrize("name", REVEALED)
def test_structure_reveals_whom_the_theorems_name(name: str) -> None:
    found = {}
    for cell in RECORD[name].values():
        leaks = {title: numbers[-1] for title, (_, *numbers) in cell["findings"].items() if ": structure, " in title}
        known = {int(title.split(":")[0].removeprefix("node ")) for title, leak in leaks.items() if leak > 1 - 1e-6}
        assert known <= _revealed(cell)
        assert cell["verdict"] == "violated" or not known
        protocol, adversary = cell["cell"].split(" | ")
        found[protocol, adversary] = known
    assert found == REVEALED[name]


@pytest.mark.parametrize("name", RECONSTRUCTED)
def test_reconstruction_reveals_whom_the_arithmetic_names(name: str) -> None:
    assert _reconstructed(name) == RECONSTRUCTED[name]


def test_an_eavesdropper_solves_single_steps_and_nothing_that_is_encrypted() -> None:
    found = {protocol: nodes for (protocol, _), nodes in _reconstructed("graphfed-eavesdropper").items()}
    assert set(found) == set(EAVESDROPPED)
    assert {name: nodes for name, nodes in found.items() if EAVESDROPPED[name] is not None} == {
        name: nodes for name, nodes in EAVESDROPPED.items() if nodes is not None
    }


def _reconstructed(name: str) -> dict[tuple[str, str], set[int]]:
    return {tuple(cell["cell"].split(" | ")): _revealed(cell) for cell in RECORD[name].values()}


def _revealed(cell: dict) -> set[int]:
    return {int(node) for node, standing in cell["nodes"].items() if standing.startswith("revealed")}


# What active adversaries do, as the reports tell it: protocol against verdict. The golden record audits them.
ACTIVE = {
    "inversion-passive": {"Secure summation": "violated", "PDMM": "violated"},
    "steering-colluders": {
        "Secure summation": "violated",
        # No steering, but the sums of those who took part are solved as a passive adversary's are.
        "Secure summation, model.likelihood_drop = 3.0": "violated",
    },
    "malicious-server": {"Plain, encrypted lines": "violated"},
    # Of the first a theorem bounds the error, but not on every deal of the rows below that of a worthless basis; one
    # colluder is enough against the second; of the third nothing is proven.
    "subspace-forgers": {
        "Subspace Median": "inconclusive",
        "Power method": "violated",
        "Resilient power method": "inconclusive",
    },
}


@pytest.mark.parametrize("name", ACTIVE)
def test_active_entries_come_to_their_verdicts(name: str) -> None:
    assert {cell["cell"].split(" | ")[0]: cell["verdict"] for cell in RECORD[name].values()} == ACTIVE[name]


def test_a_server_that_asks_for_both_shares_unmasks_whom_clients_and_threshold_let_it() -> None:
    # Half of five clients have two shares. Where too few answer there is no sum, and nobody is cleared.
    found = {
        cell["cell"]: (cell["verdict"], cell["nodes"]["2"])
        for cell in read()["secure-aggregation-malicious-server"].values()
    }
    willing, low, high = (
        f"Secure aggregation, {how}" for how in ("clients do not refuse", "threshold 2", "threshold 4")
    )
    both, halves = "Server that asks all for both", "Server that asks halves"
    revealed = {f"{willing} | {both}", f"{low} | {halves}"}
    assert set(found) == {f"{protocol} | {server}" for protocol in (willing, low, high) for server in (both, halves)}
    for cell, (verdict, standing) in found.items():
        due = (
            ("violated", "revealed | violated") if cell in revealed else ("inconclusive", "inconclusive | inconclusive")
        )
        assert (verdict, standing) == due


@pytest.mark.build
def test_entries_about_coalitions_come_to_what_they_tell() -> None:
    sensors = secmix.exposure("smallest-coalition")
    assert sensors.least == 2.0
    assert {each.node for each in sensors.nodes if each.colluders.cost == 2.0} == {3, 4, 5}
    assert sensors.nodes[3].coalition == {5, 10}
    turn, row = (secmix.exposure("hospital-owners", cell=cell, taps=False) for cell in (1, 2))
    assert (turn.least, row.least, row.at_least) == (2.0, None, math.inf)
    opened = secmix.exposure("tapped-lines", cell=1)
    assert all(each.taps.cost == 2.0 and each.both.cost == 2.0 for each in opened.nodes)
    assert opened.nodes[3].taps.lines == {(2, 3), (3, 4)}
    quick = {"runs": 100, "measure": {"evidence": ["structure"], "target": "input"}}
    report = secmix.audit({**find("hospital-owners").scenario.to_dict(), **quick})
    assert [cell.coalitions.verdict for cell in report.cells] == ["violated", "holds"]
    assert report.cells[0].coalitions.weakest.owners == ["B", "C"]
    # The order alone mends it, and is what the report proposes.
    assert report.cells[0].advice[0].startswith("Take the cycle owner by owner")


@pytest.mark.build
def test_reused_masks_leak_through_structure() -> None:
    content = find("mask-reuse").scenario.to_dict()
    report = secmix.audit({**content, "runs": 200, "measure": {"evidence": ["structure"]}}, cell=1)
    assert {node.standing for node in report.cells[0].nodes} == {"partly leaked"}


def test_an_unknown_entry_gets_the_nearest_name() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'weak-masks'"):
        find("weak-mask")
