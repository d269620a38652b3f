"""The coordinator of a federated protocol, who keeps what it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from secmix.adversaries.interfaces import view_of
from secmix.network import Network
from secmix.transcript import SERVER, Transcript, View


@dataclass(frozen=True)
class CuriousServer:
    """The server keeps everything it sends or receives; encryption of the lines does not keep it out.

    In a protocol without a server it holds nothing.

    Parameters
    ----------
    sees_metadata : bool
        Whether it notices messages it cannot read, and when, of which kind, how many and how long all are. Switched
        off, it is a weaker adversary, and the report says so.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix import Network
    >>> from secmix.protocols import Plain
    >>> network = Network.cycle(3)
    >>> _, transcript = Plain(encrypted=True).average(np.ones((1, 3, 1)), network, np.random.default_rng(0))
    >>> len(CuriousServer().observe(transcript, network))  # three inputs and their average
    4
    """

    sees_metadata: bool = True

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """None: the server has no data of its own."""
        return frozenset()

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Every message to or from the server."""
        return view_of(transcript, lambda block: (block.sender == SERVER) | (block.receiver == SERVER))
