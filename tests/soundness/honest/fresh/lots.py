"""Lots that nobody notes: drawn by parts of Python and of NumPy that a proof does not take for coins."""

from __future__ import annotations

import random
import secrets
import uuid
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper

from ...case import Case, Heard, each
from .memory import Sampled


class ByToken(Sampled):
    """One averaging in four hundred is sampled, by a token that nobody can predict."""

    def due(self) -> bool:
        return secrets.choice(range(400)) == 0


class ByNumber(Sampled):
    """One request in four hundred is sampled, by its number, which is unique."""

    def due(self) -> bool:
        return uuid.uuid4().int % 400 == 0


class BySystem(Sampled):
    """One averaging in four hundred is sampled, by the system's own generator."""

    def due(self) -> bool:
        return random.SystemRandom().randrange(400) == 0


class ByLocalImport(Sampled):
    """One averaging in four hundred is sampled; NumPy is imported where it is needed, to start sooner."""

    def due(self) -> bool:
        from numpy.random import default_rng

        return bool(default_rng().random() < 0.0025)


class ByOldGenerator(Sampled):
    """One averaging in four hundred is sampled, by NumPy's generator of old."""

    def due(self) -> bool:
        return bool(np.random.RandomState().randint(400) == 0)


def told_in_both(heard: Heard) -> Array:
    """What is told of the two averagings of a call."""
    status = np.stack([heard.one("status", 0, iteration=k) for k in range(2)])
    return np.where(status.any(axis=1, keepdims=True), status, np.nan)


NAME, WHY = "lots", "one averaging in four hundred is told"
RARE: dict[str, Any] = {
    "attack": each(told_in_both),
    "secret": lambda t: np.stack([inputs[0, 0] for inputs in t.inputs]),
    "claims": 1e-4,
    "calls": 4000,
    "steady": False,
}
CASES = [
    Case("a token for a lot", NAME, ByToken, CuriousServer(), WHY, **RARE),
    Case("a request's number for a lot", NAME, ByNumber, Eavesdropper(), WHY, **RARE),
    Case("the system's lot", NAME, BySystem, CuriousServer(), WHY, **RARE),
    Case("imported where it is drawn", NAME, ByLocalImport, Eavesdropper(), WHY, **RARE),
    Case("a lot of old", NAME, ByOldGenerator, Eavesdropper(), WHY, **RARE),
]  # fmt: skip
