"""SEC, select-exchange-cluster: which learners share a regression function (Ye, Ding et al. 2022, Meta clustering)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from secmix._base.checks import Array, finite_array, integer, positive
from secmix.errors import DataError, SecmixError
from secmix.protocols.meta_clustering import spectral
from secmix.protocols.meta_clustering.candidates import CandidateFailed, Choice, choose, learners, predicted
from secmix.protocols.meta_clustering.exchange import Exchange, exchanged
from secmix.transcript import Channel


class FewerClusters(UserWarning):
    """More clusters were asked for than there are learners who differ, or a learner has nothing to learn."""


class MetaClustering(BaseEstimator):  # type: ignore[misc]
    """Cluster learners by the functions they fit, without pooling their rows.

    Parameters
    ----------
    candidates : list of regressors
        Anything with ``fit(X, y)`` and ``predict(X)``. Each learner takes the best by half-half cross-validation.
    n_clusters : int, optional
        K. By default it is chosen, see ``criterion``.
    criterion : {"penalty", "gap"}
        How K is chosen, up to ``max_clusters``. ``"penalty"``: the least mean squared distance within clusters plus
        ``penalty`` K (the paper's eq. 3), in the diffusion coordinates of the learners, in which C far clusters spread
        by C − 1 in squares: at 0.5 a cluster must explain half a unit. It is the default because one liar who is unlike
        all others makes no honest clusters merge, of eight learners and more. ``"gap"``: the gap statistic of
        Tibshirani, Walther and Hastie 2001 on the rows that algorithm 1 clusters, as in the paper's experiments. It
        needs no weight and hardly depends on ``scale``, but is made for two clusters that stand apart: learners who all
        share one function it splits more often than not, and of three clusters, a liar for one, it may merge two.
    penalty : float
    max_clusters : int
    scale : float, optional
        s_ij = exp(−d_ij / scale). By default the median over learners of the dissimilarity to the fourth nearest; of
        M < 9 learners, to the (M − 1) // 2-th, so that two groups of few learners are told apart.
    exchange : {"models", "predictions"}
        ``"models"``: learner i sends its fitted function, and j finds the loss L_{i→j}. A linear one is (coef,
        intercept). Any other cannot be written as numbers, and the transcript holds its values at j's rows, kind
        "model values", and the rows that a nearest-neighbour or Gaussian-process model is made of, kind "rows of the
        model": *less than j then has*, so that what an audit finds in them is only a lower bound.
        ``"predictions"``: i keeps its model; j sends its rows X to i, kind "query rows", and gets the predictions.
    encrypted : bool
        Whether lines between learners are encrypted.
    n_jobs : int, optional
        For joblib, over learners, in threads unless ``joblib.parallel_config`` says otherwise. Results do not depend
        on it, as long as a candidate draws from its own ``random_state`` only.
    record : bool
        Whether to keep the transcript.

    Attributes
    ----------
    labels_ : (M,) int
        Clusters are numbered by size, largest first: the order of the learners changes nothing.
    n_clusters_ : int
    dissimilarity_, similarity_ : (M, M)
        d_ij = |L_{i→j} − ê_j| + |L_{j→i} − ê_i| (the formula of the paper is lost in its text).
    losses_ : (M, M)
        L_{i→j} in row i, column j, on what arrived; the diagonal is ê.
    selected_ : (M,) int
        Which candidate each learner chose.
    models_ : list of fitted regressors
    scores_ : (M, C)
        MSE in cross-validation; NaN where a candidate failed, or was the only one.
    exchanged_ : ExchangeResult
        What of the functions and losses arrived.
    scale_, eigenvalues_, sizes_, seed_, transcript_, n_features_in_

    Warns
    -----
    CandidateFailed
        A candidate could not be fitted at a learner, who chose among the others.
    FewerClusters
        A learner's y is constant, or fewer learners differ than clusters were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> rng = np.random.default_rng(0)
    >>> parts = [(X, sign * X[:, 0]) for sign in (1, 1, 1, -1, -1) for X in [rng.normal(size=(30, 2))]]
    >>> MetaClustering([LinearRegression(), Ridge()], n_clusters=2).fit(parts).labels_.tolist()
    [0, 0, 0, 1, 1]
    """

    def __init__(
        self,
        candidates: Sequence[Any],
        n_clusters: int | None = None,
        *,
        criterion: Literal["penalty", "gap"] = "penalty",
        penalty: float = 0.5,
        max_clusters: int = 8,
        scale: float | None = None,
        exchange: Exchange = "models",
        encrypted: bool = False,
        n_jobs: int | None = None,
        record: bool = True,
    ) -> None:
        self.candidates = candidates
        self.n_clusters = n_clusters
        self.criterion = criterion
        self.penalty = penalty
        self.max_clusters = max_clusters
        self.scale = scale
        self.exchange = exchange
        self.encrypted = encrypted
        self.n_jobs = n_jobs
        self.record = record

    def fit(
        self,
        parts: Sequence[tuple[ArrayLike, ArrayLike]],
        y: None = None,
        *,
        rng: np.random.Generator | int | None = 0,
        channel: Channel | None = None,
    ) -> MetaClustering:
        """Select, exchange and cluster; ``parts`` holds (X (N_i, p), y (N_i,)) for each learner.

        Parameters
        ----------
        rng : Generator or int
            Gives one seed, shared by all learners, for halving rows and for candidates whose ``random_state`` is open.
        channel : Channel, optional
            What carries the messages, if not one that delivers all as they are.

        Raises
        ------
        DataError
            If the parts are not finite or do not fit each other, a learner has too few rows to halve, no candidate
            can be fitted there, or there are fewer learners than clusters.
        """
        from sklearn.utils.parallel import Parallel, delayed  # joblib, loaded on use

        self.check()
        data = learners(parts)
        m, width = len(data), data[0][0].shape[1]
        if self.n_clusters is not None and self.n_clusters > m:
            raise DataError(f"{self.n_clusters} clusters of {m} learner(s); give at least one learner a cluster")
        seed = int(np.random.default_rng(rng).integers(2**31))
        channel = Channel(record=self.record) if channel is None else channel
        pool = Parallel(n_jobs=self.n_jobs, prefer="threads")
        chosen: list[Choice] = pool(delayed(choose)(i, X, t, self.candidates, seed) for i, (X, t) in enumerate(data))
        for failure in [text for choice in chosen for text in choice.failures]:
            warnings.warn(CandidateFailed(failure), stacklevel=2)
        for i, (_, t) in enumerate(data):
            if len(t) > 1 and np.ptp(t) == 0:
                warnings.warn(
                    FewerClusters(f"y of learner {i} is constant: what it fits tells nothing of X"), stacklevel=2
                )
            channel.hold(-1, i, "rows", data[i][0].reshape(1, -1))
            channel.hold(-1, i, "y", t[None])
        self.models_ = [choice.model for choice in chosen]
        self.exchanged_ = exchanged(
            chosen, data, channel, exchange=self.exchange, encrypted=self.encrypted, n_jobs=self.n_jobs
        )
        losses = self.exchanged_.losses
        self.losses_, self.n_features_in_, self.transcript_ = losses, width, channel.transcript
        self.selected_ = np.array([choice.selected for choice in chosen], dtype=np.intp)
        self.scores_ = np.stack([choice.scores for choice in chosen])
        self.sizes_ = np.array([len(t) for _, t in data], dtype=np.intp)
        self.seed_ = seed % 2**16
        self._cluster()
        return self

    def reclustered(self, **settings: Any) -> MetaClustering:
        """Cluster the same learners anew: nothing is fitted and nothing sent again.

        Parameters
        ----------
        settings
            Any of n_clusters, criterion, penalty, max_clusters and scale; what is not named stays.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LinearRegression
        >>> rng = np.random.default_rng(0)
        >>> parts = [(X, sign * X[:, 0]) for sign in (1, 1, 1, -1, -1) for X in [rng.normal(size=(30, 2))]]
        >>> sec = MetaClustering([LinearRegression()], criterion="gap").fit(parts)
        >>> sec.n_clusters_, sec.reclustered(n_clusters=1).labels_.tolist()
        (2, [0, 0, 0, 0, 0])
        """
        allowed = ("n_clusters", "criterion", "penalty", "max_clusters", "scale")
        if other := [name for name in settings if name not in allowed]:
            raise SecmixError(f"learners are clustered anew by {', '.join(allowed)} alone; given {', '.join(other)}")
        again: MetaClustering = copy(self).set_params(**settings)
        again.check()
        again._cluster()
        return again

    def predict(self, learner: int, X: ArrayLike) -> Array:
        """Predict for rows (N, p) by the models of the learner's cluster, weighted by their rows (eq. 4): (N,)."""
        rows = finite_array(X, "X", ndim=2)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(f"X has {rows.shape[1]} columns; the learners have {self.n_features_in_}")
        if not 0 <= integer(learner, "learner", 0) < len(self.labels_):
            raise SecmixError(f"learner {learner} does not exist; learners run from 0 to {len(self.labels_) - 1}")
        together = np.flatnonzero(self.labels_ == self.labels_[learner])
        return np.average(
            [predicted(self.models_[i], rows) for i in together], axis=0, weights=self.sizes_[together]
        ).astype(np.float64)

    @threadpool_limits.wrap(limits=1)  # type: ignore[untyped-decorator]  # k-means on so few points loses to threads
    def _cluster(self) -> None:
        fitted, seed = np.diagonal(self.losses_).copy(), self.seed_
        d = spectral.dissimilarities(self.losses_, fitted)
        m = len(d)
        self.dissimilarity_ = d
        self.scale_ = spectral.default_scale(d) if self.scale is None else float(self.scale)
        self.similarity_ = np.exp(-d / self.scale_)
        order = spectral.canonical_order(d, fitted)
        similarity = self.similarity_[np.ix_(order, order)]
        values, vectors = spectral.eigenvectors(similarity)
        self.eigenvalues_ = values
        differ = len(np.unique(d, axis=0))
        if self.n_clusters is not None:
            k = self.n_clusters
            if k > differ:
                warnings.warn(
                    FewerClusters(f"{k} clusters asked for, but only {differ} learner(s) differ: {differ} found"),
                    stacklevel=3,
                )
                k = differ
        else:
            k = spectral.choose_k(similarity, min(self.max_clusters, differ), self.criterion, self.penalty, seed)
        labels = np.empty(m, dtype=np.intp)
        labels[order] = spectral.ng_jordan_weiss(vectors, k, seed)
        self.labels_ = spectral.numbered(labels, d, fitted)
        self.n_clusters_ = len(np.unique(self.labels_))

    def check(self) -> None:
        """Refuse settings that make no sense, as :meth:`fit` does."""
        if isinstance(self.candidates, (str, bytes)) or not hasattr(self.candidates, "__len__") or not self.candidates:
            raise SecmixError(
                "candidates is a list of at least one regressor, such as [Lasso(), RandomForestRegressor()]"
            )
        for candidate in self.candidates:
            if isinstance(candidate, type) or not (hasattr(candidate, "fit") and hasattr(candidate, "predict")):
                raise SecmixError(f"a candidate is a regressor with fit and predict, not a class; given {candidate!r}")
        if self.n_clusters is not None:
            integer(self.n_clusters, "n_clusters")
        integer(self.max_clusters, "max_clusters")
        positive(self.penalty, "penalty")
        if self.scale is not None:
            positive(self.scale, "scale")
        if self.criterion not in ("penalty", "gap"):
            raise SecmixError(f"criterion is 'penalty' or 'gap'; given {self.criterion!r}")
        if self.exchange not in ("models", "predictions"):
            raise SecmixError(f"exchange is 'models' or 'predictions'; given {self.exchange!r}")
