"""Release of what a protocol ends with, as messages that anybody reads.

A released mixture, subspace or model is a message to the world. :class:`Released` sends it as one, so that an audit can
ask what it tells by itself; :class:`FittedMixture` is what distributed EM over a sum protocol ends with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.network import Network
from secmix.protocols.collaboration import CollaborationWrapper, RunsDiffer
from secmix.protocols.em.distributed_em import DistributedEM
from secmix.protocols.mixture.distributed_mixture import packed
from secmix.protocols.sums.plain import Plain
from secmix.transcript import SERVER, Channel

RELEASED = "released result"
"""The kind of the messages that everybody reads."""
OWN_ROWS = "rows of a node"
"""The kind of what each node holds: whoever knows its rows from elsewhere reads it."""


@dataclass(frozen=True)
class Released(CollaborationWrapper):
    """A collaboration that releases what each node ends with; in all else it is the ``inner`` one.

    >>> from secmix.protocols import FederatedPCA
    >>> channel, rng = Channel(), np.random.default_rng(0)
    >>> parts = [rng.standard_normal((2, 4, 3)) for _ in range(3)]
    >>> results = Released(FederatedPCA(1)).collaborate(parts, Network.complete(3), rng, channel=channel)
    >>> released = channel.transcript.blocks[-1]
    >>> released.kind, bool((released.payload == results.transpose(1, 0, 2)).all())
    ('released result', True)
    """

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the inner collaboration, and send its results (runs, n, p) as messages of the nodes."""
        rows = [np.array(part).reshape(len(part), -1) for part in parts]  # copies: a protocol may change its rows
        try:
            results = np.asarray(self.inner.collaborate(parts, network, rng, channel=channel), dtype=np.float64)
        except RunsDiffer as differing:  # the results tell nothing of how the messages differed
            results = differing.results
            channel.begin()
        for node, part in enumerate(rows):
            channel.hold(-1, node, OWN_ROWS, part)
        channel.send(0, np.arange(network.n), SERVER, RELEASED, results.transpose(1, 0, 2))
        return results


@dataclass(frozen=True)
class FittedMixture:
    """Distributed EM as a collaboration: every node ends with its copy of the fitted mixture."""

    model: DistributedEM

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Fit the mixture; the result is :func:`packed` at every node, (runs, n, p).

        The messages of its sums go through a channel of its own: who reads the result alone reads none of them.
        """
        return packed(self.model.run(parts, network=network, rng=rng).mixtures[-1])

    def error(self, results: Array, reference: Array) -> Array:
        """Compute the largest difference of a number at a node: (runs,)."""
        return np.asarray(np.abs(results - reference).max(axis=(1, 2)))

    @property
    def without_masks(self) -> FittedMixture:
        """The same fit over plain sums: what masks and encryption hide on the way does not change the result."""
        settings = {name: value for name, value in vars(self.model).items() if not name.endswith("_")}
        return FittedMixture(DistributedEM(**{**settings, "sums": Plain(), "record": False}))
