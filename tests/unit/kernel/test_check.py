"""The trace against an untraced call: words bit for bit, floats but for rounding, forms by what they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secmix import Network
from secmix.kernel.randomness.streams import system_number
from secmix.kernel.tracing.checks import _alike, _unknown, _unlike
from secmix.kernel.tracing.trace import follow
from secmix.kernel.values.arrays import followed
from secmix.kernel.values.current_trace import Trace, following
from secmix.protocols import SecureSum
from secmix.transcript import Block, Channel

NETWORK = Network.complete(3)
FIT = follow(SecureSum(), NETWORK, [np.ones((1, 3, 2))])
WORDS = np.array([2**63, 2**64 - 2], np.uint64)


@pytest.mark.parametrize(
    ("traced", "plain", "alike"),
    [
        (WORDS, WORDS, True),
        (WORDS, WORDS + np.uint64(1), False),
        (WORDS.view(np.int64), WORDS.view(np.int64) + 1, False),
        (np.array([True]), np.array([False]), False),
        (np.ones(2), np.ones(2) * (1 + 1e-15), True),
        (np.ones(2) * 1e9, np.ones(2) * (1e9 + 1), False),
        (np.ones(2), np.ones((2, 1)), False),
        (np.ones(2), np.ones(2).astype(object), False),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), True),
        (np.array([np.inf]), np.array([-np.inf]), False),
        (np.array([1.0]), np.array([np.inf]), False),
        (np.array([1.0]), np.array([np.nan]), False),
    ],
)
def test_words_are_compared_bit_for_bit_and_floats_but_for_rounding(traced: Any, plain: Any, alike: bool) -> None:
    assert _alike(followed(traced), plain, FIT) is alike


def _sent(*payloads: Any, kind: str = "sum", round: int = 0) -> list[Block]:
    channel = Channel()
    for each in payloads:
        channel.send(round, 0, 1, kind, each)
    return list(channel.transcript)


ONES = np.ones((1, 2))


@pytest.mark.parametrize(
    ("others", "named"),
    [
        (_sent(ONES), ""),
        (_sent(ONES * (1 + 1e-14)), ""),
        (_sent(ONES * 1.001), "'sum' in round 0"),
        (_sent(ONES.astype(np.float32)), "'sum' in round 0"),
        (_sent(ONES, kind="another"), "'sum' in round 0"),
        (_sent(ONES, round=1), "'sum' in round 0"),
        (_sent(np.ones((1, 3))), "'sum' in round 0"),
        (_sent(ONES, ONES), "one of 1 or 2 blocks"),
    ],
)
def test_the_first_message_that_is_another_is_named(others: list[Block], named: str) -> None:
    assert _unlike(_sent(ONES), others, True) == named
    assert bool(_unlike(_sent(ONES), others, False)) is (named != "" and not np.allclose(1.001, others[0].payload))


def test_coins_of_the_system_are_named_where_nobody_has_them() -> None:
    with following(Trace()) as trace:
        variable = next(iter(system_number(8).form))
    assert "coins of the system" in _unknown([variable], 0, trace)
