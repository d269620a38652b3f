"""Figures 2 and 3 of Li et al. (ICASSP 2022), from secmix's own protocols, adversaries and estimators.

Run ``python -m analysis.li_2022.run``; see analysis/README.md. Nodes are counted from 0 here: the paper's node 1
is node 0. Figure 2 is measured here, figure 3 in ``privacy.py`` beside this file.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from analysis.li_2022.figures import figure_2, figure_3
from analysis.li_2022.privacy import SIGMA, individual_privacy
from analysis.li_2022.report import report
from analysis.study import Numbers, find_data, options, provenance, run_parts, write
from secmix._base.checks import Array
from secmix.errors import DataError, NetworkError, SecmixError
from secmix.mixture import Center, Mixture
from secmix.network import Network
from secmix.protocols import PDMM, DistributedEM, EMRun, Plain, SecureSum, SumProtocol

TEXT = "PDMM, asynchronous, any y⁽⁰⁾"
REG_COVAR = 1e-6  # scikit-learn's default too


def principal_components(path: Path | None) -> Array:
    """The Parkinsons rows, standardised, on their first two principal components: (195, 2)."""
    from secmix.data import parkinsons

    rows = parkinsons(path).rows
    if rows.shape != (195, 22):
        raise DataError(f"the Parkinsons data have 195 rows of 22 measurements; this file has {rows.shape}")
    return np.asarray(PCA(2, svd_solver="full").fit_transform(StandardScaler().fit_transform(rows)))


@dataclass(frozen=True)
class ArbitraryStart(PDMM):
    """PDMM from y⁽⁰⁾ ~ N(0, ``start``²), as algorithm 1 allows; 0 in :class:`PDMM`.

    By (8) and (9) y_j⁽⁰⁾ is met only in c y_j⁽⁰⁾ − B_{i|j} λ_{j|i}⁽⁰⁾, and B_{i|j} = −B_{j|i} = ±1: another y⁽⁰⁾ is
    another λ⁽⁰⁾, by B_{j|i} c y_j⁽⁰⁾. So it runs as PDMM itself, with masks moved by that.
    """

    start: float = 100.0

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """λ⁽⁰⁾ of each arc, moved by what y⁽⁰⁾ of its tail adds."""
        y = rng.normal(scale=self.start, size=(runs, network.n, m))
        return super().draw_masks(runs, m, network, rng) + moved(y, network, self.c)


def moved(y: Array, network: Network, c: float) -> Array:
    """What y⁽⁰⁾ (runs, n, m) adds to λ⁽⁰⁾ of each arc (runs, 2E, m): B_{j|i} c y_j for the arc from j to i."""
    tail, head = network.arcs.T
    sign = np.where(tail > head, 1.0, -1.0)
    return np.asarray(sign[:, None] * c * y[:, tail])


def graph_with_cycle(n: int, rng: np.random.Generator, tries: int = 100) -> tuple[Network, int]:
    """A connected geometric graph that has a Hamiltonian cycle, and how many draws it took."""
    for draw in range(1, tries + 1):
        try:
            network = Network.random_geometric(n, rng, tries=1)
            network.hamiltonian_cycle()
        except NetworkError:
            continue
        return network, draw
    raise NetworkError(f"none of {tries} geometric graphs of {n} nodes has a Hamiltonian cycle")


def pooled(rows: Array, start: Mixture, iterations: int) -> tuple[Array, GaussianMixture]:
    """scikit-learn's EM on the pooled rows: the log-likelihood before each update, and the last fit."""
    bounds = np.empty(iterations)
    for t in range(iterations):
        fit = GaussianMixture(
            start.n_components,
            tol=0.0,
            reg_covar=REG_COVAR,
            max_iter=t + 1,
            weights_init=start.weights,
            means_init=start.means,
            precisions_init=np.linalg.inv(start.covariances),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped on purpose
            fit.fit(rows)
        bounds[t] = fit.lower_bound_
    return bounds, fit


def output_correctness(rows: Array, *, n: int, iterations: int, seed: int) -> Numbers:
    """Log-likelihood against iteration for each protocol, and how far each is from pooled EM."""
    graph_rng, deal_rng = np.random.default_rng([seed, 2]).spawn(2)
    network, draws = graph_with_cycle(n, graph_rng)
    parts = [part[None] for part in np.array_split(rows[deal_rng.permutation(len(rows))], n)]
    protocols: dict[str, SumProtocol] = {
        "plain": Plain(),
        "secure summation": SecureSum(sigma=SIGMA),
        "PDMM": PDMM(sigma=SIGMA),
        # Algorithm 1 to the letter: one node at a time, drawn uniformly, from any y⁽⁰⁾.
        TEXT: ArbitraryStart(sigma=SIGMA, schedule="asynchronous"),
    }
    out: Numbers = {
        "nodes": n,
        "edges": len(network.edges),
        "graph_draws": draws,
        "rows": len(rows),
        "components": 2,
        "sigma": SIGMA,
        "pdmm_schedule": "coloured",
        "protocols": {},
    }

    def fitted(sums: SumProtocol, center: Center) -> tuple[Array, EMRun]:
        em = DistributedEM(
            2,
            sums=sums,
            covariance_center=center,
            reg_covar=REG_COVAR,
            max_iter=iterations,
            tol=0.0,
            init="kmeans",
            record=False,
        )
        run = em.run(parts, network=network, rng=np.random.default_rng([seed, 3]))
        bounds = run.lower_bounds[:, 0]
        return np.pad(bounds, (0, iterations - len(bounds)), mode="edge"), run

    plain_old, start = fitted(Plain(), "old")
    expected, fit = pooled(rows, start.mixtures[0][0, 0], iterations)
    out["pooled"] = expected.tolist()
    for name, sums in protocols.items():
        bounds, run = fitted(sums, "new")
        last = run.mixtures[-1]
        pairs = ((last.weights, fit.weights_), (last.means, fit.means_), (last.covariances, fit.covariances_))
        out["protocols"][name] = {
            "log_likelihood": bounds.tolist(),
            "deviation": _pointwise(bounds, expected).tolist(),
            "largest_deviation": float(_pointwise(bounds, expected).max()),
            # Every node's copy of the parameters counts.
            "largest_parameter_deviation": max(_relative(mine[0], theirs[None]) for mine, theirs in pairs),
            # The paper's eq. (3) is no exact EM, so there the protocols are compared with each other only.
            "old_centre_deviation_from_plain": float(_pointwise(fitted(sums, "old")[0], plain_old).max()),
        }
    out["pdmm_by_sigma"] = [
        {
            "sigma": sigma,
            "largest_deviation": float(_pointwise(fitted(PDMM(sigma=sigma), "new")[0], expected).max()),
        }
        for sigma in (1e3, SIGMA, 1e9)
    ]
    return out


def _pointwise(found: Array, expected: Array) -> Array:
    return np.asarray(np.abs(found - expected) / np.abs(expected))


def _relative(found: Array, expected: Array) -> float:
    """Against the largest entry: a mean or a correlation may be near zero."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0, or 2 with one line on standard error where the input is wrong."""
    parser = options("Regenerate figures 2 and 3 of Li et al. 2022.", "li-2022")
    parser.add_argument("--data", type=Path, help="the Parkinsons file; found or downloaded when not given")
    parser.add_argument("--runs", type=int, help="Monte Carlo runs of figure 3 (default 10000; at least 200)")
    parser.add_argument("--only", type=int, choices=(2, 3), help="one figure only")
    given = parser.parse_args(arguments)
    runs = given.runs if given.runs is not None else (1200 if given.quick else 10_000)
    try:
        if runs < 200 or given.seed < 0:
            raise SecmixError(f"--runs must be at least 200 and --seed at least 0; given {runs} and {given.seed}")
        numbers = provenance(f"li_2022.run --runs {runs}", given.seed, given.quick) | {"seed": given.seed}
        size = {"n": 40, "iterations": 5} if given.quick else {"n": 80, "iterations": 30}

        def correct() -> Numbers:
            rows = principal_components(given.data or find_data("parkinsons.csv"))
            return output_correctness(rows, **size, seed=given.seed)

        def private() -> Numbers:
            return individual_privacy(runs=runs, iterations=3 if given.quick else 10, seed=given.seed)

        figures = {2: ("figure_2", correct), 3: ("figure_3", private)}
        chosen = dict(figure for number, figure in figures.items() if given.only in (None, number))
        numbers = run_parts(given.out, numbers, chosen)
    except SecmixError as error:
        print(f"li_2022: {error}", file=sys.stderr)
        return 2
    write(given.out, numbers, report(numbers))
    if "figure_2" in numbers:
        figure_2(numbers["figure_2"], given.out / "figure-2.svg")
    if "figure_3" in numbers:
        figure_3(numbers["figure_3"], given.out / "figure-3.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
