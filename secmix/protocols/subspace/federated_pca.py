"""Federated PCA with a resilient server (Singh 2024): every node sends a basis once, or a product in every round.

What it reveals by design. A basis U_ℓ shows the server in which r directions the node's own samples vary most; and if
the node has q <= r samples, n − q linear equations on every one of them: they lie in the span of the first q columns,
exactly. A product Φ_ℓ U shows the covariance applied to known directions. The server reads either from every node;
nodes read only what it sends back. ``analysis/singh_2024/revealed.py`` measures the first from a transcript.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, integer
from secmix.aggregators import RejectedMessages, geometric_median
from secmix.aggregators.subspace_rules import orthonormal, subspace_median, subspace_median_bound
from secmix.aggregators.vector_rules.coordinatewise import mean
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.protocols.collaboration import checked_parts
from secmix.transcript import SERVER, Channel, Transcript

_RULES = ("subspace_median", "subspace_median_of_means", "power_method", "resilient_power_method")


@dataclass(frozen=True)
class PCARun:
    """The result of one or many runs."""

    bases: Array = field(repr=False)  # (runs, n, r): orthonormal
    index: Ints | None  # (runs,) or None: whose basis it is, for the Subspace Median; of means, which group's
    rejected: Ints  # (L,): how many of each node's messages the server set aside
    transcript: Transcript = field(repr=False)


@dataclass(frozen=True)
class FederatedPCA:
    """The top r principal directions of the nodes' common covariance.

    Parameters
    ----------
    r : int
    rule : {"subspace_median", "subspace_median_of_means", "power_method", "resilient_power_method"}
        One round of bases and their Subspace Median; or ``iterations`` rounds of products Φ_ℓ U, combined by their
        mean or their geometric median. The Subspace Median of Means (algorithm 3) has a power method in each of
        ``groups`` groups of neighbours, as :func:`~secmix.aggregators.subspace_rules.subspace_median_of_means` cuts,
        and takes the Subspace Median of their bases: more samples to a basis, but one Byzantine node spoils its group.
    iterations : int
        Of the power methods.
    groups : int, optional
        L̃, for the Subspace Median of Means alone, at most the number of nodes.
    encrypted : bool
        Whether the lines between nodes and server are encrypted.

    Notes
    -----
    What it reveals by design: the server reads every node's basis, or its products in every round. With q rows at a
    node, fewer than r, its basis gives n − q exact equations on each row; nodes read only what the server sends back.

    A :class:`~secmix.protocols.Collaboration`: by :meth:`collaborate`, :meth:`error` and :meth:`bound` it is audited as
    a whole. Samples count as they are, without their mean taken off.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts = [rng.standard_normal((2, 50, 4)) * [9, 1, 1, 1] for _ in range(3)]  # 2 runs, 50 samples a node
    >>> run = FederatedPCA(1).run(parts, rng=rng)
    >>> run.bases.shape, run.transcript.messages
    ((2, 4, 1), 6)
    """

    r: int
    rule: Literal["subspace_median", "subspace_median_of_means", "power_method", "resilient_power_method"] = (
        "subspace_median"
    )
    iterations: int = 30
    encrypted: bool = False
    groups: int | None = None
    unit: ClassVar[str] = "SD_F between subspaces"
    broken: ClassVar[float] = math.sqrt(0.5)
    """Half of a direction's squared length is lost. Colluders who can put one false direction in reach about 1."""

    def __post_init__(self) -> None:
        integer(self.r, "r")
        integer(self.iterations, "iterations")
        if self.rule not in _RULES:
            raise SecmixError(f"rule is one of {', '.join(_RULES)}; given {self.rule!r}")
        if (self.groups is None) == (self.rule == "subspace_median_of_means"):
            raise SecmixError(
                f"groups goes with rule 'subspace_median_of_means'; given {self.groups} and {self.rule!r}"
            )
        if self.groups is not None:
            integer(self.groups, "groups")

    def run(self, parts: Sequence[ArrayLike], *, rng: np.random.Generator, channel: Channel | None = None) -> PCARun:
        """Run the protocol.

        Parameters
        ----------
        parts : L arrays (runs, q_l, n)
            Each node's samples, zero mean, as rows: D_ℓᵀ.
        rng : Generator
            Fills up the basis of a node with fewer samples than r, and starts the power methods. The first runs draw
            the same however many follow.
        channel : Channel, optional
            By default one on which everybody is honest.

        Raises
        ------
        DataError
            Samples that are not finite or of different length, or other numbers of runs; all messages of a run
            unusable.
        SecmixError
            r above the samples' length; more groups than nodes.
        """
        data = checked_parts(parts)
        if self.r > data[0].shape[2]:
            raise SecmixError(f"r = {self.r} dimensions of a space of {data[0].shape[2]}; r can be at most that")
        channel = channel or Channel()
        for i, part in enumerate(data):
            channel.hold(-1, i, "input", part.reshape(len(part), -1))
        if self.rule == "subspace_median":
            return self._bases(data, rng, channel)
        if self.rule == "subspace_median_of_means":
            return self._of_means(data, rng, channel)
        return self._products(data, rng, channel)

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the protocol; every node ends with the server's basis, flattened by rows: (runs, nodes, n r).

        The server talks to every node, whatever the network is.
        """
        run = self.run(checked_parts(parts, network), rng=rng, channel=channel)
        return np.repeat(run.bases.reshape(len(run.bases), 1, -1), network.n, axis=1)

    def error(self, results: Array, reference: Array) -> Array:
        """Compute SD_F of ``results`` from ``reference``, orthonormal bases (runs, nodes, n r), at the worst node."""
        distances = _distances(self._matrices(results), self._matrices(reference))
        return np.asarray(distances.max(axis=1))

    def bound(self, transcript: Transcript, reference: Array, colluders: int) -> float | None:
        """Bound how far ``colluders`` can take the Subspace Median from ``reference``: √(2(1 − τ)/(1 − 2τ)) δ.

        δ is the largest SD_F of a node's basis, as sent in an honest run, from the reference (runs, nodes, n r);
        τ = colluders/L. Proven in ``aggregators/subspace_rules/median.py``, with lemma 2.1 of Minsker 2015. With the
        median of means, the bases are those of the groups, which follow from their last products, and each colluder may
        spoil another group. None for the power methods, which have no such bound here; from half of the bases on; and
        where it is no less than :attr:`broken`, as where honest nodes differ much: then it does not exclude the worst.
        """
        bases = self._medianed(transcript)
        if bases is None or 2 * colluders >= len(bases):
            return None
        apart = _distances(bases, self._matrices(reference)[:, 0])
        most = subspace_median_bound(colluders / len(bases)) * float(apart.max())
        return most if most < self.broken else None

    def _medianed(self, transcript: Transcript) -> Array | None:
        """Collect the bases (L, runs, n, r) whose Subspace Median was taken in an honest run."""
        if self.rule == "subspace_median":
            sent = [block for block in transcript if block.kind == "basis"]
            return self._matrices(sent[0].payload) if len(sent) == 1 else None
        sent = [block for block in transcript if block.kind == "product"]
        if self.rule != "subspace_median_of_means" or len(sent) != self.iterations:
            return None
        products = self._matrices(sent[-1].payload)
        means = [products[group].mean(axis=0) for group in self._members(len(products))]
        return np.asarray(np.linalg.qr(np.stack(means))[0])

    def combined(self, products: ArrayLike) -> Array:
        """Combine products (L, n r) as the server does.

        By their mean; in the resilient method, geometric median; of groups, the Subspace Median of their means.
        """
        if self.rule == "subspace_median_of_means":
            means = _means(self._matrices(np.asarray(products)), self._members(len(np.asarray(products))))
            return np.asarray(subspace_median(means).basis).ravel()
        return np.asarray((mean if self.rule == "power_method" else geometric_median)(products))

    def _members(self, nodes: int) -> list[Ints]:
        """Split the nodes into groups."""
        assert self.groups is not None
        if self.groups > nodes:
            raise SecmixError(f"{nodes} nodes cannot form {self.groups} groups; give at most {nodes}")
        return np.array_split(np.arange(nodes), self.groups)

    def _matrices(self, flat: Array) -> Array:
        return flat.reshape(*flat.shape[:-1], -1, self.r)

    def _bases(self, data: list[Array], rng: np.random.Generator, channel: Channel) -> PCARun:
        own = rng.spawn(len(data))
        sent = np.stack([own_basis(part, self.r, rng_of_node) for part, rng_of_node in zip(data, own, strict=True)])
        arrived = self._to_server(channel, 0, "basis", sent)
        rejected = np.zeros(len(data), dtype=np.intp)
        results = []
        with warnings.catch_warnings():
            # The server sets bad messages aside and goes on; they are counted, and the transcript shows them.
            warnings.simplefilter("ignore", RejectedMessages)
            for run in range(arrived.shape[1]):
                median = subspace_median(arrived[:, run])
                rejected[list(median.rejected)] += 1
                results.append(median)
        result = self._to_nodes(channel, 1, "subspace", np.stack([median.basis for median in results]), len(data))
        return PCARun(
            result, np.array([median.index for median in results], dtype=np.intp), rejected, channel.transcript
        )

    def _products(self, data: list[Array], rng: np.random.Generator, channel: Channel) -> PCARun:
        runs, n = data[0].shape[0], data[0].shape[2]
        basis = np.linalg.qr(rng.standard_normal((runs, n, self.r)))[0]
        rejected = np.zeros(len(data), dtype=np.intp)
        for t in range(self.iterations):
            channel.iteration = t
            basis = self._to_nodes(channel, 0, "iterate", basis, len(data))
            sent = np.stack([part.swapaxes(1, 2) @ (part @ basis) / part.shape[1] for part in data])
            arrived = self._to_server(channel, 1, "product", sent)
            combined = np.empty_like(basis)
            for run in range(runs):
                messages = arrived[:, run].reshape(len(data), -1)
                rejected += ~np.isfinite(messages).all(axis=1)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RejectedMessages)
                    combined[run] = self.combined(messages).reshape(n, self.r)
            largest = np.abs(combined).max(axis=(1, 2), keepdims=True)
            basis = np.linalg.qr(combined / np.where(largest > 0, largest, 1.0))[0]
        channel.iteration = self.iterations
        basis = self._to_nodes(channel, 0, "subspace", basis, len(data))
        return PCARun(basis, None, rejected, channel.transcript)

    def _of_means(self, data: list[Array], rng: np.random.Generator, channel: Channel) -> PCARun:
        runs, n = data[0].shape[0], data[0].shape[2]
        members = self._members(len(data))
        group_of = np.concatenate([np.full(len(group), k, dtype=np.intp) for k, group in enumerate(members)])
        start = np.linalg.qr(rng.standard_normal((runs, n, self.r)))[0]
        bases = np.repeat(start[None], len(members), axis=0)
        rejected = np.zeros(len(data), dtype=np.intp)
        spoilt = np.zeros((len(members), runs), dtype=bool)
        for t in range(self.iterations):
            channel.iteration = t
            bases = self._to_groups(channel, bases, group_of)
            own = bases[group_of]
            products = [part.swapaxes(1, 2) @ (part @ u) / part.shape[1] for part, u in zip(data, own, strict=True)]
            arrived = self._to_server(channel, 1, "product", np.stack(products))
            rejected += (~np.isfinite(arrived).all(axis=(2, 3))).sum(axis=1)
            for run in range(runs):
                means = _means(arrived[:, run], members)
                lost = np.isnan(means[:, 0, 0])
                spoilt[:, run] |= lost
                # A group whose product has no basis goes on with its last one, and does not count in the end.
                bases[:, run] = np.where(lost[:, None, None], bases[:, run], means)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RejectedMessages)
            usable = np.where(spoilt[:, :, None, None], np.nan, bases)
            medians = [subspace_median(usable[:, run]) for run in range(runs)]
        channel.iteration = self.iterations
        result = self._to_nodes(channel, 0, "subspace", np.stack([median.basis for median in medians]), len(data))
        index = np.array([median.index for median in medians], dtype=np.intp)
        return PCARun(result, index, rejected, channel.transcript)

    def _to_groups(self, channel: Channel, bases: Array, group_of: Ints) -> Array:
        flat = bases.reshape(*bases.shape[:2], -1)
        nodes = np.arange(len(group_of))
        arrived = channel.send(0, SERVER, nodes, "iterate", flat, encrypted=self.encrypted, content=group_of)
        return np.array(arrived.reshape(bases.shape))

    def _to_server(self, channel: Channel, round: int, kind: str, sent: Array) -> Array:
        flat = sent.reshape(*sent.shape[:2], -1)
        arrived = channel.send(round, np.arange(len(sent)), SERVER, kind, flat, encrypted=self.encrypted)
        return arrived.reshape(sent.shape)

    def _to_nodes(self, channel: Channel, round: int, kind: str, basis: Array, nodes: int) -> Array:
        content = np.zeros(nodes, dtype=np.intp)  # one for all
        flat = basis.reshape(1, len(basis), -1)
        arrived = channel.send(round, SERVER, np.arange(nodes), kind, flat, encrypted=self.encrypted, content=content)
        return np.asarray(arrived[0].reshape(basis.shape))


def _means(products: Array, members: Sequence[Ints]) -> Array:
    """Compute orthonormal bases (groups, n, r) of the groups' mean products (L, n, r); NaN where a mean has none."""
    bases = np.full((len(members), *products.shape[1:]), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        for k, group in enumerate(members):
            try:
                bases[k] = orthonormal(products[group].mean(axis=0))
            except DataError:  # not finite, or of lower rank: by its Byzantine members' doing
                continue
    return bases


def _distances(first: Array, second: Array) -> Array:
    """Compute SD_F (...) of orthonormal bases (..., n, r)."""
    return np.asarray(np.linalg.norm(second - first @ (first.swapaxes(-1, -2) @ second), axis=(-2, -1)))


def own_basis(rows: Array, r: int, rng: np.random.Generator) -> Array:
    """Compute a node's basis (runs, n, r): the top r right singular vectors of its samples ``rows`` (runs, q, n).

    With fewer than r samples it is filled up with random directions, after those of the samples.
    """
    top = np.linalg.svd(rows, full_matrices=False)[2][:, :r].swapaxes(1, 2)
    missing = r - top.shape[2]
    if missing:
        more = rng.standard_normal((len(rows), rows.shape[2], missing))
        top = np.linalg.qr(np.concatenate([top, more], axis=2))[0]
    return np.asarray(top)
