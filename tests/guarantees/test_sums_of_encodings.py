"""What a sum of encodings tells of one node: at most one part in as many as there are nodes (Efron, Stein 1981)."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

SMALL = st.integers(min_value=-3, max_value=3)


def _explained(nodes: int, chances: list[Fraction], encode: dict[int, tuple[int, ...]], of: dict[int, int]) -> Fraction:
    """Return the share of the variance of ``of`` at one node that the sum of all encodings explains, exactly."""
    mass: dict[Any, Fraction] = defaultdict(Fraction)
    moment: dict[Any, Fraction] = defaultdict(Fraction)
    for values in product(encode, repeat=nodes):
        chance = Fraction(1)
        for value in values:
            chance *= chances[value]
        total = tuple(map(sum, zip(*(encode[value] for value in values), strict=True)))
        mass[total] += chance
        moment[total] += chance * of[values[0]]
    mean = sum(moment.values())
    variance = sum(chances[v] * of[v] ** 2 for v in encode) - mean**2
    if not variance:
        return Fraction(0)
    return (sum(moment[t] ** 2 / mass[t] for t in mass if mass[t]) - mean**2) / variance


@given(st.data(), st.integers(2, 4), st.integers(2, 4))
def test_no_function_of_one_node_is_explained_beyond_its_part(data: Any, nodes: int, values: int) -> None:
    """Whatever the nodes encode, in however many numbers, and whatever is asked of one of them."""
    weights = data.draw(st.lists(st.integers(1, 9), min_size=values, max_size=values))
    chances = [Fraction(weight, sum(weights)) for weight in weights]
    encode = {v: tuple(data.draw(st.lists(SMALL, min_size=2, max_size=2))) for v in range(values)}
    of = {v: data.draw(SMALL) for v in range(values)}
    assert _explained(nodes, chances, encode, of) <= Fraction(1, nodes)


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_the_sum_itself_explains_just_that_part(nodes: int) -> None:
    """The bound is met: by the value itself, where the sum of the values is known."""
    coin = [Fraction(1, 2), Fraction(1, 2)]
    assert _explained(nodes, coin, {0: (0,), 1: (1,)}, {0: 0, 1: 1}) == Fraction(1, nodes)


def test_a_count_of_every_value_explains_no_more() -> None:
    """Numbers packed one a digit tell how often each occurs, and not whose it is."""
    thirds = [Fraction(1, 3)] * 3
    packed = {0: (1,), 1: (100,), 2: (10000,)}
    assert _explained(4, thirds, packed, {0: 5, 1: -2, 2: 1}) == Fraction(1, 4)


def test_unequal_encodings_explain_more() -> None:
    """Why nodes must encode alike: what one node adds in a larger unit is most of the sum."""
    mass: dict[int, list[int]] = defaultdict(list)
    for first, second in product((0, 1), repeat=2):
        mass[100 * first + second].append(first)
    assert all(len(set(values)) == 1 for values in mass.values())
