"""Exact mutual information for Gaussian inputs and masks, and the best linear estimate from a view (Li 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from secmix._base.checks import Array, positive
from secmix.adversaries import Adversary
from secmix.errors import SecmixError
from secmix.estimators.estimate import Estimate
from secmix.estimators.exact.leaked_subspace import INPUT_TOL, MaskRange, mask_range
from secmix.estimators.exact.linear import LinearView, probe, unmodular
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import SumTraits

_MANY = 4096  # entries from which on they are worked out together; of fewer the order of sums stays as it was


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
