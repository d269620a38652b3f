"""Distributed EM for Gaussian mixtures: every sum over nodes goes through a sum protocol (Li 2022, sections 3, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from secmix._base.checks import Array, finite_array, integer, positive
from secmix.errors import DataError, SecmixError
from secmix.mixture import Center, Mixture, statistics_by_node, updated
from secmix.network import Network
from secmix.protocols.em.defences import Defences
from secmix.protocols.em.start import secure_start
from secmix.protocols.interfaces import SumProtocol, SumTraits, averaged, without_average
from secmix.protocols.sums.pdmm import PDMM
from secmix.transcript import Channel, Transcript


@dataclass(frozen=True)
class EMRun:
    """One or many runs of distributed EM, side by side on the axis ``runs``.

    Attributes
    ----------
    mixtures : list of Mixture, length T + 1
        θ^0 … θ^T, each with batch axes (runs, n): every node holds its own copy.
    lower_bounds : (T, runs)
        Mean log-likelihood of the rows under θ^0 … θ^{T-1}, itself a sum through the protocol; (0, runs) when it is
        not summed.
    converged : bool
    transcript : Transcript
    """

    mixtures: list[Mixture]
    lower_bounds: Array
    converged: bool
    transcript: Transcript


class DistributedEM(BaseEstimator):  # type: ignore[misc]
    """EM for a Gaussian mixture on rows that stay at their nodes.

    Parameters
    ----------
    n_components : int
    sums : sum protocol
        ``Plain()``, ``SecureSum(...)``, ``PDMM(...)`` (the default) or your own.
    covariance_center : {"new", "old"}
        Mean that the covariances are centred at: the new one (exact EM, as scikit-learn) or the old one (the paper's
        eq. 3).
    reg_covar : float
        Added to the diagonal of the covariances after each update.
    max_iter : int
    tol : float or None
        Stop when the mean log-likelihood moves by less. None: run ``max_iter`` iterations and sum no likelihoods.
    init : Mixture, "kmeans" or "moments"
        Where to start: at given parameters; or at centres drawn by a public coin from the Gaussian that fits the
        secure-summed moments, with (kmeans) or without (moments) Lloyd rounds through the sum protocol. These sums
        are part of the transcript, as iterations below 0.
    hold_parameters : bool
        Keep θ at ``init`` in every iteration (for audits at a fixed θ).
    defences : Defences or None
        What nodes do against who solves the sums or steers θ. Those that alter the sums need given parameters to start
        from, since they do not cover the sums of the start; noise needs ``tol=None``, since it does not cover the
        likelihoods.
    record : bool
        Whether to keep the transcript.

    Attributes
    ----------
    weights_, means_, covariances_ : (K,), (K, d), (K, d, d)
        The fitted mixture, as node 0 holds it.
    lower_bounds_ : (T,)
        Mean log-likelihood before each update.
    n_iter_, converged_, transcript_, mixture_

    Notes
    -----
    A node's E-step uses its own copy of θ and its own rows; what it learns of others is what the protocol delivers.
    A component that holds less than a millionth of the rows keeps its mean and covariance for the round.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix import Network
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.normal(size=(20, 2)) + 6 * (i % 2) for i in range(5)]
    >>> em = DistributedEM(2, sums=PDMM(sigma=100.0)).fit(parts, network=Network.cycle(5), rng=rng)
    >>> em.weights_.round(2).tolist() in ([0.4, 0.6], [0.6, 0.4])
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        sums: SumProtocol | None = None,
        covariance_center: Center = "new",
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        tol: float | None = 1e-3,
        init: Mixture | str = "kmeans",
        hold_parameters: bool = False,
        defences: Defences | None = None,
        record: bool = True,
    ) -> None:
        self.n_components = n_components
        self.sums = sums
        self.covariance_center = covariance_center
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.hold_parameters = hold_parameters
        self.defences = defences
        self.record = record

    def fit(
        self,
        parts: Sequence[ArrayLike],
        y: None = None,
        *,
        network: Network | None = None,
        rng: np.random.Generator | int | None = None,
    ) -> DistributedEM:
        """Fit the mixture to ``parts``, one array (n_i, d) a node.

        Raises
        ------
        DataError
            If the parts do not fit the network or each other, are not finite, hold fewer rows than components, or have
            a column that is constant over all nodes.
        """
        rows = [finite_array(part, f"part {i}", ndim=2) for i, part in enumerate(parts)]
        network = Network.complete(len(rows)) if network is None else network
        run = self.run([part[None] for part in rows], network=network, rng=np.random.default_rng(rng))
        self.mixture_ = run.mixtures[-1][0, 0]
        self.weights_ = self.mixture_.weights
        self.means_ = self.mixture_.means
        self.covariances_ = self.mixture_.covariances
        self.lower_bounds_ = run.lower_bounds[:, 0]
        self.n_iter_ = len(run.mixtures) - 1
        self.converged_ = run.converged
        self.transcript_ = run.transcript
        self.n_features_in_ = self.mixture_.n_features
        return self

    def run(self, parts: Sequence[Array], *, network: Network, rng: np.random.Generator) -> EMRun:
        """Run EM many times at once: ``parts`` holds one array (runs, n_i, d) a node.

        All runs take the same number of iterations: with ``tol``, until the last one has converged.
        """
        self._check(parts, network)
        defences = self.defences
        likelihood_drop = None
        if defences is not None:
            parts, likelihood_drop = [defences.clipped(part) for part in parts], defences.likelihood_drop
        sums: SumProtocol = PDMM() if self.sums is None else self.sums
        channel = Channel(record=self.record)
        start_rng, mask_rng, sum_rng, noise_rng = rng.spawn(4)
        runs, n = parts[0].shape[0], network.n
        if isinstance(self.init, Mixture):
            theta = self._own_init(runs, n, parts[0].shape[2])
        else:
            theta = secure_start(
                parts,
                self.n_components,
                sums,
                network,
                start_rng,
                channel,
                lloyd=self.init == "kmeans",
                reg_covar=self.reg_covar,
            )
        likelihood = self.tol is not None
        reused_masks: Array | None = None
        path, bounds, converged = [theta], np.empty((0, runs)), False
        # Mean log-likelihood of a node's rows where it last took part, and how many they are.
        taken_at, sizes = np.full((runs, n), -np.inf), np.array([part.shape[1] for part in parts])
        asked = likelihood or likelihood_drop is not None
        for t in range(self.max_iter):
            channel.iteration = t
            vectors = statistics_by_node(parts, theta, likelihood=asked)
            if likelihood_drop is not None:
                likelihoods = vectors[..., -1] / sizes
                takes_part = likelihoods >= taken_at - likelihood_drop
                taken_at = np.where(takes_part, likelihoods, taken_at)
                vectors *= takes_part[..., None]
            if asked and not likelihood:  # read by the node itself, and not sent
                vectors = np.ascontiguousarray(vectors[..., :-1])
            if defences is not None:
                vectors = defences.sent(vectors, theta, noise_rng)
            if SumTraits.of(sums).reuses_masks and reused_masks is None:
                reused_masks = sums.draw_masks(runs, vectors.shape[2], network, mask_rng)
            averages, _ = averaged(sums, vectors, network, sum_rng.spawn(1)[0], masks=reused_masks, channel=channel)
            if defences is not None:
                averages = defences.received(averages, self.n_components)
            theta = self._next(averages, theta, n)
            path.append(theta)
            if likelihood:
                bounds = np.concatenate([bounds, _mean_likelihood(averages, self.n_components)[None]])
                if t and np.abs(bounds[-1] - bounds[-2]).max() < self.tol:
                    converged = True
                    break
        return EMRun(path, bounds, converged, channel.transcript)

    def predict(self, X: ArrayLike) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Predict the most likely component of each row: (N,)."""
        return np.asarray(np.argmax(self.mixture_.log_joint(finite_array(X, "X", ndim=2)), axis=1))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Compute the responsibilities (N, K)."""
        return self.mixture_.responsibilities(finite_array(X, "X", ndim=2))[0]

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Compute the mean log-likelihood of the rows of ``X``, in nats."""
        return float(self.mixture_.log_density(finite_array(X, "X", ndim=2)).mean())

    def _next(self, averages: Array, theta: Mixture, n: int) -> Mixture:
        if self.hold_parameters:
            return theta
        # A node that dropped out has no average: it keeps the parameters it had. So do all where all abstained.
        gone = without_average(averages)
        width = averages.shape[2] // self.n_components
        nobody = averages[..., : width * self.n_components : width].sum(axis=2) == 0
        if not (gone.any() or nobody.any()):
            return self._updated(averages, theta, n)
        if gone.all():
            return theta
        filled = np.where(gone[:, None], averages[:, [int(np.argmin(gone))]], averages)
        filled = np.where(nobody[..., None], 1.0, filled)
        new = self._updated(filled, theta, n)
        unchanged = gone | nobody
        return Mixture(
            np.where(unchanged[..., None], theta.weights, new.weights),
            np.where(unchanged[..., None, None], theta.means, new.means),
            np.where(unchanged[..., None, None, None], theta.covariances, new.covariances),
        )

    def _updated(self, averages: Array, theta: Mixture, n: int) -> Mixture:
        proposed = updated(averages, theta, center=self.covariance_center, reg_covar=self.reg_covar)
        return proposed if self.defences is None else self.defences.accepted(proposed, theta, averages, n)

    def _own_init(self, runs: int, n: int, d: int) -> Mixture:
        assert isinstance(self.init, Mixture)
        if (self.init.n_components, self.init.n_features) != (self.n_components, d):
            raise SecmixError(
                f"init has {self.init.n_components} components in {self.init.n_features} dimensions; needed are "
                f"{self.n_components} in {d}"
            )
        return self.init.expand(runs, n)

    def _check(self, parts: Sequence[Array], network: Network) -> None:
        integer(self.n_components, "n_components")
        integer(self.max_iter, "max_iter")
        positive(self.reg_covar, "reg_covar")
        if self.tol is not None and self.tol != 0:
            positive(self.tol, "tol")
        if self.covariance_center not in ("new", "old"):
            raise SecmixError(f"covariance_center is 'new' or 'old'; given {self.covariance_center!r}")
        if not isinstance(self.init, Mixture) and self.init not in ("kmeans", "moments"):
            raise SecmixError(f"init is a Mixture, 'kmeans' or 'moments'; given {self.init!r}")
        if not (self.defences is None or isinstance(self.defences, Defences)):
            raise SecmixError(f"defences is a Defences or None; given {self.defences!r}")
        if self.defences is not None:
            noisy = self.defences.noise_std or self.defences.noise_multiplier
            if (noisy or self.defences.rounding) and not isinstance(self.init, Mixture):
                raise SecmixError(
                    f"rounding and noise do not cover the sums that init = {self.init!r} starts from; give a Mixture"
                )
            if noisy and self.tol is not None:
                raise SecmixError("noise does not cover the likelihoods that tol sums; set tol = None")
            if self.defences.noise_nodes is not None and self.defences.noise_nodes > network.n:
                raise SecmixError(
                    f"noise_nodes = {self.defences.noise_nodes}, but there are {network.n} nodes; give at most that"
                )
        if len(parts) != network.n:
            raise DataError(f"{len(parts)} parts for a network of {network.n} nodes; give one part a node")
        widths = {part.shape[-1] for part in parts}
        if len(widths) > 1:
            raise DataError(f"the parts have different numbers of columns: {sorted(widths)}; give all the same")
        total = sum(part.shape[-2] for part in parts)
        if total < self.n_components:
            raise DataError(f"{self.n_components} components but only {total} rows in all; use fewer components")
        spread = np.max([p.max(axis=1) for p in parts], axis=0) - np.min([p.min(axis=1) for p in parts], axis=0)
        constant = np.flatnonzero((spread == 0).all(axis=0))
        if total > 1 and len(constant):
            raise DataError(f"column(s) {constant.tolist()} are constant over all nodes; drop them")


def _mean_likelihood(averages: Array, k: int) -> Array:
    """Compute the mean log-likelihood of a row (runs,) from the averages of the first node that has them."""
    node = int(np.argmin(without_average(averages)))
    average = averages[:, node]
    per_component = (average.shape[1] - 1) // k
    count = average[:, : k * per_component : per_component].sum(axis=1)
    return np.asarray(average[:, -1] / np.where(count == 0, 1.0, count))  # where all abstained both are 0
