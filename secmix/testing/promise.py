"""A promise of a rule or a protocol: a function that fails where it is broken, printed with what breaks it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Promise:
    """A function ``check(rule or protocol, ...)`` that raises an AssertionError where the promise is broken.

    Attributes
    ----------
    check : callable
        Its name is the title, its docstring what must be done, its other parameters what it needs.
    only_if : str
        The equivariance without which it is not promised, if any.
    calls : int
        How many results it looks at.
    most : int or None
        In how many cases it is tried at most, where it takes long.
    name : str
        Another title, where two promises are of one function.
    """

    check: Callable[..., Any]
    only_if: str = ""
    calls: int = 1
    most: int | None = None
    name: str = ""

    @cached_property
    def title(self) -> str:
        """The name in words."""
        return self.name or self.check.__name__.replace("_", " ")

    @cached_property
    def must(self) -> str:
        """Return what must be done, for a message."""
        said = " ".join(str(inspect.getdoc(self.check)).split())
        return f"it must {said[0].lower()}{said[1:]}"

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """The names of the values that it is tried on."""
        return tuple(inspect.signature(self.check).parameters)[1:]

    @cached_property
    def source(self) -> str:
        """The function as it stands in its file."""
        return inspect.getsource(self.check)

    def call(self, subject: str) -> str:
        """Write the call that a printed test makes."""
        return f"{self.check.__name__}({', '.join((subject, *self.needs))})"
