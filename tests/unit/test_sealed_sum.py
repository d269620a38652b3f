"""Sums under a cipher: its server sees sealed words, and what opens them without the key is found."""

from __future__ import annotations

import itertools
import secrets
from typing import Any

import numpy as np
import pytest
from paillier_library import LARGE, SMALL, Paillier

import secmix
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import DataError, SecmixError
from secmix.kernel import KnownSums, clear, prove
from secmix.network import Network
from secmix.testing import check_protocol
from secmix.transcript import SERVER
from secmix.wrap import SealedSum

NETWORK = Network.complete(4)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 4, 1))
RNG = np.random.default_rng(0)
SCENARIO = {
    "network": {"kind": "complete", "nodes": 4},
    "data": {"name": "wine", "features": 1, "rows_per_node": 20},
    "model": {"iterations": 1},
    "runs": 100,
    "measure": {"evidence": ["structure", "gaussian"]},
    "policy": {"max_normalised_leakage": 0.8},
}


def paillier(key: Paillier = SMALL, encrypt: Any = None, **more: Any) -> SealedSum:
    return SealedSum(encrypt or key.encrypt, key.add, key.decrypt, public=[key.n], **more)


def audited(protocol: SealedSum, adversary: Any, **more: Any) -> Any:
    return secmix.audit(SCENARIO | more, protocols={"it": protocol}, adversaries={"who": adversary}).cells[0]


def not_blinded(word: Any) -> int:
    return SMALL.encrypt(word, 1)


@pytest.mark.parametrize("more", [{}, {"holders": [2]}, {"holders": [0, 3], "encrypted": False}])
def test_all_end_with_the_average(more: Any) -> None:
    inputs = np.random.default_rng(1).normal(size=(3, 4, 2))
    averages, sent = paillier(**more).average(inputs, NETWORK, np.random.default_rng(2))
    np.testing.assert_allclose(averages, np.repeat(inputs.mean(axis=1)[:, None], 4, axis=1), atol=2.0**-16)
    read = [block.kind for block in sent if SERVER in block.receiver]
    assert read == ["ciphertext, sealed"]


@pytest.mark.parametrize(
    ("adversary", "known"),
    [
        (CuriousServer(), set()),
        (Eavesdropper(), set()),
        (HonestButCurious({1}), {frozenset({0, 2, 3})}),
    ],
    ids=["the server", "an eavesdropper", "who has the key"],
)
def test_the_server_learns_nothing_and_who_has_the_key_the_sum(adversary: Any, known: Any) -> None:
    found = clear(prove(paillier(), NETWORK, INPUTS, in_other_calls=False), NETWORK, adversary)
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == known
    assert any("without its key, a sealed message reveals only" in each for each in found.assumes)


def test_who_has_the_key_and_hears_the_lines_learns_everything() -> None:
    for protocol, adversary in (
        (paillier(encrypted=False), HonestButCurious({1})),
        (paillier(holders=[0]), CuriousServer(corrupt=[0])),
    ):
        found = clear(prove(protocol, NETWORK, INPUTS, in_other_calls=False), NETWORK, adversary)
        assert not isinstance(found, KnownSums) or max(found.exact.values()) > 0.99


@pytest.mark.build
def test_a_right_cipher_holds_under_the_assumption_that_it_is_one() -> None:
    cell = audited(paillier(LARGE), CuriousServer())
    assert cell.verdict == "holds", [each.why for each in cell.nodes]
    assert any("are assumed to be opaque without the key" in each for each in cell.assumptions)
    assert "these are low" not in cell.model_dump_json()


@pytest.mark.build
@pytest.mark.parametrize("policy", [{"max_normalised_leakage": 0.8}, {"max_revealed_nodes": 0}])
def test_without_blinding_it_is_violated(policy: Any) -> None:
    cell = audited(paillier(encrypt=not_blinded), CuriousServer(), policy=policy)
    assert {each.verdict for each in cell.nodes} == {"violated"}
    assert "computed without the key from ciphertexts" in cell.nodes[0].why


@pytest.mark.build
def test_randomness_that_comes_again_tells_differences() -> None:
    few, turns = [secrets.randbelow(SMALL.n - 1) + 1 for _ in range(5)], itertools.count()
    cell = audited(paillier(encrypt=lambda word: SMALL.encrypt(word, few[next(turns) % 5])), CuriousServer())
    assert cell.verdict == "violated"
    assert "differences of its input's entries" in cell.nodes[0].why


@pytest.mark.build
def test_a_short_key_is_inconclusive_with_its_bits() -> None:
    cell = audited(paillier(), CuriousServer())
    assert cell.verdict == "inconclusive"
    assert "a modulus of 196 bits, expected at least 2" in cell.nodes[0].why
    cell = audited(paillier(), CuriousServer(), policy={"max_revealed_nodes": 0})
    assert cell.verdict == "inconclusive"


@pytest.mark.build
def test_who_reads_nothing_sealed_or_has_the_key_does_not_depend_on_the_cipher() -> None:
    for adversary in (Eavesdropper(), HonestButCurious({0})):
        assert audited(paillier(encrypt=not_blinded), adversary).verdict == "holds"
    # It is sent the average, and hears no words but its own.
    assert audited(paillier(encrypt=not_blinded, holders=[1]), HonestButCurious({0})).verdict == "holds"
    heard = audited(paillier(encrypt=not_blinded, holders=[1], encrypted=False), HonestButCurious({0}))
    assert heard.verdict == "violated"


@pytest.mark.build
def test_a_library_that_fails_is_inconclusive() -> None:
    def fails(word: Any) -> int:
        raise ValueError("no")

    cell = audited(paillier(encrypt=fails), CuriousServer())
    assert cell.verdict == "inconclusive"
    assert "testing the cipher ends in ValueError" in cell.nodes[0].why


@pytest.mark.build
def test_neither_a_search_for_coalitions_nor_a_check_clears_it() -> None:
    exposure = secmix.exposure(SCENARIO, protocol=paillier(encrypt=not_blinded))
    assert "seals words" in str(exposure)
    check = check_protocol(paillier(encrypt=not_blinded), network=NETWORK, adversary=CuriousServer(), seed=0)
    assert "what seals its words is tried in an audit alone" in str(check)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: paillier(fraction_bits=60), SecmixError, "fraction_bits = 60; expected 0 to 52"),
        (lambda: paillier(holders=[]), SecmixError, "holders is empty"),
        (
            lambda: paillier(holders=[7]).average(INPUTS[0], NETWORK, None),
            SecmixError,
            r"holders = \[7\]; expected nodes from 0",
        ),
        (lambda: paillier(fraction_bits=52).average(9 * INPUTS[0], NETWORK, RNG), DataError, "does not fit into 52"),
    ],
)
def test_what_is_wrong_is_named(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()
