"""Level of an audit: all that may accuse by chance does so together with a chance of at most the level."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from secmix.auditing.evidence.interface import level_shares
from secmix.scenario import from_dict

CELL = {"network": {"kind": "cycle", "nodes": 4}, "data": {"name": "wine"}, "measure": {"level": 0.06}}
CLAIM = {"epsilon": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(("limited", "claimed", "member"), list(itertools.product([False, True], repeat=3)))
def test_all_parts_together_are_at_most_the_level(limited: bool, claimed: bool, member: bool) -> None:
    policy: dict[str, Any] = {"max_normalised_leakage": 0.1}
    policy |= {"max_epsilon": 1.0, "delta": 1e-5} if limited else {}
    policy |= {"max_membership": 0.5} if member else {}
    shares = level_shares(from_dict(CELL | {"policy": policy} | ({"claim": CLAIM} if claimed else {}), "a test"))
    parts = [shares.counted, shares.estimated, (limited + claimed) * shares.epsilon, member * shares.membership]
    assert sum(parts) <= 0.06 * (1 + 1e-12)
    assert min(shares.counted, shares.epsilon, shares.membership) > 0


def test_nothing_is_kept_for_what_is_not_asked() -> None:
    shares = level_shares(from_dict(CELL | {"policy": {"max_normalised_leakage": 0.1}}, "a test"))
    assert shares.counted == shares.estimated == 0.03
