"""From the mixture that a node sends to its rows.

At a fixed point of penalised EM a mixture *is* the sums of the node's statistics at that same mixture, and sums of K q
numbers, q = 1 + d + d (d + 1) / 2, determine N rows of d numbers once K q − 1 >= N d.
"""

from __future__ import annotations

import math

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.inversion.invert import invert_sums
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.adversaries.reconstructions.replay import replayed
from secmix.mixture import Mixture, pack
from secmix.protocols.mixture.distributed_mixture import DistributedMixture, unpacked, width

_MOST = 150
"""Unknown numbers up to which a search is made."""
_STARTS = 64


def row_moments(mixture: Mixture, count: int, penalty: float) -> tuple[Array, Array]:
    """Compute mean (d,) and covariance S (d, d) of the rows behind a single mixture, exact after any M-step.

    Responsibilities sum to one, so that the components' sums add up to those of the rows. With n_k = N π_k and
    Σ_k = (C_k + 2 a S) / (n_k + 2 a), where C_k is the scatter of component k,

        N S = Σ_k C_k + Σ_k n_k (μ_k − m)(μ_k − m)ᵀ, hence
        S = [Σ_k (π_k + 2 a/N) Σ_k + Σ_k π_k (μ_k − m)(μ_k − m)ᵀ] / (1 + 2 a K/N).

    >>> mean, spread = row_moments(Mixture([1.0], [[3.0]], [[[4.0]]]), count=9, penalty=1 / 3)
    >>> float(mean[0]), round(float(spread[0, 0]), 12)
    (3.0, 4.0)
    """
    mean = mixture.weights @ mixture.means
    off = mixture.means - mean
    total = np.einsum("k,kij->ij", mixture.weights + 2 * penalty / count, mixture.covariances)
    total += np.einsum("k,ki,kj->ij", mixture.weights, off, off)
    return mean, np.asarray(total / (1 + 2 * penalty * mixture.n_components / count))


def implied_sums(mixture: Mixture, count: int, penalty: float) -> Array:
    """Compute sums (K, q) of P_k, P_k x and P_k (x − μ_k)(x − μ_k)ᵀ that a fixed point of penalised EM stands for.

    They are those at the mixture before the last step, which at a fixed point is the same: EM that stops at a
    tolerance leaves an error.
    """
    spread = row_moments(mixture, count, penalty)[1]
    counts = count * mixture.weights
    scatter = (counts + 2 * penalty)[:, None, None] * mixture.covariances - 2 * penalty * spread
    return pack(counts, counts[:, None] * mixture.means, scatter)


def reconstruct_mixture(known: KnownMessages) -> Reconstruction | None:
    """Recover the rows of a node from the mixture it sent in :class:`~secmix.protocols.DistributedMixture`.

    The sums that the mixture implies are solved for the rows, to what the tolerance of EM allows (some 1e-3 of a
    standard deviation at 1e-6). From there the protocol itself is replayed, until it ends at the message. Only that
    certifies rows, and where it does they are exact. None where there is no mixture, or too few numbers in it.
    """
    sent = known.sent_by(known.node, "mixture")
    protocol, count, d = known.protocol, known.count, known.d
    if not sent or not isinstance(protocol, DistributedMixture):
        return None
    message = sent[0][1]
    if len(message) != width(protocol.components, d) or len(message) - 1 < count * d:
        return None
    mixture = unpacked(message, protocol.components)
    penalty = count**-0.5 if protocol.penalty is None else protocol.penalty
    if count <= 2:
        return _two(mixture, count, penalty)
    numbers = f"its mixture holds {len(message) - 1} numbers of {count * d} unknown ones"
    if count * d > _MOST:
        return Reconstruction(None, False, f"{numbers}: the rows are determined, but so many were not searched for")
    noise = max(0.1 * math.sqrt(protocol.tolerance * count), 1e-12)
    sums = implied_sums(mixture, count, penalty)[None]
    most = known.budget.of(_STARTS)
    first = invert_sums(sums, [mixture], count, rng=known.rng, noise=noise, starts=most)
    if not np.isfinite(first.rows).all():
        return None
    exact = replayed(message, first.rows, protocol)
    known.budget.spend(first.starts, most, certain=exact is not None and exact.certified)
    if exact is not None and exact.certified:
        return Reconstruction(exact.rows, True, f"{numbers}, and EM replayed on the rows found ends exactly there")
    close = f"EM stopped at a tolerance of {protocol.tolerance:.0e} a row, so that they come with an error"
    return Reconstruction(first.rows, False, f"{numbers}; {close}")


def _two(mixture: Mixture, count: int, penalty: float) -> Reconstruction:
    """Compute one row as the mean, two as the mean and a deviation from it along their covariance's only direction."""
    mean, spread = row_moments(mixture, count, penalty)
    values, vectors = np.linalg.eigh(spread)
    off = math.sqrt(max(float(values[-1]), 0.0)) * vectors[:, -1]
    rows = mean[None] if count == 1 else np.stack([mean - off, mean + off])
    return Reconstruction(rows, True, "the mean and covariance of the node's rows follow from any mixture it sends")
