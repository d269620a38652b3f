"""Sums under an additively homomorphic cipher, with the functions of a library that encrypts one number at a time.

Each node encrypts every word of its vector, a server without the key adds the ciphertexts, and nodes with the key
decrypt the sum (Paillier 1999, section 8, additive homomorphism; Aono et al. 2017, section 3, clients that share a
key).

A ciphertext is opaque by declaration: without the key, only its length and time are known. On the channel each
ciphertext is represented by the word under a one-time pad that its node and all holders of the key know: it is as
opaque and has the same sums. A proof prints this assumption. The library's functions are not traced: an audit calls
them on the same words, and tests the ciphertexts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.protocols.cipher import Cipher
from secmix.protocols.interfaces import checked_inputs, checked_masks
from secmix.transcript import SEALED, SERVER, Channel, Transcript

_LARGEST = 2**52
"""Sums of words are below it, so that floats represent them exactly."""


class SealedSum:
    """A sum protocol with a library's additively homomorphic cipher; its server reads ciphertexts.

    What it reveals by design: the total, to the nodes that have the key; to a server without it, nothing. An adversary
    with the key that reads the lines to the server reads everything.

    Parameters
    ----------
    encrypt : callable
        ``encrypt(word)`` returns the ciphertext of a signed integer: an integer, bytes, or a tuple of such.
    add : callable
        ``add(first, second)`` returns the ciphertext of the sum.
    decrypt : callable
        ``decrypt(sealed)`` returns the signed integer.
    public : sequence of int
        The moduli of the public key; for Paillier the product of the two primes.
    holders : sequence of int, optional
        The nodes that have the secret key; all by default. The first holder sends the average to nodes without it.
    fraction_bits : int
        Number of bits of a word after the binary point.
    encrypted : bool
        Whether lines to and from the server are also encrypted, so that holders of the key cannot read them.

    Examples
    --------
    >>> same = SealedSum(lambda word: word, lambda a, b: a + b, lambda word: word, fraction_bits=2)  # seals nothing
    >>> averages, sent = same.average([[[1.5], [-2.0], [4.0]]], Network.complete(3), np.random.default_rng(0))
    >>> averages.ravel().tolist(), [block.kind for block in sent if block.line != "held"]
    ([1.1666666666666667, 1.1666666666666667, 1.1666666666666667], ['ciphertext, sealed', 'sum, sealed'])
    """

    def __init__(
        self,
        encrypt: Callable[[Any], Any],
        add: Callable[[Any, Any], Any],
        decrypt: Callable[[Any], Any],
        *,
        public: Sequence[int] = (),
        holders: Sequence[int] | None = None,
        fraction_bits: int = 16,
        encrypted: bool = True,
    ) -> None:
        if not 0 <= fraction_bits <= 52:
            raise SecmixError(f"fraction_bits = {fraction_bits}; expected 0 to 52")
        if holders is not None and not holders:
            raise SecmixError("holders is empty; expected at least one node with the key")
        self.encrypt, self.add, self.decrypt = encrypt, add, decrypt
        self.public, self.holders = tuple(public), None if holders is None else tuple(holders)
        self.fraction_bits, self.encrypted = fraction_bits, encrypted

    @property
    def modulus(self) -> float:
        """The modulus of the words on the channel, in the units of the inputs."""
        return _LARGEST * self.grid

    @property
    def grid(self) -> float:
        """The step of the fixed-point numbers."""
        return 2.0**-self.fraction_bits

    def cipher(self, network: Network) -> Cipher:
        """Return the library's cipher, for an audit to test."""
        return Cipher(self._words, self.encrypt, self.add, self.decrypt, self.public, self._holders(network))

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the pads (runs, n, m)."""
        words = rng.integers(0, _LARGEST, size=(runs, network.n, m))
        return np.asarray(words * self.grid, dtype=float)

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
        DataError
            If a sum does not fit into the range of the words.
        """
        s, channel, nodes = checked_inputs(inputs, network), channel or Channel(), np.arange(network.n)
        runs, n, m = s.shape
        holders = self._holders(network)
        pads = checked_masks(self.draw_masks(runs, m, network, rng) if masks is None else masks, runs, n, m)
        pads = pads.transpose(1, 0, 2)
        channel.hold(-1, nodes, "input", s.transpose(1, 0, 2))
        channel.hold(-1, nodes, "pad of its own", pads)
        for holder in holders:
            channel.hold(-1, np.full(n, holder), "what the key takes off", pads)
        words, taken_off = self._words(s).transpose(1, 0, 2), np.rint(pads / self.grid).astype(np.int64)
        hidden = (words + taken_off) % _LARGEST * self.grid
        sealed = channel.send(0, nodes, SERVER, "ciphertext" + SEALED, hidden, encrypted=self.encrypted)
        total = np.rint(sealed / self.grid).astype(np.int64).sum(axis=0) % _LARGEST * self.grid
        returned = channel.send(
            1,
            SERVER,
            np.array(holders),
            "sum" + SEALED,
            total[None],
            encrypted=self.encrypted,
            content=np.zeros(len(holders), dtype=int),
        )
        left = (np.rint(returned[0] / self.grid).astype(np.int64) - taken_off.sum(axis=0)) % _LARGEST
        mean = np.where(left >= _LARGEST // 2, left - _LARGEST, left) * self.grid / n
        return self._shared_average(mean, holders, channel, n), channel.transcript

    def _shared_average(self, mean: Array, holders: tuple[int, ...], channel: Channel, n: int) -> Array:
        """Send the average (runs, m) to nodes without the key; return what all nodes end with (runs, n, m)."""
        others, own = np.setdiff1d(np.arange(n), holders), [mean[None]] * n
        if len(others):
            content = np.zeros(len(others), dtype=int)
            average = channel.send(2, holders[0], others, "average", mean[None], encrypted=True, content=content)
            own = [average if node in others else mean[None] for node in range(n)]
        return np.concatenate(own).transpose(1, 0, 2)

    def _words(self, inputs: ArrayLike) -> Any:
        words = np.rint(np.asarray(inputs) / self.grid)
        if np.abs(words).sum(axis=1).max(initial=0.0) >= _LARGEST / 2:
            raise DataError(
                f"a sum does not fit into 52 bits with fraction_bits = {self.fraction_bits}; lower fraction_bits"
            )
        return words.astype(np.int64)

    def _holders(self, network: Network) -> tuple[int, ...]:
        holders = tuple(range(network.n)) if self.holders is None else self.holders
        if not set(holders) <= set(range(network.n)):
            raise SecmixError(f"holders = {list(holders)}; expected nodes from 0 to {network.n - 1}")
        return holders
