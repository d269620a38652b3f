"""Work out what a linear view reveals: combinations of inputs, and information where these are Gaussian.

With masks of any size, the adversary can always form the combinations of what it holds in which every mask cancels.
With N spanning the left null space of M, these are NᵀA s; the row space of NᵀA is the *leaked subspace* (Li 2022,
section 4). With Gaussian inputs and masks, mutual information has a closed form, as has the best estimate (section 5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secmix._base.checks import Array, positive
from secmix.adversaries import Adversary
from secmix.errors import SecmixError
from secmix.estimators.estimate import Estimate
from secmix.estimators.exact.linear import LinearView, probe, unmodular
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits

# Mask coefficients below MASK_TOL of the largest count as cancelled: a mask of 1e6 would then still leave 1e-3, which
# hides nothing. The error is on the safe side: a combination is called leaked that is all but leaked.
MASK_TOL = 1e-9
# Directions of NᵀA below this are rounding error; true ones have integer-like coefficients, of order 1/F at least.
INPUT_TOL = 1e-6
# Share of an input from which on it counts as known: what is missing is rounding error.
KNOWN = 1 - 1e-6
_MOST_WRITTEN, _FIRST = 40, 6  # terms of a sum that are written down, and of a longer one at its beginning
_MANY = 4096  # entries from which on they are worked out together; of fewer the order of sums stays as it was

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
    """Write a sum down; of one with many terms the first and the last.

    >>> _in_words(np.ones(60), 60, 1)
    'x0 + x1 + x2 + x3 + x4 + x5 + … + x59 (60 terms)'
    """
    words: list[str] = []
    for index in np.flatnonzero(np.abs(row) > 1e-6):
        t, node = divmod(int(index), n)
        size = abs(float(row[index]))
        name = f"x{node}" if rounds == 1 else f"x{node}[{t}]"
        term = name if abs(size - 1) < 1e-6 else f"{size:.4g} {name}"
        sign = ("-" if row[index] < 0 else "") if not words else ("- " if row[index] < 0 else "+ ")
        words.append(sign + term)
    several = f"{' '.join(words[:_FIRST])} + … {words[-1]} ({len(words)} terms)" if len(words) > _MOST_WRITTEN else ""
    return several or " ".join(words)


@dataclass(frozen=True)
class GaussianView:
    """A view for s ~ N(0, sigma_input² I), r ~ N(0, sigma² I), worked out once for every ratio of the two.

    The combinations of the view that no mask reaches give ``known``ᵀ s exactly; the others are whitened, so that mask
    sizes from 1e-9 to 1e9 lose no digits.
    """

    known: Array  # (n, r): orthonormal basis of the combinations of inputs that are known exactly: the leaked subspace
    null: Array  # (n, n − r): orthonormal basis of what they leave open
    noisy: Array  # (q, n): combinations of inputs that are read through noise of the masks' size
    # read_known, read_noisy: (r, F), (q, F): what the adversary does with its F rows to get these
    read_known: Array
    read_noisy: Array

    @classmethod
    def of(cls, view: LinearView, reach: MaskRange | None = None) -> GaussianView:
        """Whiten a view whose A and M are known, without modulus (``unmodular``); ``reach`` as in ``subspace_of``."""
        n = view.A.shape[1]
        basis, sizes = reach or mask_range(view)
        read_noisy = basis.T / sizes[:, None]
        free = view.A - basis @ (basis.T @ view.A)
        if not len(free):
            return cls(np.empty((n, 0)), np.eye(n), read_noisy @ view.A, np.empty((0, 0)), read_noisy)
        p, d, qt = np.linalg.svd(free, full_matrices=False)
        rank = int((d > INPUT_TOL * max(1.0, d[0])).sum())
        left = p[:, :rank].T - (p[:, :rank].T @ basis) @ basis.T
        full = np.linalg.qr(qt[:rank].T, mode="complete")[0] if rank else np.eye(n)
        return cls(qt[:rank].T, full[:, rank:], read_noisy @ view.A, left / d[:rank, None], read_noisy)

    def information(self, index: int, ratio: float) -> float:
        """Compute I(s_index; view) in nats for masks ``ratio`` times as large as inputs; infinite if it is leaked.

        Each is computed once: iterations share a view, and what is known is asked for again and again.
        """
        key = index, ratio
        if key not in self._known_information:
            self._known_information[key] = self._information(index, ratio)
        return self._known_information[key]

    @cached_property
    def _known_information(self) -> dict[tuple[int, float], float]:
        return {}

    def _information(self, index: int, ratio: float) -> float:
        if float(np.sum(self.null[index] ** 2)) < INPUT_TOL:
            return math.inf
        # Near-independence needs log1p of the small gain, near-disclosure the posterior itself.
        left = self._left_open(index, ratio)
        return -0.5 * math.log(left) if left < 0.5 else -0.5 * math.log1p(-max(self._gain(index, ratio), 0.0))

    def estimates(self, values: Array, ratio: Array) -> Array:
        """Compute the posterior means of all inputs, the best that a linear adversary can do.

        ``values`` (F, runs, m): the rows of the view; ``ratio`` (m,): size of the masks over size of the inputs, for
        each entry. The result is (n, runs, m).
        """
        known = np.tensordot(self.read_known, values, axes=1)
        through = self.noisy @ self.null
        rest = np.tensordot(self.read_noisy, values, axes=1) - np.tensordot(self.noisy @ self.known, known, axes=1)
        out = np.tensordot(self.known, known, axes=1)
        # Singular values, not a solve: masks a billionth of the inputs would leave a singular matrix.
        u, s, vt = np.linalg.svd(through, full_matrices=False)
        if len(ratio) > _MANY:
            gains = s[:, None] / np.maximum(s[:, None] ** 2 + ratio**2, 1e-300)
            out += np.tensordot(self.null @ vt.T, gains[:, None] * np.tensordot(u.T, rest, axes=1), axes=1)
            return np.asarray(out)
        for j, r in enumerate(ratio):
            gain = vt.T @ ((s / np.maximum(s**2 + float(r) ** 2, 1e-300))[:, None] * u.T)
            out[..., j] += self.null @ (gain @ rest[..., j])
        return np.asarray(out)

    def _left_open(self, index: int, ratio: float) -> float:
        """Compute the posterior variance, by singular values: no mask is too small for it."""
        sizes, coordinates, outside = self._coordinates(index, ratio)
        return float(outside @ outside + np.sum(coordinates**2 / (1.0 + sizes**2)))

    def _gain(self, index: int, ratio: float) -> float:
        """Compute 1 − posterior variance, without cancellation."""
        sizes, coordinates, _ = self._coordinates(index, ratio)
        small = float(np.sum(coordinates**2 * sizes**2 / (1.0 + sizes**2)))
        return small + float(np.sum(self.known[index] ** 2))

    def _coordinates(self, index: int, ratio: float) -> tuple[Array, Array, Array]:
        sizes, vt = self._behind_masks
        row = self.null[index]
        coordinates = vt @ row
        return sizes / ratio, coordinates, row - vt.T @ coordinates

    @cached_property
    def _behind_masks(self) -> tuple[Array, Array]:
        """Singular values and right singular vectors of what is read through masks as large as inputs."""
        _, sizes, vt = np.linalg.svd(self.noisy @ self.null, full_matrices=False)
        return sizes, vt


def mask_size(protocol: SumProtocol, network: Network, rng: np.random.Generator) -> float:
    """Return the standard deviation of the protocol's masks: its ``sigma``, or else that of the masks it draws."""
    declared = SumTraits.of(protocol).sigma
    if declared is not None:
        return float(declared)
    drawn = protocol.draw_masks(2000, 1, network, rng)
    return float(drawn.std()) if drawn.size and drawn.std() > 0 else 1.0


def gaussian_leakage(
    protocol: SumProtocol,
    network: Network,
    adversary: Adversary,
    node: int,
    sigma_input: float = 1.0,
    *,
    rng: np.random.Generator | int | None = 0,
) -> Estimate:
    """Compute I(s_node; view) in nats a number summed, exact for s ~ N(0, sigma_input² I) and Gaussian masks.

    Parameters
    ----------
    protocol : sum protocol
        Its ``sigma`` is the standard deviation of the masks (measured where it has none); modular masks are perfect.
    node : int
    sigma_input : float
        Standard deviation of the inputs, in the units of ``sigma``.

    Raises
    ------
    SecmixError
        If the node is corrupt, does not exist, or ``sigma_input`` is not positive.

    Examples
    --------
    The sum of n Gaussians gives each one ½ ln(n/(n−1)) nats:

    >>> from secmix import Network
    >>> from secmix.protocols import PDMM
    >>> from secmix.adversaries import Eavesdropper
    >>> gaussian_leakage(PDMM(sigma=1e9), Network.complete(4), Eavesdropper(), node=0)
    Estimate(0.1438 nats, exact, resolved; exact Gaussian mutual information)
    """
    positive(sigma_input, "sigma_input")
    network.node_set([node], "asked-about")
    if node in adversary.corrupt_nodes(network):
        raise SecmixError(f"node {node} is corrupt: the adversary knows its own data; ask about an honest node")
    generator = np.random.default_rng(rng)
    view = probe(protocol, network, adversary, generator)
    plain, _ = unmodular(view.equilibrated(), np.zeros((len(view.A), 1, 1)))
    sigma = mask_size(protocol, network, generator)
    nats = GaussianView.of(plain).information(node, sigma / sigma_input)
    return Estimate.exact(nats, "nats", "exact Gaussian mutual information")
