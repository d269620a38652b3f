"""The kernels on arrays of other libraries: the same numbers as NumPy's, and arrays of the library that was given.

``array_api_strict`` holds the code to the letter of the Array API standard; PyTorch is a library in earnest, and its
tests are skipped, saying so, where it is not installed.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from secmix import Mixture, Network
from secmix._base import arrays
from secmix.adversaries import HonestButCurious
from secmix.aggregators.subspace import orthonormal, subspace_distance, subspace_median
from secmix.aggregators.subspace.bases import RejectedBases
from secmix.errors import DataError
from secmix.estimators import ksg
from secmix.estimators.neighbours import counts as neighbours
from secmix.estimators.neighbours.counts import _blocked, neighbour_counts
from secmix.protocols import PDMM, Plain, SecureSum
from secmix.protocols.em.statistics import local_statistics, unpack, updated
from secmix.transcript import Channel


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what importing torch says is none of our business
        return pytest.importorskip(request.param, reason=f"{request.param} is not installed", exc_type=ImportError)


def same_kind(array: Any, library: Any) -> None:
    assert type(array).__module__.split(".")[0] == library.__name__.split(".")[0]
    assert array.dtype == library.float64


def close(array: Any, expected: np.ndarray, rtol: float = 1e-12, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(arrays.numpy_of(array), expected, rtol=rtol, atol=atol)


def problem(*batch: int, rows: int = 40, k: int = 3, d: int = 2) -> tuple[np.ndarray, Mixture]:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(*batch, k, d, 2 * d))
    weights = rng.dirichlet(np.ones(k), size=batch)
    covariances = factor @ factor.swapaxes(-1, -2) / (2 * d) + 0.1 * np.eye(d)
    return rng.normal(size=(*batch, rows, d)), Mixture(weights, rng.normal(size=(*batch, k, d)), covariances)


def moved(mixture: Mixture, library: Any) -> Mixture:
    return Mixture(*(library.asarray(array) for array in (mixture.weights, mixture.means, mixture.covariances)))


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_a_round_of_em(library: Any, batch: tuple[int, ...]) -> None:
    rows, mixture = problem(*batch)
    there = moved(mixture, library)
    vector = local_statistics(library.asarray(rows), there, likelihood=True)
    expected = local_statistics(rows, mixture, likelihood=True)
    same_kind(vector, library)
    close(vector, expected)
    for mine, his in zip(unpack(vector, 3, 2), unpack(expected, 3, 2), strict=True):
        close(mine, his)
    for center in ("new", "old"):
        new = updated(vector, there, center=center, reg_covar=1e-3)
        old = updated(expected, mixture, center=center, reg_covar=1e-3)
        for name in ("weights", "means", "covariances"):
            same_kind(getattr(new, name), library)
            close(getattr(new, name), getattr(old, name), 1e-10)


def test_many_rows_are_taken_a_few_at_a_time(library: Any) -> None:
    rows, mixture = problem(rows=70_000)
    vector = local_statistics(library.asarray(rows), moved(mixture, library), likelihood=True)
    close(vector, local_statistics(rows, mixture, likelihood=True), 1e-11)


def test_densities_and_parts_of_mixtures(library: Any) -> None:
    rows, mixture = problem(4)
    there = moved(mixture, library)
    given = library.asarray(rows)
    same_kind(there.log_density(given), library)
    close(there.log_density(given), mixture.log_density(rows))
    close(there.log_joint(given), mixture.log_joint(rows))
    for mine, his in zip(there.responsibilities(given), mixture.responsibilities(rows), strict=True):
        close(mine, his)
    close(there[1].means, mixture[1].means, 0, 0)
    close(there[1:3].covariances, mixture[1:3].covariances, 0, 0)
    wide = there.expand(2)
    assert tuple(wide.weights.shape) == (2, 4, 3)
    close(wide[0].weights, mixture.weights, 0, 0)


def test_a_component_without_rows_and_a_poisoned_sum(library: Any) -> None:
    """A weight of zero, a covariance that is none, sums that are not finite: as with NumPy."""
    rows, mixture = problem(k=2)
    mixture = Mixture([0.0, 1.0], mixture.means, mixture.covariances)
    there = moved(mixture, library)
    vector = local_statistics(library.asarray(rows), there, likelihood=False)
    expected = local_statistics(rows, mixture, likelihood=False)
    close(vector, expected)
    close(
        updated(vector, there, center="new", reg_covar=1e-3).means,
        updated(expected, mixture, center="new", reg_covar=1e-3).means,
    )
    poisoned = expected.copy()
    poisoned[[3, 9]] = -50.0  # of the first component a variance, of the second one
    fixed = updated(library.asarray(poisoned), there, center="old", reg_covar=1e-3).covariances
    close(fixed, updated(poisoned, mixture, center="old", reg_covar=1e-3).covariances, 1e-9)
    assert np.linalg.eigvalsh(arrays.numpy_of(fixed)).min() > 0
    with pytest.raises(DataError, match="not positive definite"):
        Mixture(there.weights, there.means, -there.covariances).log_density(library.asarray(rows))
    poisoned[:] = np.nan
    with pytest.raises(DataError, match="not finite"):
        updated(library.asarray(poisoned), there, center="old", reg_covar=1e-3)


@pytest.mark.parametrize(
    "protocol",
    [Plain(), SecureSum(sigma=10.0), SecureSum(arithmetic="modular"), PDMM(sigma=10.0)],
    ids=["plain", "secure sum", "modular", "pdmm"],
)
def test_sum_protocols_and_what_is_seen_of_them(library: Any, protocol: Any) -> None:
    network = Network.cycle(5)
    inputs = np.random.default_rng(1).normal(size=(7, 5, 3))
    given = library.asarray(inputs)
    averages, transcript = protocol.average(given, network, np.random.default_rng(2))
    expected, theirs = protocol.average(inputs, network, np.random.default_rng(2))
    same_kind(averages, library)
    close(averages, expected)
    close(given, inputs, 0, 0)  # what was given is as it was
    assert transcript.messages == theirs.messages
    mine, his = (HonestButCurious({1}).observe(t, network).values for t in (transcript, theirs))
    np.testing.assert_allclose(mine, his, rtol=1e-12, atol=1e-10)
    unseen, nothing = protocol.average(given, network, np.random.default_rng(2), channel=Channel(record=False))
    close(unseen, expected)
    assert nothing.messages == 0
    masks = protocol.draw_masks(7, 3, network, np.random.default_rng(3))
    close(
        protocol.average(given, network, np.random.default_rng(2), masks=masks)[0],
        inputs.mean(1, keepdims=True).repeat(5, 1),
        0,
        1e-7,
    )


@pytest.mark.parametrize("protocol", [Plain(), SecureSum(), PDMM()], ids=["plain", "secure sum", "pdmm"])
def test_inputs_are_checked_whatever_their_library(library: Any, protocol: Any) -> None:
    bad = np.ones((2, 5, 1))
    bad[1, 3, 0] = np.inf
    for inputs, said in (
        (bad, r"first at index \(1, 3, 0\)"),
        (np.ones((2, 4, 1)), "network has 5 nodes"),
        (np.ones((2, 5)), "3 axes"),
    ):
        with pytest.raises(DataError, match=said):
            protocol.average(library.asarray(inputs), Network.cycle(5), np.random.default_rng(0))


def test_colluders_lie_to_arrays_of_any_library(library: Any) -> None:
    class Liar(Channel):
        def send(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, **rest: Any) -> Any:
            arrived = super().send(round, sender, receiver, kind, payload, **rest)
            assert isinstance(arrived, np.ndarray)
            return arrived + 1.0 if kind == "average" else arrived

    inputs = np.random.default_rng(1).normal(size=(2, 5, 3))
    averages, _ = Plain().average(library.asarray(inputs), Network.cycle(5), np.random.default_rng(2), channel=Liar())
    close(averages, (inputs.mean(1, keepdims=True) + 1).repeat(5, 1))


def bases(count: int, n: int, r: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    truth = rng.normal(size=(n, r))
    found: np.ndarray = np.linalg.qr(truth + 0.2 * rng.normal(size=(count, n, r)))[0]
    found[0] = found[1]  # of one mind
    found[2] = found[1] + 1e-9 * rng.normal(size=(n, r))
    return found


@pytest.mark.parametrize("orthonormalised", [True, False])
def test_subspace_median(library: Any, orthonormalised: bool) -> None:
    given = bases(7, 20, 3)
    if not orthonormalised:
        given = given * np.array([1e-200, 1.0, 1e200])
    mine, his = subspace_median(library.asarray(given)), subspace_median(given)
    for name in ("basis", "weights", "distances"):
        same_kind(getattr(mine, name), library)
    assert mine.index == his.index
    close(mine.distances, his.distances, 1e-7, 1e-9)
    close(mine.weights, his.weights, 1e-6, 1e-6)
    close(np.abs(arrays.numpy_of(mine.basis)), np.abs(his.basis), 0, 1e-9)


def test_bases_that_cannot_be_used_are_rejected(library: Any) -> None:
    given = [library.asarray(basis) for basis in bases(7, 20, 3)]
    given[4] = library.asarray(np.full((20, 3), np.nan))
    given[5] = library.asarray(np.ones((20, 3)))
    given[6] = library.asarray(np.ones((20, 2)))
    with pytest.warns(RejectedBases, match="rank 1 instead of 3"):
        found = subspace_median(given)
    assert found.rejected == (4, 5, 6)
    same_kind(found.basis, library)


def test_distances_between_subspaces(library: Any) -> None:
    given = bases(5, 20, 3)
    u, v = library.asarray(2 * given[3]), library.asarray(given[4])
    for order in ("fro", 2):
        assert subspace_distance(u, v, order) == pytest.approx(subspace_distance(given[3], given[4], order), rel=1e-9)
    same_kind(orthonormal(u), library)


@pytest.mark.parametrize("dz", [0, 2])
@pytest.mark.parametrize("shrink", [0.0, 1e-15])
def test_neighbour_counts_are_the_same_to_the_last_bit(library: Any, dz: int, shrink: float) -> None:
    rng = np.random.default_rng(4)
    x, y, z = (rng.normal(size=(203, d)) for d in (2, 3, dz))
    x[50:60], y[50:60], z[50:60] = x[0], y[0], z[0]  # rows that repeat
    expected = neighbour_counts(x, y, z, 3, shrink)
    found = neighbour_counts(*(library.asarray(part) for part in (x, y, z)), 3, shrink)
    same_kind(found[0], library)
    in_blocks = _blocked(
        arrays.namespace(library.asarray(x)), *(library.asarray(p) for p in (x, y, z)), 3, shrink, 2000
    )
    for epsilon, counts in (found, in_blocks):
        assert np.array_equal(arrays.numpy_of(epsilon), expected[0])
        for mine, his in zip(counts, expected[1], strict=True):
            assert np.array_equal(arrays.numpy_of(mine), his)


@pytest.mark.parametrize("options", [{}, {"npeet_compatible": True}, {"checks": False}])
def test_samples_on_an_accelerator_are_searched_there(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strict library's ``device1`` stands for one: its arrays become NumPy's by DLPack alone."""
    library = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(150, 2))
    y = x + rng.normal(size=(150, 2))
    expected = ksg(x, y, **options)
    searched = []
    blocked = neighbours._blocked
    monkeypatch.setattr(neighbours, "_blocked", lambda xp, *rest: searched.append(rest[0]) or blocked(xp, *rest))
    here = (library.asarray(part) for part in (x, y))
    assert repr(ksg(*here, **options)) == repr(expected)
    assert not searched  # on the processor the compiled search is quicker
    there = [library.asarray(part, device=library.Device("device1")) for part in (x, y)]
    assert repr(ksg(*there, **options)) == repr(expected)
    assert searched
    assert {str(part.device) for part in searched} == {"array_api_strict.Device('device1')"}


def test_libraries_are_not_mixed(library: Any) -> None:
    if library is np:
        pytest.skip("one library alone is not mixed")
    rows, mixture = problem()
    with pytest.raises(DataError, match="several libraries"):
        local_statistics(rows, moved(mixture, library), likelihood=True)
    with pytest.raises(DataError, match="several libraries"):
        Mixture(mixture.weights, library.asarray(mixture.means), mixture.covariances)
    listed = Mixture(mixture.weights.tolist(), library.asarray(mixture.means), mixture.covariances.tolist())
    same_kind(listed.weights, library)


def test_integers_and_single_precision_become_double(library: Any) -> None:
    mixture = Mixture(library.asarray([1]), library.asarray([[0]]), library.asarray([[[1]]]))
    same_kind(mixture.means, library)
    rows = library.asarray([[0.0], [1.0]], dtype=library.float32)
    close(mixture.log_density(rows), -0.5 * np.log(2 * np.pi) - np.array([0.0, 0.5]), 1e-12)
