"""Masks that pairs expand from seeds: who shares a node's seeds reads it, and nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious
from secmix.errors import SecmixError
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.network import Network
from secmix.wrap import MaskedSum

NETWORK = Network.complete(5)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 5, 2))


def masks(seeds: Any, m: int) -> Any:
    return sum(np.random.default_rng(seed).integers(2**64, size=m, dtype=np.uint64) for seed in seeds)


def hide(vector: Any, plus: Any, minus: Any) -> Any:
    words = np.rint(vector * 2**16).astype(np.int64).astype(np.uint64)
    return words + masks(plus, len(vector)) - masks(minus, len(vector))


def add_up(sent: Any) -> Any:
    return sum(sent).astype(np.int64) / 2**16


def folded(vector: Any, plus: Any, minus: Any) -> Any:
    """Fold seeds to one word of 16 bits."""
    return hide(vector, [seed[0] % 2**16 for seed in plus], [seed[0] % 2**16 for seed in minus])


def one_number(vector: Any, plus: Any, minus: Any) -> Any:
    """Take one number of the stream for all entries."""
    words = np.rint(vector * 2**16).astype(np.int64).astype(np.uint64)
    return words + (masks(plus, 1) - masks(minus, 1))[0]


def known(protocol: Any, adversary: Any) -> KnownSums | Open:
    return clear(prove(protocol, NETWORK, INPUTS, in_other_calls=False), NETWORK, adversary)  # type: ignore[return-value]


@pytest.mark.parametrize("more", [{}, {"ring": True}, {"bits": 256}])
def test_all_end_with_the_average(more: Any) -> None:
    inputs = np.random.default_rng(1).normal(size=(3, 5, 2))
    averages, _ = MaskedSum(hide, add_up, **more).average(inputs, NETWORK, np.random.default_rng(2))
    np.testing.assert_allclose(averages, np.repeat(inputs.mean(axis=1)[:, None], 5, axis=1), atol=2.0**-16)


@pytest.mark.parametrize(
    ("adversary", "sums"),
    [
        (CuriousServer(), [{0, 1, 2, 3, 4}]),
        (Eavesdropper(), [{0, 1, 2, 3, 4}]),
        (CuriousServer(corrupt=[1, 3]), [{0, 2, 4}]),
        (HonestButCurious({0, 1, 2}), [{3, 4}]),
    ],
    ids=["server", "eavesdropper", "server and two", "three"],
)
def test_masks_of_all_pairs_leave_the_sum_of_who_is_honest(adversary: Any, sums: Any) -> None:
    found = known(MaskedSum(hide, add_up), adversary)
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == set(map(frozenset, sums))


def test_on_a_ring_the_two_neighbours_and_the_server_read_a_node() -> None:
    protocol = MaskedSum(hide, add_up, ring=True)
    found = known(protocol, CuriousServer(corrupt=[1, 3]))
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == {frozenset({2}), frozenset({0, 4})}
    found = known(protocol, CuriousServer(corrupt=[1, 2]))
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == {frozenset({0, 3, 4})}


@pytest.mark.parametrize(
    ("wrong", "more"), [(folded, {}), (one_number, {}), (hide, {"bits": 64})], ids=["folded", "one number", "64 bits"]
)
def test_nothing_else_is_cleared(wrong: Callable[..., Any], more: Any) -> None:
    found = known(MaskedSum(wrong, add_up, **more), CuriousServer())
    assert isinstance(found, Open) or max(found.exact.values()) > 0.9


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MaskedSum(hide, add_up, bits=100), "bits = 100; expected a multiple of 64"),
        (lambda: MaskedSum(lambda *given: [0], add_up), r"hide returns shape \(1,\), expected \(2,\)"),
        (lambda: MaskedSum(hide, lambda sent: 0.0), r"add_up returns shape \(\), expected \(2,\)"),
    ],
)
def test_what_is_wrong_is_named(make: Callable[[], MaskedSum], words: str) -> None:
    with pytest.raises(SecmixError, match=words):
        make().average(INPUTS[0], NETWORK, np.random.default_rng(0))
