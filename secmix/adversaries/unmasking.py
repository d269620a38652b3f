"""A server of secure aggregation that asks for both kinds of share of one node (Bonawitz et al. 2017, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix.adversaries.passive.curious_server import CuriousServer
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols import SumProtocol
from secmix.protocols.interfaces import ProtocolWrapper
from secmix.protocols.sums.mask_shares import PAIRS, SELF
from secmix.transcript import SERVER, Channel, Transcript, View


@dataclass(frozen=True)
class UnmaskingServer:
    """A server that wants the self mask of a victim and its pair masks, with which its vector stands bare.

    It does all else as the protocol says. Where too few clients answer such a request, the protocol ends without a sum,
    and an audit is *inconclusive*: a server may cheat in other ways too.

    Parameters
    ----------
    victim : int
    corrupt : iterable of int
        Nodes that report to the server all that they hold, send and receive; default: none.
    asks : {"all for both", "halves"}
        *all for both*: every client for both kinds of share of the victim, which an honest client refuses. *halves*:
        half of the honest clients for one kind, the others for the other, which no client notices. This succeeds where
        twice the threshold is at most all shares and corrupt shares together.

    Examples
    --------
    >>> from secmix.protocols import SecureAggregation
    >>> server = UnmaskingServer(victim=2, asks="halves")
    >>> played = server.active(SecureAggregation(threshold=2))
    >>> _, transcript = played.average(np.ones((1, 5, 1)), Network.complete(5), np.random.default_rng(0))
    >>> sorted({block.kind for block in transcript if "masks of 2" in block.kind or "mask of 2" in block.kind})
    ['share of the pair masks of 2', 'share of the self mask of 2']
    """

    victim: int
    corrupt: Iterable[int] = ()
    asks: Literal["all for both", "halves"] = "all for both"

    def __post_init__(self) -> None:
        integer(self.victim, "victim", 0)
        object.__setattr__(self, "corrupt", CuriousServer(self.corrupt).corrupt)
        if self.asks not in ("all for both", "halves"):
            raise SecmixError(f"asks is 'all for both' or 'halves'; given {self.asks!r}")
        if self.victim in self.corrupt:
            raise SecmixError(f"the victim {self.victim} is one of the corrupt nodes; name an honest one")

    def active(self, protocol: SumProtocol) -> Unmasked:
        """Wrap ``protocol`` so that its server sends these requests in place of the honest ones."""
        return Unmasked(protocol, self)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the nodes that report to the server, after checking that the victim exists."""
        network.node_set([self.victim], "victim")
        return CuriousServer(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe as a curious server with these corrupt nodes does."""
        return CuriousServer(self.corrupt).observe(transcript, network)

    def request(self, clients: list[int]) -> Array:
        """Choose what to ask of each client about the victim."""
        if self.asks == "all for both":
            return np.full(len(clients), float(SELF + PAIRS))
        honest = [v for v in clients if v not in set(self.corrupt)]
        return np.array([float(PAIRS if v in honest[: len(honest) // 2] else SELF) for v in clients])


@dataclass(frozen=True)
class Unmasked(ProtocolWrapper):
    """A sum protocol whose server asks what an :class:`UnmaskingServer` wants."""

    by: UnmaskingServer

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average as the protocol does, with this server's requests."""
        asking = _Asking(channel or Channel(), self.by)
        averages, _ = self.inner.average(inputs, network, rng, masks=masks, channel=asking)
        if not asking.asked:
            raise SecmixError("this protocol has no server that asks for shares; use it with secure_aggregation")
        return averages, asking.transcript


class _Asking(Channel):
    """A channel that hands on to another, with other requests about the victim."""

    def __init__(self, into: Channel, by: UnmaskingServer) -> None:
        super().__init__(record=into.record)
        self.into, self.by, self.asked = into, by, False
        self.transcript, self.iteration = into.transcript, into.iteration

    def send(self, round: int, sender: ArrayLike, receiver: ArrayLike, kind: str, payload: Array, **how: Any) -> Array:
        """Send as :meth:`Channel.send` does, but for requests about the victim."""
        if kind == f"request about {self.by.victim}" and np.all(np.asarray(sender) == SERVER):
            self.asked = True
            wanted = self.by.request(np.atleast_1d(receiver).tolist())
            payload = np.broadcast_to(wanted[:, None, None], payload.shape).copy()
        return self.into.send(round, sender, receiver, kind, payload, **how)

    def hold(self, round: int, node: ArrayLike, kind: str, payload: Array) -> None:
        """Note what a node holds, as :meth:`Channel.hold` does."""
        self.into.hold(round, node, kind, payload)
