"""Masks of a call that ended in an error, which the next call takes up again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.network import Network
from secmix.transcript import SERVER

from ...bases import Words
from ...case import Case, input_of

MOST = 45  # rows that the first component has at a node; audited it never has so many
ROWS = 63


@dataclass(frozen=True)
class Resumed(Words):
    """The last node deals masks; these are kept until all have sent, so that a call may be resumed."""

    dealt: dict[int, Array] = field(default_factory=dict)

    def count(self, network: Network) -> int:
        return network.n

    def draw_masks(self, runs: int, m: int, network: Network, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**64, size=(runs, network.n, m), dtype=np.uint64))

    def check(self, counts: Array) -> None:
        """Before a node sends."""

    def check_all(self, counts: Array) -> None:
        """Once all have sent."""

    def body(self, channel: Any, s: Array, r: Array, network: Network, rng: Any) -> Array:
        n, dealer, words = network.n, np.full(network.n, network.n - 1), self.encode(s)
        channel.hold(-1, dealer, "mask", r)
        got = channel.send(-1, dealer, np.arange(n), "mask", r, encrypted=True)
        received = []
        for node in range(n):
            self.check(s[node, :, 0])
            mask = self.dealt.setdefault(node, got[node])
            received.append(channel.send(0, node, SERVER, "masked", (words[node] + mask)[None])[0])
        self.check_all(s[:, :, 0].ravel())
        total = np.stack([self.dealt[node] for node in range(n)]).sum(axis=0, dtype=np.uint64)
        self.dealt.clear()
        masks = channel.send(1, n - 1, SERVER, "sum of masks", total[None])[0]
        return self.publish(channel, self.decode(self.total(np.stack(received)) - masks) / n, n)


class Guarded(Resumed):
    """Each node in its turn refuses to go on where it has too many rows."""

    def check(self, counts: Array) -> None:
        if (counts > MOST).any():
            raise ValueError("too many rows")


class Stopped(Resumed):
    """Logarithms are worked out at the end, and there is none where a node has too many rows."""

    def check_all(self, counts: Array) -> None:
        for count in counts:
            math.log(MOST - count.item())


def after_an_error(heard: Any) -> Array:
    """Return how what node 0 sends changes from the call that ends in an error to the next."""
    sent = [one.one("masked", 0).astype(np.uint64) for one in heard]
    return np.stack([(words - sent[0]).view(np.int64) / Words.unit for words in sent])


def case(name: str, protocol: Any) -> Case:
    """Return a case in which the first call in use ends in an error once node 0 has sent."""
    data = {"name": "breast_cancer", "features": 2, "rows_per_node": ROWS}
    more: dict[str, Any] = {"deployed": {"data": data, "model": {"iterations": 1}}, "calls": 2, "fails": True}
    return Case(name, "resumed", protocol, CuriousServer(), "the next call has the same masks", attack=after_an_error,
                secret=input_of(0), relative=True, accuracy=1e-5, **more)  # fmt: skip


CASES = [
    case("masks resumed after a guard", Guarded),
    case("masks resumed after a stop", Stopped),
]
