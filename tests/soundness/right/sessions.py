"""Right protocols whose keys last for a training: agreed on once, and expanded anew in each iteration."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper, HonestButCurious

from .agreed import Agreeing
from .expanded import KeptKeys
from .published import right


class SessionKeys(KeptKeys):
    """Has keys of 256 bits, and expands the HMAC of an iteration by SHAKE."""

    width = 4

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        of_call = hmac.new(seed.tobytes(), channel.iteration.to_bytes(8, "big"), hashlib.sha256).digest()
        return np.frombuffer(hashlib.shake_256(of_call).digest(8 * m), np.uint64)


class SystemKeys(SessionKeys):
    """Draws the keys of a training from the system, as deployments do."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        keys = [[secrets.token_bytes(32) for _ in range(self.count(network))] for _ in range(runs)]
        return np.array([[np.frombuffer(key, np.uint64) for key in of_run] for of_run in keys])


class IdentityKeys(Agreeing):
    """Nodes have one key pair for the training; HKDF of what a pair agrees on has the iteration in its label."""

    reuses_masks = True


SERVED, OUT, ONE = CuriousServer(), Eavesdropper(), HonestButCurious({1})
WHY = "keys of a session hide as fresh ones do, where each iteration has a label of its own"
CASES = [
    right("keys of a session", SessionKeys, SERVED, WHY, family="practice"),
    right("keys of a session, before a node", SessionKeys, ONE, WHY, family="practice"),
    right("keys of a session, from the system", SystemKeys, SERVED, WHY, family="practice"),
    right("key pairs of a session", IdentityKeys, OUT, WHY, family="practice"),
]
