"""The golden record: what the audit says of every catalogue entry, so that a change that moves a verdict is seen.

Verdicts, standings and breakdown fractions exactly, numbers within the tolerance of how they are got. Where a finding
is meant to change, ``python tests/golden_record.py [entry[:cell] ...]`` writes the record anew and prints what changed;
``SECMIX_GOLDEN=all`` compares all cells, where else those are left out that ``SLOW`` names.
"""

from __future__ import annotations

import copy
import json
import os

import pytest
from golden_record import RUNS, differences, read, record_of, recorded, written

import secmix
from secmix.scenario import Scenario
from secmix.scenario.catalogue import entries, find

pytestmark = pytest.mark.delicate

RECORD = read()
SLOW: dict[str, set[int]] = {
    "alie": {4},
    "basis-before-the-server": {1, 5},
    "colluders-under-the-threshold": {2, 3, 4, 5},
    "colluders-worst-case": {3, 4, 5, 6, 7, 8},
    "covariance-failure": {1, 3, 4, 5},
    "eavesdropper": {5},
    "eavesdropper-one-edge": {4},
    "foreign-data": {1, 2, 4, 5},
    "graphfed-byzantine-neighbours": {2, 3},
    "graphfed-curious-neighbour": {2},
    "graphfed-eavesdropper": {2, 3},
    "inversion-cumulative": {4},
    "ipm": {1, 4},
    "lossy-network": {1, 3, 5},
    "mask-reuse": {1, 3},
    "mean-failure": {2, 3, 4, 5},
    "min-max": {3},
    "poisoned-sums": {3, 4, 6},
    "sec-curious-learner": {3},
    "sec-flipped-labels": {2},
    "sec-forged-predictions": {2},
    "sec-imitation": {2},
    "secure-aggregation-malicious-server": {4, 5, 6},
    "sign-flip": {4},
    "smallest-coalition": {1, 2},
    "steering-colluders": {2},
    "weight-failure": {1, 2, 3, 5},
}
"""Cells of several seconds, where the entry has quicker ones of the kind, or other entries have them."""

EVERYDAY = {
    "basis-before-the-server",
    "covariance-failure",
    "federated-regression",
    "graphfed-byzantine-neighbours",
    "hospital-owners",
    "inversion-passive",
    "model-server",
    "model-updates",
    "sec-curious-learner",
    "secure-aggregation-server",
    "sign-flip",
    "tapped-lines",
}
"""Quick entries, which together audit every protocol of the catalogue; the build audits the others."""


def test_the_everyday_entries_audit_every_protocol() -> None:
    audited = {
        name: {
            cell.protocol.name
            for number, cell in enumerate(entry.scenario.cells(), 1)
            if number not in SLOW.get(name, set())
        }
        for name, entry in entries().items()
    }
    assert set().union(*(audited[name] for name in EVERYDAY)) == set().union(*audited.values())


def test_the_record_is_of_the_catalogue() -> None:
    titles = {
        name: {str(k): f"{c.protocol.title} | {c.adversary.title}" for k, c in enumerate(entry.scenario.cells(), 1)}
        for name, entry in entries().items()
    }
    assert set(RECORD) == set(titles)
    for name, cells in titles.items():
        recorded_as = {number: cell["cell"] for number, cell in RECORD[name].items()}
        assert recorded_as.items() <= cells.items()
        assert {int(number) for number in cells.keys() - recorded_as.keys()} <= SLOW.get(name, set())


@pytest.mark.parametrize(
    "name", [name if name in EVERYDAY else pytest.param(name, marks=pytest.mark.build) for name in RECORD]
)
def test_the_audit_says_what_it_said(name: str) -> None:
    slow = set() if os.environ.get("SECMIX_GOLDEN") == "all" else SLOW.get(name, set())
    changed = {
        number: found
        for number, before in RECORD[name].items()
        if int(number) not in slow and (found := list(differences(before, record_of(name, int(number)))))
    }
    assert not changed


@pytest.mark.build
def test_a_cell_says_the_same_alone_and_among_others_in_several_processes() -> None:
    content = find("weak-masks").scenario.to_dict()
    small = Scenario.model_validate({**content, "runs": RUNS, "measure": {"evidence": ["structure", "gaussian"]}})
    one, two = secmix.audit(small), secmix.audit(small, workers=2)
    assert one.to_dict() == two.to_dict()
    alone = secmix.audit(small, cell=3)
    assert recorded(alone.cells[0], alone.findings) == recorded(
        one.cells[2], [f for f in one.findings if f.protocol == one.cells[2].protocol]
    )


def test_differences_are_seen() -> None:
    before = RECORD["poisoned-sums"]["2"]
    assert not list(differences(before, before))
    for path, value in {
        ("verdict",): "holds",
        ("nodes", "0"): "inconclusive | inconclusive",
        ("findings", "node 0: gaussian, cumulative, input"): ["exact, resolved, holds", 1.0, 1.0, 1.0, 1.0],
        ("found", "2"): [None],
        ("damage", "zero"): [9.0, 9.0, 9.0, 9.0],
        ("robustness",): ["violated", 0.0, 0.0],
    }.items():
        after = copy.deepcopy(before)
        place = after
        for key in path[:-1]:
            place = place[key]
        assert place[path[-1]] != value
        place[path[-1]] = value
        assert len(list(differences(before, after))) == 1, path
    lost = copy.deepcopy(before)
    lost["findings"].popitem()
    assert list(differences(before, lost))


def test_the_record_reads_back() -> None:
    assert json.loads(written(RECORD)) == RECORD
