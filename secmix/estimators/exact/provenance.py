"""Check that the transcript is complete: a node sends, and ends with, only what follows from what it holds.

A protocol that keeps quiet of what a node holds (its input, a mask), or hands data on without the channel, hides from
the audit what a corrupt node knows. Each message of a linear protocol is a combination of inputs and masks; it must lie
in the span of what its sender held and received before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr

from secmix._base.checks import Array, Ints
from secmix.estimators.exact.linear import residue
from secmix.transcript import SERVER, Block

_TOL = 1e-6  # of a combination's size
_OUTSIDE = 1e-2 * _TOL  # of a message's size: what is farther outside widens what is known
_ROUNDING = 1e-14  # of the largest before: no message, but what rounding left


def unexplained(blocks: Sequence[Block], averages: Array, runs: int, units: int, modulus: float | None) -> str:
    """Find the first message of an averaging that does not follow from what its sender held; empty if there is none.

    ``blocks``: with the probes, the ``units`` unit inputs and masks, after ``runs`` real runs; ``averages`` (extra, n,
    m): what each node ended with in the probes.
    """
    known: dict[int, _Span] = {}
    sorted_by: dict[tuple[bytes, bytes], list[tuple[int, Ints]]] = {}  # rounds repeat who sends what to whom

    def by_node(nodes: Ints, contents: Ints) -> list[tuple[int, Ints]]:
        key = nodes.tobytes(), contents.tobytes()
        if key not in sorted_by:
            sorted_by[key] = _by_node(nodes, contents)
        return sorted_by[key]

    def span(node: int) -> _Span:
        return known.setdefault(node, _Span(units))

    for block in blocks:
        if block.payload.shape[2] != averages.shape[2]:  # of another length: no vector of what is summed
            continue
        table = block.payload[:, runs:].reshape(len(block.payload), -1)[:, : units + 1]
        table = table.astype(float) if table.dtype.kind in "biu" else table  # what they differ by may be below zero
        with np.errstate(invalid="ignore"):  # infinities less infinities: they follow from nothing
            rows = residue(table[:, :units] - table[:, units:], modulus)
        if block.line != "held":
            for sender, contents in by_node(block.sender, block.content):
                if not span(sender).holds(rows[contents]):
                    who = "the server" if sender == SERVER else f"node {sender}"
                    return (
                        f"'{block.kind}' from {who} does not follow from what the transcript says it holds: "
                        "note inputs and masks with channel.hold, and send everything through the channel"
                    )
        for receiver, contents in by_node(block.receiver, block.content):
            span(receiver).add(rows[contents])
    results = averages.transpose(1, 0, 2).reshape(averages.shape[1], -1)
    for node, row in enumerate(results[:, :units] - results[:, units : units + 1]):
        if np.isfinite(row).all() and not span(node).holds(row[None]):
            return f"the average of node {node} does not follow from what the transcript says it holds"
    return ""


def _by_node(nodes: Ints, contents: Ints) -> list[tuple[int, Ints]]:
    """Group the contents by node, each once."""
    order = np.argsort(nodes, kind="stable")
    distinct, starts = np.unique(nodes[order], return_index=True)
    groups = np.split(contents[order], starts[1:])
    return [(int(node), np.unique(some)) for node, some in zip(distinct, groups, strict=True)]


class _Span:
    """A growing subspace, as an orthonormal basis."""

    def __init__(self, dimension: int) -> None:
        self._room = np.empty((4, dimension))
        self.rank = 0
        self.top = 0.0  # of what was added: what is smaller by so much is rounding

    @property
    def basis(self) -> Array:
        """The basis (rank, dimension)."""
        return self._room[: self.rank]

    def _off(self, rows: Array) -> Array:
        """Subtract from ``rows`` (r, dimension) what is inside, but for rounding: a second time takes that off too."""
        return rows - (rows @ self.basis.T) @ self.basis

    def holds(self, rows: Array) -> bool:
        """Check that all ``rows`` lie inside, to 1e-6 of their size; one that is no number does not."""
        with np.errstate(invalid="ignore"):
            sizes, outside = _sizes(rows), self._off(rows)
            small = sizes <= _ROUNDING * self.top
            if (small | (_sizes(outside) <= _TOL * sizes)).all():
                return True
            return bool((small | (_sizes(self._off(outside)) <= _TOL * sizes)).all())

    def add(self, rows: Array) -> None:
        """Grow by ``rows``, as far as they are outside; what is rounding beside the largest is none."""
        sizes = _sizes(rows)
        fine = np.isfinite(sizes)
        self.top = max([self.top, *sizes[fine].tolist()])
        fine &= sizes > _ROUNDING * self.top
        left = self._off(rows[fine] / sizes[fine, None])
        left = left[_sizes(left) > _OUTSIDE]
        if not len(left):  # as nearly always: most rounds repeat what is known
            return
        left = self._off(left)
        left = left[_sizes(left) > _OUTSIDE]
        if len(left) > 1:  # of each other: those first that are farthest outside
            directions, lengths, _ = qr(left.T, mode="economic", pivoting=True, check_finite=False)
            left = directions.T[: int((np.abs(np.diagonal(lengths)) > _OUTSIDE).sum())]
        left = self._off(left)  # as rounding, which was small beside the rows, is not beside what is left of them
        sizes = _sizes(left)
        left = left[sizes > _OUTSIDE] / sizes[sizes > _OUTSIDE, None]
        while self.rank + len(left) > len(self._room):
            self._room = np.concatenate([self._room, np.empty_like(self._room)])
        self._room[self.rank : self.rank + len(left)] = left
        self.rank += len(left)


def _sizes(rows: Array) -> Array:
    """Compute the lengths (r,) of ``rows`` (r, dimension)."""
    return np.asarray(np.sqrt(np.einsum("rd,rd->r", rows, rows)))
