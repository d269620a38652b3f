"""Our own sum protocols are proved, and tell what the theory says and what the probe of their messages finds."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from secmix import Network
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.estimators import leaked_subspace
from secmix.kernel import Clearance, Proof, clear, prove
from secmix.protocols import PDMM, Plain, SecureAggregation, SecureSum

NETWORK = Network.complete(5)
PROTOCOLS: dict[str, Any] = {
    "plain": Plain(),
    "plain, encrypted": Plain(encrypted=True),
    "secure sum": SecureSum(),
    "secure sum of words": SecureSum(arithmetic="modular"),
    "secure aggregation": SecureAggregation(),
    "secure aggregation, dropped": SecureAggregation(dropped=[3]),
    "secure aggregation, late": SecureAggregation(late=[2]),
    "secure aggregation, silent": SecureAggregation(silent=[1]),
    "pdmm": PDMM(),
    "pdmm, synchronous": PDMM(schedule="synchronous"),
    "pdmm, masks reused": PDMM(masks="reused"),
    "pdmm, dropout": PDMM(dropout=(1, 3)),
    "pdmm, loss": PDMM(loss=0.2),
    "pdmm, asynchronous": PDMM(schedule="asynchronous"),
}
SLOW = [name for name in PROTOCOLS if name.startswith("pdmm,") or name == "secure aggregation, dropped"]
EVERY_PROTOCOL = [pytest.param(name, marks=[pytest.mark.build] * (name in SLOW)) for name in PROTOCOLS]
ADVERSARIES: dict[str, Any] = {
    "eavesdropper": Eavesdropper(),
    "server": CuriousServer(),
    "node 1": HonestButCurious({1}),
    "nodes 1 and 3": HonestButCurious({1, 3}),
}
# The sums over honest nodes. Plain; SecureSum along the ring 0 to 4; secure aggregation over who is left (Bonawitz
# 2017); PDMM: of each honest component, and the average to whoever hears all (Li 2022, eq. 11).
SUMS: dict[tuple[str, str], list[set[int]]] = {
    ("plain", "eavesdropper"): [{0}, {1}, {2}, {3}, {4}],
    ("plain, encrypted", "eavesdropper"): [],
    ("plain, encrypted", "node 1"): [{0, 2, 3, 4}],
    ("secure sum", "server"): [],
    ("secure sum", "node 1"): [{0, 2, 3, 4}],
    ("secure sum", "nodes 1 and 3"): [{0, 4}, {2}],
    ("secure sum of words", "nodes 1 and 3"): [{0, 4}, {2}],
    ("secure aggregation", "server"): [{0, 1, 2, 3, 4}],
    ("secure aggregation", "nodes 1 and 3"): [{0, 2, 4}],
    ("secure aggregation, dropped", "server"): [{0, 1, 2, 4}],
    ("secure aggregation, dropped", "node 1"): [{0, 2, 4}],
    ("secure aggregation, late", "server"): [{0, 1, 3, 4}],
    ("secure aggregation, silent", "node 1"): [],
    ("pdmm", "eavesdropper"): [{0, 1, 2, 3, 4}],
    ("pdmm", "nodes 1 and 3"): [{0, 2, 4}],
    ("pdmm, dropout", "eavesdropper"): [{0, 2, 3, 4}],
}


@cache
def proof_of(name: str) -> Proof:
    inputs = [np.random.default_rng([3, call]).normal(size=(1, 5, 3)) for call in range(3)]
    return prove(PROTOCOLS[name], NETWORK, inputs)


def cleared(protocol: str, adversary: str) -> Clearance:
    found = clear(proof_of(protocol), NETWORK, ADVERSARIES[adversary])
    assert isinstance(found, Clearance), found
    return found


@pytest.mark.build
@pytest.mark.parametrize("name", EVERY_PROTOCOL)
def test_every_protocol_is_proved_for_every_iteration(name: str) -> None:
    proof = proof_of(name)
    assert not proof.open
    coins = name in ("pdmm, loss", "pdmm, asynchronous")
    assert [each[:12] for each in proof.covers] == ["public coins"] * coins


@pytest.mark.parametrize(("protocol", "adversary"), SUMS)
def test_the_sums_are_those_of_the_theory(protocol: str, adversary: str) -> None:
    found = cleared(protocol, adversary)
    assert sorted(map(sorted, found.sums)) == sorted(map(sorted, SUMS[protocol, adversary]))


@pytest.mark.build
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("protocol", EVERY_PROTOCOL)
def test_as_much_is_known_as_the_probe_of_the_messages_finds(protocol: str, adversary: str) -> None:
    found = cleared(protocol, adversary)
    calls = 3 if protocol == "pdmm, masks reused" else 1
    probed = leaked_subspace(PROTOCOLS[protocol], NETWORK, ADVERSARIES[adversary], rounds=calls)
    for node, share in found.exact.items():
        mine = np.arange(node, 5 * calls, 5)
        assert share == pytest.approx(np.linalg.eigvalsh(probed.projector[np.ix_(mine, mine)])[-1], abs=1e-6)
    if calls == 1:
        rows = (frozenset(np.flatnonzero(np.abs(row) > 1e-9).tolist()) - probed.corrupt for row in probed.basis)
        assert set(found.sums) == {row for row in rows if row}


@pytest.mark.parametrize("name", ["secure sum of words", "secure aggregation"])
def test_encodings_of_words_are_named_by_their_line(name: str) -> None:
    encoders = cleared(name, "server").encoders
    assert any("rint" in each.code or "round" in each.code for each in encoders)
