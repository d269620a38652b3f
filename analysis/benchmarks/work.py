"""The work that ``run.py`` gives to us and to others: the same data, the same result."""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_regression
from sklearn.mixture import GaussianMixture

from analysis.benchmarks.timing import OURS, Work
from secmix import Mixture, Network
from secmix._base.checks import Array
from secmix.aggregators import geometric_median, krum
from secmix.aggregators.mixture_rules import ise_matrix
from secmix.aggregators.subspace_rules import subspace_median
from secmix.estimators import ksg
from secmix.protocols import PDMM, DistributedEM, Plain, SecureSum

PEERS = {"npeet-plus": "npeet_plus", "infomeasure": "infomeasure", "byzfl": "byzfl", "geom-median": "geom_median"}
LIMIT = 120.0  # seconds that one call may take, as far as can be foreseen


def importable(found: dict[str, str]) -> dict[str, Any]:
    """The peers that can be imported here; ``found`` gets the version of each, or why it cannot."""
    modules = {}
    for name, module in PEERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what another library says at import is not ours
            try:
                modules[name] = importlib.import_module(module)
                found[name] = version(name)
            except (ImportError, RuntimeError) as error:
                found[name] = f"not measured: {type(error).__name__}: {str(error).splitlines()[0]}"
            except PackageNotFoundError:
                found[name] = "version unknown"
    if "byzfl" in modules:
        modules["byzfl"].torch_version = version("torch")
        found["torch"] = version("torch")
        importlib.import_module("torch").set_num_threads(1)
    return modules


def correlated(n: int, dx: int, dy: int, seed: int) -> tuple[Array, Array]:
    """Gaussian samples (n, dx) and (n, dy) with a random covariance."""
    rng = np.random.default_rng([seed, dx, dy])
    both = rng.standard_normal((n, dx + dy)) @ (np.eye(dx + dy) + 0.5 * rng.standard_normal((dx + dy,) * 2))
    return both[:, :dx], both[:, dx:]


def ksg_work(
    peers: dict[str, Any], sizes: list[int], dimensions: list[tuple[int, int]], seed: int
) -> Iterator[tuple[Work, Callable[[dict[str, Any]], None]]]:
    """KSG in every cell, and a function to be told what was measured: it foresees who would take too long."""
    known: dict[tuple[str, int, int], list[tuple[int, float]]] = {}
    for n in sizes:
        for dx, dy in dimensions:
            x, y = correlated(n, dx, dy, seed)
            notes: dict[str, str] = {}
            reference: dict[str, Callable[[], Any]] = {
                OURS: lambda x=x, y=y: ksg(x, y, npeet_compatible=True, base=math.e).value
            }
            if "npeet-plus" in peers:
                reference["npeet-plus"] = lambda x=x, y=y: float(peers["npeet-plus"].mi(x, y, base=math.e))
            if "infomeasure" in peers:
                reference["infomeasure"] = lambda x=x, y=y: float(
                    peers["infomeasure"].mutual_information(x, y, approach="ksg", k=3)
                )
            for who in list(reference)[1:]:
                foreseen = _foreseen(known.get((who, dx, dy), []), n)
                if foreseen > LIMIT:
                    del reference[who]
                    notes[who] = f"not run: foreseen from smaller samples to take {foreseen:.0f} s"

            def learn(entry: dict[str, Any], n: int = n, cell: tuple[int, int] = (dx, dy)) -> None:
                for who, by in entry["by"].items():
                    known.setdefault((who, *cell), []).append((n, by["least_ms"] / 1e3))

            work = Work("ksg", f"N = {n}, {dx} + {dy}", reference, _apart, 1e-5, notes=notes)
            yield work, learn
            if dx == dy == 1:
                calls = {
                    OURS: lambda x=x, y=y: ksg(x, y, interval=False, checks=False).value,
                    "scikit-learn": lambda x=x, y=y: float(
                        mutual_info_regression(x, y[:, 0], n_neighbors=3, random_state=0)[0]
                    ),
                }
                yield Work("ksg", f"N = {n}, 1 + 1, standardised", calls, _apart, 1e-5), lambda entry: None


def _foreseen(seconds: list[tuple[int, float]], n: int) -> float:
    """Seconds at n rows, going on as from the last size but one to the last."""
    if len(seconds) < 2:
        return 0.0
    (few, short), (many, long) = seconds[-2:]
    return long * (n / many) ** (math.log(long / short) / math.log(many / few))


def _apart(ours: Any, theirs: Any) -> float:
    return float(np.max(np.abs(np.asarray(ours) - np.asarray(theirs))))


def em_problem(rows: int, k: int, d: int, seed: int) -> tuple[Array, Mixture]:
    """Overlapping clusters, so that nobody stops early, and where all start."""
    rng = np.random.default_rng([seed, 1])
    centres = 0.6 * rng.normal(size=(k, d))
    x = centres[rng.integers(k, size=rows)] + rng.normal(size=(rows, d))
    return x, Mixture(np.full(k, 1 / k), centres, np.repeat(2 * np.eye(d)[None], k, axis=0))


def em_ours(x: Array, start: Mixture, steps: int, nodes: int = 10) -> Array:
    """The means after some steps of distributed EM over plain sums."""
    em = DistributedEM(start.n_components, sums=Plain(), init=start, record=False, max_iter=steps, tol=1e-300)
    return np.asarray(em.fit(np.array_split(x, nodes), network=Network.complete(nodes), rng=0).means_)


def em_theirs(x: Array, start: Mixture, steps: int) -> Array:
    """The means after as many steps of scikit-learn's EM."""
    precisions = np.linalg.inv(start.covariances)
    model = GaussianMixture(
        start.n_components, max_iter=steps, tol=0.0,
        weights_init=start.weights, means_init=start.means, precisions_init=precisions,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is meant to stop early
        return np.asarray(model.fit(x).means_)


def em_work(rows: int, k: int, d: int, seed: int, more: int = 10) -> Work:
    """A step of EM: the slope between two numbers of steps, which leaves out what is done once."""
    x, start = em_problem(rows, k, d, seed)

    def step(fit: Callable[[Array, Mixture, int], Array]) -> Callable[[], tuple[float, Any]]:
        def sample() -> tuple[float, Any]:
            took = []
            for steps in (2, 2 + more):
                before = time.process_time()
                means = fit(x, start, steps)
                took.append(time.process_time() - before)
            return max(took[1] - took[0], 1e-9) / more, means

        return sample

    seconds = {OURS: step(em_ours), "scikit-learn": step(em_theirs)}
    return Work("em", f"{rows} rows, K = {k}, d = {d}, 10 nodes", {}, _apart, 1e-9, seconds)


def attacked(n: int, p: int, seed: int) -> Array:
    """Messages of which two in five are colluders, together at twice the honest distance."""
    rng = np.random.default_rng([seed, 2])
    x = rng.normal(size=(n, p))
    x[: 2 * n // 5] = x[2 * n // 5 :].mean(axis=0) + 2 * rng.normal(size=p)
    return x


def optimality(x: Array, z: Array) -> float:
    """‖Σ (x_i − z)/‖x_i − z‖‖ / n, 0 at the geometric median."""
    away = x - z
    units = away / np.maximum(np.linalg.norm(away, axis=1), 1e-300)[:, None]
    return float(np.linalg.norm(units.sum(axis=0)) / len(x))


def aggregation_work(peers: dict[str, Any], n: int, p: int, seed: int) -> Iterator[Work]:
    """The geometric median, each to the accuracy it says, and Krum."""
    x, f = attacked(n, p, seed), n // 5
    calls: dict[str, Callable[[], Any]] = {OURS: lambda: geometric_median(x)}
    if "byzfl" in peers:
        calls["byzfl, T = 3 (default)"] = lambda: peers["byzfl"].GeometricMedian()(x)
        calls["byzfl, T = 60"] = lambda: peers["byzfl"].GeometricMedian(nu=1e-9, T=60)(x)
    if "geom-median" in peers:
        median = importlib.import_module("geom_median.numpy").compute_geometric_median
        calls["geom-median, 100 steps (default)"] = lambda: median(x).median
    notes = {who: f"first-order optimal to {optimality(x, call()):.0e}" for who, call in calls.items()}
    yield Work("aggregation", f"geometric median, {n} messages of {p}", calls, notes=notes)
    calls = {OURS: lambda: krum(x, f=f)}
    if "byzfl" in peers:
        calls["byzfl"] = lambda: peers["byzfl"].Krum(f)(x)
    yield Work("aggregation", f"Krum, {n} messages of {p}, f = {f}", calls)


def bases(count: int, n: int, r: int, seed: int) -> Array:
    """Honest bases (count, n, r) about one subspace, and two in five colluders at one place among them."""
    rng = np.random.default_rng([seed, 3])
    truth = np.linalg.qr(rng.standard_normal((n, r)))[0]
    found = np.linalg.qr(truth + 0.3 / np.sqrt(n * r) * rng.standard_normal((count, n, r)))[0]
    found[: 2 * count // 5] = np.linalg.qr(truth + 0.5 / np.sqrt(n * r) * rng.standard_normal((n, r)))[0]
    return found


def with_projections(given: Array, tolerance: float = 1e-10) -> Array:
    """Distances from the geometric median, the projections formed, by Weiszfeld's method to the tolerance."""
    flat = (given @ given.swapaxes(1, 2)).reshape(len(given), -1)
    z = flat.mean(axis=0)
    while True:
        distances = np.linalg.norm(flat - z, axis=1)
        weights = 1 / np.maximum(distances, 1e-12)
        new = weights @ flat / weights.sum()
        if np.linalg.norm(new - z) * weights.sum() <= tolerance * len(flat):
            return np.asarray(distances)
        z = new


def subspace_work(count: int, n: int, r: int, seed: int) -> Work:
    """The Subspace Median against the definition."""
    given = bases(count, n, r, seed)
    calls = {OURS: lambda: subspace_median(given).distances, "projections formed": lambda: with_projections(given)}
    return Work("subspaces", f"L = {count}, n = {n}, r = {r}", calls, _apart, 1e-7)


def mixtures(m: int, seed: int, k: int = 5, d: int = 10) -> Mixture:
    """m mixtures near one another."""
    rng = np.random.default_rng([seed, 4])
    factor = rng.normal(size=(k, d, 2 * d))
    covariances = factor @ factor.swapaxes(-1, -2) / (2 * d) + 0.2 * np.eye(d)
    wobble = np.eye(d) + 0.05 * rng.normal(size=(m, k, d, d))
    means = 2 * rng.normal(size=(k, d)) + 0.05 * rng.normal(size=(m, k, d))
    return Mixture(rng.dirichlet(np.full(k, 50.0), m), means, wobble @ covariances @ wobble.swapaxes(-1, -2))


def double_loop(given: Mixture) -> Array:
    """Squared distances, the formula written out with scipy's normal density."""
    m, k = given.weights.shape
    products = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            for a in range(k):
                for b in range(k):
                    products[i, j] += (
                        given.weights[i, a]
                        * given.weights[j, b]
                        * multivariate_normal.pdf(
                            given.means[i, a], given.means[j, b], given.covariances[i, a] + given.covariances[j, b]
                        )
                    )
            products[j, i] = products[i, j]
    norms = np.diag(products)
    return np.asarray(norms[:, None] + norms - 2 * products)


def mixture_work(m: int, seed: int) -> Work:
    """Distances between all pairs of mixtures against the double loop."""
    given = mixtures(m, seed)
    calls = {OURS: lambda: ise_matrix(given), "double loop over scipy": lambda: double_loop(given)}
    return Work("mixtures", f"{m} mixtures, K = 5, d = 10", calls, _apart, 1e-12)


def growths(seed: int, quick: bool) -> Iterator[tuple[str, str, list[int], Callable[[int], Callable[[], Any]]]]:
    """What grows, in which letter, the sizes, and the work of a size."""
    less = 4 if quick else 1

    def sizes(*all_of_them: int) -> list[int]:
        return [size // less for size in all_of_them]

    def estimate(dx: int, dy: int) -> Callable[[int], Callable[[], Any]]:
        def make(n: int) -> Callable[[], Any]:
            x, y = correlated(n, dx, dy, seed)
            return lambda: ksg(x, y, interval=False, checks=False)

        return make

    def average(protocol: Any, what: str) -> Callable[[int], Callable[[], Any]]:
        def make(size: int) -> Callable[[], Any]:
            rng = np.random.default_rng([seed, 5])
            n, m = (size, 10) if what == "n" else (16, size)
            network = Network.random_geometric(n, rng) if isinstance(protocol, PDMM) else Network.complete(n)
            network.hamiltonian_cycle() if isinstance(protocol, SecureSum) else network.colours
            inputs = rng.normal(size=(8, n, m))
            return lambda: protocol.average(inputs, network, np.random.default_rng(seed))

        return make

    def step(rows: int) -> Callable[[], Any]:
        x, start = em_problem(rows, 5, 10, seed)
        return lambda: em_ours(x, start, 3)

    yield "KSG, 1 + 1 dimensions (tree)", "N", sizes(4000, 8000, 16000, 32000, 64000), estimate(1, 1)
    yield "KSG, 3 + 3 dimensions (tree)", "N", sizes(4000, 8000, 16000, 32000), estimate(3, 3)
    yield "KSG, 6 + 18 dimensions (bitmaps)", "N", sizes(2000, 4000, 8000, 16000), estimate(6, 18)
    yield "distributed EM, three steps", "N", sizes(8000, 16000, 32000, 64000, 128000), step
    for name, protocol in (("Plain", Plain()), ("SecureSum", SecureSum()), ("PDMM", PDMM(sigma=1.0, tol=1e-6))):
        yield f"{name}, 8 runs", "n", sizes(32, 64, 128, 256), average(protocol, "n")
        numbers = (100, 200, 400, 800) if name == "PDMM" else (1000, 2000, 4000, 8000)
        yield f"{name}, 8 runs", "m", sizes(*numbers), average(protocol, "m")
    medians, counts = ([10, 20, 40], [5, 10, 20]) if quick else ([10, 20, 40, 80, 160], [10, 20, 40, 80])
    width = 20_000 // less
    wide = sizes(40_000, 80_000, 160_000, 320_000)

    def given(rule: Callable[[Any], Any], draw: Callable[[int], Any]) -> Callable[[int], Callable[[], Any]]:
        def make(size: int) -> Callable[[], Any]:
            x = draw(size)
            return lambda: rule(x)

        return make

    yield "geometric median", "n", medians, given(geometric_median, lambda n: attacked(n, width, seed))
    yield "geometric median", "m", wide, given(geometric_median, lambda m: attacked(20, m, seed))
    yield "Krum", "n", medians, given(lambda x: krum(x, f=len(x) // 5), lambda n: attacked(n, width, seed))
    yield "Krum", "m", wide, given(lambda x: krum(x, f=4), lambda m: attacked(20, m, seed))
    yield "Subspace Median", "L", counts, given(subspace_median, lambda L: bases(L, 400, 10, seed))
    yield "distances of mixtures", "L", counts, given(ise_matrix, lambda L: mixtures(L, seed))
