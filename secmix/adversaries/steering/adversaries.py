"""Adversaries that steer the parameters so that the next sum isolates a row: colluders, or the server.

Secure summation hides who holds what, not what is summed; and what is summed depends on θ, which colluders choose by
adding what they like to the sums, and a server by what it sends back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer, positive
from secmix.adversaries.attacks.attack import ANY, Attack, RoundMessages
from secmix.adversaries.passive.curious_server import CuriousServer
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.adversaries.steering.cut_search import Ball, HalfSpaces, Isolated, Shape, Sums
from secmix.adversaries.tampering import TamperingChannel
from secmix.errors import SecmixError
from secmix.mixture import Center, Mixture, pack, unpack, width
from secmix.network import Network
from secmix.protocols import EMRun, SumProtocol
from secmix.transcript import SERVER, Channel, Transcript, View

__all__ = ["Detectability", "Isolated", "MaliciousServer", "Steered", "Steering", "detectability"]


@dataclass(frozen=True)
class Steering:
    """Corrupt nodes who add to the sums what makes the next θ isolate an honest row.

    They know the protocol, the number of components, each sum over the honest nodes (that is: the average less what
    they put in) and the parameters that follow from it. They do not know any honest row, and sums do not show them
    whose a row is: without ``near`` they isolate row after row, the victim's among them.

    Parameters
    ----------
    corrupt : iterable of int
    victim : int
        The node whose row is meant; it says what counts as success, not what they know.
    near : sequence of float, optional
        About where the victim's row is, if they know.
    shape : {"half_space", "ball"}
        How a row is isolated: cut off by planes between two far components (quick, and noticed by anybody who checks
        likelihoods), or within one narrow component about ``near`` (stealthy; needs ``near``).
    components : int
        Of the mixture, at least 2.
    force : float
        How many rows they pretend to have, times the number of nodes: honest rows then move θ by one part in ``force``.
    apart, width : float
        Distance and standard deviation of the two components that cut, in units of the data. Rows closer to a plane
        than about 14 (width² + reg_covar) / apart blur the cut, and it is tried again beside them.
    weight : float
        Of the narrow component of a ball.
    center : {"new", "old"}
        The protocol's centring of covariances.
    seed : int
        Of the direction of the planes.
    eavesdrops : bool
        Whether they read plain channels, too.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix import Network
    >>> from secmix.protocols import DistributedEM, SecureSum
    >>> rows = np.array([[0.3, 1.0], [-0.7, 0.1], [1.4, -0.2], [0.2, -1.1], [-1.0, 0.6]])
    >>> steered = Steering(corrupt=[0], victim=2).active(SecureSum())
    >>> start = Mixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], np.repeat(np.eye(2)[None], 2, axis=0))
    >>> em = DistributedEM(2, sums=steered, init=start, max_iter=7, tol=None)
    >>> _ = em.fit([row[None] for row in rows], network=Network.complete(5), rng=0)
    >>> sorted((each.row + 0.0).round(6).tolist() for each in steered.isolated[0])
    [[-1.0, 0.6], [-0.7, 0.1], [0.2, -1.1], [1.4, -0.2]]
    """

    corrupt: Iterable[int]
    victim: int
    near: Sequence[float] | None = None
    shape: Shape = "half_space"
    components: int = 2
    force: float = 3e5
    apart: float = 8.0
    width: float = 0.05
    weight: float = 0.2
    center: Center = "new"
    seed: int = 0
    eavesdrops: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "corrupt", HonestButCurious(self.corrupt).corrupt)
        _checked(self)
        positive(self.force, "force")
        if self.victim in self.corrupt:
            raise SecmixError(f"the victim {self.victim} is one of the corrupt nodes; name an honest one")

    def active(self, protocol: SumProtocol) -> Steered:
        """Wrap ``protocol`` so that the corrupt nodes contribute what steers."""
        return Steered(protocol, self)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the corrupt nodes, after checking that they and the victim exist."""
        network.node_set([self.victim], "victim")
        return HonestButCurious(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe as honest-but-curious nodes do."""
        return HonestButCurious(self.corrupt, eavesdrops=self.eavesdrops).observe(transcript, network)


@dataclass(frozen=True)
class MaliciousServer:
    """A server that sends back averages of its own making, so that the victim's next vector isolates a row.

    It reads every vector, so a node with one row needs no steering. It corrupts nobody, and all nodes get the same.

    Parameters
    ----------
    victim : int
    near, shape, components, apart, width, weight, center, seed
        As for :class:`Steering`.
    """

    victim: int
    server: ClassVar[bool] = True
    near: Sequence[float] | None = None
    shape: Shape = "half_space"
    components: int = 2
    apart: float = 8.0
    width: float = 0.05
    weight: float = 0.2
    center: Center = "new"
    seed: int = 0

    def __post_init__(self) -> None:
        _checked(self)

    def active(self, protocol: SumProtocol) -> Steered:
        """Wrap ``protocol`` so that the server answers with crafted averages."""
        return Steered(protocol, self)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return no nodes, after checking that the victim exists."""
        network.node_set([self.victim], "victim")
        return frozenset()

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe every message to or from the server."""
        return CuriousServer().observe(transcript, network)


def _checked(adversary: Steering | MaliciousServer) -> None:
    integer(adversary.victim, "victim", 0)
    integer(adversary.components, "components", 2)
    integer(adversary.seed, "seed", 0)
    for name in ("apart", "width", "weight"):
        positive(getattr(adversary, name), name)
    if adversary.weight >= 1:
        raise SecmixError(f"weight is the share of one component, below 1; given {adversary.weight}")
    if adversary.shape not in ("half_space", "ball"):
        raise SecmixError(f"shape is 'half_space' or 'ball'; given {adversary.shape!r}")
    if adversary.center not in ("new", "old"):
        raise SecmixError(f"center is 'new' or 'old'; given {adversary.center!r}")
    if adversary.shape == "ball" and adversary.near is None:
        raise SecmixError("a ball needs near, about where the row is; 'half_space' searches without")


@dataclass
class Steered:
    """A sum protocol in which an adversary steers; it keeps the interface, and what it learnt in the last run.

    The first round is left alone: it shows the mean of the rows and the parameters to start from.

    Attributes
    ----------
    isolated : list of list of Isolated
        Rows that stood alone, for each run.
    """

    inner: SumProtocol
    by: Steering | MaliciousServer
    isolated: list[list[Isolated]] = field(default_factory=list)
    _searches: list[HalfSpaces | Ball] = field(default_factory=list)
    _means: Array | None = None  # (runs, K, d), of the round at hand
    _rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)  # sigma, modulus, reuses_masks: whatever the protocol has

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the protocol's own masks."""
        return self.inner.draw_masks(runs, m, network, rng)

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average as the protocol does, with the adversary's contributions or answers."""
        vectors = np.array(inputs, dtype=np.float64)
        channel = channel or Channel()
        d = _columns(vectors.shape[2], self.by.components)
        if channel.iteration < 0 or d is None:
            return self.inner.average(vectors, network, rng, masks=masks, channel=channel)
        if channel.iteration == 0:
            self._begin(len(vectors), d)
        corrupt = sorted(self.by.corrupt_nodes(network))
        if isinstance(self.by, MaliciousServer):
            # The server has the vectors before it answers; colluders must send before they read.
            self._learn(vectors[:, self.by.victim], channel.iteration + 1, d)
            wanted = self._wanted()
            tampering = TamperingChannel(
                _answering(self._vectors(wanted, vectors.shape[2])), [SERVER], self._rng, into=channel
            )
            averages, transcript = self.inner.average(vectors, network, rng, masks=masks, channel=tampering)
            if not tampering.tampered:
                raise SecmixError("this protocol has no server that could send crafted averages; use Steering")
            average = averages[:, 0]
        else:
            wanted = self._wanted()
            steers = np.array([each is not None for each in wanted])
            steered = self._vectors(wanted, vectors.shape[2]) * self.by.force * network.n / len(corrupt)
            for node in corrupt:
                vectors[steers, node] = steered[steers]
            averages, transcript = self.inner.average(vectors, network, rng, masks=masks, channel=channel)
            average = averages[:, corrupt[0]]
            self._learn(network.n * average - vectors[:, corrupt].sum(axis=1), channel.iteration + 1, d)
        for search in self._searches:
            search.advance()
        count, first, _ = unpack(average, self.by.components, d)
        self._means = first / np.where(count > 0, count, 1.0)[..., None]
        return averages, transcript

    def _begin(self, runs: int, d: int) -> None:
        by = self.by
        self._rng = np.random.default_rng(by.seed)
        near = None if by.near is None else np.asarray(by.near, dtype=np.float64)
        if near is not None and near.shape != (d,):
            raise SecmixError(f"near has {near.size} numbers, a row has {d}; give {d}")
        self._searches = []
        for _ in range(runs):
            direction = self._rng.standard_normal(d)
            if near is not None and by.shape == "ball":
                self._searches.append(Ball(near, by.weight))
            else:
                self._searches.append(HalfSpaces(direction / np.linalg.norm(direction), near, by.apart, by.width))
        self.isolated = [search.isolated for search in self._searches]
        self._means = None

    def _wanted(self) -> list[Mixture | None]:
        """Choose the parameters that the next round is to have, for each run; None to leave it alone."""
        if self._means is None:
            return [None] * len(self._searches)
        return [search.aim(self._rng, self.by.components) for search in self._searches]

    def _vectors(self, wanted: list[Mixture | None], m: int) -> Array:
        """Compute summed statistics (runs, m), of one row in all, that give these parameters; NaN where none do."""
        out = np.full((len(wanted), m), np.nan)
        for run, theta in enumerate(wanted):
            if theta is None:
                continue
            assert self._means is not None
            k, d = theta.means.shape
            scatter = theta.covariances.copy()
            if self.by.center == "new":
                moved = theta.means - self._means[run]
                scatter += moved[:, :, None] * moved[:, None, :]
            out[run] = 0.0
            out[run, : width(k, d)] = (theta.weights[:, None] * pack(np.ones(k), theta.means, scatter)).ravel()
        return out

    def _learn(self, honest: Array, rounds: int, d: int) -> None:
        """Take in the honest sums (runs, m) of the round at hand."""
        a, b, scatter = unpack(honest, self.by.components, d)
        for run, search in enumerate(self._searches):
            sums: Sums = (a[run], b[run], scatter[run])
            search.learn(sums, rounds, None if self._means is None else self._means[run])


def _answering(crafted: Array) -> Attack:
    """Make the server send ``crafted`` (runs, m) in place of averages, but in runs where that is NaN."""

    def forge(messages: RoundMessages) -> Array:
        if messages.run >= len(crafted) or np.isnan(crafted[messages.run]).any():  # runs beyond are the audit's probes
            return messages.own
        return np.broadcast_to(crafted[messages.run], messages.own.shape)

    return Attack([ANY], forge, name="crafted_averages")


def _columns(m: int, k: int) -> int | None:
    """Find d for vectors of m numbers, likelihood or not; None where they are no statistics of k components."""
    return next((d for d in range(1, m) if width(k, d) in (m, m - 1)), None)


@dataclass(frozen=True)
class Detectability:
    """Signs of steering that honest nodes could notice, round by round.

    Attributes
    ----------
    shifts : (T, runs)
        The farthest that a mean moved in a round, in the units of the data.
    likelihood : (T + 1, runs)
        Mean log-likelihood of the honest rows under θ^0 … θ^T, nats a row.
    """

    shifts: Array
    likelihood: Array

    @property
    def worst_drop(self) -> Array:
        """The largest fall of the likelihood from one round to the next, nats a row (runs,): 0 in honest EM."""
        return np.asarray(np.maximum(-np.diff(self.likelihood, axis=0), 0.0).max(axis=0))


def detectability(run: EMRun, parts: Sequence[Array], honest: Iterable[int]) -> Detectability:
    """Measure what the ``honest`` nodes, with rows ``parts[i]`` (runs, n_i, d), could notice in a run."""
    nodes = sorted(honest)
    rows = np.concatenate([parts[i] for i in nodes], axis=1)
    path = [mixture[:, nodes[0]] for mixture in run.mixtures]
    shifts = [np.linalg.norm(b.means - a.means, axis=2).max(axis=1) for a, b in pairwise(path)]
    return Detectability(np.stack(shifts), np.stack([theta.log_density(rows).mean(axis=1) for theta in path]))
