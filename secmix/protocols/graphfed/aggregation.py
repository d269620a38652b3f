"""What GraphFed-EM's nodes tell each other, and what a node makes of it (Abdurakhmanova and Jung 2025, section III)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from secmix._base.checks import Array, Ints, finite_array
from secmix._base.gaussians import bhattacharyya
from secmix.aggregators import rule_named
from secmix.aggregators.named import Rule
from secmix.aggregators.stacks import each, takes_stacks
from secmix.errors import DataError, NetworkError
from secmix.mixture import Mixture
from secmix.network import Network
from secmix.protocols.em.statistics import features, unpack
from secmix.protocols.remembered import Remembered

# Beyond this size squares of squares overflow; no data that EM can fit come near it.
LARGEST = 1e50
# A covariance whose eigenvalues span more than this cannot be distinguished from a singular one in float64.
_SPAN = 1e-12
_FOUND = Remembered[Array](most=64)


@dataclass(frozen=True)
class NodeMessage:
    """What one node knows of one mixture: the mixture and the rows that stand behind each component.

    Attributes
    ----------
    counts : (K,)
        N_k, the responsibilities summed over the sender's rows.
    mixture : Mixture
        Without batch axes.
    """

    counts: Array
    mixture: Mixture

    def reordered(self, order: Ints) -> NodeMessage:
        """The same with component ``order[k]`` in place k."""
        m = self.mixture
        return NodeMessage(self.counts[order], Mixture(m.weights[order], m.means[order], m.covariances[order]))


def flattened(mixture: Mixture) -> Array:
    """For each component π_k, μ_k and the upper triangle of Σ_k, row by row: (..., K, 1 + d + d(d+1)/2)."""
    upper = np.triu_indices(mixture.n_features)
    table = [mixture.weights[..., None], mixture.means, mixture.covariances[..., upper[0], upper[1]]]
    return np.concatenate(table, axis=-1)


def mixtures_of(table: Array) -> Mixture:
    """The mixtures of tables (..., K, 1 + d + d(d+1)/2), as :func:`flattened` makes them."""
    *batch, k, q = table.shape
    return Mixture(*unpack(table.reshape(*batch, k * q), k, features(q)))


def packed(message: NodeMessage) -> Array:
    """A message: for each component N_k, π_k, μ_k and the upper triangle of Σ_k, row by row; (K(2 + d + d(d+1)/2),)."""
    return np.concatenate([message.counts[:, None], flattened(message.mixture)], axis=1).ravel()


def unpacked(message: Array, k: int) -> NodeMessage | None:
    """What a message (m,) about K components says, or None where it describes no mixture.

    It does not if a number is not finite or beyond 1e50, a count or weight is negative, or a covariance is not
    positive definite: whoever sent it did not follow the protocol, and nothing can be averaged with it.
    """
    table = message.reshape(k, -1)
    if not (np.isfinite(table).all() and np.abs(table).max() <= LARGEST and (table[:, :2] >= 0).all()):
        return None
    mixture = mixtures_of(table[:, 1:])
    values = np.linalg.eigvalsh(mixture.covariances)
    if (values[:, 0] <= 0.1 * _SPAN * values[:, -1]).any():  # an honest node's span less, see ``positive_definite``
        return None
    return NodeMessage(table[:, 0].copy(), mixture)


def matched(mine: Mixture, message: NodeMessage) -> NodeMessage:
    """``message`` with its components in the order that pairs them with mine at the least total distance.

    Distances are compared to nine digits: EM on few rows ends with components that are equal but for rounding, and
    which of them is paired with whom must not hang on the processor's last bit.
    """
    theirs = message.mixture
    apart = bhattacharyya(mine.means[:, None], mine.covariances[:, None], theirs.means, theirs.covariances)
    digits = np.maximum(np.frexp(apart)[1], 0) - 30
    apart = np.ldexp(np.round(np.ldexp(apart, -digits)), digits)
    return message.reordered(np.asarray(linear_sum_assignment(apart)[1], dtype=np.intp))


def weighted_mean(messages: Sequence[NodeMessage], adjacency: Array, own: int, *, mixing: str) -> Mixture:
    """θ_aggr (eq. 2) of matched messages, of which ``own`` is the node's, with A_ij (1 for its own) in ``adjacency``.

    A component behind which nobody has any rows stays as the node has it. Covariances are averaged as eq. 2 says,
    without the spread of the means among the nodes, so that this is no moment matching.
    """
    counts = np.stack([message.counts for message in messages])
    # A neighbour may claim any number of rows up to ``LARGEST``, so that the sum does not overflow.
    claims = adjacency[:, None] * counts
    total = claims.sum(axis=0)
    nobody = total <= 0
    share = np.where(nobody, 0.0, claims) / np.where(nobody, 1.0, total)
    share[own, nobody] = 1.0
    means = np.einsum("jk,jkd->kd", share, np.stack([message.mixture.means for message in messages]))
    covariances = np.einsum("jk,jkde->kde", share, np.stack([message.mixture.covariances for message in messages]))
    if mixing == "counts":
        weights = total
    else:
        weights = np.einsum("jk,jk->k", share, np.stack([message.mixture.weights for message in messages]))
    if weights.sum() <= 0:  # neighbours who announce weights of nothing but zero
        weights = messages[own].mixture.weights
    return Mixture(weights / weights.sum(), means, covariances)


def positive_definite(covariances: Array, *, floor: float, shrinkage: float = 0.0) -> Array:
    """Covariances (..., d, d) symmetrised, shrunk and loaded on the diagonal so that Cholesky succeeds on each.

    Σ ← (1 − s) Σ + s (tr Σ / d) I with s = ``shrinkage``, for local estimates alone; where the smallest eigenvalue then
    still lies below ``floor``, or below 1e-12 of the largest, as much is added to the diagonal as it lacks: the paper's
    shrinkage and diagonal loading, where distributed EM lifts single eigenvalues.
    """
    d = covariances.shape[-1]
    even = 0.5 * (covariances + covariances.swapaxes(-1, -2))
    if shrinkage:
        level = np.trace(even, axis1=-2, axis2=-1)[..., None, None] / d
        even = (1 - shrinkage) * even + shrinkage * level * np.eye(d)
    values = np.linalg.eigvalsh(even)
    least = np.maximum(floor, _SPAN * values[..., -1])
    lacking = np.maximum(least - values[..., 0], 0.0)
    # What is there already to rounding stays bit for bit as it was.
    lacking = np.where(lacking > 1e-3 * least, lacking, 0.0)
    return np.asarray(even + lacking[..., None, None] * np.eye(d))


def robust_rule(messages: Sequence[NodeMessage], *, rule: str | Rule, f: int) -> Mixture:
    """A robust rule, by name or itself, in place of the weighted mean, component by component.

    The rule is given (π_k, μ_k, Σ_k) of each matched message and no counts: a count is a claim, and a neighbour who
    claims many rows would outweigh all others. The result may need :func:`positive_definite`.
    """
    tables = np.stack([flattened(message.mixture) for message in messages])
    found = mixtures_of(_aggregated(rule_named(rule), np.ascontiguousarray(tables.swapaxes(0, 1)), f))
    weights = np.maximum(found.weights, 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1.0 / len(weights))
    return Mixture(weights, found.means, found.covariances)


def _aggregated(rule: Rule, stack: Array, f: int) -> Array:
    """What the rule makes of each component's messages; of ours, nodes that hear the same ask for it once."""
    if not takes_stacks(rule):
        return each(rule, stack, f)
    key = _FOUND.key(stack, rule.__name__, f)
    known = _FOUND.get(key)
    if known is None:
        known = each(rule, stack, f)
        known.setflags(write=False)
        _FOUND.put(key, known)
    return known


def adjacency_of(n: int, network: Network | None, adjacency: ArrayLike | None) -> Array:
    """A (n, n), from what was given of a graph and its weights."""
    if network is not None and network.n != n:
        raise DataError(f"{n} parts for a network of {network.n} nodes; give one part a node")
    edges = np.zeros((n, n), dtype=bool)
    if network is not None:
        edges[network.arcs[:, 0], network.arcs[:, 1]] = True
    else:
        edges[~np.eye(n, dtype=bool)] = True
    if adjacency is None:
        return edges.astype(np.float64)
    weights = finite_array(adjacency, "adjacency", ndim=2)
    if weights.shape != (n, n) or (weights < 0).any() or np.diagonal(weights).any():
        raise NetworkError(f"adjacency is ({n}, {n}) with entries of at least 0 and a diagonal of 0: one weight a pair")
    if (weights[~edges] != 0).any():
        i, j = (int(v) for v in np.argwhere((weights != 0) & ~edges)[0])
        raise NetworkError(f"adjacency joins nodes {i} and {j}, which are no edge of the network; drop one of the two")
    return weights
