"""A protocol that loads a step by its name, and a step that has a name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from secmix._base.checks import Array

from ...bases import Words


class Plugged(Words):
    """Loads a step by its name, as a setting says."""

    step = "calibrated"

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        plugin = importlib.import_module(f"{__package__}.tally")
        return getattr(plugin, self.step)(hidden, words)  # type: ignore[no-any-return]


class PluggedLots(Plugged):
    step = "audited"


@dataclass(frozen=True, slots=True)
class Step:
    """A step and its name."""

    name: str
    does: Any

    def __call__(self, hidden: Any, words: Any) -> Any:
        return self.does(hidden, words)
