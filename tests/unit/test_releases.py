"""Releases: clips and noise as plain functions, and what an audit's ledger credits them with."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from secmix.auditing.noise.replays.reach import reach_of
from secmix.errors import DataError, SecmixError
from secmix.privacy import clip, gaussian, laplace, releases_epsilon
from secmix.privacy.noted_releases import Clip, Ledger, clipped, noting

NUMBERS = st.floats(-1e6, 1e6)
VECTORS = arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 4)), elements=NUMBERS)
ANY: Callable[[Any], Any] = lambda value: value  # noqa: E731
ORDERS = st.sampled_from([1, 2])


def length(vectors: Any, order: int) -> Any:
    return np.linalg.norm(vectors, ord=order, axis=-1)


# --- clips ---


@given(VECTORS, st.floats(1e-3, 1e3), ORDERS)
def test_vectors_are_shortened_and_short_ones_stay(x: Any, norm: float, order: int) -> None:
    out = clip(x, norm, axis=-1, ord=order)
    assert (length(out, order) <= norm * (1 + 1e-12)).all()
    short = length(x, order) <= norm * (1 - 1e-12)
    assert np.array_equal(out[short], x[short])
    assert out * length(x, order)[:, None] == pytest.approx(x * length(out, order)[:, None])  # direction stays


@given(VECTORS, st.floats(1e-3, 1e3), ORDERS)
def test_without_an_axis_all_is_one_vector_and_axes_count_from_both_ends(x: Any, norm: float, order: int) -> None:
    assert clip(x, norm, ord=order).ravel() == pytest.approx(clip(x.ravel(), norm, axis=0, ord=order))
    assert clip(x, norm, axis=(0, 1), ord=order) == pytest.approx(clip(x, norm, ord=order))
    assert np.array_equal(clip(x, norm, axis=0, ord=order), clip(x, norm, axis=-2, ord=order))


@pytest.mark.parametrize("order", [1, 2])
def test_a_batch_without_rows_adds_nothing_and_moves_by_the_norm_where_one_comes(order: int) -> None:
    releases = []
    for count in (0, 1):
        with noting(Ledger()) as ledger:
            total = clip(np.full((count, 3), 9.0), 2.0, axis=-1, ord=order).sum(axis=0)
            gaussian(total, 1.0, np.random.default_rng(0))
        releases += ledger.releases
    assert np.array_equal(clip(np.empty((0, 3)), 2.0, axis=-1, ord=order), np.empty((0, 3)))
    assert np.array_equal(releases[0].value, np.zeros(3))
    assert length(releases[1].value, order) == pytest.approx(2.0)
    assert reach_of(*releases).ratio == reach_of(*releases[::-1]).ratio == 2.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rng: clip([], 1.0), "x has vectors without entries"),
        (lambda rng: clip(np.empty((2, 0)), 1.0, axis=-1), "x has vectors without entries"),
        (lambda rng: clip([1.0], 0.0), "norm must be above 0"),
        (lambda rng: clip([1.0], 1.0, ord=3), "ord must be 2, for Gaussian noise, or 1"),
        (lambda rng: clip([[1.0]], 1.0, axis=2), "axis must name different axes"),
        (lambda rng: clip([[1.0]], 1.0, axis=(0, -2)), "axis must name different axes"),
        (lambda rng: gaussian([1.0], -1.0, rng), "scale must be above 0"),
        (
            lambda rng: laplace([1.0], 1.0, ANY(np.random.RandomState(0))),
            r"rng must be a numpy.random.Generator.*RandomState",
        ),
    ],
)
def test_errors_name_what_is_wrong(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(SecmixError, match=words):
        call(np.random.default_rng(0))


@pytest.mark.parametrize("release", [clip, gaussian, laplace])
def test_what_is_no_finite_number_is_refused_by_place_and_not_by_value(release: Callable[..., Any]) -> None:
    rest = () if release is clip else (np.random.default_rng(0),)
    with pytest.raises(DataError, match=r"x holds 1 value\(s\) that are not finite, the first at index \(1,\)"):
        release([0.0, math.inf], 1.0, *rest)


# --- noise ---


@pytest.mark.parametrize(("release", "spread"), [(gaussian, 3.0), (laplace, 3.0 * math.sqrt(2))])
def test_noise_has_its_scale_and_no_bias(release: Callable[..., Any], spread: float) -> None:
    noise = release(np.full(20_000, 7.0), 3.0, np.random.default_rng(1)) - 7.0
    assert noise.std() == pytest.approx(spread, rel=0.03)
    assert abs(noise.mean()) < 4 * spread / math.sqrt(20_000)


@given(VECTORS, st.integers(0, 2**32 - 1))
def test_an_audit_changes_no_number(x: Any, seed: int) -> None:
    plain = gaussian(clip(x, 1.0, axis=-1).sum(axis=0), 2.0, np.random.default_rng(seed))
    with noting(Ledger()) as ledger:
        noted = gaussian(clip(x, 1.0, axis=-1).sum(axis=0), 2.0, np.random.default_rng(seed))
    assert type(noted) is type(plain) is np.ndarray
    assert np.array_equal(noted, plain)
    assert [(r.noise, r.scale, r.output.tolist()) for r in ledger.releases] == [("gaussian", 2.0, plain.tolist())]


# --- what is credited ---

SAME: dict[str, Callable[[Any], Any]] = {
    "alone": lambda c: c,
    "sum": lambda c: c.sum(axis=0),
    "np.sum": lambda c: np.sum(c, axis=0, keepdims=True),
    "mean": lambda c: np.mean(c, axis=0),
}
OTHER: dict[str, Callable[[Any], Any]] = {
    "copied": lambda c: c.copy(),
    "copied deeply": copy.deepcopy,
    "scaled": lambda c: 2 * c,
    "shifted": lambda c: c + 1,
    "one vector": lambda c: c[0],
    "some vectors": lambda c: c[1:].sum(axis=0),
    "reshaped": lambda c: c.reshape(-1),
    "transposed": lambda c: c.T,
    "a view": lambda c: c[:],
    "summed along the vectors": lambda c: c.sum(axis=1),
    "summed in all": lambda c: c.sum(),
    "summed twice": lambda c: c.sum(axis=0, keepdims=True).sum(axis=0),
    "summed from a start": lambda c: c.sum(axis=0, initial=5.0),
    "summed where": lambda c: c.sum(axis=0, where=[[True], [False], [True]]),
    "summed in single precision": lambda c: c.sum(axis=0, dtype=np.float32),
    "summed as a ufunc": lambda c: np.add.reduce(c, axis=0),
    "an array of it": lambda c: np.array(c),
    "a list of it": lambda c: list(c),
    "divided sum": lambda c: c.sum(axis=0) / len(c),
}


def credit(change: Callable[[Any], Any]) -> Clip | None:
    with noting(Ledger()) as ledger:
        gaussian(change(clip(np.arange(6.0).reshape(3, 2), 1.0, axis=-1)), 1.0, np.random.default_rng(0))
    return ledger.releases[0].clip


@pytest.mark.parametrize("name", SAME)
def test_the_very_array_is_credited_with_its_clip(name: str) -> None:
    found = credit(SAME[name])
    assert found is not None
    assert (found.norm, found.order, found.reduction) == (1.0, 2, name.removeprefix("np."))
    assert found.vectors.shape == (3, 2)


@pytest.mark.parametrize("name", OTHER)
def test_whatever_is_made_of_a_clip_is_credited_with_nothing(name: str) -> None:
    assert credit(OTHER[name]) is None


@pytest.mark.parametrize(
    "write", [lambda c: np.add(c, 1, out=c[:]), lambda c: c.fill(9.0), lambda c: np.add(c, 1, out=c)]
)
def test_what_was_clipped_is_not_written_to(write: Callable[[Any], Any]) -> None:
    with noting(Ledger()), pytest.raises(ValueError, match="read-only"):
        write(clip(np.ones((3, 2)), 1.0))


def test_a_clipped_array_works_like_one() -> None:
    with noting(Ledger()):
        c = clip(np.arange(6.0).reshape(3, 2), 1.0, axis=-1)
        assert np.array_equal(c.clip(0, 0.5), np.clip(np.asarray(c), 0, 0.5))
        assert type(c + 1) is np.ndarray
        assert c.mean() == pytest.approx(np.asarray(c).mean())


@given(VECTORS, VECTORS, st.floats(0.1, 10.0), ORDERS, ORDERS, st.sampled_from(["alone", "sum", "mean"]), st.data())
def test_no_exchange_of_vectors_moves_a_release_further_than_is_said(
    x: Any, y: Any, norm: float, order: int, measured: int, how: Any, data: st.DataObject
) -> None:
    y = np.resize(y, x.shape)
    places = data.draw(st.sets(st.integers(0, len(x) - 1)))
    a = np.asarray(clip(x, norm, axis=-1, ord=order))
    b = np.where(np.isin(np.arange(len(x)), list(places))[:, None], clip(y, norm, axis=-1, ord=order), a)
    moved = np.linalg.norm(np.ravel(a - b if how == "alone" else getattr(np, how)(a - b, axis=0)), ord=measured)
    assert moved <= Clip(norm, order, a, how).moves_by(measured, len(places)) * (1 + 1e-9)


def test_a_euclidean_clip_bounds_nothing_for_laplace_noise() -> None:
    assert Clip(1.0, 2, np.ones((1, 3))).moves_by(1, 1) == math.inf
    assert Clip(1.0, 1, np.ones((1, 3))).moves_by(2, 1) == 2.0


# --- playing back ---


def test_releases_return_what_they_returned_before_and_draw_as_before() -> None:
    def call(x: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        return gaussian(clip(x, 1.0), 1.0, rng), rng.normal()

    with noting(Ledger()) as first:
        told = call([3.0, 4.0], np.random.default_rng(0))
    with noting(Ledger(first.releases)) as second:
        again = call([-3.0, 4.0], np.random.default_rng(0))
    assert np.array_equal(told[0], again[0])
    assert told[1] == again[1]
    one, other = first.releases[0], second.releases[0]
    assert np.array_equal(one.draws, other.draws)
    assert not np.array_equal(one.value, other.value)
    assert "test_releases.py, line" in one.place


def test_a_release_of_another_shape_is_not_played_back() -> None:
    with noting(Ledger()) as first:
        gaussian([0.0, 0.0], 1.0, np.random.default_rng(0))
    with noting(Ledger(first.releases)):
        assert gaussian([0.0], 1.0, np.random.default_rng(5)).shape == (1,)


def test_a_seed_is_told_from_others_and_from_none() -> None:
    def seed(rng: np.random.Generator) -> Any:
        with noting(Ledger()) as ledger:
            laplace([0.0], 1.0, rng)
        return ledger.releases[0].seed

    root = np.random.default_rng([1, 2])
    child, other = root.spawn(2)
    assert seed(root) == ((1, 2), ())
    assert seed(child)[0] == seed(root)[0]
    assert seed(child) != seed(other)
    assert seed(np.random.default_rng(3)) == ((3,), ())
    assert seed(np.random.Generator(np.random.MT19937(np.random.SeedSequence(3)))) == ((3,), ())


def test_an_array_that_knows_its_clip_is_a_copy() -> None:
    values = np.ones((1, 2))
    noted = clipped(values, Clip(1.0, 2, values), (1,))
    values[:] = 7
    assert noted.tolist() == [[1.0, 1.0]]


# --- budgets ---

SHIFTS = st.lists(st.floats(0.0, 3.0), max_size=4)


@given(SHIFTS, SHIFTS)
def test_more_releases_cost_more_and_delta_spares(mus: list[float], shifts: list[float]) -> None:
    whole = releases_epsilon(gaussian=mus, laplace=[], delta=1e-5)
    assert whole >= releases_epsilon(gaussian=mus[1:], delta=1e-5) - 1e-9
    assert whole >= releases_epsilon(gaussian=mus, delta=1e-3) - 1e-9
    assert releases_epsilon(laplace=shifts, delta=0.0) == pytest.approx(sum(shifts))


def test_gaussian_noise_has_no_epsilon_without_delta() -> None:
    assert releases_epsilon(gaussian=[1.0], delta=0.0) == math.inf


def test_laplace_and_gaussian_together_cost_what_dp_accounting_says() -> None:
    dp_accounting = pytest.importorskip("dp_accounting")
    accountant = dp_accounting.pld.PLDAccountant()
    for event in (dp_accounting.GaussianDpEvent(2.0), *[dp_accounting.LaplaceDpEvent(4.0)] * 3):
        accountant.compose(event)
    found = releases_epsilon(gaussian=[0.5], laplace=[0.25] * 3, delta=1e-5)
    assert found == pytest.approx(accountant.get_epsilon(1e-5))
    assert found < releases_epsilon(gaussian=[0.5], delta=1e-5) + 0.75


def test_one_shift_by_laplace_noise_tells_more_than_two_that_add_up_to_it() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    both = pld.from_laplace_mechanism(1 / 0.7).compose(pld.from_laplace_mechanism(1 / 0.5))
    alone = pld.from_laplace_mechanism(1 / 1.2)
    for epsilon in np.linspace(0.0, 1.1, 12):
        assert both.get_delta_for_epsilon(epsilon) <= alone.get_delta_for_epsilon(epsilon) + 1e-9
    assert alone.get_delta_for_epsilon(0.3) > 1.1 * both.get_delta_for_epsilon(0.3)


def test_without_dp_accounting_both_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting.pld", None)
    whole = releases_epsilon(gaussian=[0.5], laplace=[0.25], delta=1e-5)
    assert whole == pytest.approx(releases_epsilon(gaussian=[0.5], delta=1e-5) + 0.25)


@pytest.mark.parametrize(
    ("mus", "truth"),
    [
        ([2 * 1.0] * 10, 46.21),  # z = 1, ten rounds, a row exchanged
        ([1.0] * 10, 17.86),  # the same, one added or removed
        ([10 / math.sqrt(2 * math.log(1.25e5))], 10.39),  # the classic formula, which states 10
        ([10 / math.sqrt(2 * math.log(1.25e5))] * 10, 48.4),  # the same in each of ten rounds
        ([0.1] * 20, 1.76),
        ([0.1] * 100, 4.38),  # where five nodes' rounds are counted, of which a row is in one node's
    ],
)
def test_what_wrong_claims_really_cost(mus: list[float], truth: float) -> None:
    assert releases_epsilon(gaussian=mus, delta=1e-5) == pytest.approx(truth, abs=0.05 * (truth > 48) + 0.005)
