"""Right protocols for all tests to go wrong with: a test replaces one step of one of them.

The sums are those of the corpus, where their steps are named; a collaboration stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from soundness.bases import Base, Modular, Pairwise, Words

from secmix._base.checks import Array
from secmix.network import Network
from secmix.transcript import SERVER, Channel

__all__ = ["Averaging", "Base", "Modular", "Pairwise", "Words", "with_steps"]


def with_steps(kind: type, *settings: Any, **steps: Callable[..., Any]) -> Any:
    """Return a protocol of the given kind with some of its steps replaced, each by a function that takes it first."""
    return type(kind.__name__, (kind,), steps)(*settings)


@dataclass(frozen=True)
class Averaging:
    """Every node sends the server a function of its rows, and gets the average (or median) of what was sent."""

    what: str = "mean"
    rule: str = "mean"
    encrypted: bool = False
    unit = "standard deviations"

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Hold, send, combine, send back, step by step."""
        for i, part in enumerate(parts):
            channel.hold(-1, i, "rows", part.reshape(len(part), -1))
        sent, nodes = self.sent(parts), np.arange(network.n)
        arrived = channel.send(0, nodes, SERVER, "mean", sent, encrypted=self.encrypted)
        result = np.mean(arrived, axis=0) if self.rule == "mean" else np.median(arrived, axis=0)
        everyone = np.zeros(network.n, dtype=np.intp)
        back = channel.send(1, SERVER, nodes, "average", result[None], encrypted=self.encrypted, content=everyone)
        self.after(channel, sent)
        return self.result(np.repeat(back[0][:, None], network.n, axis=1), parts)

    # Places to go wrong.

    def sent(self, parts: Sequence[Array]) -> Array:
        """What the nodes send, (n, runs, d)."""
        told = {
            "mean": lambda rows: rows.mean(axis=1),
            "first": lambda rows: rows[:, 0],
            "nothing": lambda rows: 0 * rows[:, 0],
        }[self.what]
        return np.stack([told(part) for part in parts])

    def after(self, channel: Channel, sent: Array) -> None:
        """After everything else was sent."""

    def result(self, ends: Array, parts: Sequence[Array]) -> Array:
        """What the nodes end with, (runs, n, d)."""
        return ends

    def error(self, results: Array, reference: Array) -> Array:
        """Largest distance of a node's result."""
        return np.asarray(np.linalg.norm(results - reference, axis=2).max(axis=1))
