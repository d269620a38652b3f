"""A number of which a residue of its form is known, and that is a function of that form, tells no more than that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.values.current_trace import DRAWS, INF, Trace, following
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number

WORDS = 2**8
SIZES = st.sampled_from([2, 3, 8, 10, 12, 16, 60, 255, 256, 2.0**48, 0.5])
STEPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "rest": lambda x, word, by: x % by,
    "times": lambda x, word, by: x * by,
    "and the word": lambda x, word, by: x + word,
    "and a rest of the word": lambda x, word, by: x + word % by,
    "and its own rest": lambda x, word, by: x + x % by,
    "less its own rest": lambda x, word, by: x - x % by,
    "twice": lambda x, word, by: x + x,
    "as a float": lambda x, word, by: x * 1.0,
    "more": lambda x, word, by: x + by,
}
Steps = list[tuple[str, Any]]


def computed(word: Any, steps: Steps) -> Any:
    number = word
    for name, by in steps:
        number = STEPS[name](number, word, by)
    return number


def residues(steps: Steps) -> list[tuple[Any, Any]]:
    """Return the residue that is known, and the number, for each word; nothing where the number tells all of it."""
    trace = Trace()
    with following(trace):
        variable = trace.variable("draw", -1, 5, 1, range=WORDS)
        number = Number(5, alone(variable), INF, DRAWS, 1)
        number.below = WORDS
        found = computed(number, steps)
        if not isinstance(found, Number) or not found.pure or found.modulus in (0, INF):
            return []
        coefficient = found.terms.get(variable, 0)
    return [(coefficient * word % found.modulus, computed(word, steps)) for word in range(WORDS)]


@given(st.lists(st.tuples(st.sampled_from([*STEPS]), SIZES), min_size=1, max_size=5))
def test_equal_residues_are_equal_numbers(steps: Steps) -> None:
    found = residues(steps)
    assert len({*found}) == len({residue for residue, _ in found})


KEPT: dict[str, Steps] = {
    "a rest": [("rest", 16)],
    "a rest that is a part of another": [("rest", 256), ("rest", 16)],
    "a rest in other units": [("rest", 16), ("times", 3)],
    "a rest of a multiple": [("times", 3), ("rest", 256)],
    "a rest added to that of a multiple": [("rest", 253), ("times", 3), ("rest", 253), ("and a rest of the word", 253)],
}


@pytest.mark.parametrize("name", KEPT)
def test_a_residue_that_says_it_all_is_known(name: str) -> None:
    assert residues(KEPT[name])


LESS: dict[str, Steps] = {
    "a rest of a rest": [("rest", 16), ("rest", 10)],
    "a rest of what wrapped around": [("rest", 16), ("rest", 3)],
    "copies side by side": [("rest", 16), ("times", 255), ("and a rest of the word", 16)],
    "a rest beside a smaller one": [("rest", 16), ("and a rest of the word", 8)],
    "twice": [("rest", 16), ("twice", 1)],
    "a float beyond its digits": [("rest", 60), ("as a float", 1), ("times", 2.0**48), ("times", 60)],
}


@pytest.mark.parametrize("name", LESS)
def test_a_number_that_tells_more_is_taken_for_its_form(name: str) -> None:
    assert not residues(LESS[name])
