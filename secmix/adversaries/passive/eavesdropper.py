"""An outsider who listens on lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from secmix.adversaries.interfaces import none_of, view_of
from secmix.errors import NetworkError
from secmix.network import Network
from secmix.transcript import SERVER, Block, Transcript, View


@dataclass(frozen=True)
class Eavesdropper:
    """An outsider who reads every message on the plain lines that it taps, and nothing on encrypted ones.

    Parameters
    ----------
    tapped : iterable of (a, b), optional
        The tapped edges; a server is node -1. Default: every line there is.
    sees_metadata : bool
        Whether it observes when messages pass, their kind, number and length, also of those that it cannot read.
        Without that it is a weaker adversary, and the report says so.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix import Network
    >>> from secmix.protocols import Plain
    >>> network = Network.cycle(3)
    >>> _, transcript = Plain().average(np.ones((1, 3, 1)), network, np.random.default_rng(0))
    >>> Eavesdropper(tapped=[(0, -1)]).observe(transcript, network).sources
    ['input from 0 to the server, round 0', 'average from the server to 0, round 1']
    """

    tapped: Iterable[Sequence[int]] | None = None
    sees_metadata: bool = True

    def __post_init__(self) -> None:
        if self.tapped is not None:
            # Stored as a tuple: the first call would use up a generator, and the second would read nothing.
            object.__setattr__(self, "tapped", _checked_lines(self.tapped))

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return no nodes: it is an outsider."""
        return frozenset()

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe every plain message on the tapped lines."""
        edges = None if self.tapped is None else self._edges(network)

        def readable(block: Block) -> npt.NDArray[np.bool_]:
            if block.line != "plain":
                return none_of(block)
            if edges is None:
                return ~none_of(block)
            ends = zip(block.sender.tolist(), block.receiver.tolist(), strict=True)
            return np.array([(min(a, b), max(a, b)) in edges for a, b in ends], dtype=bool)

        return view_of(transcript, readable)

    def _edges(self, network: Network) -> set[tuple[int, int]]:
        chosen = set()
        for a, b in self.tapped or ():
            if SERVER not in (a, b) and not network.graph.has_edge(a, b):
                raise NetworkError(
                    f"tapped edge {[a, b]} is not an edge of the network; its edges are {network.edges.tolist()[:20]}"
                )
            if SERVER in (a, b):
                network.node_set({a, b} - {SERVER}, "tapped")
            chosen.add((min(a, b), max(a, b)))
        return chosen


def _checked_lines(tapped: Iterable[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    try:
        lines = [tuple(edge) for edge in tapped]
    except TypeError:
        raise NetworkError(f"tapped must be a list of pairs of nodes, such as [(0, 1)]; given {tapped!r}") from None
    for line in lines:
        integers = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in line)
        if len(line) != 2 or not integers:
            raise NetworkError(f"a tapped line is a pair of node numbers; given {line!r}")
    return tuple((int(a), int(b)) for a, b in lines)
