"""GraphFed-EM: each node keeps a mixture of its own, and averages it with its neighbours'.

Abdurakhmanova and Jung 2025, Graph-regularized learning of Gaussian mixture models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from secmix._base.checks import Array, Ints, finite_array, integer, positive, probability
from secmix.aggregators import rule_named
from secmix.aggregators.mixture_rules import wasserstein
from secmix.aggregators.named import Rule
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts
from secmix.protocols.graphfed.aggregation import (
    NodeMessage,
    adjacency_of,
    flattened,
    mixtures_of,
    neighbourhood,
    packed,
    positive_definite,
    robust_rule,
    unpacked_by_run,
    weighted_mean,
)
from secmix.protocols.graphfed.local import at_all_nodes, kmeans_start
from secmix.transcript import Channel

KIND = "neighbour mixture"
"""What the messages are called in transcripts."""


class GraphFedEM(BaseEstimator):  # type: ignore[misc]
    """Graph-regularised EM: T rounds of local EM steps and averaging over neighbours (the paper's algorithm 1).

    Parameters
    ----------
    n_components : int
        K, the same at all nodes.
    alpha : float in [0, 1]
        How far a node moves to its neighbourhood's average: θ ← (1 − α) θ + α θ_aggr (eq. 3). At 0 each node runs EM
        on its own rows, exactly.
    n_rounds, local_steps : int
        T rounds of T_i steps of EM.
    shrinkage : float in [0, 1)
        s in Σ ← (1 − s) Σ + s (tr Σ / d) I, at every covariance that a node estimates. 0 is plain EM. The averaged
        covariance is symmetrised and loaded, and not shrunk again (the paper's section III).
    reg_covar : float
        Added to the diagonal of the covariances after each M-step, and the least eigenvalue of an averaged one.
    mixing : {"counts", "weights"}
        Mixing weights of the average: N_k^i + Σ_j A_ij N_k^j divided by its sum over k, as the paper's text normalises
        them; or eq. 2 applied to π_k and renormalised. They agree where nodes hold like data.
    rule, f : str, callable or None, int
        A rule of ``secmix.aggregators``, or your own as :class:`RobustServer` takes it, that stands up to f Byzantine
        neighbours a node, in place of the mean weighted by N and A. It takes all neighbours alike, whatever A and the
        counts they claim.
    init : "kmeans" or Mixture
        Where nodes start: k-means on their own rows; or a given mixture, for all or with a leading axis n.
    n_init : int
        From how many draws k-means takes the best.
    encrypted : bool
        Whether lines between neighbours are encrypted.
    record : bool
        Whether to keep the transcript.

    Attributes
    ----------
    mixtures_ : Mixture
        Leading axis n: node i ends with ``mixtures_[i]``. Its components are in its own order.
    counts_ : (n, K)
        N_k at each node, from its last E-step.
    rejected_ : (R, 3) int
        Round, sender and receiver of messages that describe no mixture (numbers that are not finite or beyond 1e50,
        negative counts or weights, covariances that are not positive definite). They are left out of the average.
    transcript_, n_features_in_
    unit : str
        What :meth:`error` is measured in.

    Notes
    -----
    Every round each node sends all its neighbours the same message: N_k, π_k, μ_k and the upper triangle of Σ_k for
    each component, flattened. Components are matched to the receiver's by the least total Bhattacharyya distance.

    What it reveals by design: every neighbour, and everyone who reads the lines, gets a node's mixture and counts in
    every round. It is sold as sending no raw data. But a component behind which a single row stands has that row as its
    mean, and of few rows the mixture is made of the rows themselves.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.normal(size=(20, 2)) + 6 * (np.arange(20) % 2)[:, None] for _ in range(3)]
    >>> fitted = GraphFedEM(2, n_rounds=2).fit(parts, network=Network.complete(3), rng=0)
    >>> fitted.mixtures_.means.shape, fitted.transcript_.messages
    ((3, 2, 2), 12)
    """

    unit = "W1 between a node's mixtures, in the unit of the features"

    def __init__(
        self,
        n_components: int = 1,
        *,
        alpha: float = 1.0,
        n_rounds: int = 10,
        local_steps: int = 5,
        shrinkage: float = 0.0,
        reg_covar: float = 1e-6,
        mixing: Literal["counts", "weights"] = "counts",
        rule: str | None = None,
        f: int = 0,
        init: Mixture | str = "kmeans",
        n_init: int = 10,
        encrypted: bool = False,
        record: bool = True,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.n_rounds = n_rounds
        self.local_steps = local_steps
        self.shrinkage = shrinkage
        self.reg_covar = reg_covar
        self.mixing = mixing
        self.rule = rule
        self.f = f
        self.init = init
        self.n_init = n_init
        self.encrypted = encrypted
        self.record = record

    def fit(
        self,
        parts: Sequence[ArrayLike],
        y: None = None,
        *,
        network: Network | None = None,
        adjacency: ArrayLike | None = None,
        rng: np.random.Generator | int | None = None,
        channel: Channel | None = None,
    ) -> GraphFedEM:
        """Fit one mixture a node to ``parts``, one array (N_i, d) a node.

        Parameters
        ----------
        network : Network, optional
            Who talks to whom, with A_ij = 1 on its edges. By default everybody, or the pairs that ``adjacency`` names.
        adjacency : (n, n), optional
            A_ij ≥ 0, what node i makes of node j; it may have pieces, and A_ij ≠ A_ji. Node j sends to i where
            A_ij > 0, which must be an edge of ``network`` if that is given too.
        rng : Generator or int, optional
            Seeds the k-means start, with one seed for all nodes.
        channel : Channel, optional
            What carries the messages, if not one that delivers all as they are.

        Raises
        ------
        DataError
            If the parts do not fit the network or each other, are not finite, or hold fewer rows than components.
        """
        rows = [finite_array(part, f"part {i}", ndim=2)[None] for i, part in enumerate(parts)]
        channel = Channel(record=self.record) if channel is None else channel
        mixtures, counts, rejected = self._fitted(rows, network, adjacency, [np.random.default_rng(rng)], channel)
        self.mixtures_ = mixtures[:, 0]
        self.counts_ = counts[:, 0]
        self.rejected_ = rejected[:, :3]
        self.transcript_ = channel.transcript
        self.n_features_in_ = rows[0].shape[2]
        return self

    def _fitted(
        self,
        rows: Sequence[Array],
        network: Network | None,
        adjacency: ArrayLike | None,
        rngs: Sequence[np.random.Generator],
        channel: Channel,
    ) -> tuple[Mixture, Array, Ints]:
        """Fit many runs side by side: rows n arrays (runs, N_i, d), a generator a run.

        Mixtures and counts have leading axes (n, runs); of each rejected message round, sender, receiver and run.
        """
        self._check(rows)
        weights = adjacency_of(len(rows), network, adjacency)
        if self.rule is not None and not np.isin(weights, (0.0, 1.0)).all():
            raise SecmixError("a robust rule takes all neighbours alike: set adjacency to 0 and 1, or leave rule out")
        mixtures, counts = self._start(rows, rngs), np.empty(0)
        receiver, sender = np.nonzero(weights)
        for i, part in enumerate(rows):
            channel.hold(-1, i, "rows", part.reshape(len(part), -1))
        rejected: list[tuple[int, int, int, int]] = []
        for t in range(self.n_rounds):
            channel.iteration = t
            steps = {"shrinkage": self.shrinkage, "reg_covar": self.reg_covar}
            mixtures, counts = at_all_nodes(rows, mixtures, self.local_steps, **steps)
            payload = packed(NodeMessage(counts, mixtures))
            arrived = channel.send(
                0, sender, receiver, KIND, payload, encrypted=self.encrypted, content=np.asarray(sender)
            )
            messages = unpacked_by_run(arrived, self.n_components)
            refused = np.asarray(np.isnan(messages.counts).any(axis=-1))
            rejected += [
                (t, int(j), int(i), int(run))
                for j, i in zip(sender, receiver, strict=True)
                for run in np.flatnonzero(refused[j])
            ]
            own_messages = (NodeMessage(counts[i], mixtures[i]) for i in range(len(rows)))
            after = [self.averaged(i, own, messages, weights[i]) for i, own in enumerate(own_messages)]
            mixtures = Mixture(
                np.stack([m.weights for m in after]),
                np.stack([m.means for m in after]),
                np.stack([m.covariances for m in after]),
            )
        return mixtures, counts, np.array(rejected, dtype=np.intp).reshape(-1, 4)

    def predict(self, node: int, X: ArrayLike) -> Ints:
        """Predict the most likely component of each row (N, d) in the mixture of ``node``: (N,)."""
        joint = self.mixtures_[node].log_joint(finite_array(X, "X", ndim=2))
        return np.asarray(np.argmax(joint, axis=1), dtype=np.intp)

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Fit each run by itself (:class:`Collaboration`); a node ends with its mixture, flattened: (runs, n, p)."""
        rows = checked_parts(parts)
        fitted = self._fitted(rows, network, None, rng.spawn(len(rows[0])), channel)[0]
        ends = flattened(fitted).swapaxes(0, 1)
        return ends.reshape(*ends.shape[:2], -1)

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the transport distance W1 between mixtures, components in any order; its mean over nodes: (runs,)."""
        table = (*results.shape[:2], self.n_components, -1)
        a, b = mixtures_of(results.reshape(table)), mixtures_of(reference.reshape(table))
        runs, nodes = results.shape[:2]
        apart = [[wasserstein(a[run, i], b[run, i]) for i in range(nodes)] for run in range(runs)]
        return np.asarray(np.mean(apart, axis=1))

    def averaged(self, node: int, own: NodeMessage, received: NodeMessage, weights: Array) -> Mixture:
        """Mix a node's own mixture with its neighbours' in each run (eqs. 2 and 3).

        Whoever reads all these messages can compute it too.

        Parameters
        ----------
        own : message (runs)
        received : messages (n, runs)
            Counts are NaN where one describes no mixture; nothing is read of those that are no neighbours.
        weights : (n,)
            Row ``node`` of the adjacency.
        """
        if self.alpha == 0:
            return own.mixture
        messages, claims, place = neighbourhood(node, own, received, weights)
        if self.rule is None:
            aggregate = weighted_mean(messages, claims, place, mixing=self.mixing)
        else:
            aggregate = self._by_rule(self.rule, messages.mixture, claims > 0)
        lifted = positive_definite(aggregate.covariances, floor=self.reg_covar)
        keep, take, m = 1 - self.alpha, self.alpha, own.mixture
        return Mixture(
            keep * m.weights + take * aggregate.weights,
            keep * m.means + take * aggregate.means,
            keep * m.covariances + take * lifted,
        )

    def _by_rule(self, rule: str | Rule, mixtures: Mixture, fine: NDArray[np.bool_]) -> Mixture:
        """Apply the rule in each run to those of the mixtures (J, runs) that are ``fine``."""
        first = mixtures[0]
        out = tuple(np.empty_like(array) for array in (first.weights, first.means, first.covariances))
        for pattern in np.unique(fine, axis=1).T:
            at = np.flatnonzero((fine == pattern[:, None]).all(axis=0))
            lost = int(np.count_nonzero(~pattern))
            result = robust_rule(mixtures[np.ix_(pattern, at)], rule=rule, f=max(int(self.f) - lost, 0))
            for array, part in zip(out, (result.weights, result.means, result.covariances), strict=True):
                array[at] = part
        return Mixture(*out)

    def _start(self, rows: Sequence[Array], rngs: Sequence[np.random.Generator]) -> Mixture:
        n, d = len(rows), rows[0].shape[2]
        if isinstance(self.init, Mixture):
            init = self.init if self.init.weights.ndim > 1 else self.init.expand(n)
            if init.means.shape != (n, self.n_components, d):
                raise SecmixError(
                    f"init has means of shape {self.init.means.shape}; needed are {(self.n_components, d)} or "
                    f"{(n, self.n_components, d)}, with the nodes first"
                )
            return init[:, np.newaxis][:, np.zeros(len(rngs), dtype=np.intp)]
        for i, part in enumerate(rows):
            if part.shape[1] < self.n_components:
                raise DataError(
                    f"node {i} holds {part.shape[1]} row(s), too few for k-means with {self.n_components} components; "
                    "use fewer components or give init"
                )
        steps = {"shrinkage": self.shrinkage, "reg_covar": self.reg_covar}
        seeds = [int(rng.integers(2**31)) for rng in rngs]
        starts = [
            [kmeans_start(part[run], self.n_components, seed, self.n_init, **steps) for run, seed in enumerate(seeds)]
            for part in rows
        ]
        names = ("weights", "means", "covariances")
        return Mixture(*(np.array([[getattr(m, name) for m in of_node] for of_node in starts]) for name in names))

    def _check(self, rows: Sequence[Array]) -> None:
        integer(self.n_components, "n_components")
        integer(self.n_rounds, "n_rounds")
        integer(self.local_steps, "local_steps")
        integer(self.n_init, "n_init")
        integer(self.f, "f", 0)
        probability(self.alpha, "alpha", below_one=False)
        probability(self.shrinkage, "shrinkage")
        positive(self.reg_covar, "reg_covar")
        if not isinstance(self.init, Mixture) and self.init != "kmeans":
            raise SecmixError(f"init is a Mixture or 'kmeans'; given {self.init!r}")
        if self.mixing not in ("counts", "weights"):
            raise SecmixError(f"mixing is 'counts' or 'weights'; given {self.mixing!r}")
        if self.rule is not None:
            rule_named(self.rule)
        if not rows:
            raise DataError("there are no parts; give one array of rows a node")
        widths = {part.shape[2] for part in rows}
        if len(widths) > 1:
            raise DataError(f"the parts have different numbers of columns: {sorted(widths)}; give all the same")
