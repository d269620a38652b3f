"""Linear combinations that entries of a vector share: the same sums as of each by itself, made once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.values.current_trace import LeftTrace, Trace, following
from secmix.kernel.values.forms import Form, Packed, Shared, alone, scaled, sum_of, variables_in

COEFFICIENTS = st.integers(-3, 3).filter(bool) | st.sampled_from([0.5, -0.5, 2.0**60, 2**70])
BASES = st.dictionaries(st.integers(-4, 4), COEFFICIENTS, max_size=5)
FORMS = st.one_of(BASES, st.builds(Shared, BASES, st.integers(0, 9)))
SCALES = st.integers(-2, 2).filter(bool) | st.sampled_from([0.5, 2**65])


def naive(a: Form, by_a: Any, b: Form, by_b: Any) -> dict[int, Any]:
    out = {v: by_a * c for v, c in dict(a.items()).items()}
    for v, c in dict(b.items()).items():
        out[v] = out.get(v, 0) + by_b * c
    return {v: c for v, c in out.items() if c}


@given(FORMS, SCALES, FORMS, SCALES)
def test_a_sum_is_that_of_dictionaries(a: Form, by_a: Any, b: Form, by_b: Any) -> None:
    with following(Trace()):
        assert dict(sum_of(a, by_a, b, by_b).items()) == naive(a, by_a, b, by_b)


@given(BASES, BASES, SCALES, SCALES, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_sums_of_other_entries_are_told_by_where_they_begin(
    a: dict[int, Any], b: dict[int, Any], by_a: Any, by_b: Any, firsts: list[tuple[int, int]]
) -> None:
    with following(Trace()):
        for one, other in firsts:
            first, second = Shared(a, one), Shared(b, other)
            assert dict(sum_of(first, by_a, second, by_b).items()) == naive(first, by_a, second, by_b)


FLOATS = st.floats(-8, 8, allow_nan=False).filter(bool)
LONG = st.dictionaries(st.integers(-40, 40), FLOATS, min_size=20, max_size=40)


@given(LONG, LONG, FLOATS, st.integers(0, 9), st.booleans())
def test_long_sums_of_floats_are_those_of_dictionaries(
    a: dict[int, float], b: dict[int, float], by: float, apart: int, alike: bool
) -> None:
    if alike:
        b, apart = dict(zip(a, b.values(), strict=False)), 0
    first, second = Shared(a, 5), Shared(b, 5 + apart)
    with following(Trace()):
        found = sum_of(first, 1, second, by, of_floats=True)
        again = sum_of(found, -1, first, 1, of_floats=True)
    assert dict(found.items()) == naive(first, 1.0, second, by)
    assert dict(again.items()) == naive(found, -1.0, first, 1.0)
    assert not found or isinstance(found, Shared)


def test_what_cancels_is_in_no_sum() -> None:
    form = Shared({k: float(k + 1) for k in range(30)}, 0)
    with following(Trace()):
        assert not sum_of(form, 1, form, -1, of_floats=True)
        left = sum_of(form, 1, Shared({k: -float(k + 1) for k in range(29)}, 0), 1, of_floats=True)
    assert isinstance(left, Shared)
    assert isinstance(left.base, Packed)
    assert dict(left.items()) == {29: 30.0}


@given(FORMS, SCALES)
def test_a_multiple_has_all_coefficients_times_it(form: Form, scale: Any) -> None:
    assert scaled(form, scale) == {v: scale * c for v, c in form.items()}
    assert len(scaled(form, 1)) == len(form) == len([*form])


def test_entries_that_are_added_alike_share_their_sum() -> None:
    with following(Trace()) as trace:
        sums = [sum_of(alone(k), 1, alone(10 + k), -2.0) for k in range(5)]
    assert [dict(each.items()) for each in sums] == [{k: 1, 10 + k: -2.0} for k in range(5)]
    assert len({id(each.base) for each in sums if isinstance(each, Shared)}) == 1
    assert trace.shared == 4 * 2


def test_what_nothing_is_added_to_stays_shared() -> None:
    with following(Trace()):
        both = sum_of(alone(3), 1, alone(7), -2)
        assert sum_of(both, 1, {}, 5) is both  # as beside a number that is not followed


@given(st.lists(FORMS, max_size=6))
def test_variables_are_those_of_all_forms(forms: list[Form]) -> None:
    assert {*variables_in(forms).tolist()} == {v for form in forms for v in form}


def test_a_form_that_comes_again_and_again_is_listed_once() -> None:
    base = {0: 1, 4: 2}
    assert sorted(variables_in([Shared(base, 1), Shared(base, 2)] * 1000).tolist()) == [1, 2, 5, 6]


def test_a_whole_scale_and_a_float_are_two() -> None:
    large = Shared({0: 2**60 + 1}, 0), Shared({0: 0.0, 1: 2**60 + 1}, 0)
    with following(Trace()):
        first = dict(sum_of(large[0], 1, large[1], 1).items())
        second = dict(sum_of(large[0], 1, large[1], 1.0).items())
    assert first[1] == 2**60 + 1
    assert Fraction(second[1]) == 2**60


def test_a_call_of_too_many_terms_ends_the_proof() -> None:
    with following(Trace(most_terms=10)), pytest.raises(LeftTrace, match="use fewer nodes or entries"):
        sum_of(alone(0), 1, alone(1), 1)
