"""Sums of inputs that a choice of colluders and lines knows: those that follow from all their messages together.

The criterion is that of ``estimators/exact/leakage.py``: combinations where all masks cancel. Here
one pivoted QR eliminates the masks, on factors instead of messages. If a pivot is too near the threshold, singular
values decide, as they do there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from secmix._base.checks import Array
from secmix.auditing.exposure.coalitions.known_messages import HeldMessages, Recorded
from secmix.auditing.exposure.coalitions.result import Agent
from secmix.estimators.exact.leakage import INPUT_TOL, KNOWN, MASK_TOL, mask_range
from secmix.estimators.exact.linear import LinearView
from secmix.transcript import SERVER

_BAND = 30.0  # within this factor of the threshold, singular values decide instead of the pivot


@dataclass(frozen=True)
class CoalitionKnowledge:
    """Sums of honest inputs that are known."""

    n: int
    # (N, N): projector onto the known combinations, in the columns of inputs that are not known outright
    projector: Array
    columns: np.ndarray  # (N,): the columns of inputs that ``projector`` has; column j is of node j mod n
    outright: frozenset[int]  # nodes whose input is known outright
    strange: bool  # whether some known messages are not linear: more may then be known

    def exposed(self) -> frozenset[int]:
        """Collect the nodes with a known vector, or a known combination of their own vectors."""
        if self.columns.max(initial=0) < self.n:  # one averaging: a column is a node
            full = np.diag(self.projector) > KNOWN
            return self.outright | frozenset(self.columns[full].tolist())
        exposed = set(self.outright)
        for node in set((self.columns % self.n).tolist()):
            own = np.flatnonzero(self.columns % self.n == node)
            if np.linalg.eigvalsh(self.projector[np.ix_(own, own)])[-1] > KNOWN:
                exposed.add(node)
        return frozenset(exposed)

    def groups(self) -> list[tuple[tuple[int, ...], int]]:
        """List the groups of nodes that known sums connect, each with the number of independent sums over it."""
        nodes = self.columns % self.n
        members = sorted(set(nodes.tolist()))
        place = {node: k for k, node in enumerate(members)}
        at = np.array([place[node] for node in nodes.tolist()], dtype=np.intp)
        tied = np.zeros((len(members), len(members)))
        np.maximum.at(tied, (at[:, None], at[None, :]), np.abs(self.projector))
        groups, left = [], set(range(len(members)))
        while left:
            seed = left.pop()
            group, frontier = {seed}, [seed]
            while frontier:
                near = [k for k in np.flatnonzero(tied[frontier.pop()] > 1e-6).tolist() if k in left]
                left.difference_update(near)
                group.update(near)
                frontier += near
            inside = np.isin(at, sorted(group))
            rank = round(float(np.trace(self.projector[np.ix_(inside, inside)])))
            groups.append((tuple(members[k] for k in sorted(group)), rank))
        return sorted(groups)

    def within(self, group: Iterable[int], inside: Iterable[int]) -> int:
        """Count the independent known sums over ``group`` that are over the nodes ``inside`` alone."""
        nodes = self.columns % self.n
        among = np.flatnonzero(np.isin(nodes, list(group)))
        outside = [k for k in among.tolist() if nodes[k] not in set(inside)]
        block = self.projector[np.ix_(among, among)]
        rank = round(float(np.trace(block)))
        if not outside:
            return rank
        return rank - int(np.linalg.matrix_rank(self.projector[np.ix_(among, np.array(outside))], tol=1e-6))


def knowledge(recorded: Recorded, agents: Iterable[Agent], *, eavesdrops: bool) -> CoalitionKnowledge:
    """Compute what ``agents`` know together; with ``eavesdrops`` they also read every unencrypted line."""
    chosen = list(agents)
    holdings: list[HeldMessages] = [recorded.of(agent, beside_open=eavesdrops) for agent in chosen]
    holdings += [recorded.open] if eavesdrops else []
    known = np.zeros(recorded.table.shape[1], dtype=bool)
    for holding in holdings:
        known |= holding.outright
    corrupt = {agent for agent in chosen if isinstance(agent, int)}
    for node in corrupt - {SERVER}:  # a node knows its own input, whatever the transcript contains
        known[node : recorded.inputs : recorded.n] = True
    tables = [holding.rest for holding in holdings if len(holding.rest)]
    table = np.concatenate(tables) if tables else np.empty((0, len(known)))
    inputs = np.flatnonzero(~known[: recorded.inputs])
    masks = recorded.inputs + np.flatnonzero(~known[recorded.inputs :])
    free = _free(table[:, masks], table[:, inputs])
    return CoalitionKnowledge(
        recorded.n,
        _projector(free),
        inputs,
        frozenset((np.flatnonzero(known[: recorded.inputs]) % recorded.n).tolist()) - corrupt,
        any(holding.strange for holding in holdings),
    )


def _free(masks: Array, inputs: Array) -> Array:
    """Compute the combinations of messages in which all masks cancel, as combinations of inputs (G, N)."""
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
    """Compute the projector (N, N) onto the row space of ``free``."""
    width = free.shape[1]
    if not free.size:
        return np.zeros((width, width))
    _, size, basis = np.linalg.svd(free, full_matrices=False)
    row_space = basis[size > INPUT_TOL * max(1.0, float(size[0]))]
    return np.asarray(row_space.T @ row_space)
