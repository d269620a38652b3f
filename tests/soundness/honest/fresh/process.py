"""Slips that keep something with the process: in its environment, and on a module of somebody else's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from secmix.adversaries import CuriousServer, Eavesdropper

from ...case import Case
from .memory import SECOND, Sampled


class InTheEnvironment(Sampled):
    """Counts in the environment, so that child processes see the count."""

    def due(self) -> bool:
        os.environ["AVERAGINGS"] = str(int(os.environ.get("AVERAGINGS", "0")) + 1)
        return int(os.environ["AVERAGINGS"]) % 600 == 0


class OnAModule(Sampled):
    """Counts on a module that everybody imports."""

    def due(self) -> bool:
        np.averagings = getattr(np, "averagings", 0) + 1  # type: ignore[attr-defined]
        return bool(np.averagings % 600 == 0)  # type: ignore[attr-defined]


def in_a_new_environment() -> Any:
    """Make one that begins to count."""
    os.environ.pop("AVERAGINGS", None)
    return InTheEnvironment()


def on_a_new_module() -> Any:
    """Make one that begins to count."""
    np.averagings = 0  # type: ignore[attr-defined]
    return OnAModule()


NAME, WHY = "kept with the process", "every six-hundredth averaging is told"
CASES = [
    Case("a number in the environment", NAME, in_a_new_environment, CuriousServer(), WHY, **SECOND),
    Case("a number on another module", NAME, on_a_new_module, Eavesdropper(), WHY, **SECOND),
]
