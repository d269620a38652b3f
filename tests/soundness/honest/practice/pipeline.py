"""A protocol of steps, which it is handed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from secmix._base.checks import Array

from ...bases import Words


@dataclass(frozen=True)
class Pipeline(Words):
    """Does to the words one step after the other."""

    steps: tuple[Callable[[Any, Any], Any], ...] = ()

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        for step in self.steps:
            hidden = step(hidden, words)
        return hidden
