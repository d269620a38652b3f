"""Right collaborations: lines are encrypted, and whoever listens notices the same whatever the rows are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.protocols.collaboration import run_by_run
from secmix.transcript import SERVER

from ..case import Case
from ..honest.together.bases import NAME, OUT, THREE, Aside, Medians


class PublicStart(Medians):
    """Begins with a start that everybody hears."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """As the others."""
        start = rng.normal(size=(1, len(parts[0]), parts[0].shape[2]))
        to = np.arange(network.n)
        channel.send(-1, SERVER, to, "start", start, content=np.zeros(network.n, dtype=int))
        return super().collaborate(parts, network, rng, channel=channel)


class Sampled(Medians):
    """Two nodes that a public coin chooses say more, in as many rounds as another says."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        for turn in range(int(rng.integers(2, 5))):
            for node in rng.choice(network.n, 2, replace=False).tolist():
                channel.send(10 + turn, node, SERVER, "step", means[node], encrypted=True)


class InAPool(Medians):
    """Works in threads that end with the call."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(np.sum, parts))


@dataclass
class Note:
    """A message of the protocol's own."""

    mean: Array
    count: int


class InAnObject(Medians):
    """Sends such a message, and a mapping; both arrive as what they were."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        note = channel.send(10, 0, SERVER, "note", Note(means[0], 20), encrypted=True)
        more = channel.send(11, 0, SERVER, "more", {"mean": note.mean, "n": note.count}, encrypted=True)
        assert more["n"] == 20


class InPlace(Aside):
    """Sorts the rows of each node where they lie."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        for part in parts:
            if isinstance(part, np.ndarray) and part.flags.writeable:
                part.sort(axis=1)


class Refuses(Medians):
    """Takes no column that is constant."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """As the others."""
        if any((np.std(part, axis=1) == 0).any() for part in parts):
            raise ValueError("a column is constant")
        return super().collaborate(parts, network, rng, channel=channel)


class OneByOne(Medians):
    """Written for one data set."""

    def collaborate(self, parts: Any, network: Any, rng: Any, *, channel: Any) -> Any:
        """As the others."""

        def once(rows: list[Array], channel: Any) -> Array:
            sent = [
                channel.send(0, i, SERVER, "mean", part.mean(axis=0)[None], encrypted=True)
                for i, part in enumerate(rows)
            ]
            end = channel.send(1, SERVER, 0, "median", np.median(np.concatenate(sent), axis=0)[None], encrypted=True)
            return np.repeat(end, len(rows), axis=0)

        return run_by_run(once, parts, channel)


class OwnDraws(Medians):
    """Every node draws from a generator of its own; what they say is hidden in noise, and encrypted."""

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        for node, own in enumerate(rng.spawn(network.n)):
            noise = own.normal(size=means[node].shape)
            channel.send(10, node, SERVER, "step", means[node] + noise, encrypted=True)


class Kept(Medians):
    """Keeps a public table from call to call, and sends single precision."""

    def __init__(self) -> None:
        self.table: Any = None

    def after(self, parts: Any, channel: Any, means: Array, rng: Any, network: Any) -> None:
        self.table = np.eye(3) if self.table is None else self.table
        channel.send(10, 0, SERVER, "step", means[0].astype(np.float32), encrypted=True)


WHY = "all that depends on rows is encrypted, and what is sent when does not depend on them"
CASES = [
    Case(name, NAME, protocol, OUT if issubclass(protocol, Medians) else THREE, WHY, truth="safe")
    for name, protocol in (
        ("medians", Medians),
        ("public start", PublicStart),
        ("sampled by a coin", Sampled),
        ("in a pool of threads", InAPool),
        ("objects and mappings", InAnObject),
        ("in place", InPlace),
        ("refuses constant columns", Refuses),
        ("one by one", OneByOne),
        ("draws of their own", OwnDraws),
        ("a table that is kept", Kept),
    )
]
