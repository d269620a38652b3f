"""A sum protocol of a library's secret sharing is proved as one that is written for the audit."""

from __future__ import annotations

import os
import random
import secrets
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sharing_library as library

from secmix.adversaries import CuriousServer, HonestButCurious
from secmix.errors import DataError, SecmixError
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.network import Network
from secmix.wrap import Coins, ShareSum, coin_bounds, supplied_coins

NETWORK = Network.complete(4)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 4, 2))


def shamir(split: Callable[..., Any] = library.shamir, **more: Any) -> ShareSum:
    settings = {"modulus": library.PRIME, "coins": library} | more
    return ShareSum(lambda word, n: split(word, n), lambda shares: library.interpolated(shares), **settings)


def additive(**more: Any) -> ShareSum:
    return ShareSum(library.additive, library.added, **{"modulus": 2**64, "coins": library} | more)


def known(protocol: Any, adversary: Any) -> KnownSums | Open:
    return clear(prove(protocol, NETWORK, INPUTS, in_other_calls=False), NETWORK, adversary)  # type: ignore[return-value]


@pytest.mark.parametrize("protocol", [shamir(), shamir(library.of_generator), additive(), additive(to_server=False)])
def test_it_sums(protocol: ShareSum) -> None:
    inputs = np.random.default_rng(1).normal(size=(3, 4, 2))
    averages, _ = protocol.average(inputs, NETWORK, np.random.default_rng(2))
    np.testing.assert_allclose(averages, np.repeat(inputs.mean(axis=1)[:, None], 4, axis=1), atol=2.0**-16)


@pytest.mark.parametrize(
    "protocol",
    [shamir(), shamir(library.of_generator), shamir(to_server=False), additive()],
    ids=["shamir", "a generator of the module's", "to all nodes", "additive"],
)
def test_fewer_nodes_than_join_learn_the_sum(protocol: ShareSum) -> None:
    found = known(protocol, HonestButCurious({0, 1}))
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == {frozenset({2, 3})}


def test_the_server_learns_the_sum() -> None:
    found = known(shamir(), CuriousServer())
    assert isinstance(found, KnownSums), found.reason
    assert set(found.sums) == {frozenset(range(4))}


@pytest.mark.parametrize(
    ("split", "adversary"),
    [
        (library.shamir, HonestButCurious({0, 1, 2})),
        (library.one_coefficient, HonestButCurious({0, 1})),
        (library.not_reduced, HonestButCurious({0, 1})),
        (library.until_odd, HonestButCurious({0, 1})),
    ],
    ids=["as many as join", "one coefficient for all powers", "shares not reduced", "a coin that is looked at"],
)
def test_nothing_else_is_cleared(split: Any, adversary: Any) -> None:
    found = known(shamir(split), adversary)
    if isinstance(found, KnownSums):
        assert max(found.exact.values()) > 0.9 or max(found.behind_masks.values()) > 0.9
    else:
        assert found.reason


def test_coins_that_nobody_hands_out_are_named() -> None:
    found = known(shamir(coins=()), CuriousServer())
    assert isinstance(found, Open)
    assert "coins of the system that the audit does not hand out, drawn at sharing_library.py, line" in found.reason
    assert "secmix.wrap" in found.reason


def test_the_line_that_looks_at_a_coin_is_named() -> None:
    found = known(shamir(library.until_odd), CuriousServer())
    assert isinstance(found, Open)
    assert "sharing_library.py" in found.reason


def test_an_error_names_the_line_of_the_user() -> None:
    def split(word: Any, n: int) -> Any:
        return library.shamir(word - library.PRIME, n)

    with pytest.raises(SecmixError, match=r"split fails at sharing_library.py, line \d+: raise ValueError.*no element"):
        shamir(split).draw_masks(1, 1, NETWORK, np.random.default_rng())


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (lambda: shamir(lambda word, n: [word] * n), "draws no coins in sharing_library"),
        (lambda: shamir(modulus=2**20), "other bounds need a modulus"),
        (
            lambda: shamir(lambda word, n: library.shamir(word, n)[1:]),
            r"3 shares, expected 4, one a node, at test_wrap.py, line \d+",
        ),
        (
            lambda: shamir(lambda word, n: [(k, x) for k, x in enumerate(library.shamir(word, n))]),
            r"split returns a tuple, expected an integer, at test_wrap.py, line \d+",
        ),
        (
            lambda: ShareSum(library.shamir, lambda shares: 1.5, modulus=library.PRIME),
            r"join returns a float, expected an integer, at test_wrap.py, line \d+",
        ),
        (lambda: shamir(modulus=2**65), "expected 2 to 2"),
        (lambda: shamir(fraction_bits=53), "expected 0 to 52"),
    ],
)
def test_what_does_not_fit_is_named(protocol: Any, message: str) -> None:
    with pytest.raises(SecmixError, match=message):
        protocol().average(INPUTS[0], NETWORK, np.random.default_rng())


def test_a_sum_beyond_the_words_is_an_error() -> None:
    with pytest.raises(DataError, match="larger modulus"):
        shamir().average(1e6 + INPUTS[0], NETWORK, np.random.default_rng())


def test_coins_are_those_that_are_handed_out_and_the_system_is_left_as_it_was() -> None:
    before = secrets.randbelow, os.urandom, random._urandom, library.secrets  # type: ignore[attr-defined]
    bounds = coin_bounds(lambda: library.shamir(5, 4), library)
    assert bounds == (library.PRIME,) * 2
    with supplied_coins(library, coins=Coins([1, 2], bounds)):
        assert library.shamir(5, 4) == [5 + x + 2 * x * x for x in (1, 2, 3, 4)]
        with pytest.raises(SecmixError, match="after the 2 that were supplied"):
            library.shamir(5, 4)
    assert (secrets.randbelow, os.urandom, random._urandom, library.secrets) == before  # type: ignore[attr-defined]


def test_generators_without_a_seed_are_seeded_by_128_bits_that_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seeding: Any = types.ModuleType("seeding")  # a library
    vars(seeding).update(np=np, secrets=secrets)

    def drawn() -> list[int]:
        default_rng = seeding.np.random.default_rng
        makers = default_rng(), default_rng(seeding.secrets.randbits(100)), default_rng(5)
        return [int(made.integers(2**32)) for made in makers]

    monkeypatch.setitem(sys.modules, "seeding", seeding)
    bounds = coin_bounds(drawn, seeding)
    assert bounds == (2**64, 2**64, 2**64, 2**36)
    with supplied_coins(seeding, coins=Coins([1, 2, 3, 4], bounds)):
        found = drawn()
    seeds: list[Any] = [[1, 2], 3 + (4 << 64), 5]
    assert found == [int(np.random.default_rng(each).integers(2**32)) for each in seeds]
    assert seeding.np is np


@pytest.mark.parametrize(("bounds", "message"), [((97, 97), "below 97"), ((library.PRIME,) * 3, "draws 2 coins")])
def test_other_coins_than_are_handed_out_are_an_error(bounds: tuple[int, ...], message: str) -> None:
    coins = Coins([1, 2, 3][: len(bounds)], bounds)

    def share() -> None:
        library.shamir(5, 4)
        coins.finish()

    with supplied_coins(library, coins=coins), pytest.raises(SecmixError, match=message):
        share()
