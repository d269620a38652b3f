"""Byz-Fed-AltGDmin-Learn (Singh 2024, algorithm 2): columns of a low-rank matrix from few linear measurements each.

y_k = X_k θ_k for k = 1..q, and Θ = (θ_1 ... θ_q) = U* B* of rank r. Node ℓ holds m̃ = m/L of the rows of every
(X_k, y_k). Nodes keep their coefficients b_k to themselves; the server gets a basis once, a gradient in every round.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, finite_array, integer, positive
from secmix.aggregators import RejectedMessages, geometric_median
from secmix.aggregators.subspace_rules import subspace_median
from secmix.aggregators.vector_rules.coordinatewise import mean
from secmix.errors import DataError, SecmixError
from secmix.transcript import SERVER, Channel, Transcript


@dataclass(frozen=True)
class AltGDRun:
    """The result of a run."""

    basis: Array = field(repr=False)  # (n, r): orthonormal
    iterates: Array = field(repr=False)  # (iterations + 1, n, r): from the start to ``basis``
    # (L, q, r): b_k by each node's own rows at the end, which it does not send: its θ_k is ``basis`` b_k
    coefficients: Array = field(repr=False)
    rejected: Ints  # (L,): how many of each node's messages the server set aside
    transcript: Transcript = field(repr=False)


@dataclass(frozen=True)
class ByzFedAltGDmin:
    """Alternating gradient descent and minimisation behind resilient rules.

    Parameters
    ----------
    r : int
    iterations : int
    rule : {"geometric_median", "mean"}
        Combines the gradients. The start is the Subspace Median either way.
    groups : int, optional
        L̃: the geometric median is that of the mean gradients of so many groups of neighbouring nodes, of ρ = L/L̃ nodes
        each or nearly so (the step η/(ρ m̃) of algorithm 2). One Byzantine node spoils its group. By default every node
        is a group of its own.
    truncation : float
        The factor 9 κ² μ² of the threshold: measurements larger than √(truncation · mean square) are left out of the
        start.
    step : float
        η as a multiple of 1/σ², σ the median of the nodes' largest singular values of B at the start.
    encrypted : bool

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> theta = rng.standard_normal((10, 1)) @ rng.standard_normal((1, 30))
    >>> X = rng.standard_normal((30, 24, 10))
    >>> y = np.einsum("kmn,nk->km", X, theta)
    >>> run = ByzFedAltGDmin(1, iterations=40).run(X, y, nodes=3)
    >>> from secmix.aggregators.subspace_rules import subspace_distance
    >>> subspace_distance(run.basis, theta[:, :1]) < 1e-6
    True
    """

    r: int
    iterations: int = 200
    rule: Literal["geometric_median", "mean"] = "geometric_median"
    truncation: float = 9.0
    step: float = 0.5
    encrypted: bool = False
    groups: int | None = None

    def __post_init__(self) -> None:
        integer(self.r, "r")
        integer(self.iterations, "iterations")
        if self.groups is not None:
            integer(self.groups, "groups")
            if self.rule == "mean":
                raise SecmixError("groups goes with rule 'geometric_median'; a mean of means is the mean")
        positive(self.truncation, "truncation")
        positive(self.step, "step")
        if self.rule not in ("geometric_median", "mean"):
            raise SecmixError(f"rule is 'geometric_median' or 'mean'; given {self.rule!r}")

    def run(self, X: ArrayLike, y: ArrayLike, *, nodes: int, channel: Channel | None = None) -> AltGDRun:
        """Run the protocol once.

        Parameters
        ----------
        X : (q, m, n)
            Row j of X_k measures column k. Node ℓ holds rows ℓ m̃ to (ℓ + 1) m̃ of each.
        y : (q, m)
        nodes : int
            L; it divides m, and m/L >= r.
        channel : Channel, optional
            By default one on which everybody is honest.

        Raises
        ------
        DataError
            Shapes that do not fit, values that are not finite, too few measurements a node.
        """
        blocks, values = self._split(X, y, nodes)
        _, count, rows, n = blocks.shape
        channel = channel or Channel()
        for i in range(count):
            channel.hold(-1, i, "measurements", values[:, i].reshape(1, -1))
        rejected = np.zeros(count, dtype=np.intp)
        channel.iteration = 0
        basis, scale = self._start(blocks, values, channel, rejected)
        iterates = [basis]
        for t in range(self.iterations):
            channel.iteration = t + 1
            b, residual = _coefficients(blocks, values, basis)
            columns = (residual[:, :, None, :] @ blocks)[:, :, 0]  # X_kᵀ(X_k U b_k − y_k): (q, L, n)
            gradients = np.einsum("kln,klr->lnr", columns, b)
            arrived = self._to_server(channel, 0, "gradient", gradients)
            combined = self._combined(arrived, rejected).reshape(n, self.r)
            moved = basis - self.step / (scale * rows) * combined
            # Of a gradient beyond all bounds, which a mean may have, the direction.
            moved /= max(float(np.abs(moved).max()), 1.0)
            basis = self._to_nodes(channel, 1, np.linalg.qr(moved)[0], count)
            iterates.append(basis)
        b, _ = _coefficients(blocks, values, basis)
        return AltGDRun(basis, np.stack(iterates), b.swapaxes(0, 1), rejected, channel.transcript)

    def _start(self, blocks: Array, values: Array, channel: Channel, rejected: Ints) -> tuple[Array, float]:
        """Compute the start, and σ² for the step: both from messages of which fewer than half may be wrong."""
        q, count, rows = blocks.shape[:3]
        own = self.truncation * (values**2).sum(axis=(0, 2)) / (rows * q)
        alpha = self._median(self._to_server(channel, 0, "threshold", own[:, None]), rejected)
        everybody = np.zeros(count, dtype=np.intp)  # one content for all
        alpha = channel.send(
            1, SERVER, np.arange(count), "threshold", np.full((1, 1, 1), alpha),
            encrypted=self.encrypted, content=everybody,
        ).item()  # fmt: skip
        truncated = np.where(np.abs(values) <= np.sqrt(alpha), values, 0.0)
        moments = (truncated[:, :, None, :] @ blocks)[:, :, 0] / rows  # Σ y X over a node's rows: (q, L, n)
        own_bases = np.stack(
            [np.linalg.svd(moments[:, i].T, full_matrices=False)[0][:, : self.r] for i in range(count)]
        )
        arrived = self._to_server(channel, 2, "basis", own_bases)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RejectedMessages)
            median = subspace_median(arrived)
        rejected[list(median.rejected)] += 1
        basis = self._to_nodes(channel, 2, median.basis, count)
        b, _ = _coefficients(blocks, values, basis)
        largest = np.array([np.linalg.norm(b[:, i], 2) ** 2 for i in range(count)])
        scale = self._median(self._to_server(channel, 2, "scale", largest[:, None]), rejected)
        return basis, max(scale, float(np.finfo(float).tiny))

    def _combined(self, arrived: Array, rejected: Ints) -> Array:
        messages = arrived.reshape(len(arrived), -1)
        rejected += ~np.isfinite(messages).all(axis=1)
        if self.groups is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # of a group that is spoilt the mean is set aside below
                messages = np.stack([some.mean(axis=0) for some in np.array_split(messages, self.groups)])
        with warnings.catch_warnings():
            # The server sets bad messages aside and goes on; they are counted, and the transcript shows them.
            warnings.simplefilter("ignore", RejectedMessages)
            return np.asarray((geometric_median if self.rule == "geometric_median" else mean)(messages))

    def _median(self, arrived: Array, rejected: Ints) -> float:
        numbers = arrived.ravel()
        good = np.isfinite(numbers) & (numbers >= 0)
        rejected += ~good
        if not good.any():
            raise DataError("no node sent a usable number")
        return float(np.median(numbers[good]))

    def _to_server(self, channel: Channel, round: int, kind: str, sent: Array) -> Array:
        flat = sent.reshape(len(sent), 1, -1)
        arrived = channel.send(round, np.arange(len(sent)), SERVER, kind, flat, encrypted=self.encrypted)
        return arrived.reshape(sent.shape)

    def _to_nodes(self, channel: Channel, round: int, basis: Array, nodes: int) -> Array:
        content = np.zeros(nodes, dtype=np.intp)  # one for all
        arrived = channel.send(
            round, SERVER, np.arange(nodes), "iterate", basis.reshape(1, 1, -1),
            encrypted=self.encrypted, content=content,
        )  # fmt: skip
        return arrived.reshape(basis.shape)

    def _split(self, X: ArrayLike, y: ArrayLike, nodes: int) -> tuple[Array, Array]:
        """Split the measurements by node: (q, L, m̃, n) and (q, L, m̃), without a copy."""
        matrices, values = finite_array(X, "X", ndim=3), finite_array(y, "y", ndim=2)
        q, m, n = matrices.shape
        nodes = integer(nodes, "nodes")
        if values.shape != (q, m):
            raise DataError(f"X (q, m, n) has shape {matrices.shape}: y should be {(q, m)}; given {values.shape}")
        if m % nodes or m // nodes < self.r:
            raise DataError(
                f"{m} measurements a column for {nodes} nodes: each needs the same number, at least r = {self.r}"
            )
        if self.groups is not None and self.groups > nodes:
            raise SecmixError(f"{nodes} nodes cannot form {self.groups} groups; give at most {nodes}")
        if self.r > min(n, q):
            raise DataError(f"a matrix of {n} by {q} has no rank of r = {self.r}; give at most {min(n, q)}")
        return matrices.reshape(q, nodes, -1, n), values.reshape(q, nodes, -1)


def _coefficients(blocks: Array, values: Array, basis: Array) -> tuple[Array, Array]:
    """Solve b_k = (X_k U)⁺ y_k at every node, (q, L, r), and compute X_k U b_k − y_k, (q, L, m̃)."""
    reduced = blocks @ basis
    q, triangle = np.linalg.qr(reduced)
    projected = (values[..., None, :] @ q)[..., 0, :]
    size = np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))
    if (size <= 1e-13 * size.max()).any():
        raise DataError("the measurements of a column at a node do not determine r coefficients; give more of them")
    b = np.linalg.solve(triangle, projected[..., None])[..., 0]
    return b, (reduced @ b[..., None])[..., 0] - values
