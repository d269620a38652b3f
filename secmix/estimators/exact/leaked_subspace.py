"""The leaked subspace: what is revealed whatever the distribution of the data (Li 2022, section 4).

With masks of any size, the adversary can always form the combinations of what it holds in which every mask cancels.
With N spanning the left null space of M, these are NᵀA s; the row space of NᵀA is the *leaked subspace*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import Adversary
from secmix.estimators.exact.linear import LinearView, probe
from secmix.network import Network
from secmix.protocols import SumProtocol

# Mask coefficients below MASK_TOL of the largest count as cancelled: a mask of 1e6 would then still leave 1e-3, which
# hides nothing. The error is on the safe side: a combination is called leaked that is all but leaked.
MASK_TOL = 1e-9
# Directions of NᵀA below this are rounding error; true ones have integer-like coefficients, of order 1/F at least.
INPUT_TOL = 1e-6
# Share of an input from which on it counts as known: what is missing is rounding error.
KNOWN = 1 - 1e-6

MaskRange = tuple[Array, Array]
"""Orthonormal basis (F, q) of the combinations that masks reach, and the q singular values of M."""


@dataclass(frozen=True)
class LeakedSubspace:
    """The combinations of inputs that an adversary learns exactly.

    Attributes
    ----------
    basis : (rank, n·T)
        Reduced row echelon basis: columns are the nodes' inputs, iteration after iteration.
    n : int
        Number of nodes.
    corrupt : frozenset of int
        The adversary's own nodes, whose inputs are no secret from it.
    """

    basis: Array
    n: int
    corrupt: frozenset[int]

    @property
    def rank(self) -> int:
        """Dimension of the leaked subspace."""
        return len(self.basis)

    @cached_property
    def projector(self) -> Array:
        """Orthogonal projector (n·T, n·T) onto the subspace."""
        if not self.rank:
            return np.zeros((self.basis.shape[1],) * 2)
        q = np.linalg.qr(self.basis.T)[0]
        return np.asarray(q @ q.T)

    @property
    def revealed(self) -> frozenset[int]:
        """Honest nodes of whom some iteration's input lies in the subspace."""
        own = self._shares.max(axis=0)
        return frozenset(int(i) for i in np.flatnonzero(own > KNOWN)) - self.corrupt

    def explained(self, node: int) -> Array:
        """Compute the known share of the variance of the node's input, for i.i.d. inputs: (T,), 1 where revealed."""
        return np.clip(self._shares[:, node], 0.0, 1.0)

    @cached_property
    def _shares(self) -> Array:
        """Known shares (T, n) of the variance of all inputs, but for rounding."""
        return np.diag(self.projector).reshape(-1, self.n)

    def describe(self) -> list[str]:
        """Describe the basis in words, such as "x0 + x2 + x4"; with several iterations "x0[1] - x0[0]"."""
        rounds = self.basis.shape[1] // self.n
        return [_in_words(row, self.n, rounds) for row in self.basis]

    def __repr__(self) -> str:
        return f"LeakedSubspace(rank={self.rank}: {'; '.join(self.describe()) or 'nothing'})"


def leaked_subspace(
    protocol: SumProtocol,
    network: Network,
    adversary: Adversary,
    *,
    rounds: int = 1,
    rng: np.random.Generator | int | None = 0,
) -> LeakedSubspace:
    """Compute the leaked subspace of ``rounds`` averagings, by running the protocol itself on the identity.

    Parameters
    ----------
    protocol : sum protocol
    network : Network
    adversary : Adversary
    rounds : int
        Averagings observed; more than one matters where masks are reused.
    rng : Generator or int
        For schedules and message loss; the subspace does not depend on it.

    Examples
    --------
    >>> from secmix import Network
    >>> from secmix.protocols import PDMM, SecureSum
    >>> from secmix.adversaries import HonestButCurious
    >>> network = Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2), (2, 4)])
    >>> leaked_subspace(SecureSum(), network, HonestButCurious({1, 3})).describe()
    ['x0 + x4', 'x1', 'x2', 'x3']
    >>> leaked_subspace(PDMM(), network, HonestButCurious({1, 3})).describe()
    ['x0 + x2 + x4', 'x1', 'x3']
    """
    corrupt = adversary.corrupt_nodes(network)
    view = probe(protocol, network, adversary, np.random.default_rng(rng), rounds=rounds)
    return subspace_of(view.equilibrated(), corrupt)


def subspace_of(view: LinearView, corrupt: frozenset[int], reach: MaskRange | None = None) -> LeakedSubspace:
    """Compute the leaked subspace of a view whose A and M are known; ``reach`` is its ``mask_range``, if known."""
    A, basis = view.A, reach[0] if reach else None
    if basis is None:
        coefficients = np.hstack([view.spread, A])
        # The triangle has the rows' inner products, and with them all that is asked here.
        if len(coefficients) > coefficients.shape[1]:
            coefficients = np.asarray(np.linalg.qr(coefficients, mode="r"))
        A, basis = coefficients[:, view.M.shape[1] :], _range(coefficients[:, : view.M.shape[1]])[0]
    return LeakedSubspace(row_echelon(A - basis @ (basis.T @ A)), view.n, corrupt)


def mask_range(view: LinearView) -> MaskRange:
    """Compute an orthonormal basis (F, q) of the combinations that masks reach, and the q singular values of M.

    M is taken as it meets independent masks: masks that all but cancel reach next to nothing.
    """
    return _range(view.spread)


def _range(M: Array) -> MaskRange:
    if not M.size:
        return np.empty((len(M), 0)), np.empty(0)
    u, s, _ = np.linalg.svd(M, full_matrices=False)
    keep = s > MASK_TOL * s[0] if s[0] > 0 else np.zeros(len(s), dtype=bool)
    return u[:, keep], s[keep]


def row_echelon(matrix: Array) -> Array:
    """Compute the reduced row echelon basis of the row space, by way of its singular vectors."""
    if not matrix.size:
        return np.empty((0, matrix.shape[1]))
    _, s, vt = np.linalg.svd(matrix, full_matrices=False)
    rows = vt[s > INPUT_TOL * max(1.0, s[0])]
    rank, column = 0, 0
    while rank < len(rows) and column < rows.shape[1]:
        pivot = rank + int(np.argmax(np.abs(rows[rank:, column])))
        if abs(rows[pivot, column]) > 1e-8:
            rows[[rank, pivot]] = rows[[pivot, rank]]
            rows[rank] /= rows[rank, column]
            others = np.arange(len(rows)) != rank
            rows[others] -= rows[others, column][:, None] * rows[rank]
            rank += 1
        column += 1
    snapped = np.round(rows)
    return np.asarray(np.where(np.abs(rows - snapped) < 1e-6, snapped, rows) + 0.0)


def _in_words(row: Array, n: int, rounds: int) -> str:
    words: list[str] = []
    for index in np.flatnonzero(np.abs(row) > 1e-6):
        t, node = divmod(int(index), n)
        size = abs(float(row[index]))
        name = f"x{node}" if rounds == 1 else f"x{node}[{t}]"
        term = name if abs(size - 1) < 1e-6 else f"{size:.4g} {name}"
        sign = ("-" if row[index] < 0 else "") if not words else ("- " if row[index] < 0 else "+ ")
        words.append(sign + term)
    return " ".join(words)
