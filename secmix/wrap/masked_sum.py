"""Sums under masks that pairs of nodes expand from seeds, with the functions of a library that masks and adds up.

Each pair agrees on a seed; one end adds its expansion, the other subtracts it, and a server adds the masked vectors
(Bonawitz et al. 2017, Practical secure aggregation, section 4, without drop-outs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.errors import SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import checked_inputs, checked_masks
from secmix.transcript import SERVER, Channel, Transcript

_WORD = 64  # bits


class MaskedSum:
    """A sum protocol with a library's masks.

    What it reveals by design: the total, to the server; nothing else unless all nodes collude that share a seed with
    the same node.

    Parameters
    ----------
    hide : callable
        ``hide(vector, plus, minus)`` returns the masked vector (m,) of a node: integers below 2^64. ``plus``
        are the seeds of masks that it adds, ``minus`` of those that it subtracts, each an array of words of 64 bits:
        NumPy's generators accept it, and ``seed.tobytes()`` are its bytes.
    add_up : callable
        ``add_up(sent)`` returns the sum of the vectors (m,), given the masked vectors of all nodes.
    bits : int
        Length of a seed, a multiple of 64.
    ring : bool
        Whether each node shares seeds only with the previous and the next one; otherwise with all others.

    Examples
    --------
    >>> from secmix.network import Network
    >>> def hide(vector, plus, minus):
    ...     masks = [np.random.default_rng(seed).integers(2**64, size=len(vector), dtype=np.uint64) for seed in plus]
    ...     others = [np.random.default_rng(seed).integers(2**64, size=len(vector), dtype=np.uint64) for seed in minus]
    ...     return np.rint(vector * 2**16).astype(np.int64).astype(np.uint64) + sum(masks) - sum(others)
    >>> protocol = MaskedSum(hide, lambda sent: sum(sent).astype(np.int64) / 2**16)
    >>> averages, _ = protocol.average([[[1.5], [-2.0], [4.0]]], Network.complete(3), np.random.default_rng(0))
    >>> averages.ravel().round(4).tolist()
    [1.1667, 1.1667, 1.1667]
    """

    def __init__(
        self, hide: Callable[..., Any], add_up: Callable[[list[Any]], Any], *, bits: int = 128, ring: bool = False
    ) -> None:
        if bits <= 0 or bits % _WORD:
            raise SecmixError(f"bits = {bits}; expected a multiple of {_WORD}")
        self.hide, self.add_up, self.words, self.ring = hide, add_up, bits // _WORD, ring

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the words of all seeds, (runs, pairs w, m), w words each; only the first entry is used."""
        count = len(self._pairs(network.n)) * self.words
        drawn: Array = rng.integers(0, 2**_WORD, size=(runs, count, m), dtype=np.uint64)  # type: ignore[assignment]
        return drawn

    def average(
        self,
        inputs: ArrayLike,
        network: Network,
        rng: np.random.Generator,
        *,
        masks: Array | None = None,
        channel: Channel | None = None,
    ) -> tuple[Array, Transcript]:
        """Compute the averages (runs, n, m) of ``inputs`` (runs, n, m), and record every message.

        Raises
        ------
        SecmixError
            If ``hide`` or ``add_up`` returns a wrong number of words.
        """
        s, channel, n = checked_inputs(inputs, network), channel or Channel(), network.n
        runs, _, m = s.shape
        pairs = self._pairs(n)
        drawn = self.draw_masks(runs, m, network, rng) if masks is None else masks
        words = checked_masks(drawn, runs, len(pairs) * self.words, m)[:, :, 0]
        seeds = words.reshape(runs, len(pairs), self.words).transpose(1, 0, 2)  # (pairs, runs, words)
        first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
        channel.hold(-1, np.arange(n), "input", s.transpose(1, 0, 2))
        channel.hold(-1, first, "seed", seeds)
        agreed = channel.send(-1, first, second, "seed", seeds, encrypted=True)
        masked = [self._masked(s[:, i], seeds[first == i], agreed[second == i], m) for i in range(n)]
        received = channel.send(0, np.arange(n), SERVER, "masked", np.stack(masked))
        mean = np.stack([self._added(received[:, run], m) for run in range(runs)])[None] / n
        mean = channel.send(1, SERVER, np.arange(n), "average", mean, content=np.zeros(n, dtype=int))
        return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript

    def _pairs(self, n: int) -> list[tuple[int, int]]:
        """List the pairs that share a seed; the first of each adds the mask."""
        if self.ring:
            return [(k, (k + 1) % n) for k in range(n)]
        return [(i, j) for i in range(n) for j in range(i + 1, n)]

    def _masked(self, vectors: Any, plus: Any, minus: Any, m: int) -> Any:
        """Return what one node sends, (runs, m); its seeds are (pairs, runs, words)."""
        rows = [self.hide(vector, list(plus[:, run]), list(minus[:, run])) for run, vector in enumerate(vectors)]
        return np.stack([_of_length(np.array(row, dtype=np.uint64), m, "hide") for row in rows])

    def _added(self, sent: Any, m: int) -> Any:
        return _of_length(np.array(self.add_up(list(sent)), dtype=float), m, "add_up")


def _of_length(row: Any, m: int, name: str) -> Any:
    if row.shape != (m,):
        raise SecmixError(f"{name} returns shape {row.shape}, expected ({m},)")
    return row
