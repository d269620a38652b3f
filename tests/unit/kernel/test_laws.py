"""Every transfer rule keeps its law: what is said of a number is true of 200 other values of its variables."""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secmix.kernel.values.algebra import encodings
from secmix.kernel.values.arrays import array_of, followed
from secmix.kernel.values.current_trace import DRAWS, INF, Trace, following
from secmix.kernel.values.forms import alone, is_multiple
from secmix.kernel.values.numbers import Number, arguments, as_integer, cast, centred, combined, function

_NODES = 2
_RANGE = 24  # of a draw: small, so that sums of draws meet again in 200 tries
_TRIES = 200


@dataclass(frozen=True)
class Operation:
    """One operation, as it is followed and as Python does it."""

    name: str
    followed: Callable[..., Any]
    plain: Callable[..., Any]


def _word(dtype: type[np.integer[Any]]) -> Callable[[int], int]:
    bits, signed = 8 * np.dtype(dtype).itemsize, np.dtype(dtype).kind == "i"

    def wrap(x: int) -> int:
        low = int(x) & ((1 << bits) - 1)
        return low - (1 << bits) if signed and low >> (bits - 1) else low

    return wrap


def _unary(c: int) -> list[Operation]:
    """Operations on a whole number, of which some have the constant ``c``, 1 to 12."""
    as_is: list[tuple[str, Callable[[Any], Any]]] = [
        (f"+ {c}", lambda x: x + c),
        (f"{c} -", lambda x: c - x),
        (f"* {c}", lambda x: x * c),
        (f"% {c}", lambda x: x % c),
        (f"// {c}", lambda x: x // c),
        (f"<< {c}", lambda x: x << c),
        (f">> {c}", lambda x: x >> c),
        (f"& {2**c - 1}", lambda x: x & (2**c - 1)),
        (f"| {c}", lambda x: x | c),
        (f"^ {c}", lambda x: x ^ c),
        ("~", lambda x: ~x),
        ("abs", abs),
        ("* 0", lambda x: x * 0),
        (f"% {2**c}", lambda x: x % 2**c),
    ]
    found = [Operation(name, f, f) for name, f in as_is]
    found.append(Operation(f"centred {2 * c}", lambda x: centred(x, 2 * c), lambda x: (x + c) % (2 * c) - c))
    found += [
        Operation(str(dtype), lambda x, d=dtype: cast(x, np.dtype(d)), _word(dtype))
        for dtype in (np.uint8, np.uint16, np.uint64)
    ]
    array = Operation(
        f"array % {c} of uint8",
        lambda x: (array_of(np.array([cast(x, np.dtype(np.uint8))], object), np.uint8) + np.uint8(250)).tolist()[0] % c,
        lambda x: _word(np.uint8)(_word(np.uint8)(x) + 250) % c,
    )
    return [*found, array]


_BINARY = [
    Operation(name, f, f)
    for name, f in (
        ("+", operator.add),
        ("-", operator.sub),
        ("*", operator.mul),
        ("|", operator.or_),
        ("&", operator.and_),
        ("^", operator.xor),
    )
]
_BINARY.append(
    Operation(
        "where",
        lambda a, b: (
            function("where", lambda c, x, y: x if c else y, a < 3, a, b) if _any_number(a, b) else _chosen(a, b)
        ),
        lambda a, b: _chosen(a, b),
    )
)


def _any_number(*values: Any) -> bool:
    return any(isinstance(each, Number) for each in values)


def _chosen(a: int, b: int) -> int:
    return a if a < 3 else b


programs = st.lists(
    st.one_of(
        st.tuples(st.just(1), st.integers(1, 12), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)),
        st.tuples(st.just(2), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)),
        st.tuples(st.just(3), st.integers(1, 12), st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)),
    ),
    min_size=1,
    max_size=10,
)


def _run(program: Any, start: list[Any], followed: bool) -> list[Any]:
    values = list(start)
    for arity, c, which, i, j in program:
        if arity == 3:
            factors, terms = (c, -3, 0, 6), [values[k % len(values)] for k in (which, i, 0, j)]
            sums = map(operator.mul, factors, terms)
            values.append(combined([factors], terms, {})[0] if followed else sum(sums))
            continue
        chosen = _unary(max(c, 1)) if arity == 1 else _BINARY
        operation = chosen[which % len(chosen)]
        f = operation.followed if followed else operation.plain
        args = [values[i % len(values)], values[j % len(values)]][:arity]
        values.append(f(*args))
    return values


_PRELUDE: list[Callable[[list[Any]], Any]] = [
    lambda v: v[0] + v[2],  # 4: masked
    lambda v: v[4] % 8,
    lambda v: (v[1] + v[3]) % 8,
    lambda v: v[5] + v[6],  # 7: a sum of residues, not reduced
    lambda v: v[7] % 8,
    lambda v: 3 * v[5],
    lambda v: (v[5] > 3) * 1,
    lambda v: abs(v[0]),  # 11: a code
    lambda v: v[2] % 5,
    lambda v: v[2] % 8 + v[3] % 8,
    lambda v: centred(v[4], 8),
    lambda v: v[4] // 4,
    lambda v: (v[2] + v[3]) % 12,  # 16
    lambda v: v[2] * v[3] * 6,
    lambda v: v[17] + v[4],
    lambda v: v[2] - v[2] % 6,
]
"""Numbers of every kind, made of two inputs and two draws."""


def _with_prelude(start: list[Any], program: Any, *, followed: bool) -> list[Any]:
    values = list(start)
    for make in _PRELUDE:
        values.append(make(values))
    return _run(program, values, followed)


def traced_call(program: Any, start: list[Any]) -> list[Any]:
    """As a trace calls a protocol: what lies above is not searched for its ``try``."""
    return _with_prelude(start, program, followed=True)


def _check(program: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trace = Trace()
    with following(trace):
        start = _variables(trace, rng)
        values = traced_call(program, start)
        codes = _codes(trace, values)
        made = [number for key, number in trace.known.items() if isinstance(key, tuple) and key[0] == "code"]
        of_coins = encodings(trace, {v for v, each in trace.variables.items() if each.kind == "code"}).coins
    drawing = functools.reduce(operator.or_, (2 << trace.variables[v].node for v in of_coins), DRAWS)
    for number in made:  # of one node's own data alone
        (variable,) = number.form
        assert number.depends == 2 << trace.variables[variable].node
    plain = [_with_prelude(_values(rng), program, followed=False) for _ in range(_TRIES)]
    first = _with_prelude([each.value for each in start], program, followed=False)
    names = {variable: k for k, variable in enumerate(trace.variables)}
    for place, number in list(enumerate(values))[4:]:
        tried = [first, *plain]
        if not isinstance(number, Number):
            assert {run[place] for run in tried} == {number}
            continue
        assert number.value == first[place]
        for run in tried:
            _holds(number, first, run, place, codes, names, drawing)
        _is_a_function_of_its_form(number, tried, place, codes, names)


@pytest.mark.parametrize("c", [5, *(pytest.param(c, marks=pytest.mark.build) for c in range(1, 13) if c != 5)])
def test_every_operation_on_every_kind_of_number(c: int) -> None:
    count = 4 + len(_PRELUDE)
    _check([(1, c, which, k, 0) for which in range(len(_unary(c))) for k in range(count)], c)


@pytest.mark.build
def test_every_operation_on_every_two_kinds_of_number() -> None:
    count = 4 + len(_PRELUDE)
    for which in range(len(_BINARY)):
        _check([(2, 0, which, i, j) for i in range(count) for j in range(count)], which)


def test_every_combination_of_three_kinds_of_number() -> None:
    count = 4 + len(_PRELUDE)
    for c in (1, 6):
        _check([(3, c, i, j, 7 * i + 3 * j) for i in range(count) for j in range(count)], c)


def _one_by_one(factors: Sequence[float], terms: list[Number]) -> Any:
    return functools.reduce(operator.add, map(operator.mul, factors, terms))


_FACTORS = st.sampled_from([1.0, -2.0, 0.75, 2.0**30, 0.1])


@given(
    st.lists(st.tuples(_FACTORS, st.integers(0, 6)), min_size=3, max_size=7, unique_by=lambda pair: pair[1]),
    st.integers(0, 60),
)
@example([(1.0, 0), (1.0, 1), (1.0, 3)], 53)  # two large words, rounded before a number of no step is added
def test_what_is_combined_at_once_says_no_more_than_sums_one_by_one(pairs: list[tuple[float, int]], bits: int) -> None:
    with following(Trace()) as trace:
        draws = [trace.variable("draw", -1, float(k), 1, range=2**bits) for k in range(4)]
        own = [trace.variable("input", k, 0.3 + k, 0) for k in range(2)]
        kinds = [Number(trace.variables[v].value, {v: 1}, INF, DRAWS, 1) for v in draws]
        kinds += [Number(trace.variables[v].value, {v: 1}, INF, 2 << k, 0) for k, v in enumerate(own)]
        kinds += [kinds.pop(3) % 8, np.rint(kinds[0] * kinds[1])]
        factors, terms = [factor for factor, _ in pairs], [kinds[k] for _, k in pairs]
        at_once, slowly = combined([factors], terms, {})[0], _one_by_one(factors, terms)
        assert isinstance(at_once, Number) == isinstance(slowly, Number)
        if not isinstance(at_once, Number):
            assert at_once == pytest.approx(slowly)
            return
        assert at_once.value == pytest.approx(slowly.value)
        assert at_once.modulus in (slowly.modulus, 0)
        assert not at_once.step or is_multiple(slowly.step, at_once.step)
        assert slowly.pure or not at_once.pure
        assert at_once.depends | slowly.depends == at_once.depends
        if at_once.modulus:
            assert at_once.terms.keys() == slowly.terms.keys()
            assert all(at_once.terms[v] == pytest.approx(c) for v, c in slowly.terms.items())


def test_a_number_is_the_same_function_of_the_same_numbers_once_asked() -> None:
    with following(Trace()) as trace:
        x, y = (number % 8 for number in _variables(trace, np.random.default_rng(0))[2:])
        twice = [(z := x + y) + z * 3 for _ in range(2)]
        assert arguments(abs(twice[0])) == arguments(abs(twice[1]))
        assert arguments(abs(twice[0])) != arguments(abs(twice[0] + x))


def test_a_nought_that_is_added_to_a_whole_number_leaves_it_as_it_is() -> None:
    """As ``sum([])`` does, at a node that has no pads to add; of floats the sign of a zero may change."""
    with following(Trace()) as trace:
        word = Number(5, {trace.variable("draw", -1, 5, 1, range=64): 1}, INF, DRAWS, 1)
        real = Number(0.5, {trace.variable("input", 0, 0.5, 0): 1}, INF, 2, 0)
        assert word + 0 is word
        assert 0 + word is word
        assert real + 0 is not real
        assert isinstance((word + False).value, int)


def test_an_array_of_objects_is_followed_as_the_numbers_in_it() -> None:
    with following(Trace()) as trace:
        numbers = np.array([*_variables(trace, np.random.default_rng(0))[2:], 1], object)
        assert followed(numbers).kind == np.int64


def test_masks_that_cancel_in_a_combination_leave_what_is_public() -> None:
    with following(Trace()) as trace:
        x, y = _variables(trace, np.random.default_rng(0))[2:]
        assert combined([[1, -1, 1]], [x + 5, x, x - x + y - y + 0 * x], {})[0] == 5
        assert combined([[2, 1, -1]], [x, 3 - x, x + 1], {})[0] == 2


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=5), st.integers(0, 2**32 - 1))
@example([1, 0, 2, 0], 0)
@example([0, 0, 0], 0)
def test_sums_of_several_entries_are_made_as_each_by_itself(factors: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    with following(Trace()) as trace:
        words = np.empty((len(factors), 3), object)
        for place in np.ndindex(*words.shape):
            value = int(rng.integers(2**20))
            word = Number(value, alone(trace.variable("draw", -1, value, 1, range=2**20)), INF, DRAWS, 1, span=2**20)
            words[place] = word if place[0] % 2 else word % 2**10
        words[1, :2] = words[1, :2][:: rng.choice([1, -1])]  # not all entries are counted alike
        at_once = np.array(np.matmul(np.array([factors]), followed(words)).reading)[0].tolist()
        for both, slowly in ((at_once[k], _one_by_one(factors, words[:, k].tolist())) for k in range(3)):
            assert isinstance(both, Number) == isinstance(slowly, Number)
            if isinstance(both, Number):
                assert (both.value, both.terms, both.depends) == (slowly.value, slowly.terms, slowly.depends)
                assert (both.modulus, both.step, both.pure) == (slowly.modulus, slowly.step, slowly.pure)
            else:
                assert both == slowly


@given(programs, st.integers(0, 2**32 - 1))
def test_what_is_said_of_a_whole_number_is_true_of_others(program: Any, seed: int) -> None:
    _check(program, seed)


def _variables(trace: Trace, rng: np.random.Generator) -> list[Number]:
    found = []
    for node, value in enumerate(_values(rng)):
        is_draw = node >= _NODES
        variable = trace.variable(
            "draw" if is_draw else "input", -1 if is_draw else node, value, 1, range=_RANGE if is_draw else 0
        )
        number = Number(value, {variable: 1}, INF, DRAWS if is_draw else 2 << node, 1)
        number.below = _RANGE if is_draw else 0
        found.append(number)
    return found


def _values(rng: np.random.Generator) -> list[int]:
    return [*rng.integers(-20, 20, _NODES).tolist(), *rng.integers(0, _RANGE, 2).tolist()]


def _codes(trace: Trace, values: list[Any]) -> dict[int, int]:
    """At which place of the program each code was made."""
    found: dict[int, int] = {}
    for place, number in enumerate(values):
        if isinstance(number, Number) and number.modulus == INF and number.form and len(number.form) == 1:
            (variable,) = number.form
            if (
                trace.variables[variable].kind == "code"
                and number.scale == 1
                and number.value == trace.variables[variable].value
            ):
                found.setdefault(variable, place)
    return found


def _form(number: Number, run: list[int], codes: dict[int, int], names: dict[int, int]) -> Any:
    """What the form is in a run; None where an inner code was never a value of the program."""
    total: Any = 0
    for variable, coefficient in number.terms.items():
        place = names[variable]
        if place >= _NODES + 2:
            if variable not in codes:
                return None
            place = codes[variable]
        total += coefficient * run[place]
    return total


def _holds(
    number: Number, first: list[int], run: list[int], place: int, codes: Any, names: dict[int, int], drawing: int
) -> None:
    """Check what is said of a number in one run; ``drawing`` are the bits of draws, and of who encodes by some."""
    value = run[place]
    if number.step not in (0, INF):
        assert value % number.step == 0
    if number.below:
        assert 0 <= value < number.below
    here = _form(number, run, codes, names) if number.modulus else None
    if here is not None:
        off = (value - here) - (first[place] - _form(number, first, codes, names))
        assert off == 0 if number.modulus == INF else off % number.modulus == 0
    if all(run[k] == first[k] for k in range(_NODES + 2) if number.depends & (2 << k if k < _NODES else drawing)):
        assert value == first[place]


def _is_a_function_of_its_form(
    number: Number, tried: list[list[int]], place: int, codes: Any, names: dict[int, int]
) -> None:
    if not number.pure or number.form is None:
        return
    found: dict[Any, int] = {}
    for run in tried:
        form = _form(number, run, codes, names)
        if form is not None:
            assert found.setdefault(form, run[place]) == run[place]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([2**8, 2**16, 251, 65521]))
def test_masked_fixed_point_words_come_out_as_residues(seed: int, nodes: int, modulus: int) -> None:
    """Rounding, a modulus, masks and centred decoding: floats that are whole numbers of steps of 1/16."""
    rng = np.random.default_rng(seed)
    trace = Trace()
    with following(trace):
        inputs = [
            Number(v, {trace.variable("input", k, v, 0): 1}, INF, 2 << k, 0)
            for k, v in enumerate(rng.normal(size=nodes).tolist())
        ]
        masks = [
            Number(v, {trace.variable("draw", -1, v, 1, range=modulus): 1}, INF, DRAWS, 1)
            for v in rng.integers(0, modulus, nodes).tolist()
        ]
        words = [cast((x * 16).rounded(np.rint, "rint"), np.dtype(np.int64)) for x in inputs]
        sent = [(w + m) % modulus for w, m in zip(words, masks, strict=True)]
        left: Any = sum(sent[1:], sent[0])
        for mask in masks:
            left = left - mask
        total = centred(left % modulus, modulus)
    assert all(each.modulus == modulus and each.pure for each in sent)
    exact = sum(round(x.value * 16) for x in inputs)
    assert total.value == (exact + modulus // 2) % modulus - modulus // 2
    kinds = {trace.variables[v].kind for v in total.form}
    assert kinds == {"code"}
    assert total.pure
    assert not math.isinf(total.modulus) or nodes == 1


@pytest.mark.parametrize("factor", [1, 3, 5, -7])
def test_signed_words_of_draws_wrap_around_whatever_they_are(factor: int) -> None:
    """A signed word that its draws may carry beyond its ends is a residue, also where this run stays inside."""
    rng = np.random.default_rng(factor % 11)
    for _ in range(50):
        trace = Trace()
        x, r = int(rng.integers(-9, 9)), int(rng.integers(-128, 128))
        with following(trace):
            data = Number(x, {trace.variable("input", 0, x, 1): 1}, INF, 2, 1)
            mask = Number(r, {trace.variable("draw", -1, r, 1, range=256): 1}, INF, DRAWS, 1)
            word = cast(data + factor * mask, np.dtype(np.int8))
        assert word.modulus == 256
        assert word.pure
        assert word.value == _word(np.int8)(x + factor * r)


def test_the_sign_of_a_sum_of_zeros_is_that_of_both() -> None:
    """Zeros of a secret sign: minus zero plus zero is zero, whichever comes first."""
    for values in ((1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)):
        trace = Trace()
        with following(trace):
            a, b = (
                Number(v, {trace.variable("input", k, v, 0): 1}, INF, 2 << k, 0) * 0.0 for k, v in enumerate(values)
            )
            total = a + b
        assert repr(total.value) == repr(values[0] * 0.0 + values[1] * 0.0)
        assert total.depends == a.depends | b.depends


_OF_FLOATS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda x, y, c: cast(x, np.dtype(float)), lambda x, y, c: float(x)),
    (lambda x, y, c: as_integer(x), lambda x, y, c: int(x)),
    (lambda x, y, c: round(x), lambda x, y, c: round(x)),
    *[
        (f, f)
        for f in (
            lambda x, y, c: x + y,
            lambda x, y, c: x - y,
            lambda x, y, c: x * 2.0**c,
            lambda x, y, c: x * 3,
            lambda x, y, c: x + 2.0**c,
            lambda x, y, c: x - 2.0**c,
            lambda x, y, c: x / 2**c if c > 0 else x / 4,
            lambda x, y, c: x % 2.0**c,
            lambda x, y, c: x % 2 ** abs(c),
        )
    ],
]
of_floats = st.lists(
    st.tuples(st.integers(0, len(_OF_FLOATS) - 1), st.integers(0, 30), st.integers(0, 30), st.integers(-60, 64)),
    min_size=1,
    max_size=8,
)


def _floats(program: Any, start: list[Any], which: int) -> list[Any]:
    found = list(start)
    for f, i, j, c in program:
        x, y = found[i % len(found)], found[j % len(found)]
        out = (_OF_FLOATS[f][which] if isinstance(x, Number) or which else _OF_FLOATS[f][1])(x, y, c)
        found.append(out if isinstance(out, Number) or math.isfinite(out) else x)
    return found


@given(of_floats, st.integers(0, 2**32 - 1), st.sampled_from([8, 40, 52, 53, 54, 60, 63]))
@example([(0, 0, 0, 0), (9, 1, 0, 0), (10, 4, 0, 0), (0, 0, 0, 0), (7, 12, 0, 52)], 0, 8)  # quarters beside 2**52
@example([(10, 1, 0, 2), (6, 1, 0, 0), (4, 3, 4, 0)], 0, 52)  # a rest modulo 4 less a number that a float rounds
def test_a_float_keeps_a_step_and_a_modulus_only_while_it_has_all_digits(program: Any, seed: int, bits: int) -> None:
    rng, trace = np.random.default_rng(seed), Trace()

    def drawn() -> list[int]:
        return [int(rng.integers(-99, 100)), *rng.integers(0, 2**bits, 2).tolist()]

    def traced_call(start: list[Any]) -> list[Any]:
        return _floats(program, start, 0)

    first = [99, *drawn()[1:]]
    with following(trace):
        start = [Number(first[0], {trace.variable("code", 0, first[0], 1): 1}, INF, 2, 1)]
        for value in first[1:]:
            draw = Number(value, {trace.variable("draw", -1, value, 1, range=2**bits): 1}, INF, DRAWS, 1)
            draw.below = 2**bits
            start.append(draw)
        names = {variable: k for k, variable in enumerate(trace.variables)}
        numbers = traced_call(start)
    assert _floats(program, first, 1) == [x.value if isinstance(x, Number) else x for x in numbers]
    for other in [drawn() for _ in range(30)]:
        for number, was, value in zip(numbers, _floats(program, first, 1), _floats(program, other, 1), strict=True):
            if isinstance(number, Number):
                _is_exact(number, was, value, [first, other], names)


def _is_exact(number: Number, was: Any, value: Any, runs: list[list[int]], names: dict[int, int]) -> None:
    if 0 < number.step < INF:
        assert Fraction(value) % Fraction(number.step) == 0
    known = all(variable in names for variable in number.terms)
    if known and (0 < number.modulus < INF or (number.modulus == INF and number.pure and number.step)):
        forms = [sum((Fraction(c) * run[names[v]] for v, c in number.terms.items()), Fraction(0)) for run in runs]
        off = (Fraction(value) - forms[1]) - (Fraction(was) - forms[0])
        assert off == 0 if number.modulus == INF else off % Fraction(number.modulus) == 0


def test_a_modulus_beyond_53_bits_is_exact_once_words_are_whole() -> None:
    """A word that a float carried keeps its modulus as it is when it is multiplied."""
    prime, factor = 2**31 - 1, 2**31 - 3
    trace = Trace()
    with following(trace):
        mask = Number(5.0, {trace.variable("draw", -1, 5.0, 1.0, range=prime): 1}, INF, DRAWS, 1.0)
        word = as_integer(mask % float(prime) + 3.0 * mask % float(prime))
        assert (factor * word).modulus == factor * prime
        assert (factor * word % prime).modulus == prime


def test_a_centred_residue_may_be_as_large_as_half_its_width() -> None:
    with following(Trace()) as trace:
        word = Number(200, {trace.variable("draw", -1, 200, 1, range=256): 1}, INF, DRAWS, 1)
        found = centred(word, 256)
        assert (found.value, found.span) == (-56, 128)
