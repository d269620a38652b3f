"""GraphFed-EM's messages solved for the rows of the node that sent them.

A message gives, for each component, the responsibilities' sum N_k and with μ_k and Σ_k the sums Σ r x and Σ r x xᵀ,
once the public shrinkage and loading are taken off Σ_k. Three things follow from them.

- Summed over the components they are the node's own mean and covariance, exactly. With no more rows than columns all of
  them lie in the plane that the covariance spans.
- Where responsibilities are 0 or 1, as they soon are in few rows of many columns, a component's sums are those of a set
  of rows. Sets of one row or two are those rows, and so are differences of sets.
- With one local step a round, the sums are functions of the rows at parameters that whoever reads the messages of a
  node's neighbours can compute: :func:`invert_sums` applies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.inversion.invert import invert_sums, rounds_needed
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.mixture import Mixture, pack
from secmix.protocols.graphfed.aggregation import NodeMessage, packed, unpacked, unpacked_by_run
from secmix.protocols.graphfed.graphfed_em import KIND, GraphFedEM

_NEAR_INTEGER = 1e-8  # how near to an integer the number of rows of a set must be
_FLAT = 1e-7  # a direction in which a set has less than this share of the node's spread is one in which it is flat
_SETS = 150  # sets that are compared with one another at most
_MOST_NUMBERS, _STARTS = 30, 32  # for the search from random starts: more take minutes, and are seldom certified


@dataclass(frozen=True)
class Sums:
    """Σ r, Σ r x and Σ r x xᵀ of a set of rows, x counted from the node's mean: of one row each as ``count`` is 1."""

    count: float
    first: Array
    second: Array

    def without(self, other: Sums) -> Sums:
        """Subtract ``other``, a part of this set, and return the sums of the rest."""
        return Sums(self.count - other.count, self.first - other.first, self.second - other.second)

    def scatter(self) -> Array:
        """Compute Σ r (x − mean)(x − mean)ᵀ."""
        return np.asarray(self.second - np.outer(self.first, self.first) / self.count)


def reconstruct_graphfed(known: KnownMessages) -> Reconstruction | None:
    """Recover rows of the node from its messages to its neighbours, or equations on each; see the module's text."""
    if not isinstance(known.protocol, GraphFedEM):
        return None
    em = known.protocol
    messages = _sent_by(known, known.node)
    if not messages:
        return None
    first = messages[min(messages)]
    centre = first.counts @ first.mixture.means / first.counts.sum()
    groups = [group for t in sorted(messages) for group in _groups(messages[t], em, centre)]
    total = groups[0]
    for group in groups[1 : em.n_components]:
        total = Sums(total.count + group.count, total.first + group.first, total.second + group.second)
    normals, offsets = _plane(total, centre)
    rows = _pieces([total, *groups], total) + centre
    how = (
        "rows that are a component by themselves, or make the difference between two, follow from its counts, mean and "
        "covariance"
    )
    certified = len(rows) > 0
    if len(rows) < known.count and (solved := _inverted(known, messages)) is not None:
        rows, certified = solved, True
        how = "the sums of its EM steps, at parameters that its neighbours' messages tell, were solved for all its rows"
    if not certified and not len(normals):
        how = "its mean and covariance are known exactly; no row could be recovered from its messages"
    elif not certified:
        how = "its rows lie in the plane that its covariance, which its messages hold, spans"
    return Reconstruction(rows if certified else None, certified, how, normals, offsets)


def known_starts(known: KnownMessages, messages: dict[int, NodeMessage]) -> dict[int, Mixture]:
    """Compute the θ from which the node starts round t, for the rounds in which the adversary can compute it."""
    em, node = known.protocol, known.node
    weights = np.zeros(known.network.n)
    around = known.network.neighbours(node)
    weights[list(around)] = 1.0
    sent = {j: {origin.iteration: row for origin, row in known.sent_by(j, KIND)} for j in around}
    starts: dict[int, Mixture] = {}
    if isinstance(em.init, Mixture):
        starts[0] = em.init if em.init.weights.ndim == 1 else em.init[node]
    rounds = [t for t in messages if em.alpha == 0 or all(t in sent[j] for j in around)]
    if not rounds:
        return starts
    table = np.full((known.network.n, len(rounds), packed(messages[rounds[0]]).size), np.nan)
    for j in around:
        table[j] = [sent[j].get(t, table[j, 0]) for t in rounds]
    own = unpacked_by_run(np.stack([packed(messages[t]) for t in rounds]), em.n_components)
    after = em.averaged(node, own, unpacked_by_run(table, em.n_components), weights)
    return starts | {t + 1: after[place] for place, t in enumerate(rounds)}


def _sent_by(known: KnownMessages, node: int) -> dict[int, NodeMessage]:
    """Read what ``node`` sent, by round; leave out messages that are no mixture, as all nodes do."""
    k = known.protocol.n_components
    messages = {origin.iteration: unpacked(row, k) for origin, row in known.sent_by(node, KIND)}
    return {t: each for t, each in messages.items() if each is not None}


def _bare(message: NodeMessage, em: GraphFedEM) -> Array:
    """Remove shrinkage and loading from the covariances, (K, d, d)."""
    covariances, s = message.mixture.covariances, em.shrinkage
    d = covariances.shape[-1]
    level = np.trace(covariances, axis1=-2, axis2=-1)[:, None, None] / d * np.eye(d)
    # Shrinkage leaves the trace as it is.
    return np.asarray((covariances - s * level) / (1 - s) - em.reg_covar * np.eye(d))


def _groups(message: NodeMessage, em: GraphFedEM, centre: Array) -> list[Sums]:
    groups = []
    for count, mean, covariance in zip(message.counts, message.mixture.means - centre, _bare(message, em), strict=True):
        groups.append(Sums(float(count), count * mean, count * (covariance + np.outer(mean, mean))))
    return groups


def _plane(total: Sums, centre: Array) -> tuple[Array, Array]:
    """Compute the equations normals @ x = offsets of the plane in which all rows lie."""
    values, vectors = np.linalg.eigh(total.scatter())
    flat = values < _FLAT**1.5 * values[-1]  # rounding of Σ leaves 1e-16 of it, so a spread of 1e-8
    normals = vectors[:, flat].T
    return normals, normals @ (centre + total.first / total.count)


def _pieces(groups: Iterable[Sums], total: Sums) -> Array:
    """Find rows (h, d), from the node's mean, of sets of one or two among the groups and their differences."""
    scale = float(np.trace(total.scatter()) / total.count)
    d = len(total.first)
    sets: list[Sums] = []
    rows: list[Array] = []
    added = [group for group in groups if _is_set(group, scale, d)]
    while added and len(sets) < _SETS:
        old, known = len(sets), len(rows)  # all pairs among these have been compared
        sets += added
        for new in added:
            rows += [row for row in _rows_of(new) if all(np.linalg.norm(row - r) > _FLAT * scale**0.5 for r in rows)]
        singles = [Sums(1.0, row, np.outer(row, row)) for row in rows]
        added = []
        everything, news = [*sets, *singles], [*sets[old:], *singles[known:]]
        for i, large in enumerate(sets):
            for small in news if i < old else everything:
                if large.count - small.count > 0.5 and d > 1:
                    rest = large.without(small)
                    if _is_set(rest, scale, d) and not _among(rest, [*sets, *added], scale):
                        added.append(rest)
    return np.array(rows).reshape(-1, d)


def _is_set(group: Sums, scale: float, d: int) -> bool:
    """Check whether these are the sums of complete rows, as far as the rank of their scatter shows it.

    c rows in general position span c − 1 directions. Fewer rows than columns show in that; sums of rows some of which
    count half, or of a set of which rows are taken that it does not hold, span more.
    """
    count = round(group.count)
    if count < 1 or abs(group.count - count) > _NEAR_INTEGER * max(count, 1) or (count > d and count > 2):
        return False
    values = np.linalg.eigvalsh(group.scatter())
    flat = values[: d - count + 1]
    return bool((np.abs(flat) < _FLAT**1.5 * scale * count).all() and (values > -(_FLAT**1.5) * scale * count).all())


def _among(group: Sums, sets: list[Sums], scale: float) -> bool:
    return any(
        abs(group.count - other.count) < 0.5 and np.abs(group.first - other.first).max() < _FLAT * scale**0.5
        for other in sets
    )


def _rows_of(group: Sums) -> list[Array]:
    mean = group.first / group.count
    if round(group.count) == 1:
        return [mean]
    if round(group.count) == 2:
        values, vectors = np.linalg.eigh(group.scatter())
        half = np.sqrt(max(values[-1], 0.0) / 2) * vectors[:, -1]
        return [mean - half, mean + half]
    return []


def _inverted(known: KnownMessages, messages: dict[int, NodeMessage]) -> Array | None:
    """Solve sums at known parameters for all rows; None where they do not come out with a certificate."""
    em: Any = known.protocol
    if em.local_steps > 1 or known.count * known.d > _MOST_NUMBERS:
        return None
    starts = known_starts(known, messages)
    rounds = [t for t in sorted(messages) if t in starts]
    if len(rounds) < rounds_needed(known.count, known.d, em.n_components):
        return None
    sums, noise = zip(*(_statistics(messages[t], em, starts[t]) for t in rounds), strict=True)
    most = known.budget.of(_STARTS)
    settings: dict[str, Any] = {"rng": known.rng, "noise": np.stack(noise), "starts": most}
    solution = invert_sums(np.stack(sums), [starts[t] for t in rounds], known.count, **settings)
    if solution.starts:
        known.budget.spend(solution.starts, most, certain=solution.certified)
    return solution.rows if solution.certified else None


def _statistics(message: NodeMessage, em: GraphFedEM, start: Mixture) -> tuple[Array, Array]:
    """Prepare one round for :func:`invert_sums`: sums centred at the start's means, and their error, (K, q) each."""
    moved = message.mixture.means - start.means
    count = message.counts[:, None]
    scatter = _bare(message, em) + moved[:, :, None] * moved[:, None, :]
    sums = count * pack(np.ones(len(count)), message.mixture.means, scatter)
    # What is added to Σ and taken off again costs digits.
    size = np.abs(message.mixture.covariances).max(axis=(1, 2)) + (moved**2).max(axis=1)
    error = np.finfo(np.float64).eps * (size / (1 - em.shrinkage) + em.reg_covar)[:, None] * count
    noise = np.zeros_like(sums)
    noise[:, 1 + message.mixture.n_features :] = 4.0 * error
    return sums, noise
