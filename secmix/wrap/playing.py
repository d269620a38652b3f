"""Coins of a library: what it asks the system for is handed out by the audit, which then knows it as coins.

What draws from the system is played: ``secrets``, ``os.urandom`` and ``random.SystemRandom``. The functions of
``random`` itself and NumPy's generators stay as they are: they are no cryptographic generators, and a proof names them.
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

from secmix.errors import SecmixError
from secmix.kernel.world import replacements

_WORD = 2**64
_MOST = 10_000  # draws of one call: a loop that waits for a value of its own would go on
_ODD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: its multiples look like no pattern (Knuth 1973, section 6.4)


@dataclass
class Coins:
    """Coins in the order in which they are drawn, each a whole number below its bound.

    Parameters
    ----------
    values : sequence of int
    bounds : sequence of int
        A library must ask for coins below exactly these; n bytes are asked for as words of 64 bits and a rest.

    Raises
    ------
    SecmixError
        Where the library asks for other coins, or for more.
    """

    values: Sequence[Any]
    bounds: Sequence[int]
    drawn: int = 0

    def below(self, bound: int) -> Any:
        """Draw a whole number below ``bound``."""
        if self.drawn >= len(self.bounds):
            raise SecmixError(f"a coin below {bound} is drawn after the {len(self.bounds)} that are handed out")
        if self.bounds[self.drawn] != bound:
            raise SecmixError(
                f"coin {self.drawn} is drawn below {bound}, and the one that is handed out is below "
                f"{self.bounds[self.drawn]}; how many coins are drawn, and below what, must not depend on the data"
            )
        self.drawn += 1
        return self.values[self.drawn - 1]

    def octets(self, count: int) -> Any:
        """Draw so many bytes."""
        found: Any = b""
        for begin in range(0, count, 8):
            width = min(8, count - begin)
            found = found + self.below(256**width).to_bytes(width, "little")
        return found

    def finish(self) -> None:
        """Say that nothing more is drawn.

        Raises
        ------
        SecmixError
            If coins are left over.
        """
        if self.drawn < len(self.bounds):
            raise SecmixError(
                f"{self.drawn} coins are drawn and {len(self.bounds)} are handed out; how many are drawn must not "
                "depend on the data"
            )


@dataclass
class _Rehearsal(Coins):
    """Coins that say what is asked for."""

    values: Sequence[Any] = ()
    bounds: list[int] = field(default_factory=list)

    def below(self, bound: int) -> Any:
        """Note the bound."""
        if not 1 < bound <= _WORD:
            raise SecmixError(f"a coin below {bound} is drawn; coins below 2 to 2^64 are handed out")
        if len(self.bounds) >= _MOST:
            raise SecmixError(f"more than {_MOST} coins are drawn in one call")
        self.bounds.append(bound)
        return len(self.bounds) * _ODD % _WORD % bound


def rehearsed(call: Callable[[], Any], *modules: types.ModuleType) -> tuple[int, ...]:
    """Return the bounds of the coins that a call draws within these modules, in order.

    Examples
    --------
    >>> import secrets, types
    >>> library = types.ModuleType("library")
    >>> exec("import secrets\\ndef mask(): return secrets.randbelow(97), secrets.token_bytes(2)", vars(library))
    >>> sys.modules["library"] = library
    >>> rehearsed(library.mask, library)
    (97, 65536)
    >>> with playing(library, coins=Coins([5, 513], [97, 65536])):
    ...     library.mask()
    (5, b'\\x01\\x02')
    """
    noted = _Rehearsal()
    with playing(*modules, coins=noted):
        call()
    return tuple(noted.bounds)


@contextmanager
def playing(*modules: types.ModuleType, coins: Coins) -> Iterator[None]:
    """Let these modules, and all that lies within their packages, draw ``coins`` in place of the system's meanwhile.

    Raises
    ------
    SecmixError
        If a module of another kind is given; and where other coins are drawn than are handed out.
    """
    thread = threading.get_ident()

    def octets(count: int) -> Any:
        """Stand for ``os.urandom``, for this thread alone."""
        return coins.octets(count) if threading.get_ident() == thread else urandom(count)

    urandom = os.urandom
    instead = _instead(coins, octets)
    with ExitStack() as stack:
        for space in _namespaces(modules):
            meant = {key: instead(each) for key, each in space.items()}
            stack.enter_context(_with(space, {key: each for key, each in meant.items() if each is not None}))
        # Whoever goes the long way, as uuid does, asks these two.
        stack.enter_context(_with(vars(os), {"urandom": octets}))
        stack.enter_context(_with(vars(random), {"_urandom": octets}))
        yield


def _namespaces(modules: Sequence[types.ModuleType]) -> list[dict[str, Any]]:
    names = []
    for module in modules:
        if not isinstance(module, types.ModuleType):
            raise SecmixError(f"coins are played in modules; given {module!r}")
        names.append(module.__name__)
    own = [name for name in sys.modules if any(name == each or name.startswith(f"{each}.") for each in names)]
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
    """Return what stands for something that a module has under a name; None for what draws nothing."""

    class SystemRandom(random.SystemRandom):
        """The system's generator."""

        def getrandbits(self, k: int) -> Any:
            return coins.below(2**k)

        def randbytes(self, n: int) -> Any:
            return octets(n)

        def _randbelow(self, n: int) -> Any:
            return coins.below(n)

        def random(self) -> Any:
            raise SecmixError("a float of SystemRandom is drawn; only whole numbers and bytes are handed out")

    functions: dict[str, Any] = {
        "randbelow": coins.below,
        "randbits": lambda k: coins.below(2**k),
        "token_bytes": lambda nbytes=None: octets(32 if nbytes is None else nbytes),
        "choice": lambda several: several[coins.below(len(several))],
        "SystemRandom": SystemRandom,
    }
    members = {secrets: functions, random: {"SystemRandom": SystemRandom}}
    single = {getattr(secrets, name): each for name, each in functions.items()} | {os.urandom: octets}
    in_a_trace = replacements()

    def stand_in(found: Any) -> Any:
        """Compare by identity: what a module has under a name may equal anything."""
        if type(found) is random.SystemRandom:
            return SystemRandom()
        for original, own in members.items():
            if found is original or found is in_a_trace.get(id(original)):
                return _like(found, own)
        return next(
            (each for one, each in single.items() if found is one or found is in_a_trace.get(id(one), one)), None
        )

    return stand_in


def _like(module: Any, members: dict[str, Any]) -> types.ModuleType:
    """Make a module whose members are those of another, but for some."""
    made = types.ModuleType(module.__name__)
    made.__dict__.update(members)
    made.__getattr__ = lambda name: getattr(module, name)  # type: ignore[method-assign]
    return made
