"""Coins of a library: the audit supplies what the library asks the system for, and so knows it as a coin.

Replaced are ``secrets``, ``os.urandom`` and ``random.SystemRandom``, which draw from the system, and NumPy's
``default_rng`` without a seed, which takes 128 bits of it. The functions of ``random`` itself and generators with a
seed stay: they are not cryptographic generators, and a proof names them.
"""

from __future__ import annotations

import os
import random
import secrets
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix.errors import SecmixError
from secmix.kernel.tracing.world import replacements, standing_for
from secmix.kernel.values.current_trace import tracing

_WORD = 2**64
_MOST = 10_000  # draws of one call: a loop that waits for a certain value would not end
_ODD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples are spread evenly (Knuth 1973, section 6.4)


@dataclass
class Coins:
    """Coins in the order in which they are drawn, each an integer below its bound.

    Parameters
    ----------
    values : sequence of int
    bounds : sequence of int
        A library must ask for coins below exactly these; n bytes count as words of 64 bits and a rest.

    Raises
    ------
    SecmixError
        If the library asks for different coins, or for more.
    """

    values: Sequence[Any]
    bounds: Sequence[int]
    drawn: int = 0

    def below(self, bound: int) -> Any:
        """Draw an integer below ``bound``."""
        if self.drawn >= len(self.bounds):
            raise SecmixError(
                f"the library draws a coin below {bound} after the {len(self.bounds)} that were supplied; the number "
                "of "
                "coins must not depend on the data"
            )
        if self.bounds[self.drawn] != bound:
            raise SecmixError(
                f"the library draws coin {self.drawn} below {bound}, expected below {self.bounds[self.drawn]}; the "
                "number "
                "of coins and their bounds must not depend on the data"
            )
        self.drawn += 1
        return self.values[self.drawn - 1]

    def octets(self, count: int) -> Any:
        """Draw ``count`` bytes."""
        drawn: Any = b""
        for begin in range(0, count, 8):
            width = min(8, count - begin)
            drawn = drawn + self.below(256**width).to_bytes(width, "little")
        return drawn

    def finish(self) -> None:
        """Check that all coins were drawn.

        Raises
        ------
        SecmixError
            If some were not drawn.
        """
        if self.drawn < len(self.bounds):
            raise SecmixError(
                f"the library draws {self.drawn} coins, expected {len(self.bounds)}; the number of coins must not "
                "depend "
                "on the data"
            )


@dataclass
class _Rehearsal(Coins):
    """Coins that record what is asked for."""

    values: Sequence[Any] = ()
    bounds: list[int] = field(default_factory=list)

    def below(self, bound: int) -> Any:
        """Record the bound."""
        if not 1 < bound <= _WORD:
            raise SecmixError(f"the library draws a coin below {bound}; bounds from 2 to 2^64 are supplied")
        if len(self.bounds) >= _MOST:
            raise SecmixError(
                f"the library draws more than {_MOST} coins in one call; wrap a function that draws fewer"
            )
        self.bounds.append(bound)
        return len(self.bounds) * _ODD % _WORD % bound


def coin_bounds(call: Callable[[], Any], *modules: types.ModuleType) -> tuple[int, ...]:
    """List the bounds of the coins that a call draws within these modules, in order.

    Examples
    --------
    >>> import secrets, types
    >>> library = types.ModuleType("library")
    >>> exec("import secrets\\ndef mask(): return secrets.randbelow(97), secrets.token_bytes(2)", vars(library))
    >>> sys.modules["library"] = library
    >>> coin_bounds(library.mask, library)
    (97, 65536)
    >>> with supplied_coins(library, coins=Coins([5, 513], [97, 65536])):
    ...     library.mask()
    (5, b'\\x01\\x02')
    """
    rehearsal = _Rehearsal()
    with supplied_coins(*modules, coins=rehearsal):
        call()
    return tuple(rehearsal.bounds)


@contextmanager
def supplied_coins(*modules: types.ModuleType, coins: Coins) -> Iterator[None]:
    """Replace the system's coins by ``coins`` in these modules, and in all modules of their packages, meanwhile.

    Raises
    ------
    SecmixError
        If something else than a module is given, or the library draws other coins than ``coins``.
    """
    thread = threading.get_ident()

    def octets(count: int) -> Any:
        """Replace ``os.urandom`` in this thread only."""
        return coins.octets(count) if threading.get_ident() == thread else urandom(count)

    urandom = os.urandom
    instead = _instead(coins, octets)
    with ExitStack() as stack:
        for space in _namespaces(modules):
            replaced = {key: instead(member) for key, member in space.items()}
            stack.enter_context(_with(space, {key: new for key, new in replaced.items() if new is not None}))
        # Indirect draws, as by uuid, use these two.
        stack.enter_context(_with(vars(os), {"urandom": octets}))
        stack.enter_context(_with(vars(random), {"_urandom": octets}))
        yield


def _namespaces(modules: Sequence[types.ModuleType]) -> list[dict[str, Any]]:
    names = []
    for module in modules:
        if not isinstance(module, types.ModuleType):
            raise SecmixError(f"given {module!r}, expected the modules in which the library draws its coins")
        names.append(module.__name__)
    below = tuple(f"{name}." for name in names)  # asked in every call, of thousands of modules
    own = [name for name in sys.modules if name in names or name.startswith(below)]
    return [vars(sys.modules[name]) for name in own if isinstance(sys.modules[name], types.ModuleType)]


@contextmanager
def _with(space: dict[str, Any], instead: dict[str, Any]) -> Iterator[None]:
    before = {key: space[key] for key in instead}
    space.update(instead)
    try:
        yield
    finally:
        space.update(before)


def _instead(coins: Coins, octets: Callable[[int], Any]) -> Callable[[Any], Any]:
    """Make a function that maps a member of a module to its replacement, or None if it draws nothing."""

    class SystemRandom(random.SystemRandom):
        """The system's generator."""

        def getrandbits(self, k: int) -> Any:
            return coins.below(2**k)

        def randbytes(self, n: int) -> Any:
            return octets(n)

        def _randbelow(self, n: int) -> Any:
            return coins.below(n)

        def random(self) -> Any:
            raise SecmixError("the library draws a float of SystemRandom; only integers and bytes are supplied")

    def randbits(k: int) -> Any:
        return sum(coins.below(2 ** min(64, k - place)) << place for place in range(0, k, 64))

    def default_rng(seed: Any = None) -> Any:
        made: Any = in_a_trace[id(np.random.default_rng)] if tracing() else np.random.default_rng
        return made([coins.below(_WORD), coins.below(_WORD)] if seed is None else seed)

    functions: dict[str, Any] = {
        "randbelow": coins.below,
        "randbits": randbits,
        "token_bytes": lambda nbytes=None: octets(32 if nbytes is None else nbytes),
        "choice": lambda several: several[coins.below(len(several))],
        "SystemRandom": SystemRandom,
    }
    in_a_trace = replacements()
    members = {secrets: functions, random: {"SystemRandom": SystemRandom}, np.random: {"default_rng": default_rng}}
    members |= {np: {"random": standing_for(in_a_trace[id(np.random)] if tracing() else np.random, members[np.random])}}
    single = {getattr(secrets, name): function for name, function in functions.items()} | {os.urandom: octets}
    single |= {np.random.default_rng: default_rng}

    def replacement(member: Any) -> Any:
        """Compare by identity, since a member of a module may define equality."""
        if type(member) is random.SystemRandom:
            return SystemRandom()
        for original, own in members.items():
            if member is original or member is in_a_trace.get(id(original)):
                return standing_for(member, own)
        return next(
            (new for old, new in single.items() if member is old or member is in_a_trace.get(id(old), old)), None
        )

    return replacement
