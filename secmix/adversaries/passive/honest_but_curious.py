"""Insiders who follow the protocol and pool what they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from secmix.adversaries.interfaces import view_of
from secmix.errors import NetworkError, SecmixError
from secmix.network import Network
from secmix.transcript import Block, Transcript, View, touching


@dataclass(frozen=True)
class HonestButCurious:
    """Corrupt nodes who follow the protocol and pool their inputs, masks and all messages they send or receive.

    Parameters
    ----------
    corrupt : iterable of int
        The corrupt nodes.
    eavesdrops : bool
        Whether they also read every plain channel. On by default: it is the stronger adversary, and costs little.
    sees_metadata : bool
        Whether it observes when messages pass, their kind, number and length, also of those that it cannot read.
        Without that it is a weaker adversary, and the report says so.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix import Network
    >>> from secmix.protocols import SecureSum
    >>> network = Network.cycle(4)
    >>> _, transcript = SecureSum().average(np.ones((1, 4, 1)), network, np.random.default_rng(0))
    >>> HonestButCurious(corrupt={2}).observe(transcript, network).sources[:2]
    ['input held by 2, before the first round', 'running sum from 1 to 2, round 1']
    """

    corrupt: Iterable[int]
    eavesdrops: bool = True
    sees_metadata: bool = True

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "corrupt", tuple(sorted(set(self.corrupt))))
        except TypeError:
            raise SecmixError(
                f"corrupt must be a list of node numbers, such as [1, 3]; given {self.corrupt!r}"
            ) from None
        if not self.corrupt:
            raise SecmixError("corrupt must name at least one node; for an outsider use Eavesdropper")

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the corrupt nodes, after checking that they exist and leave somebody honest."""
        nodes = network.node_set(self.corrupt, "corrupt")
        if len(nodes) == network.n:
            raise NetworkError(f"corrupt names all {network.n} nodes; leave at least one whose data could leak")
        return nodes

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe what the corrupt nodes hold, send and receive, and the plain lines if they eavesdrop."""
        nodes = np.array(sorted(self.corrupt_nodes(network)))

        def readable(block: Block) -> npt.NDArray[np.bool_]:
            own = touching(block, nodes)
            return own | (block.line == "plain") if self.eavesdrops else own

        return view_of(transcript, readable)
