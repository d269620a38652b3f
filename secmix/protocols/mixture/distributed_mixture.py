"""Split-and-conquer mixtures: every node fits one to its own rows and sends it once, a server makes one of them.

Zhang and Chen 2022; with rules that stand up to Byzantine machines, Zhang 2024.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive
from secmix.aggregators import mixture_rules as rules
from secmix.aggregators import rule_named
from secmix.aggregators.mixture_rules import RejectedMixtures, wasserstein
from secmix.errors import DataError, NotConverged, SecmixError, nearest
from secmix.mixture import Mixture, features
from secmix.mixture import width as width  # of a message too
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts
from secmix.protocols.mixture.local_mixture import LocalFit, fit_mixtures
from secmix.transcript import SERVER, Channel, Transcript

RULES: dict[str, Callable[..., Any]] = {
    name: getattr(rules, name) for name in ("ared", "coat", "component_wise", "cred", "dfmr", "gmr", "trim")
}
"""The rules that need nothing but the mixtures, by name."""


@dataclass(frozen=True)
class MixtureRun:
    """The result of one or many runs.

    Attributes
    ----------
    mixture : Mixture with leading axis runs
        What the server made. NaN in a run in which it had no majority to follow, see ``failed``.
    results : (runs, n, p)
        What each node ends with: the same mixture as it arrived there, as :func:`packed` writes it.
    kept : tuple of integer arrays
        Whom the rule used, run by run.
    refused : tuple of dict of int to str
        Who sent what is no mixture, and what is wrong with it, run by run. They count as Byzantine.
    failed : dict of int to str
        Runs without a result, and why.
    fit : LocalFit
        The nodes' own mixtures before anybody lied: all nodes of run 0, then of run 1, and so on.
    transcript : Transcript
    """

    mixture: Mixture
    results: Array = field(repr=False)
    kept: tuple[Any, ...] = field(repr=False)
    refused: tuple[dict[int, str], ...]
    failed: dict[int, str]
    fit: LocalFit = field(repr=False)
    transcript: Transcript = field(repr=False)


@dataclass(frozen=True)
class DistributedMixture:
    """One mixture from n nodes that each send theirs once, to a server; some may send false ones.

    Parameters
    ----------
    components : int
        K.
    rule : str or callable
        "ared", "coat", "component_wise", "cred", "dfmr", "gmr" or "trim" of :mod:`secmix.aggregators.mixture_rules`, or
        what is called like them: ``functools.partial(dfmr, p=0.05)``.
    start : Mixture or mapping, optional
        A public mixture at which every node starts, or its ``weights``, ``means`` and ``covariances``. Without it each
        node takes the best of ``starts`` draws by k-means++ on its own rows.
    starts : int
    penalty : float, optional
        a_N of the penalised likelihood, by default N^(−1/2) for a node of N rows. It keeps covariances positive
        definite down to d + 1 rows.
    tolerance : float
        EM stops where the penalised log-likelihood changes by less than this a row.
    max_iterations : int
    encrypted : bool
        Whether the lines between nodes and server are encrypted.

    Notes
    -----
    **What it reveals by design.** The server reads every node's mixture, an eavesdropper too unless it is encrypted;
    all nodes read the result. At the end of EM a mixture is as good as the sums of the node's statistics, K q − 1
    numbers with q = 1 + d + d (d + 1) / 2: for nodes with few rows that is more than the rows themselves hold.

    All nodes count the same, however many rows they have: a claimed number is one more thing to lie about.

    A message that is no mixture (numbers that are not finite, negative weights, a sum other than 1, covariances that
    are not positive definite) is set aside, its sender counted as Byzantine and named in a warning. A server that is
    left without a majority sends nothing of use; the error of that run is infinite.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.normal(size=(2, 40, 1)) + 9 * (np.arange(40) % 2)[:, None] for _ in range(5)]  # 2 runs, 40 rows
    >>> run = DistributedMixture(2, rule="dfmr").run(parts, rng=rng)
    >>> np.sort(run.mixture.means[:, :, 0]).round(0) + 0.0
    array([[0., 9.],
           [0., 9.]])
    >>> run.transcript.messages
    10
    """

    components: int
    rule: str | Callable[..., Any] = "ared"
    start: Mixture | Mapping[str, ArrayLike] | None = None
    starts: int = 5
    penalty: float | None = None
    tolerance: float = 1e-6
    max_iterations: int = 1000
    encrypted: bool = False

    unit: ClassVar[str] = "transport distance W1 between mixtures, in the unit of the features"

    def __post_init__(self) -> None:
        for name in ("components", "starts", "max_iterations"):
            integer(getattr(self, name), name)
        positive(self.tolerance, "tolerance")
        if self.penalty is not None:
            positive(self.penalty, "penalty")
        if isinstance(self.rule, str) and ":" in self.rule:
            _ = self.aggregate
        elif not callable(self.rule) and self.rule not in RULES:
            raise SecmixError(f"no rule for mixtures is called {self.rule!r}; {nearest(str(self.rule), RULES)}")
        if self.start is not None:
            object.__setattr__(self, "start", _public_start(self.start, self.components))

    @property
    def aggregate(self) -> Callable[..., Any]:
        """The rule itself."""
        if isinstance(self.rule, str):
            return rule_named(self.rule) if ":" in self.rule else RULES[self.rule]
        return self.rule

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the protocol; nodes end with the mixture, (runs, n, p), as :func:`packed` writes it. See :meth:`run`."""
        return self.run(checked_parts(parts, network), rng=rng, channel=channel).results

    def run(
        self, parts: Sequence[ArrayLike], *, rng: np.random.Generator, channel: Channel | None = None
    ) -> MixtureRun:
        """Run the protocol on n arrays of rows (runs, N_i, d).

        Raises
        ------
        DataError
            Rows that are not finite or do not span d dimensions at some node.
        SecmixError
            The rule is not for so few nodes.

        Warns
        -----
        RejectedMixtures
            Nodes that sent no mixture in some run.
        """
        data, n = checked_parts(parts), len(parts)
        runs, channel = len(data[0]), channel or Channel()
        if self.aggregate is rules.ared:
            rules.ared_factor(n)  # says so where there are too few nodes
        for i, part in enumerate(data):
            channel.hold(-1, i, "rows", part.reshape(runs, -1))
        fit = self.fit_local(data, rng)
        sent = packed(fit.mixture).reshape(runs, n, -1).swapaxes(0, 1)
        arrived = channel.send(0, np.arange(n), SERVER, "mixture", sent, encrypted=self.encrypted)
        served = [self._served(unpacked(arrived[:, run], self.components)) for run in range(runs)]
        results = np.stack([served_run[0] for served_run in served])
        everyone = np.zeros(n, dtype=np.intp)
        back = channel.send(
            1, SERVER, np.arange(n), "aggregate", results[None], encrypted=self.encrypted, content=everyone
        )
        refused = tuple(served_run[2] for served_run in served)
        _warn(refused)
        return MixtureRun(
            unpacked(results, self.components),
            np.repeat(back[0][:, None], n, axis=1),
            tuple(served_run[1] for served_run in served),
            refused,
            {run: served_run[3] for run, served_run in enumerate(served) if served_run[3]},
            fit,
            channel.transcript,
        )

    def fit_local(self, parts: Sequence[Array], rng: np.random.Generator) -> LocalFit:
        """Fit the mixtures of all nodes in all runs, runs · n of them, run 0 first; parts n arrays (runs, N_i, d).

        In this order a run is the same however many follow it.
        """
        rows = [part[run] for run in range(len(parts[0])) for part in parts]
        start = self.components if self.start is None else self.start
        assert isinstance(start, (int, np.integer, Mixture))
        settings = {"penalty": self.penalty, "tolerance": self.tolerance, "max_iterations": self.max_iterations}
        return fit_mixtures(rows, start, rng=rng, starts=self.starts, **settings)  # type: ignore[arg-type]

    def error(self, results: Array, reference: Array) -> Array:
        """Compute W1 to the reference at the node furthest from it, (runs,); infinite where there is no result."""
        out = np.zeros(len(results))
        for run, (result, expected) in enumerate(zip(results, reference, strict=True)):
            # Mostly all nodes hold the same, and one distance says it all.
            for pair in np.unique(np.concatenate([result, expected], axis=1), axis=0):
                a, b = np.split(pair, 2)
                out[run] = max(out[run], self._apart(a, b))
        return out

    def _apart(self, a: Array, b: Array) -> float:
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return math.inf
        try:
            return wasserstein(unpacked(a, self.components), unpacked(b, self.components))
        except (DataError, NotConverged):  # no mixture, or one beyond what floats can hold
            return math.inf

    def _served(self, mixtures: Mixture) -> tuple[Array, Any, dict[int, str], str]:
        """Aggregate one run: the result (p,), whom the server kept, whom it refused and why, why there is no result."""
        d, n = mixtures.n_features, len(mixtures.weights)
        refused: dict[int, str] = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RejectedMixtures)
            try:
                aggregated, failure = self.aggregate(mixtures), ""
            except (DataError, ArithmeticError, np.linalg.LinAlgError) as error:
                aggregated, failure = None, str(error)
        for warning in caught:
            if isinstance(warning.message, RejectedMixtures):
                refused |= warning.message.reasons
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        if aggregated is None:
            return np.full(width(self.components, d), np.nan), np.empty(0, dtype=np.intp), refused, failure
        kept = getattr(aggregated, "kept", np.array([getattr(aggregated, "index", n)], dtype=np.intp))
        return packed(_filled(aggregated.mixture, self.components)), kept, refused, ""


def packed(mixture: Mixture) -> Array:
    """Write mixtures (...) as vectors (..., p): all weights, all means, each covariance's upper triangle row by row.

    >>> mixture = Mixture([0.25, 0.75], [[1.0], [2.0]], [[[3.0]], [[4.0]]])
    >>> packed(mixture).tolist()
    [0.25, 0.75, 1.0, 2.0, 3.0, 4.0]
    """
    upper = np.triu_indices(mixture.n_features)
    batch = mixture.weights.shape[:-1]
    triangles = mixture.covariances[..., upper[0], upper[1]]
    return np.concatenate([mixture.weights, mixture.means.reshape(*batch, -1), triangles.reshape(*batch, -1)], axis=-1)


def unpacked(vector: Array, k: int) -> Mixture:
    """Read mixtures (...) of k components from vectors (..., p), unchecked.

    Raises SecmixError: no number of features gives vectors of this length.
    """
    d = features(vector.shape[-1] // k)
    if d < 1 or width(k, d) != vector.shape[-1]:
        raise SecmixError(f"a mixture of {k} components is k (d + 1) (d + 2) / 2 numbers; given {vector.shape[-1]}")
    batch, upper = vector.shape[:-1], np.triu_indices(d)
    covariances = np.empty((*batch, k, d, d))
    triangles = vector[..., k * (1 + d) :].reshape(*batch, k, -1)
    covariances[..., upper[0], upper[1]] = covariances[..., upper[1], upper[0]] = triangles
    return Mixture(vector[..., :k], vector[..., k : k * (1 + d)].reshape(*batch, k, d), covariances)


def _filled(mixture: Mixture, k: int) -> Mixture:
    """Fill a mixture up to k components; those added have weight zero."""
    missing = k - mixture.n_components
    if missing <= 0:
        return mixture
    again = np.concatenate([np.arange(mixture.n_components), np.zeros(missing, dtype=np.intp)])
    weights = np.concatenate([mixture.weights, np.zeros(missing)])
    return Mixture(weights, mixture.means[again], mixture.covariances[again])


def _public_start(start: Mixture | Mapping[str, ArrayLike], k: int) -> Mixture:
    if not isinstance(start, Mixture):
        if set(start) != {"weights", "means", "covariances"}:
            raise SecmixError(f"start has weights, means and covariances; given {sorted(start)}")
        start = Mixture(*(np.asarray(start[name], dtype=np.float64) for name in ("weights", "means", "covariances")))
    if start.weights.shape != (k,):
        raise SecmixError(f"start is one mixture of {k} components; given weights of shape {start.weights.shape}")
    return start


def _warn(refused: Sequence[dict[int, str]]) -> None:
    """Warn once for all runs: each node once, with what was wrong first."""
    reasons: dict[int, str] = {}
    for of_run in refused:
        for node, why in of_run.items():
            reasons.setdefault(node, why)
    if reasons:
        warnings.warn(RejectedMixtures(reasons), stacklevel=3)
