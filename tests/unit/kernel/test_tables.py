"""Tables say of vectors what their numbers one by one say, whoever looks, and whatever is written to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from secmix.kernel import proving
from secmix.kernel.proving import _cells, _components
from secmix.kernel.randomness.draws import Draws
from secmix.kernel.tracing.checks import not_explained, other_frames
from secmix.kernel.tracing.trace import Fit, Way, _inputs, follow
from secmix.kernel.values import algebra
from secmix.kernel.values.algebra import Component, Knowledge, components, knowledge, knowledge_of_all
from secmix.kernel.values.arrays import Followed, array_of, concrete, is_secret, of_table, secrets_in, variables_of
from secmix.kernel.values.current_trace import ANYTHING, INF, LeftTrace, Trace, following
from secmix.kernel.values.functions import full
from secmix.kernel.values.functions import where as where_
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.tables import Table, are_apart, unknowns
from secmix.network import Network
from secmix.protocols import PDMM
from secmix.transcript import SERVER, Channel

RNG = np.random.default_rng(5)
SHAPE = (4, 1, 3)
FACTORS = np.array([2.0, -0.5, 3.0, 1.0])[:, None, None]


@pytest.fixture(autouse=True)
def trace() -> Iterator[Trace]:
    with following(Trace()) as made:
        yield made


def vectors(trace: Trace, shape: tuple[int, ...] = SHAPE) -> Followed:
    values = RNG.normal(size=shape)
    variables = [trace.variable("input", k // shape[-1], x, 0) for k, x in enumerate(values.ravel().tolist())]
    bits = np.array([2 << k for k in range(shape[0])], object)[:, None]
    table = unknowns(values, variables, bits, abs(values))
    assert table is not None
    return of_table(table)


def by_number(array: Followed) -> Followed:
    """Return the same numbers without a table."""
    return array_of(array.reading.copy(), float)  # type: ignore[no-any-return]


def said(array: Any) -> list[Any]:
    """Return all that is said of numbers."""
    return [
        (x.value, dict(x.terms), x.modulus, x.depends, x.step, x.pure, pytest.approx(x.span))
        if isinstance(x, Number)
        else x
        for x in (array.reading if isinstance(array, Followed) else np.asarray(array, object)).ravel().tolist()
    ]


def zeros() -> Followed:
    return full(SHAPE, 0.0)  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "a sum": lambda x, y: x + y,
    "a difference": lambda x, y: x - y,
    "a sum that leaves something public": lambda x, y: (x + y) - y[[1, 0, 2, 3]] - x,
    "a shift": lambda x, y: x + 1.5,
    "a shift by a row": lambda x, y: x - np.array([1.0, 2.0, 3.0]),
    "a shift by numbers of other runs": lambda x, y: x + np.ones((1, 2, 3)),
    "a public number less a secret": lambda x, y: 3 - x,
    "a public column": lambda x, y: x + FACTORS,
    "public numbers and secrets": lambda x, y: zeros() + x - y,
    "a multiple": lambda x, y: 2 * x,
    "multiples": lambda x, y: FACTORS * x,
    "multiples of several runs": lambda x, y: x * np.array([1.0, 2.0])[:, None],
    "multiples by entry": lambda x, y: x * np.array([1.0, 2.0, 3.0]),
    "times zero": lambda x, y: x * 0.0,
    "a quotient": lambda x, y: x / FACTORS,
    "a quotient by an infinite number": lambda x, y: x / np.inf,
    "by a number too large for a float": lambda x, y: x * 2**60,
    "the other sign": lambda x, y: -x,
    "a product": lambda x, y: x * y,
    "a quotient of both": lambda x, y: x / y,
    "a quotient of a public number": lambda x, y: 1.0 / x,
    "the larger": lambda x, y: np.maximum(x, y),
    "a total": lambda x, y: np.add.reduce(x + y, axis=0),
    "a total of parts": lambda x, y: np.add.reduce((x - y).reshape(2, 2, 1, 3), axis=1),
    "a total of entries": lambda x, y: np.add.reduce(x, axis=2),
    "a total with its axis": lambda x, y: np.add.reduce(x, axis=0, keepdims=True),
    "a total from a beginning": lambda x, y: np.add.reduce(x, axis=0, initial=1),
    "an outer sum": lambda x, y: np.add.outer(x[:1], y[:1]),
    "as another type": lambda x, y: np.add(x, y, dtype=float),
    "one of two": lambda x, y: where_(np.array([True, False, True, True])[:, None, None], x, y),
    "one of two, by entry": lambda x, y: where_(np.ones(SHAPE, dtype=bool), x, y),
    "a part": lambda x, y: x[1:3] + y[[0, 3]],
    "a single vector": lambda x, y: x[2] + y[2],
    "the first entry": lambda x, y: x[:, :, 0],
    "all entries": lambda x, y: x[1:, :, :],
    "another axis": lambda x, y: x[:, None],
    "the last": lambda x, y: x[..., 2],
    "other axes": lambda x, y: x.transpose(1, 0, 2) + y.transpose((1, 0, 2)),
    "axes turned": lambda x, y: x.transpose(2, 1, 0),
    "all axes turned": lambda x, y: x.transpose(),
    "another shape": lambda x, y: x.reshape((2, 2, 3)),
    "another shape of a part": lambda x, y: x.transpose(1, 0, 2).reshape(2, 2, 3),
    "another shape of turned axes": lambda x, y: x.reshape(2, 2, 3).transpose(1, 0, 2).reshape(4, 1, 3) - y,
    "nothing but what is public": lambda x, y: 2 * (x + y) - (2 * x + 2 * y),
    "flat": lambda x, y: x.reshape(-1),
    "another order": lambda x, y: x.reshape(2, 2, 3, order="F"),
    "a copy": lambda x, y: x.copy() + y,
    "flattened": lambda x, y: x.flatten(),
    "columns beside each other": lambda x, y: x[:, :, :1] + y,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_table_says_what_numbers_one_by_one_say(way: str, trace: Trace) -> None:
    x, y = vectors(trace), vectors(trace)
    plain = [by_number(x), by_number(y)]
    found, expected = WAYS[way](x, y), WAYS[way](*plain)
    assert found.shape == expected.shape
    assert said(found) == said(expected)
    assert np.array_equal(concrete(found), concrete(expected), equal_nan=True)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "a vector": lambda x, y: x.__setitem__(2, y[1]),
    "the last vector": lambda x, y: x.__setitem__(-1, y[1]),
    "some vectors": lambda x, y: x.__setitem__(np.array([3, 0]), y[:2]),
    "vectors in a list": lambda x, y: x.__setitem__([0, 1], y[2:]),
    "all": lambda x, y: x.__setitem__(..., y),
    "the same twice": lambda x, y: x.__setitem__(np.array([1, 1]), y[:2]),
    "a public number": lambda x, y: x.__setitem__(slice(1, 2), 7.0),
    "public numbers": lambda x, y: x.__setitem__(slice(0, 2), np.ones((2, 1, 3))),
    "a truth value": lambda x, y: x.__setitem__(slice(0, 2), True),
    "an entry": lambda x, y: x.__setitem__((0, 0, 1), y[0, 0, 0]),
    "a column": lambda x, y: x.__setitem__((slice(None), 0), y[:, 0]),
    "one secret for all": lambda x, y: x.__setitem__(slice(None), y[:, :, :1]),
    "in place": lambda x, y: x.__iadd__(y),
    "by a ufunc": lambda x, y: np.subtract(x, y, out=x),
    "one by one": lambda x, y: np.add.at(x, np.array([0, 0]), y[:2]),
    "twice": lambda x, y: (x.__setitem__(0, y[0]), x.__setitem__(1, x[0] + y[1])),
    "the numbers": lambda x, y: x.objects.__setitem__(0, 1.0),
}


@pytest.mark.parametrize("begin", [vectors, lambda trace: zeros()])
@pytest.mark.parametrize("write", WRITES)
def test_what_is_written_stands_where_it_was_written_and_in_every_view_of_it(
    write: str, begin: Callable[[Trace], Followed], trace: Trace
) -> None:
    x, y = begin(trace), vectors(trace)
    before, plain, other = x.copy(), by_number(x), by_number(y)
    looks: list[Callable[[Any], Any]] = [lambda a: a[1:], lambda a: a.transpose(1, 0, 2), lambda a: a.reshape(2, 2, 3)]
    looks += [lambda a: a[1:][1:]]
    kept, beside = [look(x) for look in looks], [look(plain) for look in looks]
    alone, unseen = x.copy(), by_number(x)
    for array, of in ((x, y), (alone, y), (plain, other), (unseen, other)):
        WRITES[write](array, of)
    assert said(x) == said(alone) == said(plain) == said(unseen)
    assert [said(each) for each in kept] == [said(each) for each in beside]
    assert said(before) != said(x)
    assert said(y) == said(other)


def test_who_writes_to_a_view_writes_to_all(trace: Trace) -> None:
    x, y = vectors(trace), vectors(trace)
    part, beside = x[1:], x[2:]
    part[1] = y[0]
    assert said(x[2]) == said(beside[0]) == said(part[1]) == said(y[0])
    assert said(x[1]) != said(y[0])


def test_what_another_table_took_from_one_is_not_written_to(trace: Trace) -> None:
    x, y = vectors(trace), vectors(trace)
    x[0] = y[0]  # from here on its arrays are its own
    multiple, shifted, part = 2.0 * x, x + 1.0, x[1:].copy()
    before = [said(each) for each in (multiple, shifted, part)]
    x[...] = y
    assert [said(each) for each in (multiple, shifted, part)] == before


def test_memory_that_a_table_speaks_for_tells_nobody_anything(trace: Trace) -> None:
    x = vectors(trace)
    bare = np.ndarray.view(x, np.ndarray)  # which nothing of the kernel does
    assert all(each.depends == ANYTHING and not each.pure for each in bare.ravel().tolist())
    assert is_secret(x)
    assert not is_secret(zeros())
    assert {each.depends for each in secrets_in(x)} == {2, 4, 8, 16}
    assert [x.depends for x in x.tolist()[0][0]] == [2, 2, 2]


def test_variables_that_are_many_or_do_not_follow_each_other_have_no_table(trace: Trace) -> None:
    one = RNG.normal(size=(1, 4100, 1))
    assert unknowns(one, range(4100), 2, one) is None
    assert unknowns(one[:, :2], [5, 7], np.array([2, 2], object), one[:, :2]) is None
    assert unknowns(one[0, :2, 0], [5, 6], 2, one[0, :2, 0]) is None


def test_columns_that_are_too_many_are_followed_by_number(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secmix.kernel.values.tables._MOST", 24)
    x, y, z = (vectors(trace) for _ in range(3))
    plain = [by_number(each) for each in (x, y, z)]
    assert said(x + y) == said(plain[0] + plain[1])
    x[:2] = z[2:]
    plain[0][:2] = plain[2][2:]
    x = vectors(trace)
    plain[0] = by_number(x)
    condition = np.array([True, False, True, True])[:, None, None]
    assert said(where_(condition, x, y)) == said(where_(condition, *plain[:2]))


def test_the_work_of_sums_is_bounded() -> None:
    with following(Trace(most_terms=100)) as trace:
        x, y = vectors(trace), vectors(trace)
        with pytest.raises(LeftTrace, match="more terms than are followed"):
            x + y


def test_numbers_of_no_table_have_spans_that_are_infinite_where_draws_are(trace: Trace) -> None:
    values = RNG.normal(size=SHAPE)
    variables = [trace.variable("draw", -1, value, 0, spread=1.0) for value in values.ravel().tolist()]
    table = unknowns(values, variables, np.full((4, 1), 1, object), np.array(INF))
    assert table is not None
    masks = of_table(table)
    assert said(masks + np.nan)[0][-1] == INF
    assert said(by_number(masks) + 1.0) == said(masks + 1.0)


def test_vectors_keep_their_table_as_long_as_their_entries_are_treated_alike(trace: Trace) -> None:
    x, y = vectors(trace), vectors(trace)
    part = np.add.reduce((2.0 * x[[3, 1, 0, 2]] - y).reshape(2, 2, 1, 3), axis=1) / 3.0
    x[:2] = part
    assert x.table is not None
    assert part.transpose(1, 0, 2).copy().table is not None
    assert (x * y).table is None
    same = x.astype(float)
    assert same is not x
    assert x.astype(float, copy=False) is x


def test_numbers_of_their_own_entry_stand_beside_no_others(trace: Trace) -> None:
    """A vector of one entry is added to each of another, and is the same number there."""
    x, y = vectors(trace), vectors(trace, (4, 1, 1))
    plain = [by_number(x), by_number(y)]
    assert said(x + y) == said(plain[0] + plain[1])
    assert said(y + np.ones(SHAPE)) == said(plain[1] + np.ones(SHAPE))
    x[...] = y
    plain[0][...] = plain[1]
    assert said(x) == said(plain[0])


def test_rows_of_many_terms_are_alike_where_their_coefficients_are(trace: Trace) -> None:
    x = vectors(trace, (30, 1, 3))
    factors = np.arange(1.0, 31.0)[:, None, None]
    totals = np.add.reduce(factors * x, axis=0)
    assert said(totals) == said(np.add.reduce(factors * by_number(x), axis=0))
    cells = [totals.reading[0, 0], totals.reading[0, 1], 2.0 * totals.reading[0, 2]]
    rows = [((0, 0), each) for each in cells]
    found = components(rows, trace.variables)
    assert [len(each.columns) for each in found] == [2, 1]
    for each, factor in zip(found, (1.0, 2.0), strict=True):
        table, used = each.table([0])
        assert table.tolist() == [[factor * (k + 1) for k in range(30)]]
        assert used == [*range(30)]


def test_draws_and_inputs_that_are_too_many_for_a_table_are_followed_by_number(trace: Trace) -> None:
    trace.secret_draws = 1
    for array, depends in (
        (Draws(np.random.PCG64(0), secret=None).normal(size=(1, 4100, 1)), 1),
        (_inputs(np.ones((1, 4100, 1))), 2),
    ):
        assert array.table is None
        assert array.reading[0, 0, 0].depends == depends
        assert len({*variables_of(array).tolist()}) == 4100


class Differences(PDMM):
    """Sends a difference of two inputs beside it."""

    in_order = True

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        channel = channel or Channel()
        rows = np.asarray(inputs, dtype=float)
        by_node = rows.transpose(1, 0, 2)
        other = by_node[:1] if self.in_order else by_node[:1, :, ::-1]
        channel.send(1, 0, SERVER, "a difference", by_node[1:2] - other)
        return super().average(inputs, network, rng, masks=masks, channel=channel)


class OfOtherEntries(Differences):
    in_order = False


@pytest.mark.parametrize(("protocol", "as_one"), [(PDMM(), True), (Differences(), True), (OfOtherEntries(), False)])
def test_entries_that_are_followed_as_one_hang_together_as_they_do_one_by_one(
    protocol: Any, as_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = np.random.default_rng(0).normal(size=(2, 5, 4))
    fit = follow(protocol, Network.cycle(5), [runs, runs[:1, :, :2]])
    assert not fit.error
    payloads = [message.rows for message in fit.messages]
    alone = components(_cells(payloads), fit.trace.variables, fit.encodings.formulas)
    monkeypatch.setattr(proving, "components" if as_one else "components_of_tables", None)
    together = _components(fit)
    assert _said_of(together) == _said_of(alone)
    assert sum(len(each.columns) for each in together) > len(together) > 4


def _said_of(several: list[Component]) -> list[Any]:
    tables = [each.table(range(len(each.rows))) for each in several]
    return [
        (each.rows, each.modulus, each.variables, each.columns, each.formula, each.largest, table.tolist(), used)
        for each, (table, used) in zip(several, tables, strict=True)
    ]


def test_what_equal_components_tell_is_worked_out_once_with_the_largest_data(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [np.random.default_rng(k).normal(scale=scale, size=(1, 5, 2)) for k, scale in enumerate((1.0, 9.0, 3.0))]
    fit = follow(PDMM(sigma=10.0), Network.cycle(5), calls)
    asked = [(each, range(len(each.rows)), ()) for each in _components(fit)]
    expected = [knowledge(each, rows, frozenset({0})) for each, rows, _ in asked]
    worked_out = []

    def counted(component: Component, *args: Any, **kw: Any) -> Knowledge:
        worked_out.append(component)
        return knowledge(component, *args, **kw)

    monkeypatch.setattr(algebra, "knowledge", counted)
    found = knowledge_of_all(asked, frozenset({0}))
    assert len(worked_out) < len(asked)
    assert [each.exact for each in found] == [each.exact for each in expected]
    assert [each.sums for each in found] == [each.sums for each in expected]
    largest = max((each for each in expected if each.behind_masks), key=lambda each: max(each.behind_masks.values()))
    assert {max(each.behind_masks.values()) for each in found if len(each.sums) == len(largest.sums)} == {
        max(largest.behind_masks.values())
    }


def test_calls_that_send_the_same_combinations_keep_them_once() -> None:
    calls = [np.random.default_rng(k).normal(size=(1, 5, 2)) for k in range(2)]
    fit = follow(PDMM(), Network.cycle(5), calls)
    tables = [message.rows.table for message in fit.messages if message.frame[2] == "y"]
    first, second = tables[: len(tables) // 2], tables[len(tables) // 2 :]
    assert all(a.coefficients is b.coefficients for a, b in zip(first, second, strict=True))
    assert all(each.coefficients.any(axis=(0, 1)).all() for each in tables)


def test_a_vector_is_written_in_place_where_nobody_else_sees_it(trace: Trace) -> None:
    x, y = vectors(trace), vectors(trace)
    x[0] = y[0]
    assert x.table is not None
    before = x.table.coefficients
    copied, seen = x[[1, 2]], said(x[[1, 2]])
    x[1] = y[1]
    assert x.table.coefficients is before
    copied[0] = y[3]
    assert said(x[[2]]) == seen[3:]
    assert said(copied[1:]) == seen[3:]
    view = x[1:3]
    x[2] = y[2]
    assert said(view) == said(x[1:3])


@pytest.mark.parametrize(
    ("first", "length", "apart"), [([0, 3], 3, True), ([0, 3], 4, False), ([2, 7], 3, False), ([3], 2, False)]
)
def test_vectors_of_variables_are_the_same_or_have_none_in_common(first: list[int], length: int, apart: bool) -> None:
    one, other = (
        Table(np.ones((1, m)), np.array(columns), np.ones((1, len(columns))), np.ones(1), np.zeros(1), np.ones((1, m)))
        for columns, m in (([0, 3], 3), (first, length))
    )
    assert are_apart([one, other]) == apart


class Told:
    """Each sends its input behind its mask; ``holds`` says whether that is noted as its own."""

    def __init__(self, factor: float = 2.0, *, holds: bool = True) -> None:
        self.factor, self.holds = factor, holds

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Any:
        return rng.normal(size=(runs, network.n, m))

    def average(self, inputs: Any, network: Network, rng: Any, *, masks: Any, channel: Any) -> Any:
        x, mask, nodes = inputs.transpose(1, 0, 2), masks.transpose(1, 0, 2), np.arange(network.n)
        channel.hold(-1, nodes, "input", x)
        if self.holds:
            channel.hold(-1, nodes, "mask", mask)
        channel.send(0, nodes, SERVER, "masked", self.factor * x + mask, content=nodes)
        return x.transpose(1, 0, 2).copy(), channel.transcript


def test_tables_are_compared_and_explained_as_numbers_are() -> None:
    inputs = [np.random.default_rng(k).normal(size=(1, 4, 2)) for k in range(2)]

    def traced(protocol: Told, k: int = 0) -> Fit:
        return follow(protocol, Network.cycle(4), [inputs[k]], ways=Way(masks_seed=k))

    assert all(message.rows.table is not None for message in traced(Told()).messages)
    assert not other_frames(traced(Told()), traced(Told(), 1))
    assert "'masked' in round 0 is made otherwise" in other_frames(traced(Told()), traced(Told(3.0), 1))
    assert not not_explained(traced(Told()))
    assert "note it with hold" in not_explained(traced(Told(holds=False)))


def test_variables_of_a_table_are_those_of_its_numbers(trace: Trace) -> None:
    x = vectors(trace, (2, 4, 3))
    for array in (x, x[1:], x + x[[1, 0]], x[:, 2:]):
        assert array.table is not None
        assert {*variables_of(array).tolist()} == {*variables_of(by_number(array)).tolist()}


@pytest.mark.parametrize(
    "factors", [np.arange(1.0, 4.0), np.array([1.0, np.inf])[:, None], np.zeros(1), np.ones(3, int)]
)
def test_factors_that_differ_by_entry_or_are_none_multiply_numbers(factors: np.ndarray, trace: Trace) -> None:
    x = vectors(trace, (2, 2, 3))
    with np.errstate(all="ignore"):
        assert not isinstance(product := x * factors, Followed) or product.table is None


def test_a_table_of_no_variables_joins_nothing() -> None:
    empty = Table(np.ones((2, 1)), np.empty(0, np.int64), np.ones((2, 0)), np.ones(2), np.zeros(2), np.ones((2, 1)))
    labels, used = algebra._joined_rows([empty], 0, 1)
    assert labels.tolist() == [0, 1]
    assert used == [[]]
