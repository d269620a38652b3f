"""Whether the transcript tells the whole story: a node sends, and ends with, only what follows from what it holds.

A protocol that keeps quiet of what a node holds (its input, a mask), or hands data on without the channel, hides from
the audit what a corrupt node knows. Each message of a linear protocol is a combination of inputs and masks; it must lie
in the span of what its sender held and received before.
"""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array
from secmix.estimators.exact.linear import residue
from secmix.transcript import SERVER, Transcript

_TOL = 1e-6  # of a combination of order one


def unexplained(
    transcript: Transcript, iteration: int, averages: Array, runs: int, units: int, modulus: float | None
) -> str:
    """The first message of ``iteration`` that does not follow from what its sender held; empty if there is none.

    Parameters
    ----------
    transcript : Transcript
        With the probes, the ``units`` unit inputs and masks, after ``runs`` real runs.
    averages : (extra, n, m)
        What each node ended with in the probes.
    """
    known: dict[int, _Span] = {}

    def span(node: int) -> _Span:
        return known.setdefault(node, _Span(units))

    for block in transcript:
        if block.iteration != iteration:
            continue
        rows = residue(block.payload[:, runs:].reshape(len(block.payload), -1)[:, :units], modulus)
        ends = list(zip(block.sender.tolist(), block.receiver.tolist(), block.content.tolist(), strict=True))
        for sender, _, content in ends:
            if block.line != "held" and not span(sender).holds(rows[content]):
                who = "the server" if sender == SERVER else f"node {sender}"
                return (
                    f"'{block.kind}' from {who} does not follow from what the transcript says it holds: "
                    "note inputs and masks with channel.hold, and send everything through the channel"
                )
        for _, receiver, content in ends:
            span(receiver).add(rows[content])
    for node, row in enumerate(averages.transpose(1, 0, 2).reshape(averages.shape[1], -1)[:, :units]):
        if np.isfinite(row).all() and not span(node).holds(row):
            return f"the average of node {node} does not follow from what the transcript says it holds"
    return ""


class _Span:
    """A growing subspace, as an orthonormal basis."""

    def __init__(self, dimension: int) -> None:
        self.basis = np.empty((0, dimension))

    def _rest(self, row: Array) -> Array:
        for _ in range(2):
            row = row - self.basis.T @ (self.basis @ row)
        return row

    def holds(self, row: Array) -> bool:
        return not float(np.linalg.norm(self._rest(row))) > _TOL * max(1.0, float(np.linalg.norm(row)))

    def add(self, row: Array) -> None:
        rest = self._rest(row)
        size = float(np.linalg.norm(rest))
        if size > 1e-2 * _TOL:
            self.basis = np.vstack([self.basis, rest / size])
