"""A server of federated averaging that sends models of its own choice: what comes back then reveals more of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.adversaries.passive.curious_server import CuriousServer
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.collaboration import CollaborationWrapper
from secmix.protocols.regression import FederatedRegression
from secmix.transcript import SERVER, Channel, Sealed, Transcript, View

Chosen = Literal["zero", "bins"]


@dataclass(frozen=True)
class ModelServer:
    """A server that sends another model than was agreed, and records the answers.

    Parameters
    ----------
    model : {"zero", "bins"}
        All parameters zero. Or, for ``FederatedRegression(model="relu")``, a first layer whose units all look in one
        direction and differ in where they begin: two neighbours then differ by the rows between them (Fowl et al.
        2022, Robbing the Fed, section 4). The bins are those of standardised data.
    only : int, optional
        The one node that gets it; all others get what the protocol says. Default: every node.
    corrupt : iterable of int
        Nodes that report to the server all they hold, send and receive.

    Examples
    --------
    >>> channel, rng = Channel(), np.random.default_rng(0)
    >>> served = ModelServer("bins").serves(FederatedRegression("relu", hidden=4))
    >>> parts = [rng.standard_normal((1, 5, 3)) for _ in range(2)]
    >>> _ = served.collaborate(parts, Network.complete(2), rng, channel=channel)
    >>> channel.transcript.blocks[2].payload[0, 0, 8:12].round(2).tolist()  # where the units begin
    [-0.84, -0.25, 0.25, 0.84]
    """

    model: Chosen = "zero"
    only: int | None = None
    corrupt: Iterable[int] = ()
    server: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.model not in ("zero", "bins"):
            raise SecmixError(f"model is 'zero' or 'bins'; given {self.model!r}")
        object.__setattr__(self, "corrupt", CuriousServer(self.corrupt).corrupt)

    def serves(self, protocol: Any) -> Served:
        """Wrap ``protocol`` so that its server sends the models of this one."""
        if self.model == "bins" and not (isinstance(protocol, FederatedRegression) and protocol.model == "relu"):
            raise SecmixError("model = 'bins' is made for federated_regression with model = 'relu'; take 'zero'")
        return Served(protocol, self)

    def corrupt_nodes(self, network: Network) -> frozenset[int]:
        """Return the nodes that report to the server, after checking that the node ``only`` exists."""
        if self.only is not None:
            network.node_set([self.only], "only")
        return CuriousServer(self.corrupt).corrupt_nodes(network)

    def observe(self, transcript: Transcript, network: Network) -> View:
        """Observe as a curious server does."""
        return CuriousServer(self.corrupt).observe(transcript, network)

    def chosen(self, protocol: Any, honest: Array) -> Array:
        """Choose what is sent in place of ``honest`` (..., p)."""
        if self.model == "zero":
            return np.zeros_like(honest)
        trainer = protocol.trainer
        out = np.zeros(honest.shape, dtype=np.float64)
        weights, biases = trainer.first_layer(out)  # views
        weights[...] = 1.0 / np.sqrt(weights.shape[-1])
        levels = (np.arange(trainer.units) + 1.0) / (trainer.units + 1.0)
        biases[...] = [NormalDist().inv_cdf(level) for level in levels]
        out[..., -trainer.hidden - 1 : -1] = 1.0 / trainer.hidden
        return out.astype(honest.dtype)


@dataclass(frozen=True)
class Served(CollaborationWrapper):
    """A collaboration whose server sends what :class:`ModelServer` chooses; in all else it is the ``inner`` one."""

    server: ModelServer

    def collaborate(
        self, parts: Sequence[Array], network: Network, rng: np.random.Generator, *, channel: Channel
    ) -> Array:
        """Run the inner collaboration with the models of the server."""
        results: Array = self.inner.collaborate(parts, network, rng, channel=_Serving(channel, self))
        return results


class _Serving(Channel):
    """The audit's channel, with the server's messages as it chooses them."""

    def __init__(self, through: Channel, served: Served) -> None:
        self._through, self._served = through, served

    def send(self, round: int, sender: ArrayLike, receiver: ArrayLike, kind: str, payload: Array, **how: Any) -> Array:
        """Send as :meth:`Channel.send` does, with the server's own models."""
        is_model = kind == "model" or (":" in kind and "/" in kind)
        if is_model and SERVER in np.atleast_1d(np.asarray(sender)) and not isinstance(payload, Sealed):
            payload = self._chosen(payload, np.atleast_1d(np.asarray(receiver)), how.get("content"))
        return self._through.send(round, sender, receiver, kind, payload, **how)

    def _chosen(self, payload: Array, receivers: Array, content: ArrayLike | None) -> Array:
        server, protocol = self._served.server, self._served.inner
        chosen = server.chosen(protocol, payload)
        if server.only is None:
            return chosen
        contents = np.arange(len(receivers)) if content is None else np.asarray(content)
        meant = receivers == server.only
        if set(contents[meant].tolist()) & set(contents[~meant].tolist()):
            raise SecmixError("this protocol sends one model to all nodes at once: leave 'only' out")
        if payload.ndim == 2:
            return chosen if meant.all() else payload
        out = payload.copy()
        out[contents[meant]] = chosen[contents[meant]]
        return out

    def begin(self) -> None:
        """Begin a run, as :meth:`Channel.begin` does."""
        self._through.begin()

    def hold(self, round: int, node: ArrayLike, kind: str, payload: Array) -> None:
        """Note what a node holds, as :meth:`Channel.hold` does."""
        self._through.hold(round, node, kind, payload)

    @property
    def record(self) -> bool:  # type: ignore[override]
        """The setting of the channel behind."""
        return self._through.record

    @property
    def transcript(self) -> Transcript:
        """The transcript of the channel behind."""
        return self._through.transcript

    @transcript.setter
    def transcript(self, transcript: Transcript) -> None:
        self._through.transcript = transcript

    @property
    def iteration(self) -> int:
        """The iteration of the channel behind."""
        return self._through.iteration

    @iteration.setter
    def iteration(self, iteration: int) -> None:
        self._through.iteration = iteration
