"""The sums of EM statistics as functions of the rows, with their analytic Jacobian, for many row sets at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.mixture import width


@dataclass(frozen=True)
class Equations:
    """T rounds of sums over h rows, T·c·q numbers, in coordinates where the rows are about standard.

    Rows are laid out as columns (d, N) here, so that every operation runs along memory.
    """

    means: Array  # (T, c, d)
    precisions: Array  # (T, c, d, d)
    constants: Array  # (T, c): ln β − ½ ln det Σ; what all components of a round share does not matter

    @property
    def size(self) -> int:
        """T c q, the number of sums."""
        rounds, c, d = self.means.shape
        return int(rounds * width(c, d))

    def statistics(self, columns: Array) -> Array:
        """Compute φ of each row, for all rounds: columns (d, N) to (T c q, N)."""
        off, resp, _ = self._responsibilities(columns, gradient=False)
        return np.asarray((resp[:, :, None] * self._monomials(columns, off)).reshape(-1, columns.shape[1]))

    def with_jacobian(self, columns: Array) -> tuple[Array, Array]:
        """Compute φ of each row (T c q, N), and its derivative in the row's own coordinates (T c q, d, N)."""
        d, n = columns.shape
        off, resp, slope = self._responsibilities(columns, gradient=True)
        powers = self._monomials(columns, off)
        # d(P ψ) = dP ψ + P dψ, with dψ = 0, e_k and e_a (x−μ)_b + e_b (x−μ)_a.
        jacobian = slope[:, :, None] * powers[:, :, :, None]
        for k in range(d):
            jacobian[:, :, 1 + k, k] += resp
        for entry, (a, b) in enumerate(zip(*_upper(d), strict=True), start=1 + d):
            jacobian[:, :, entry, a] += resp * off[:, :, b]
            jacobian[:, :, entry, b] += resp * off[:, :, a]
        powers *= resp[:, :, None]
        return powers.reshape(-1, n), jacobian.reshape(-1, d, n)

    def _responsibilities(self, columns: Array, *, gradient: bool) -> tuple[Array, Array, Array]:
        """Compute x − μ (T, c, d, N), P (T, c, N) and dP/dx (T, c, d, N)."""
        off = columns - self.means[..., None]
        pull = -np.matmul(self.precisions, off)
        joint = 0.5 * np.einsum("tcdn,tcdn->tcn", off, pull) + self.constants[..., None]
        joint -= joint.max(axis=1, keepdims=True)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=1, keepdims=True)
        if gradient:
            pull -= np.einsum("tcn,tcdn->tdn", joint, pull)[:, None]
            pull *= joint[:, :, None]
        return off, joint, pull

    def _monomials(self, columns: Array, off: Array) -> Array:
        """Compute (1, x, upper triangle of (x−μ)(x−μ)ᵀ): (T, c, q, N)."""
        rounds, c, d, n = off.shape
        first, second = _upper(d)
        powers = np.empty((rounds, c, 1 + d + len(first), n))
        powers[:, :, 0] = 1.0
        powers[:, :, 1 : 1 + d] = columns
        np.multiply(off[:, :, first], off[:, :, second], out=powers[:, :, 1 + d :])
        return powers


@cache
def _upper(d: int) -> tuple[Ints, Ints]:
    """Index the upper triangle, once: a search asks for it thousands of times."""
    return np.triu_indices(d)


def rounds_needed(h: int, d: int, c: int) -> float:
    """Compute T*: the fewest rounds whose sums determine h rows of d columns in general position, for c components.

    With q = 1 + d + d(d+1)/2 the sums of T rounds have rank min(h d, c q − 1 + (T − 1)(c − 1) q): the components'
    responsibilities add up to one, so in each round but the first the last component follows from the others, and h is
    known. Fewer rounds than T* leave a continuum of solutions; T* or more can still be ill-conditioned.

    One component has no responsibilities to weigh rows by. Its sums, the moments, stay the same in all rounds and
    under every rotation of the deviations among the rows: up to two rows are determined, and more never are (``inf``).

    Returns
    -------
    int, or ``math.inf`` where no number of rounds is enough.

    Examples
    --------
    >>> rounds_needed(20, 2, 2), rounds_needed(30, 4, 3), rounds_needed(3, 2, 2)
    (6, 4, 1)
    """
    if c == 1:
        return 1 if h <= 2 else math.inf
    q = width(1, d)
    return max(1, 1 + -((c * q - 1 - h * d) // ((c - 1) * q)))
