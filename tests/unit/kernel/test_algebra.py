"""What rows tell: of real masks, of uniform words, and where the masks are no such words."""

from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.randomness.draws import generator
from secmix.kernel.values import algebra
from secmix.kernel.values.algebra import Component, _free_of, _in_units, _joined, _shares, determined, knowledge
from secmix.kernel.values.current_trace import INF, Trace, Variable, following
from secmix.kernel.values.forms import Shared, common_step, is_multiple, size_of, times

NOBODY: frozenset[int] = frozenset()


def component(
    terms: list[list[Any]],
    owner: tuple[int, ...],
    *,
    modulus: Any = INF,
    step: tuple[Any, ...] | None = None,
    words: tuple[int, ...] | None = None,
    spread: float = 1.0,
    size: float = 1.0,
) -> Component:
    """Make rows over data of nodes (-1: a draw), whole words where ``words`` says how many."""
    steps, ranges = step or (int(words is not None),) * len(owner), words or (0,) * len(owner)
    variables = [
        Variable("draw" if node < 0 else "input", node, 0.0, *laws, range=values)
        for node, values, laws in zip(owner, ranges, ((each, spread) for each in steps), strict=True)
    ]
    return Component(
        rows=tuple((0, k) for k in range(len(terms))),
        forms=tuple(({k: c for k, c in enumerate(row) if c}, 1) for row in terms),
        places={k: k for k in range(len(owner))},
        column={k: k for k in range(len(owner))},
        modulus=(modulus,) * len(terms),
        variables=tuple(variables),
        formula=(-1,) * len(owner),
        largest=size,
    )


def test_of_real_masks_their_size_says_what_shows() -> None:
    found = knowledge(component([[1, 1]], (0, -1), spread=2.0, size=6.0), [0], NOBODY)
    assert found.exact == {0: 0.0}
    assert found.behind_masks[0] == pytest.approx(36 / 40)
    averaged = knowledge(component([[1, 1]], (0, -1), spread=2.0, size=6.0), [0], NOBODY, repeated=4)
    assert averaged.behind_masks[0] == pytest.approx(36 / 37)


def test_the_best_known_direction_of_a_node_counts() -> None:
    found = knowledge(component([[1, -1, 0], [0, 0, 1]], (0, 0, 1)), [0, 1], NOBODY)
    assert found.exact == pytest.approx({0: 1.0, 1: 1.0})
    assert knowledge(component([[1, 1]], (0, 0)), [0], NOBODY).sums == [(((0, 0), 1.0), ((0, 1), 1.0))]


def test_masks_that_cancel_but_for_rounding_hide_nothing() -> None:
    a, b = [0.1, 0.7, 0.3], [0.9, 0.2, 0.5]
    rows = [[1, 0, 0, *a], [0, 1, 0, *b], [0, 0, 1, *(x / 3 + y * 7 for x, y in zip(a, b, strict=True))]]
    found = knowledge(component(rows, (0, 1, 2, -1, -1, -1)), [0, 1, 2], NOBODY)
    ((places, coefficients),) = (zip(*each, strict=True) for each in found.sums)
    assert places == ((0, 0), (1, 1), (2, 2))
    assert coefficients == pytest.approx((1.0, 21.0, -3.0))
    assert sum(found.exact.values()) == pytest.approx(1.0)


def test_what_corrupt_nodes_know_is_taken_away() -> None:
    found = knowledge(component([[1, 1, 1]], (0, 1, 2)), [0], frozenset({1}))
    assert found.exact == pytest.approx({0: 0.5, 2: 0.5})
    assert found.sums == [(((0, 0), 1.0), ((2, 2), 1.0))]


def test_a_sum_of_rows_in_which_words_cancel_is_known() -> None:
    terms = [[1, 0, 1], [0, 1, -1]]
    found = knowledge(component(terms, (0, 1, -1), modulus=256, words=(0, 0, 256)), [0, 1], NOBODY)
    assert not found.open
    assert found.exact == pytest.approx({0: 0.5, 1: 0.5})
    assert found.sums == [(((0, 0), 1.0), ((1, 1), 1.0))]
    assert knowledge(component(terms, (0, 1, -1), modulus=256, words=(0, 0, 256)), [0], NOBODY).sums == []


def test_a_seed_behind_a_mask_of_its_own_is_not_told() -> None:
    rows = component([[1, 1, 0], [0, 0, 1]], (-1, -1, -1), modulus=256, words=(256, 256, 256))
    rows = replace(rows, columns=[rows.column])
    assert determined(rows, [0], {0, 2}, known=()) == (set(), set())
    assert determined(rows, [0, 1], {0, 2}, known=()) == ({2}, set())
    assert determined(rows, [0], {0, 2}, known={1}) == ({0}, set())


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (component([[1, 1]], (0, -1), words=(0, 256)), "without reduction"),
        (component([[1, 2]], (0, -1), modulus=256, words=(0, 256)), "multiples of masks"),
        (component([[1, 1]], (0, -1), modulus=256, words=(0, 16)), "between the steps"),
        (component([[1, 1]], (0, -1), modulus=256, words=(0, 256), step=(0.5, 1)), "between the steps"),
        (component([[2**60 + 1, 2**20]], (0, -1), modulus=2**52, words=(0, 2**32)), "between the steps"),
        (component([[1e10 + 0.5, 1]], (0, -1), modulus=256, words=(0, 256)), "between the steps"),
        (component([[1, 1]], (0, -1), modulus=256, words=(0, 256), step=(0, 1)), "no known step"),
        (component([[1, 1]], (0, -1), modulus=2**64, words=(0, 2**64 - 2**30)), "words of the modulus"),
        (component([[1, 1, 1]], (0, -1, -1), modulus=256, words=(0, 256, 16)), "uniform words of one length"),
    ],
)
def test_masks_that_are_no_uniform_words_are_open(rows: Component, reason: str) -> None:
    assert reason in knowledge(rows, [0], NOBODY).open


def test_steps_that_floats_do_not_hold_are_not_believed() -> None:
    assert not is_multiple(2.0**60, 1.0)
    assert is_multiple(2**60, 1)
    assert times(1.0, 2.0**60, 1.5) == 1.0
    assert times(1.0, 0.5, 1.5) == 0.5
    assert common_step(1.5, 2.25) == 0
    assert common_step(6, 4) == 2
    assert (size_of(INF), size_of(-3), size_of(0)) == (0, 3, INF)


@pytest.mark.parametrize(
    ("law", "arguments", "spread", "hiding"),
    [
        ("normal", (5.0, 3.0), 3.0, 3.0),
        ("uniform", (-1.0, 2.0), 3 / 12**0.5, 0.75),
        ("laplace", (0.0, 2.0), 8**0.5, 2.0),
        ("logistic", (1.0, 2.0), 2 * np.pi / 3**0.5, 2 * 3**0.5),
        ("integers", (5, 25), 20 / 12**0.5, 20 / 12**0.5),
    ],
)
def test_draws_have_the_spread_and_the_bounds_of_their_law(
    law: str, arguments: Any, spread: float, hiding: float
) -> None:
    trace = Trace()
    with following(trace):
        draws = getattr(generator(), law)(*arguments, size=1000)
        numbers = draws.objects.tolist()
    first = trace.variables[next(iter(trace.variables))]
    assert first.spread == pytest.approx(spread)
    assert algebra._hiding(first, 1.0) == pytest.approx(hiding)
    assert np.std([each.value for each in numbers]) == pytest.approx(spread, rel=0.2)
    if law == "integers":
        assert {each.below for each in numbers} == {25}
        assert {each.range for each in trace.variables.values()} == {20}
    else:
        assert {each.below for each in numbers} == {0}


@pytest.mark.parametrize(
    ("value", "unit", "whole"),
    [
        (8, 4, 2),
        (6, 4, None),
        (2.5, 1.0, None),
        (1 + 4e-16, 1.0, 1),
        (1 + 1e-12, 1.0, None),
        (2.0**-33, 1.0, None),
        (-3e-9, 1e-9, -3),
        (1e12 + 0.01, 1.0, None),
        (2.0**60, 1.0, None),
    ],
)
def test_a_quotient_is_whole_where_a_float_can_say_so(value: Any, unit: Any, whole: int | None) -> None:
    assert _in_units(value, unit) == whole


@pytest.mark.parametrize("at_once", [1, 8, 2**20])
@given(rows=st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.integers(5, 16)), max_size=8))
def test_rows_hang_together_where_some_variables_join_them(at_once: int, rows: list[tuple[set[int], int]]) -> None:
    bases = {frozenset(base): dict.fromkeys(base, 1) for base, _ in rows}  # rows of one base share it, as in a trace
    forms = [Shared(bases[frozenset(base)], first) for base, first in rows]
    graph = networkx.Graph((("row", k), v) for k, form in enumerate(forms) for v in form)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(algebra, "_EDGES", at_once)
        labels, variables = _joined(forms)
    for k, label in enumerate(labels):
        reached = networkx.node_connected_component(graph, ("row", k))
        assert variables[label].tolist() == sorted(v for v in reached if isinstance(v, int))
        assert all((label == labels[other]) == (("row", other) in reached) for other in range(k))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_all_known_is_known_to_the_last_bit(seed: int) -> None:
    """Others take the difference from one for what is left open."""
    seen = np.random.default_rng(seed).normal(size=(5, 5)) @ np.diag(10.0 ** np.arange(5))
    assert _shares(seen, seen[:, :0], [*range(5)]) == dict.fromkeys(range(5), 1.0)
    hidden = _shares(seen[:1], seen[:1, :0], [*range(5)])
    assert sum(hidden.values()) == pytest.approx(1.0)
    assert max(hidden.values()) < 1.0


def test_rounding_of_rows_that_say_the_same_does_not_add_up() -> None:
    rows = np.zeros((2_000_000, 3))
    rows[:, [0, 2]] = 1.0
    rows[1_000_000:, 1] = 4e-15  # as after thousands of rounds; 4e-15 * 700 would pass for a known number
    assert not len(_free_of(rows[:, 2:], rows[:, :2]))
    rows[-1, 1] = 1e-11
    assert np.abs(_free_of(rows[:, 2:], rows[:, :2])) == pytest.approx(np.array([[0.0, 1.0]]), abs=1e-3)
