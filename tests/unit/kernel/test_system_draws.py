"""The system draws again, in the untraced call that is compared, the numbers that it drew in a trace."""

from __future__ import annotations

import functools
import os
import random
import secrets
from contextlib import suppress
from typing import Any

import numpy as np
from unit.kernel.examples import RingSum

from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, prove
from secmix.kernel.tracing.world import drawn_again, replaced
from secmix.kernel.values.current_trace import Trace, following
from secmix.network import Network

NETWORK = Network.complete(4)
from_system = random.SystemRandom()
one_to_nine = functools.partial(from_system.randint, 1)
INPUTS = np.random.default_rng(0).normal(size=(3, 1, 4, 3))


def _draws() -> list[Any]:
    from numpy.random import default_rng

    numbers = [secrets.randbelow(10**6), secrets.randbits(40), default_rng().integers(2**60)]
    octets = [secrets.token_bytes(6), os.urandom(3), secrets.token_bytes()]
    of_python = [from_system.randrange(3, 10**9), random.SystemRandom().randrange(10**9), one_to_nine(9)]
    of_python += [from_system.getrandbits(40), from_system.randbytes(5), from_system.random()]
    numbers += of_python
    return [*numbers, *octets, np.random.default_rng().random(), np.random.default_rng(3).integers(9)]


def _plain(drawn: Any) -> Any:
    return drawn.plain if hasattr(drawn, "plain") else getattr(drawn, "value", drawn)


def test_the_system_draws_again_what_it_drew_in_a_trace() -> None:
    with following(Trace()), replaced({__name__}):
        traced = [_plain(each) for each in _draws()]
    with drawn_again({__name__}):
        assert _draws() == traced
    assert _draws() != traced


class DrawnInWords(RingSum):
    """Draws words from the system, as Python's whole numbers first: NumPy fails where one is too large."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        words = [secrets.randbelow(2**64) for _ in range(runs * network.n * m)]
        return np.array(words, dtype=np.uint64).reshape(runs, network.n, m)

    def encode(self, row: Any) -> Any:
        return np.rint(row * 2.0**20).astype(np.int64).astype(np.uint64)

    def decode(self, total: Any) -> Any:
        return total.view(np.int64) / 2.0**20


class DrawnByPython(DrawnInWords):
    """Draws the words by an object that Python has for it, made before."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        words = [from_system.randint(0, 2**64 - 1) for _ in range(runs * network.n * m)]
        return np.array(words, dtype=np.uint64).reshape(runs, network.n, m)


class DrawnInFewBits(DrawnByPython):
    """Draws words of a single byte."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        words = [from_system.getrandbits(8) for _ in range(runs * network.n * m)]
        return np.array(words, dtype=np.uint64).reshape(runs, network.n, m)


def test_what_pythons_object_draws_of_the_system_hides_by_its_range() -> None:
    found = clear(prove(DrawnByPython(), NETWORK, INPUTS), NETWORK, CuriousServer())
    assert isinstance(found, KnownSums)
    assert not isinstance(clear(prove(DrawnInFewBits(), NETWORK, INPUTS), NETWORK, CuriousServer()), KnownSums)


def test_a_lot_that_is_drawn_of_the_system_is_used_by_value() -> None:
    class ByLot(RingSum):
        def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
            from_system.choice([1, 2])
            from_system.randrange(0, 8, 2)

    assert prove(ByLot(), NETWORK, INPUTS).covers


def test_what_asks_for_a_proof_may_catch_errors() -> None:
    """Masks that are handed over are drawn by the kernel itself, beside the call."""
    with suppress(ValueError):
        proof = prove(DrawnInWords(), NETWORK, INPUTS)
    assert not proof.open


def test_draws_of_a_function_that_an_object_has_are_said_to_be_public() -> None:
    protocol = RingSum()
    own: Any = protocol
    own.draw_masks = lambda runs, m, network, rng: rng.normal(scale=1e6, size=(runs, network.n, m))
    assert "draw_masks is no method of its class" in prove(protocol, NETWORK, INPUTS).open
