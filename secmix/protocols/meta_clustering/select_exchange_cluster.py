"""SEC as a protocol under audit: set by names, and judged by the predictions that learners end with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from secmix._base import plugins
from secmix._base.checks import Array, integer
from secmix.errors import DataError, NetworkError, SecmixError, nearest
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts, run_by_run
from secmix.protocols.meta_clustering.candidates import CandidateFailed, predicted
from secmix.protocols.meta_clustering.clustering import FewerClusters, MetaClustering
from secmix.protocols.meta_clustering.exchange import Exchange, answers
from secmix.transcript import Channel

CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "ols": ("sklearn.linear_model:LinearRegression", {}),
    "ridge": ("sklearn.linear_model:Ridge", {}),
    "lasso": ("sklearn.linear_model:LassoCV", {"cv": 2}),
    "elastic_net": ("sklearn.linear_model:ElasticNetCV", {"cv": 2}),
    "lars": ("sklearn.linear_model:LassoLarsCV", {"cv": 2}),
    "knn": ("sklearn.neighbors:KNeighborsRegressor", {"n_neighbors": 3}),
    "tree": ("sklearn.tree:DecisionTreeRegressor", {}),
    "forest": ("sklearn.ensemble:RandomForestRegressor", {"n_estimators": 50, "max_depth": 3}),
    "boosting": ("sklearn.ensemble:GradientBoostingRegressor", {}),
    "svr": ("sklearn.svm:SVR", {}),
    "neural_network": ("sklearn.neural_network:MLPRegressor", {"solver": "lbfgs", "hidden_layer_sizes": (10,)}),
}
"""Candidate regressors by name: where each is, and how it is set."""


@dataclass(frozen=True)
class SelectExchangeCluster:
    """Select-exchange-cluster (Ye, Ding et al. 2022): :class:`MetaClustering` with settings that a scenario can hold.

    The last column of a node's rows is y, the others are X. Every learner talks to every other, so that the network
    must be complete. At the end each predicts at public points with the functions of its cluster, its own among them,
    weighted by their rows (eq. 4): with those that arrived, since colluders may have sent others than they fitted.

    Parameters
    ----------
    candidates : sequence of str
        Names of ``CANDIDATES``, or ``package.module:name`` of a regressor class that needs no settings.
    n_clusters, criterion, penalty, max_clusters, scale, exchange, encrypted
        As for :class:`MetaClustering`.
    points : int
        At how many points predictions are compared. They are drawn from N(0, I), the same in all runs: meant for
        standardised features.

    Attributes
    ----------
    unit : str
        What :meth:`error` is measured in.
    broken : float
        1: predictions moved by as much as they vary from point to point tell nothing any more.

    Notes
    -----
    **What it reveals by design.** ``exchange="models"`` hands every learner's function to all others: that of a
    nearest-neighbour model is its rows, that of a linear model with fewer rows than columns holds an equation on each
    of them. ``"predictions"`` sends every learner's X to all others. Everybody receives all losses.

    Functions sent as coefficients, as the rows they keep, or asked for values make other messages. In an audit the runs
    must send the same ones: with ``exchange="models"`` give candidates of one sort (all linear, say).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4, 1, 30, 2))  # learners, one run, rows, columns
    >>> y = X[..., :1] * np.array([1.0, 1.0, -1.0, -1.0])[:, None, None, None]
    >>> sec = SelectExchangeCluster(candidates=["ols"], n_clusters=2, points=5)
    >>> parts = list(np.concatenate([X, y], axis=-1))
    >>> results = sec.collaborate(parts, Network.complete(4), rng, channel=Channel())
    >>> results.shape, bool(np.allclose(results[:, 0], results[:, 1])), bool(np.allclose(results[:, 0], -results[:, 2]))
    ((1, 4, 5), True, True)
    """

    candidates: Sequence[str] = ("ols", "lasso", "ridge")
    n_clusters: int | None = None
    criterion: Literal["penalty", "gap"] = "penalty"
    penalty: float = 0.5
    max_clusters: int = 8
    scale: float | None = None
    exchange: Exchange = "models"
    encrypted: bool = False
    points: int = 50

    unit = "of the spread of a learner's predictions from point to point"
    broken = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.candidates, str) or not self.candidates:
            raise SecmixError(f"candidates is a list of names such as {sorted(CANDIDATES)[:3]}")
        object.__setattr__(self, "candidates", tuple(self.candidates))
        integer(self.points, "points")
        self.clustering()  # says so where a setting is wrong

    def clustering(self) -> MetaClustering:
        """Build the estimator that these settings stand for, not fitted."""
        estimator = MetaClustering(
            [_candidate(name) for name in self.candidates],
            self.n_clusters,
            criterion=self.criterion,
            penalty=self.penalty,
            max_clusters=self.max_clusters,
            scale=self.scale,
            exchange=self.exchange,
            encrypted=self.encrypted,
        )
        estimator.check()
        return estimator

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the protocol; each node ends with its predictions at the public points, (runs, n, points)."""
        arrays = checked_parts(parts, network)
        if len(network.edges) < network.n * (network.n - 1) // 2:
            raise NetworkError("every learner compares itself with every other: use a complete network")
        seeds = iter(rng.integers(2**31, size=len(arrays[0])).tolist())
        return run_by_run(lambda rows, channel: self.run(rows, next(seeds), channel)[1], arrays, channel)

    def run(self, rows: Sequence[Array], seed: int, channel: Channel) -> tuple[MetaClustering, Array]:
        """Run once on ``rows``, n arrays (N_i, d); return what was fitted, and the predictions (n, points)."""
        from sklearn.exceptions import ConvergenceWarning  # slow to import, so loaded on use

        columns = rows[0].shape[1] - 1
        if columns < 1:
            raise DataError("the last column of the rows is y; give at least one more for X")
        points = np.random.default_rng(0).standard_normal((self.points, columns))
        with warnings.catch_warnings():
            # Over many runs these would be many; a learner that nothing fits still is an error.
            for kind in (ConvergenceWarning, FewerClusters, CandidateFailed):
                warnings.simplefilter("ignore", kind)
            data = [(part[:, :-1], part[:, -1]) for part in rows]
            fitted = self.clustering().fit(data, rng=seed, channel=channel)
        return fitted, self._predictions(fitted, points, channel)

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the root mean square change of a learner's predictions, over their spread between points: (runs,).

        The change is averaged over the learners. The spread is the root mean square deviation of a learner's reference
        predictions from their own mean.
        """
        moved = np.sqrt(((results - reference) ** 2).mean(axis=2)).mean(axis=1)
        spread = np.sqrt(reference.var(axis=2).mean(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(moved > 0, moved / spread, 0.0))

    def _predictions(self, fitted: MetaClustering, points: Array, channel: Channel) -> Array:
        answered = answers(fitted.models_, fitted.exchanged_, points, channel, encrypted=self.encrypted)
        m = len(answered)
        usable = np.isfinite(answered).all(axis=1)
        out = np.empty_like(answered)
        for j in range(m):
            own = predicted(fitted.models_[j], points)
            others = usable & np.asarray(fitted.labels_ == fitted.labels_[j])
            others[j] = False
            shares = np.append(fitted.sizes_[others], fitted.sizes_[j]).astype(np.float64)
            out[j] = np.average(np.vstack([answered[others], own]), axis=0, weights=shares)
        return out


def _candidate(name: str) -> Any:
    if ":" in name:
        made: Callable[[], Any] = plugins.load("candidates", name)
        return made()
    if name not in CANDIDATES:
        raise SecmixError(f"no candidate is called {name!r}; {nearest(name, CANDIDATES)}")
    where, settings = CANDIDATES[name]
    return plugins.imported(where)(**settings)
