"""The coordinator of a federated protocol, who keeps what it is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from secmix.adversaries.interfaces import view_of
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.network import Network
from secmix.transcript import SERVER, Transcript, View, touching


@dataclass(frozen=True)
class CuriousServer:
    """The server keeps everything it sends or receives; encryption of the lines does not keep it out.

    In a protocol without a server it holds nothing.

    Parameters
    ----------
    corrupt : iterable of int
        Nodes who follow the protocol too and report to the server all that they hold, send and receive; default: none.
    sees_metadata : bool
        Whether it observes when messages pass, their kind, number and length, also of those that it cannot read.
        Without that it is a weaker adversary, and the report says so.

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

    corrupt: Iterable[int] = ()
    sees_metadata: bool = True
    server: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "corrupt", HonestButCurious(self.corrupt).corrupt if self.corrupt else ())

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the nodes that report to the server; the server itself has no data of its own."""
        return HonestButCurious(self.corrupt).corrupt_nodes(network) if self.corrupt else frozenset()

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe every message to or from the server or a node that reports to it."""
        ends = np.array([SERVER, *sorted(self.corrupt_nodes(network))])
        return view_of(transcript, lambda block: touching(block, ends))
