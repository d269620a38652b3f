"""What a choice of colluders and lines knows: which sums of inputs follow from what they hold together.

The criterion is that of the leaked subspace (``estimators/exact/structure.py``): combinations where all masks cancel.
Here the masks are eliminated by one pivoted QR instead of singular values, on factors instead of messages; where a
pivot lies too near the threshold to tell, singular values decide as they do there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from secmix._base.checks import Array
from secmix.coalitions.held import Holding, Recorded
from secmix.coalitions.result import Agent
from secmix.estimators.exact.linear import LinearView
from secmix.estimators.exact.structure import INPUT_TOL, MASK_TOL, mask_range
from secmix.transcript import SERVER

_BAND = 30.0  # a pivot within this factor of the threshold is left to singular values
_FULL = 1 - 1e-6


@dataclass(frozen=True)
class Knowledge:
    """Sums of honest inputs that are known.

    Attributes
    ----------
    projector : (N, N)
        Onto the known combinations, in the columns of inputs that are not held outright.
    columns : (N,) int
        Which columns of inputs those are; column j is of node j mod n.
    outright : frozenset of int
        Nodes whose input is held as it is.
    strange : bool
        Whether messages are held that are not linear: more may be known.
    """

    n: int
    projector: Array
    columns: np.ndarray
    outright: frozenset[int]
    strange: bool

    def exposed(self) -> frozenset[int]:
        """Nodes of which a combination of their own vectors alone is known: a vector, or how it changes."""
        if self.columns.max(initial=0) < self.n:  # one averaging: a column is a node
            full = np.diag(self.projector) > _FULL
            return self.outright | frozenset(self.columns[full].tolist())
        found = set(self.outright)
        for node in set((self.columns % self.n).tolist()):
            own = np.flatnonzero(self.columns % self.n == node)
            if np.linalg.eigvalsh(self.projector[np.ix_(own, own)])[-1] > _FULL:
                found.add(node)
        return frozenset(found)

    def groups(self) -> list[tuple[tuple[int, ...], int]]:
        """The nodes that known sums tie together, and how many independent sums there are over them."""
        nodes = self.columns % self.n
        members = sorted(set(nodes.tolist()))
        place = {node: k for k, node in enumerate(members)}
        at = np.array([place[node] for node in nodes.tolist()], dtype=np.intp)
        tied = np.zeros((len(members), len(members)))
        np.maximum.at(tied, (at[:, None], at[None, :]), np.abs(self.projector))
        found, left = [], set(range(len(members)))
        while left:
            seed = left.pop()
            group, edge = {seed}, [seed]
            while edge:
                near = [k for k in np.flatnonzero(tied[edge.pop()] > 1e-6).tolist() if k in left]
                left.difference_update(near)
                group.update(near)
                edge += near
            inside = np.isin(at, sorted(group))
            rank = round(float(np.trace(self.projector[np.ix_(inside, inside)])))
            found.append((tuple(members[k] for k in sorted(group)), rank))
        return sorted(found)

    def within(self, group: Iterable[int], inside: Iterable[int]) -> int:
        """How many independent known sums over ``group`` are over the nodes ``inside`` alone."""
        nodes = self.columns % self.n
        among = np.flatnonzero(np.isin(nodes, list(group)))
        outside = [k for k in among.tolist() if nodes[k] not in set(inside)]
        block = self.projector[np.ix_(among, among)]
        rank = round(float(np.trace(block)))
        if not outside:
            return rank
        return rank - int(np.linalg.matrix_rank(self.projector[np.ix_(among, np.array(outside))], tol=1e-6))


def knowledge(held: Recorded, agents: Iterable[Agent], *, eavesdrops: bool) -> Knowledge:
    """What ``agents`` know together; with ``eavesdrops`` they also hear every line that is not encrypted."""
    chosen = list(agents)
    holdings: list[Holding] = [held.of(agent, beside_open=eavesdrops) for agent in chosen]
    holdings += [held.open] if eavesdrops else []
    known = np.zeros(held.table.shape[1], dtype=bool)
    for holding in holdings:
        known |= holding.outright
    corrupt = {agent for agent in chosen if isinstance(agent, int)}
    for node in corrupt - {SERVER}:  # whatever the transcript says, a node knows what it put in
        known[node : held.inputs : held.n] = True
    tables = [holding.rest for holding in holdings if len(holding.rest)]
    table = np.concatenate(tables) if tables else np.empty((0, len(known)))
    inputs = np.flatnonzero(~known[: held.inputs])
    masks = held.inputs + np.flatnonzero(~known[held.inputs :])
    free = _free(table[:, masks], table[:, inputs])
    return Knowledge(
        held.n,
        _projector(free),
        inputs,
        frozenset((np.flatnonzero(known[: held.inputs]) % held.n).tolist()) - corrupt,
        any(holding.strange for holding in holdings),
    )


def _free(masks: Array, inputs: Array) -> Array:
    """The combinations of messages in which all masks cancel, as combinations of inputs (G, N)."""
    rows = (np.abs(masks).max(axis=1, initial=0.0) + np.abs(inputs).max(axis=1, initial=0.0)) > 0
    masks, inputs = masks[rows], inputs[rows]
    if not masks.size or not inputs.size:
        return inputs
    factor, _, tau, _, _ = lapack.dgeqp3(masks, overwrite_a=False)
    pivots = np.abs(np.diag(factor))
    threshold = MASK_TOL * float(np.linalg.norm(factor[0])) if len(pivots) else 0.0
    rank = int((pivots > threshold).sum())
    near = pivots[(pivots > threshold / _BAND) & (pivots < threshold * _BAND)]
    if len(near):
        basis, _ = mask_range(LinearView(inputs, masks, inputs.shape[1]))
        return np.asarray(inputs - basis @ (basis.T @ inputs))
    turned, _, _ = lapack.dormqr("L", "T", factor[:, : len(tau)], tau, inputs, max(64 * inputs.shape[1], 1))
    return np.asarray(turned[rank:])


def _projector(free: Array) -> Array:
    """Onto the row space of ``free``, (N, N)."""
    width = free.shape[1]
    if not free.size:
        return np.zeros((width, width))
    _, size, basis = np.linalg.svd(free, full_matrices=False)
    kept = basis[size > INPUT_TOL * max(1.0, float(size[0]))]
    return np.asarray(kept.T @ kept)
