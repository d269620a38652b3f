"""Plain federated averaging: every node sends its vector to a server (Li 2022, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.network import Network
from secmix.protocols.interfaces import Advice, Revealed, checked_inputs
from secmix.transcript import SERVER, Channel, Transcript


@dataclass(frozen=True)
class Plain:
    """Every node sends its vector to a server, which sends the average back.

    What it reveals by design: everything to the server; everything to who reads the lines, unless encrypted.

    Parameters
    ----------
    encrypted : bool
        Whether the lines between nodes and server are encrypted.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.network import Network
    >>> averages, transcript = Plain().average(
    ...     [[[1.0], [2.0], [6.0]]], Network.complete(3), np.random.default_rng(0))
    >>> averages[0, :, 0].tolist(), transcript.messages
    ([3.0, 3.0, 3.0], 6)
    """

    encrypted: bool = False

    def advise(self, revealed: Revealed) -> list[Advice]:
        """Suggest what to change where nodes are revealed."""
        if not revealed.nodes:
            return []
        why = "in the plain protocol the server, and whoever hears its lines, holds every node's statistics"
        advised = [
            Advice(
                f"Sum through secure summation: {why}.", {"protocol": {"name": "secure_sum"}}, "add up masked numbers"
            ),
            Advice(f"Sum through PDMM: {why}.", {"protocol": {"name": "pdmm"}}, "add up by PDMM, behind masks"),
        ]
        if not self.encrypted:
            words = "Encrypt the lines to the server; that keeps eavesdroppers out, not the server."
            advised.append(Advice(words, {"protocol.encrypted": True}, "encrypt the lines"))
        return advised

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw no masks: (runs, 0, m)."""
        return np.empty((runs, 0, m))

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Average ``inputs`` (runs, n, m); return the averages (runs, n, m) and the transcript."""
        s = checked_inputs(inputs, network)
        channel = channel or Channel()
        nodes = np.arange(network.n)
        rows = s.transpose(1, 0, 2)
        channel.hold(-1, nodes, "input", rows)
        mean = channel.send(0, nodes, SERVER, "input", rows, encrypted=self.encrypted).mean(axis=0)
        to_all = np.zeros(network.n, dtype=np.intp)  # one content for all
        mean = channel.send(1, SERVER, nodes, "average", mean[None], encrypted=self.encrypted, content=to_all)
        return np.repeat(mean.transpose(1, 0, 2), network.n, axis=1), channel.transcript
