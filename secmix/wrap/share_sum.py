"""Sums by secret sharing, with the functions of a library that shares one integer at a time.

Each node shares every word of its vector among all nodes, each node adds the shares that it receives, and a server, or
every node, joins the sums of shares (Ben-Or, Goldwasser, Wigderson 1988, section 2: addition is local).
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.protocols.interfaces import checked_inputs, checked_masks
from secmix.transcript import SERVER, Channel, Transcript
from secmix.wrap.library_coins import Coins, coin_bounds, supplied_coins

_EXACT = 2**52
"""Words up to this are exact floats in units of the inputs."""
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class ShareSum:
    """A sum protocol with a library's secret sharing.

    What it reveals by design: the total, to all that join the sums of shares; nothing to fewer nodes than it takes to
    join a share.

    Parameters
    ----------
    split : callable
        ``split(word, n)`` returns the n shares of an integer below ``modulus``, each an integer below it.
    join : callable
        ``join(shares)`` returns the integer whose n shares these are.
    modulus : int
        Shares are added modulo this, at most 2^64.
    coins : module or sequence of modules
        In which ``split`` draws its coins. The audit supplies them, see :func:`supplied_coins`; without this setting
        they are the system's, and a proof ends because it does not know who knows them.
    fraction_bits : int
        Number of bits of a word after the binary point.
    to_server : bool
        Whether nodes send their sums of shares to a server, on plain lines; otherwise to all nodes, on encrypted ones.

    Raises
    ------
    SecmixError
        With the line of ``split`` or ``join``, if either fails or returns something else.

    Examples
    --------
    >>> import secrets, sys
    >>> def split(word, n):
    ...     shares = [secrets.randbelow(997) for _ in range(n - 1)]
    ...     return [*shares, (word - sum(shares)) % 997]
    >>> protocol = ShareSum(split, lambda shares: sum(shares) % 997, modulus=997, fraction_bits=2)
    >>> averages, _ = protocol.average([[[1.5], [-2.0], [4.0]]], Network.complete(3), np.random.default_rng())
    >>> averages.tolist()
    [[[1.1666666666666667], [1.1666666666666667], [1.1666666666666667]]]
    """

    def __init__(
        self,
        split: Callable[[int, int], Sequence[Any]],
        join: Callable[[list[Any]], Any],
        *,
        modulus: int,
        coins: types.ModuleType | Sequence[types.ModuleType] = (),
        fraction_bits: int = 16,
        to_server: bool = True,
    ) -> None:
        if isinstance(split, functools.partial) or isinstance(join, functools.partial):
            raise SecmixError(
                "split or join is a functools.partial, expected a function with its own code; write a def or a lambda"
            )
        if not 1 < modulus <= 2**64:
            raise SecmixError(f"modulus = {modulus}; expected 2 to 2^64")
        if not 0 <= fraction_bits <= 52:
            raise SecmixError(f"fraction_bits = {fraction_bits}; expected 0 to 52")
        self.split, self.join, self.words_modulo = split, join, modulus
        modules = (coins,) if isinstance(coins, types.ModuleType) else coins
        self.coins = tuple(module.__name__ for module in modules)  # modules cannot be copied
        self.fraction_bits, self.to_server = fraction_bits, to_server

    @property
    def grid(self) -> float:
        """Step of the fixed-point numbers; 0 if messages are integers."""
        return 2.0**-self.fraction_bits if self._in_units else 0.0

    @property
    def modulus(self) -> float | None:
        """The modulus of the messages in the units of the inputs; None if messages are integers."""
        return self.words_modulo * self.grid if self._in_units else None

    @property
    def _in_units(self) -> bool:
        return self.words_modulo <= _EXACT

    def draw_masks(self, runs: int, m: int, network: Network, rng: np.random.Generator) -> Array:
        """Draw the coins of all nodes, (runs, n c, m), c of them for each word that is shared."""
        bounds = self._bounds(network.n)
        if not bounds:
            return np.zeros((runs, 0, m))
        if self._in_units:
            words = rng.integers(0, self.words_modulo, size=(runs, network.n * len(bounds), m))
            return np.asarray(words * self.grid, dtype=float)
        drawn = [rng.integers(0, bound, size=(runs, network.n, m), dtype=np.uint64) for bound in bounds]
        words_of_all: Array = np.stack(drawn, axis=2).reshape(runs, -1, m)  # type: ignore[assignment]
        return words_of_all

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
        SecmixError
            If ``split`` or ``join`` fails.
        """
        s, channel, nodes = checked_inputs(inputs, network), channel or Channel(), np.arange(network.n)
        runs, n, m = s.shape
        bounds = self._bounds(n)
        if masks is None:
            masks = self.draw_masks(runs, m, network, rng)
        coins = self._words(checked_masks(masks, runs, n * len(bounds), m)).reshape(runs, n, len(bounds), m)
        channel.hold(-1, nodes, "input", s.transpose(1, 0, 2))
        for k in range(len(bounds)):
            channel.hold(-1, nodes, "coin", self._payload(coins[:, :, k].transpose(1, 0, 2)))
        encoded, entries = self._encoded(s), [(run, entry) for run in range(runs) for entry in range(m)]
        with self._supplied(bounds) as supplied:
            shared = [
                [self._split(encoded[r, i, k].item(), n, coins[r, i, :, k], supplied) for r, k in entries]
                for i in range(n)
            ]
        arrived: dict[int, list[Any]] = {j: [] for j in range(n)}  # at each node, the shares of each sender
        for i in range(n):
            shares = self._array([[share[j] for share in shared[i]] for j in range(n)], runs)
            others = np.delete(nodes, i)
            sent = channel.send(0, i, others, "share", self._payload(shares[others]), encrypted=True)
            received = self._words(sent)
            for j in range(n):
                arrived[j].append(shares[i] if i == j else received[j - (j > i)])
        sums = self._array([self._added(arrived[j], entries) for j in range(n)], runs)
        if self.to_server:
            gathered = self._words(channel.send(1, nodes, SERVER, "sum of shares", self._payload(sums)))
            mean = self._joined(gathered, entries)[None] / n
            mean = channel.send(2, SERVER, nodes, "average", mean, content=np.zeros(n, dtype=int))
            return np.repeat(mean.transpose(1, 0, 2), n, axis=1), channel.transcript
        sender, receiver = np.nonzero(~np.eye(n, dtype=bool))
        sent = channel.send(1, sender, receiver, "sum of shares", self._payload(sums), encrypted=True, content=sender)
        means = []
        for i in range(n):
            gathered = np.stack([sums[j] if i == j else self._words(sent)[j] for j in range(n)])
            means.append(self._joined(gathered, entries) / n)
        return np.stack(means, axis=1), channel.transcript

    # ------------------------------------------------------------------ words

    def _words(self, payload: Array) -> Any:
        """Convert a message to the integers that it carries."""
        if not self._in_units:
            return payload
        return np.rint(payload * 2.0**self.fraction_bits).astype(np.int64)

    def _payload(self, words: Any) -> Array:
        return np.asarray(words * self.grid) if self._in_units else words

    def _array(self, rows: list[list[Any]], runs: int) -> Any:
        """Arrange lists of words, entry by entry of run by run, as (rows, runs, m)."""
        return np.array(rows, dtype=np.int64 if self._in_units else np.uint64).reshape(len(rows), runs, -1)

    def _encoded(self, s: Array) -> Any:
        words = np.rint(s * 2.0**self.fraction_bits)
        if np.abs(words).sum(axis=1).max(initial=0.0) >= self.words_modulo / 2:
            raise DataError(
                f"a sum does not fit: words are below {self.words_modulo}, with {self.fraction_bits} bits after the "
                "point; "
                "take a larger modulus or lower fraction_bits"
            )
        return words.astype(np.int64)

    def _added(self, rows: list[Any], entries: list[tuple[int, int]]) -> list[Any]:
        return [sum(row[place].item() for row in rows) % self.words_modulo for place in entries]

    def _joined(self, gathered: Any, entries: list[tuple[int, int]]) -> Array:
        """Compute the sums (runs, m) from sums of shares (n, runs, m), in the units of the inputs."""
        integers = [
            _integer(self._called(self.join, [row[place].item() for row in gathered]), "join", self.join)
            for place in entries
        ]
        words = np.array(integers, dtype=np.uint64).reshape(gathered.shape[1:])
        negative = words > self.words_modulo // 2
        signed = np.where(negative, words - np.uint64(self.words_modulo % 2**64), words).view(np.int64)
        return np.asarray(signed / 2.0**self.fraction_bits)

    # ------------------------------------------------------------------ the library

    def _bounds(self, n: int) -> tuple[int, ...]:
        """List the bounds of the coins that sharing one word draws."""
        if not self.coins:
            return ()
        bounds = coin_bounds(lambda: self._called(self.split, 0, n), *self._modules())
        if not bounds:
            raise SecmixError(f"split draws no coins in {', '.join(self.coins)}; name the modules that draw them")
        if self._in_units and set(bounds) != {self.words_modulo}:
            raise SecmixError(
                f"split draws coins below {', '.join(map(str, dict.fromkeys(bounds)))}, expected below "
                f"{self.words_modulo}, the modulus; other bounds need a modulus above 2^52"
            )
        return bounds

    def _modules(self) -> Iterator[types.ModuleType]:
        return (sys.modules[name] for name in self.coins)

    @contextmanager
    def _supplied(self, bounds: tuple[int, ...]) -> Iterator[Coins | None]:
        """Supply the library's coins meanwhile; yield None if they are the system's."""
        if not self.coins:
            yield None
            return
        supplied = Coins([0] * len(bounds), bounds)
        with supplied_coins(*self._modules(), coins=supplied):
            yield supplied

    def _split(self, word: Any, n: int, coins: Any, supplied: Coins | None) -> list[Any]:
        if supplied is not None:
            supplied.values, supplied.drawn = coins.tolist(), 0
        shares = list(self._called(self.split, word % self.words_modulo, n))
        if supplied is not None:
            supplied.finish()
        if len(shares) != n:
            raise SecmixError(f"split returns {len(shares)} shares, expected {n}, one a node, at {_place(self.split)}")
        return [_integer(share, "split", self.split) for share in shares]

    def _called(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function of the user; an error names its line."""
        try:
            return function(*args)
        except Exception as error:
            name = "split" if function is self.split else "join"
            raise SecmixError(f"{name} fails at {_where(error, function)}") from error


def _where(error: Exception, function: Callable[..., Any]) -> str:
    """Locate the last line outside secmix that an error comes from, with its text."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_OURS)]
    place = f"{os.path.basename(lines[-1].filename)}, line {lines[-1].lineno}: {lines[-1].line}" if lines else ""
    return f"{place or _place(function)}: {type(error).__name__}: {error}"


def _integer(value: Any, name: str, function: Callable[..., Any]) -> Any:
    """Check that a function of the user returned an integer."""
    if not isinstance(value, (int, np.integer)):
        raise SecmixError(f"{name} returns a {type(value).__name__}, expected an integer, at {_place(function)}")
    return value


def _place(function: Callable[..., Any]) -> str:
    """Locate the definition of a function of the user."""
    code = getattr(function, "__code__", None)
    return f"{os.path.basename(code.co_filename)}, line {code.co_firstlineno}" if code else repr(function)
