"""The public, who gets the released result and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from secmix.adversaries.interfaces import none_of, view_of
from secmix.adversaries.passive.honest_but_curious import HonestButCurious
from secmix.network import Network
from secmix.protocols.released import OWN_ROWS, RELEASED
from secmix.transcript import Block, Transcript, View


@dataclass(frozen=True)
class PublicReader:
    """Whoever gets what the protocol ends with: a mixture, a subspace, a model; no message of the protocol.

    Attacks on the result accuse; none of them clears a node.

    Parameters
    ----------
    knows : iterable of int
        Nodes whose rows it knows from elsewhere, because they are published or its own; default: none.

    Examples
    --------
    >>> from secmix.protocols import FederatedRegression
    >>> from secmix.protocols.released import Released
    >>> from secmix.transcript import Channel
    >>> channel, rng = Channel(), np.random.default_rng(0)
    >>> parts = [rng.standard_normal((1, 4, 3)) for _ in range(2)]
    >>> network = Network.complete(2)
    >>> _ = Released(FederatedRegression()).collaborate(parts, network, rng, channel=channel)
    >>> PublicReader(knows=[1]).observe(channel.transcript, network).sources[11:13]
    ['rows of a node held by 1, before the first round, iteration 1, entry 11', \
'released result from 0 to the server, round 0, iteration 1, entry 0']
    """

    knows: Iterable[int] = ()
    sees_metadata: ClassVar[bool] = False
    reads_result: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "knows", HonestButCurious(self.knows).corrupt if self.knows else ())

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the nodes whose rows it knows; it controls nobody."""
        return HonestButCurious(self.knows).corrupt_nodes(network) if self.knows else frozenset()

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe the released results, and the rows that it knows from elsewhere."""
        known = np.array(sorted(self.corrupt_nodes(network)), dtype=np.intp)

        def readable(block: Block) -> npt.NDArray[np.bool_]:
            if block.kind == RELEASED:
                return ~none_of(block)
            return np.isin(block.sender, known) if block.kind == OWN_ROWS else none_of(block)

        return view_of(transcript, readable)
