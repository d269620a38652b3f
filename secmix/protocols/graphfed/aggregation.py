"""Messages of GraphFed-EM's nodes, and how a node averages them (Abdurakhmanova and Jung 2025, section III)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, Ints, finite_array
from secmix._base.gaussians import bhattacharyya
from secmix._base.stable_order import least_assignment
from secmix.aggregators import rule_named
from secmix.aggregators.named import Rule
from secmix.aggregators.stacks import apply_to_each, takes_stacks
from secmix.errors import DataError, NetworkError
from secmix.mixture import Mixture, features, unpack
from secmix.network import Network
from secmix.protocols.remembered import Remembered

# Beyond this size squares of squares overflow; no data that EM can fit come near it.
LARGEST = 1e50
# A covariance whose eigenvalues span more than this cannot be distinguished from a singular one in float64.
_SPAN = 1e-12
# Two pairings whose total distances differ by less than this share are tied; see ``pairing``.
_TIE = 1e-9
_AGGREGATES = Remembered[Array](most=64)


@dataclass(frozen=True)
class NodeMessage:
    """One mixture of one node, or one in each run, and how many rows it rests on."""

    # (..., K): N_k, the responsibilities summed over the sender's rows; NaN in runs in which what came describes no
    # mixture
    counts: Array
    mixture: Mixture  # batch axes are the runs; none for a single one

    def reordered(self, order: Ints) -> NodeMessage:
        """Reorder the components: ``order[..., k]`` comes to place k."""
        m, by_d = self.mixture, order[..., None]
        mixture = Mixture(
            np.take_along_axis(m.weights, order, axis=-1),
            np.take_along_axis(m.means, by_d, axis=-2),
            np.take_along_axis(m.covariances, by_d[..., None], axis=-3),
        )
        return NodeMessage(np.take_along_axis(self.counts, order, axis=-1), mixture)


def flattened(mixture: Mixture) -> Array:
    """Flatten a mixture to π_k, μ_k and the upper triangle of Σ_k, row by row: (..., K, 1 + d + d(d+1)/2)."""
    upper = np.triu_indices(mixture.n_features)
    table = [mixture.weights[..., None], mixture.means, mixture.covariances[..., upper[0], upper[1]]]
    return np.concatenate(table, axis=-1)


def mixtures_of(table: Array) -> Mixture:
    """Build the mixtures of tables (..., K, 1 + d + d(d+1)/2), as :func:`flattened` makes them."""
    *batch, k, q = table.shape
    return Mixture(*unpack(table.reshape(*batch, k * q), k, features(q)))


def packed(message: NodeMessage) -> Array:
    """Pack a message (..., K(2 + d + d(d+1)/2)): N_k, π_k, μ_k and the upper triangle of Σ_k for each component."""
    table = np.concatenate([message.counts[..., None], flattened(message.mixture)], axis=-1)
    return table.reshape(*table.shape[:-2], -1)


def unpacked(message: Array, k: int) -> NodeMessage | None:
    """Read a message (m,) about K components; return None where it describes no mixture.

    A message with a number that is not finite or beyond 1e50, a negative count or weight, or a covariance that is not
    positive definite describes none: its sender did not follow the protocol, and it cannot be averaged.
    """
    content = unpacked_by_run(message, k)
    return None if np.isnan(content.counts).any() else content


def unpacked_by_run(messages: Array, k: int) -> NodeMessage:
    """Read a node's messages (..., m) about K components in each run; counts are NaN as in :class:`NodeMessage`."""
    table = messages.reshape(*messages.shape[:-1], k, -1)
    fine = np.asarray((np.abs(table) <= LARGEST).all(axis=(-2, -1)) & (table[..., :2] >= 0).all(axis=(-2, -1)))
    mixture = mixtures_of(np.where(fine[..., None, None], table, 0.0)[..., 1:])
    values = np.linalg.eigvalsh(mixture.covariances)
    # An honest node's span less, see ``positive_definite``.
    fine &= (values[..., 0] > 0.1 * _SPAN * values[..., -1]).all(axis=-1)
    return NodeMessage(np.where(fine[..., None], table[..., 0], np.nan), mixture)


def matched(own: Mixture, message: NodeMessage) -> NodeMessage:
    """Reorder the components of ``message`` so that they pair with those of ``own`` at the least total distance."""
    return message.reordered(pairing(own, message.mixture))


def pairing(own: Mixture, other: Mixture) -> Ints:
    """Pair each component of ``own`` with one of ``other``, and return its index: (..., K).

    EM on few rows ends with components that are equal but for rounding, and their pairing must not depend on the
    processor's last bit: distances, in units of the covariances, that differ in the tenth digit are tied.
    """
    apart = bhattacharyya(
        own.means[..., :, None, :],
        own.covariances[..., :, None, :, :],
        other.means[..., None, :, :],
        other.covariances[..., None, :, :, :],
    )
    tables = apart.reshape(-1, *apart.shape[-2:])
    pairs = [least_assignment(table, _TIE * (1.0 + table.max())) for table in tables]
    return np.asarray(pairs, dtype=np.intp).reshape(apart.shape[:-1])


def neighbourhood(
    node: int, own_message: NodeMessage, received: NodeMessage, weights: Array
) -> tuple[NodeMessage, Array, int]:
    """Collect what ``node`` averages in each run: messages (J, runs), A_ij of each, and the place of its own.

    ``own_message`` (runs) is the node's, to which the others are matched; ``received`` (n, runs) is of all nodes,
    ``weights`` (n,) the node's row of the adjacency. A_ij is (J, runs), 1 for its
    own and 0 where a message describes no mixture; its own stands in for that.
    """
    # By node number, the node itself among them: nodes that receive the same then add in the same order.
    members = sorted({node, *np.flatnonzero(weights).tolist()})
    own = members.index(node)
    counts = np.where(np.arange(len(members))[:, None, None] == own, own_message.counts, received.counts[members])
    fine = np.asarray(~np.isnan(counts).any(axis=-1))
    mixtures, own_mixture = received.mixture, own_message.mixture

    def averaged(name: str) -> Array:
        array, instead = getattr(mixtures, name)[members], getattr(own_mixture, name)
        array[own] = instead
        return np.asarray(np.where(fine.reshape(*fine.shape, *[1] * (array.ndim - 2)), array, instead))

    mixture = Mixture(averaged("weights"), averaged("means"), averaged("covariances"))
    claims = np.where(fine, np.where(np.arange(len(members)) == own, 1.0, weights[members])[:, None], 0.0)
    order = pairing(own_mixture, mixture)
    order[own] = np.arange(own_message.counts.shape[-1])
    return NodeMessage(np.where(fine[..., None], counts, 0.0), mixture).reordered(order), claims, own


def weighted_mean(messages: NodeMessage, claims: Array, own: int, *, mixing: str) -> Mixture:
    """Average matched messages (J, runs), of which ``own`` is the node's, to θ_aggr (eq. 2).

    ``claims`` (J, runs) holds A_ij, 1 for the node's own and 0 for those left out. A component behind which nobody has
    any rows stays as the node has it. Covariances are averaged as eq. 2 says, without the spread of the means among the
    nodes, so that this is no moment matching.
    """
    # A neighbour may claim any number of rows up to ``LARGEST``, so that the sum does not overflow.
    rows = claims[..., None] * messages.counts
    total = rows.sum(axis=0)
    nobody = total <= 0
    share = np.where(nobody, 0.0, rows) / np.where(nobody, 1.0, total)
    share[own][nobody] = 1.0
    m = messages.mixture
    means = np.einsum("jrk,jrkd->rkd", share, m.means)
    covariances = np.einsum("jrk,jrkde->rkde", share, m.covariances)
    weights = total if mixing == "counts" else np.einsum("jrk,jrk->rk", share, m.weights)
    # Neighbours may announce weights of nothing but zero.
    weights = np.where(weights.sum(axis=-1, keepdims=True) > 0, weights, m.weights[own])
    return Mixture(weights / weights.sum(axis=-1, keepdims=True), means, covariances)


def positive_definite(covariances: Array, *, floor: float, shrinkage: float = 0.0) -> Array:
    """Symmetrise covariances (..., d, d), shrink them and load their diagonals so that Cholesky succeeds on each.

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


def robust_rule(mixtures: Mixture, *, rule: str | Rule, f: int) -> Mixture:
    """Apply a robust rule, by name or itself, in place of the weighted mean, component by component and run by run.

    The rule is given (π_k, μ_k, Σ_k) of each of the matched mixtures (J, runs) and no counts: a count is a claim, and
    a neighbour who claims many rows would outweigh all others. The result may need :func:`positive_definite`.
    """
    tables = np.moveaxis(flattened(mixtures), 0, 2)  # (runs, K, J, q)
    runs, k = tables.shape[:2]
    stack = np.ascontiguousarray(tables.reshape(runs * k, *tables.shape[2:]))
    result = mixtures_of(_aggregated(rule_named(rule), stack, f).reshape(runs, k, -1))
    weights = np.maximum(result.weights, 0.0)
    total = weights.sum(axis=-1, keepdims=True)
    weights = np.where(total > 0, weights / np.where(total > 0, total, 1.0), 1.0 / k)
    return Mixture(weights, result.means, result.covariances)


def _aggregated(rule: Rule, stack: Array, f: int) -> Array:
    """Apply the rule to each component's messages; with our own rules, equal messages are aggregated once."""
    if not takes_stacks(rule):
        return apply_to_each(rule, stack, f)
    key = _AGGREGATES.key(stack, rule.__name__, f)
    known = _AGGREGATES.get(key)
    if known is None:
        known = apply_to_each(rule, stack, f)
        known.setflags(write=False)
        _AGGREGATES.put(key, known)
    return known


def adjacency_of(n: int, network: Network | None, adjacency: ArrayLike | None) -> Array:
    """Build A (n, n) from a graph and its weights, either of which may be missing."""
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
        raise NetworkError(f"adjacency joins nodes {i} and {j}, but the network has no such edge; drop one of the two")
    return weights
