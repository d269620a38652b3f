"""A call that is followed by projections is taken for another exactly where its coefficients are the same."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.kernel.parts import in_turns

from secmix import Network
from secmix.adversaries import Adversary, CuriousServer, Eavesdropper, HonestButCurious
from secmix.kernel import Clearance, clear, prove, proving
from secmix.kernel.tracing import projections
from secmix.kernel.tracing.projections import BY_PRODUCTS, _is_alike, _largest, _sent, by_projections, stands_for_others
from secmix.kernel.tracing.trace import Fit, Way, follow
from secmix.kernel.values.arrays import Followed, concrete, of_table
from secmix.kernel.values.current_trace import Trace, following
from secmix.kernel.values.tables import PROJECTED, WIDTH, Projections, Table, unknowns
from secmix.protocols import PDMM
from secmix.transcript import SERVER, Channel

NETWORK = Network.cycle(3)
INPUTS = [np.random.default_rng([3, call]).normal(size=(1, 3, 3)) for call in range(3)]
ADVERSARIES: tuple[Adversary, ...] = (Eavesdropper(), CuriousServer(), HonestButCurious({1}))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """List of the calls that are followed by projections whether they were enough; all protocols are large here."""
    several: list[bool] = []
    judged = projections._sends

    def sends(*args: Any) -> bool:
        several.append(judged(*args))
        return several[-1]

    monkeypatch.setattr(proving, "_LARGE", 0)
    monkeypatch.setattr(projections, "_sends", sends)
    return several


class Told(PDMM):
    """Tells more beside what PDMM sends, in some calls."""

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        rows = np.asarray(inputs, dtype=float)
        masks = self.draw_masks(len(rows), rows.shape[2], network, rng) if masks is None else masks
        masks = self.used(masks)
        is_given, channel = channel is not None, channel or Channel()
        owners, count = network.arcs[: network.n, 0], np.arange(network.n)
        by_node, of_node = rows.transpose(1, 0, 2)[owners], masks.transpose(1, 0, 2)[: network.n]
        self.before(rows, channel)
        told = self.told(by_node, of_node, is_given)
        channel.hold(-1, count, "its input", rows.transpose(1, 0, 2))
        channel.hold(-1, owners, "its mask", of_node)
        channel.send(0, owners, SERVER, "told", told, content=count)
        return super().average(inputs, network, rng, masks=masks, channel=channel)

    def used(self, masks: Any) -> Any:
        return masks

    def before(self, rows: Any, channel: Any) -> None:
        """Do nothing with them."""

    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks


class OfBatches(Told):
    """Tells a millionth of a row where runs are averaged together."""

    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks + 1e-6 * rows if rows.shape[1] > 1 else 2 * masks


class Unheard(Told):
    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks if is_given else rows


class OfLongVectors(Told):
    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks if rows.shape[2] < 3 else rows


class ByRuns(Told):
    """Uses the masks of the first run for all."""

    def used(self, masks: Any) -> Any:
        return masks[[0] * len(masks)]


class AsBefore(Told):
    """Uses the masks of the call before, where these fit."""

    def used(self, masks: Any) -> Any:
        last = getattr(self, "last", masks)
        self.last = masks
        return last if last.shape == masks.shape else masks


class ByNumber(Told):
    """Tells rows turned around, which no table says."""

    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks if rows.shape[1] < 2 else 2 * masks[:, :, ::-1]


class Writes(Told):
    def before(self, rows: Any, channel: Any) -> None:
        if len(rows) > 1:
            rows[0, 0] = rows[0, 1]


class Elsewhere(Told):
    """Uses the masks that any such object drew last, and keeps them where nobody looks."""

    def used(self, masks: Any) -> Any:
        last = reprlib.aRepr.__dict__.get("masks", masks)
        reprlib.aRepr.__dict__["masks"] = masks
        return last if last.shape == masks.shape else masks


class More(Told):
    """Tells that runs are averaged together."""

    def before(self, rows: Any, channel: Any) -> None:
        if len(rows) > 1:
            channel.hold(0, [0], "more", rows.transpose(1, 0, 2)[:1])


class InParts(Told):
    """Draws the masks of each run by themselves."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        several = [Told.draw_masks(self, 1, m, network, rng) for _ in range(runs)]
        return several[0] if runs == 1 else np.concatenate(several)


class OfFirstEntries(Told):
    def told(self, rows: Any, masks: Any, is_given: bool) -> Any:
        return 2 * masks if rows.shape[1] < 2 else 2 * masks[:, :, :1]


SLIPS = [*(OfBatches, Unheard, OfLongVectors, ByRuns, AsBefore, ByNumber, Writes, Elsewhere, More, OfFirstEntries)]


@contextmanager
def as_they_are() -> Iterator[None]:
    before, proving._LARGE = proving._LARGE, 10**9
    yield
    proving._LARGE = before


def said_of(protocol: Any) -> list[Any]:
    """Say all that is proved, whoever looks."""
    proof = prove(protocol, NETWORK, INPUTS)
    several = [clear(proof, NETWORK, adversary) for adversary in ADVERSARIES]
    return [
        [_rounded(getattr(each, of.name)) for of in fields(each) if of.name != "_maker"]
        if isinstance(each, Clearance)
        else each
        for each in several
    ]


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(each for each in value if each != BY_PRODUCTS)
    return {node: round(share, 8) for node, share in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "protocol", [PDMM(), Told(), pytest.param(PDMM(schedule="synchronous"), marks=pytest.mark.build)]
)
def test_as_much_is_proved_by_projections(protocol: Any, taken: list[bool]) -> None:
    found = said_of(protocol)
    assert taken == [True] * len(taken)
    assert len(taken) >= 5
    with as_they_are():
        assert said_of(protocol) == found
    assert all(isinstance(each, list) for each in found)


@pytest.mark.build
def test_a_proof_says_that_calls_were_compared_by_products(taken: list[bool]) -> None:
    assert BY_PRODUCTS in prove(PDMM(), NETWORK, INPUTS).assumes
    with as_they_are():
        assert BY_PRODUCTS not in prove(PDMM(), NETWORK, INPUTS).assumes


@pytest.mark.parametrize("kind", in_turns(SLIPS, Elsewhere, More, OfFirstEntries))
def test_what_other_calls_tell_is_found_by_projections_too(kind: Callable[[], Any], taken: list[bool]) -> None:
    found = said_of(kind())
    assert not all(taken) or kind is Writes  # which ends in an error
    with as_they_are():
        assert said_of(kind()) == found
    assert found != said_of(Told())


def test_runs_that_are_drawn_in_another_way_are_followed_in_full(taken: list[bool]) -> None:
    found = said_of(InParts())
    assert not all(taken)
    assert found == said_of(Told())


def large() -> tuple[Callable[..., Fit], Fit]:
    run = partial(follow, Told(), NETWORK)
    first = run([INPUTS[0][:, :, :2]], ways=Way(masks_seed=0))
    assert stands_for_others(first)
    return run, first


def test_coefficients_are_filled_in_as_they_would_be_carried(taken: list[bool]) -> None:
    run, first = large()
    several = by_projections(run, first)(INPUTS[:2])
    in_full = run(INPUTS[:2])
    assert several.is_as_another
    for message, other in zip(several.messages, in_full.messages, strict=True):
        table, wanted = message.rows.table, other.rows.table
        assert table is not None
        assert wanted is not None
        of_table, of_wanted = (
            [trace.variables[v].value for v in each.columns.tolist()]
            for trace, each in ((several.trace, table), (in_full.trace, wanted))
        )
        assert of_table == of_wanted
        assert np.array_equal(table.coefficients, wanted.coefficients)
        assert np.array_equal(table.values, wanted.values)
    assert several.encodings.formulas.keys() >= {v for v, x in several.trace.variables.items() if x.kind == "input"}


def test_of_batches_coefficients_are_not_filled_in(taken: list[bool]) -> None:
    run, first = large()
    batch = by_projections(run, first)([np.repeat(INPUTS[0], 3, axis=0)])
    assert batch.is_as_another
    assert all(message.rows.table.is_projected for message in batch.messages if message.rows.table is not None)
    assert {*np.concatenate([message.variables for message in batch.messages]).tolist()} == {*PROJECTED.tolist()}


def test_an_error_is_met_again_in_full(taken: list[bool]) -> None:
    _, first = large()
    failing = by_projections(partial(follow, Told(max_sweeps=1), NETWORK), first)(INPUTS[:1])
    assert "secret" in failing.error or "NotConverged" in failing.error
    assert failing.trace.projects is None


@given(st.integers(0, 200), st.integers(0, 50), st.floats(1e-9, 1.0))
def test_no_other_coefficient_passes(row: int, column: int, by: float) -> None:
    fit, message, other = _compared()
    table = message.rows.table
    own = fit.trace.projects
    weights = own._weights
    assert _is_alike(message, other, 0, own.factors(0, 1))
    before, table.coefficients = table.coefficients, table.coefficients.copy()
    row, place = row % len(table.coefficients), other.places[column % len(other.places)]
    lead = [each.shape[:-1] for each in fit.trace.vectors]
    vectors = np.concatenate([own.of(0, each) for each in lead])
    own.of(7, (1, 1))  # the next is of another call
    table.coefficients[row] += by * abs(other.table.coefficients[row] * weights[other.places]).max() * vectors[place]
    assert not _is_alike(message, other, 0, own.factors(0, 1))
    table.coefficients = before


def _compared() -> tuple[Fit, Any, Any]:
    if not _KNOWN:
        first = follow(PDMM(), NETWORK, [INPUTS[0][:, :, :2]], ways=Way(masks_seed=0))
        columns = np.concatenate([each.columns for each in first.trace.vectors])
        weights = 1 / _largest(first, columns)
        fit = follow(PDMM(), NETWORK, [INPUTS[1]], weights=weights)
        several = Projections(weights)
        own = several.of(0, (1, len(columns))) / several.factors(0, 1)
        _KNOWN.append((fit, fit.messages[-2], _sent(first.messages[-2], columns, own, weights)))
    return _KNOWN[0]


_KNOWN: list[Any] = []


@pytest.mark.parametrize("kind", [1, 5, "call", "scale", "depends", "columns"])
def test_no_other_frame_passes(kind: Any) -> None:
    fit, message, other = _compared()
    call, table, factors = 0, message.rows.table, fit.trace.projects.factors(0, 1)
    before = message.frame, table.scale, table.depends, table.columns
    if kind == "call":
        call = 1
    elif isinstance(kind, int):
        changed = [*message.frame]
        changed[kind] = "another"
        object.__setattr__(message, "frame", tuple(changed))
    else:
        setattr(table, kind, getattr(table, kind) * 2)
    assert not _is_alike(message, other, call, factors)
    object.__setattr__(message, "frame", before[0])
    table.scale, table.depends, table.columns = before[1:]
    assert _is_alike(message, other, 0, factors)


def _vectors(trace: Trace, shape: tuple[int, ...]) -> Followed:
    values = np.random.default_rng(len(trace.variables)).normal(size=shape)
    variables = [trace.variable("draw", -1, x, 0) for x in values.ravel().tolist()]
    table = unknowns(values, variables, np.full(shape[:-1], 1, object), abs(values))
    assert table is not None
    return of_table(table)


def _sums(trace: Trace) -> list[Followed]:
    x, y = _vectors(trace, (4, 1, 3)), _vectors(trace, (4, 1, 3))
    z = 2.0 * x - y[[1, 0, 3, 2]]
    w = z / 3 + 1.0
    w[1] = x[0]
    return [x, y, z, w, w.sum(axis=0), np.where(np.array([True, False, True, True])[:, None, None], w, y)]


def test_tables_carry_the_products_of_their_coefficients() -> None:
    several = Projections(np.linspace(1, 2, 5))
    trace, beside = Trace(), Trace(projects=several)
    with following(trace):
        in_full = _sums(trace)
    with following(beside):
        projected = _sums(beside)
    several.of(7, (1, 1))  # the next is of another call
    vectors = np.concatenate([several.of(0, (4, 1)), several.of(0, (4, 1))])
    columns = np.concatenate([each.columns for each in trace.vectors])
    for full, own in zip(in_full, projected, strict=True):
        table: Table | None = full.table
        products: Table | None = own.table
        assert table is not None
        assert products is not None
        assert products.coefficients.shape[-1] == WIDTH
        assert np.array_equal(products.columns, PROJECTED)
        places = columns.searchsorted(table.columns)
        assert np.allclose(table.coefficients @ vectors[places], products.coefficients, atol=1e-12)
        assert np.array_equal(table.scale, products.scale)
        with following(beside):
            numbers = own.reading
        assert np.array_equal(np.array([x.value for x in numbers.ravel().tolist()]), concrete(full).ravel())


def test_numbers_of_a_table_of_products_are_new_draws() -> None:
    trace = Trace(projects=Projections(np.ones(0)))
    with following(trace):
        x = _vectors(trace, (2, 1, 3))
        y = x - x[[0, 0]]
        assert y.table is not None
        gone, left = (each.ravel().tolist() for each in y.table.numbers())
    assert gone == [0.0] * 3
    assert len({next(iter(each.form)) for each in left}) == 3
    assert [each.value for each in left] == y.table.values[1, 0].tolist()
    assert {trace.variables[next(iter(each.form))].value for each in left} == {0.0}
    assert {each.depends for each in left} == {1}


def test_traces_runs_and_calls_have_vectors_of_their_own() -> None:
    several = [Projections(np.ones(0)), Projections(np.ones(0))]
    of_call = [each.of(call, (2, 3)).reshape(2, 3, WIDTH) for call in (0, 1) for each in several]
    assert len({*np.round(np.concatenate(of_call).ravel(), 12).tolist()}) == 4 * 2 * 3 * WIDTH
    of_runs = of_call[0] / several[0].factors(0, 2)[:, None]
    assert np.allclose(of_runs[0], of_runs[1])
    assert np.allclose(of_call[3] / several[1].factors(1, 2)[:, None], of_runs)
