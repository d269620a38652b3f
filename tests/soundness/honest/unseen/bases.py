"""A right protocol that sends what it put in as it is, where something is the case, and the attack that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer

from ...bases import Pairwise
from ...case import Case, input_of
from ..state import bare

Meanwhile = Callable[[int], AbstractContextManager[Any]]
ONCE: dict[str, Any] = {"deployed": {"model": {"iterations": 1}}, "calls": 3}


class Excepted(Pairwise):
    """Sends inputs without masks where that is held to be harmless, or cannot be helped."""

    def is_bare(self) -> bool:
        """Say whether this upload goes without masks."""
        raise NotImplementedError

    def sent(self, hidden: Array, s: Array, r: Array, rng: Any) -> Array:
        return s if self.is_bare() else hidden


def instead(where: Any, **names: Any) -> Meanwhile:
    """Return what gives names of a module, or of an object, other values while a call is made."""

    @contextmanager
    def meanwhile(call: int) -> Iterator[None]:
        with mock.patch.multiple(where, **names):
            yield

    return meanwhile


def excepted(
    name: str,
    family: str,
    protocol: Any,
    why: str,
    meanwhile: Callable[[int], AbstractContextManager[Any]],
    **more: Any,
) -> Case:
    """Return a case in which uploads are bare while something is the case."""
    more = {"attack": bare, "secret": input_of(0), **ONCE, "meanwhile": meanwhile, **more}
    return Case(name, family, protocol, CuriousServer(), why, **more)
