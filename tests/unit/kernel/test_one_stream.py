"""One stream of secret draws is one, however its seed is written down; and no copy of it passes for another."""

from __future__ import annotations

import copy
import hashlib
import hmac
import math
import pickle
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secmix.kernel.randomness.streams import bits_of
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.current_trace import LeftTrace, Trace, following

SAME: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "the usual length": (lambda key: hashlib.blake2b(key), lambda key: hashlib.blake2b(key, digest_size=64)),
    "usual settings": (lambda key: hashlib.blake2s(key), lambda key: hashlib.new("blake2s", key, salt=b"", fanout=1)),
    "zeros at the end": (
        lambda key: hashlib.blake2b(key, person=b"mask"),
        lambda key: hashlib.blake2b(key, person=b"mask".ljust(16, b"\0")),
    ),
    "a long key": (
        lambda key: hmac.new(key, b"mask", "sha256"),
        lambda key: hmac.new(hashlib.sha256(key).digest(), b"mask", "sha256"),
    ),
    "a long key of zeros": (
        lambda key: hmac.new(key + bytes(9), b"mask", "sha3_256"),
        lambda key: hmac.new(hashlib.sha3_256(key + bytes(9)).digest(), b"mask", "sha3_256"),
    ),
}
OTHERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "lengths": (lambda key: hashlib.blake2b(key, digest_size=32), lambda key: hashlib.blake2b(key, digest_size=48)),
    "persons": (lambda key: hashlib.blake2b(key, person=b"a"), lambda key: hashlib.blake2b(key, person=b"b")),
    "labels": (lambda key: hmac.new(key, b"a", "sha256"), lambda key: hmac.new(key, b"b", "sha256")),
    "algorithms": (lambda key: hashlib.sha3_256(key), lambda key: hashlib.sha256(key)),
}


@pytest.mark.parametrize("name", [*SAME, *OTHERS])
def test_one_stream_is_one_however_it_is_written_down(name: str) -> None:
    one, other = (SAME | OTHERS)[name]
    with following(Trace()), replaced({__name__}):
        key = secrets.token_bytes(144)
        first, second = one(key).digest(), other(key).digest()
        alike = first.pieces[:32] == second.pieces[:32]
    assert alike == (first.plain[:32] == second.plain[:32]) == (name in SAME)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_copy_of_secret_bits_ends_the_proof(again: Callable[[Any], Any]) -> None:
    """It would draw the same again."""
    with following(Trace()), replaced({__name__}):
        bits = np.random.Philox([secrets.randbits(128)])
        with pytest.raises(LeftTrace, match="a copy of a generator"):
            again(bits)


def test_two_generators_of_the_same_bits_end_the_proof() -> None:
    """The second goes on where the first stands."""
    with following(Trace()), replaced({__name__}):
        bits = np.random.PCG64([secrets.randbits(128)])
        np.random.Generator(bits)
        with pytest.raises(LeftTrace, match="two generators"):
            np.random.Generator(bits)


@given(st.lists(st.integers(0, 9), max_size=6), st.sets(st.integers(0, 1), max_size=2))
def test_no_more_bits_are_counted_than_seeds_there_are(powers: list[int], octets: set[int]) -> None:
    """Of a draw of 512 values, by its residues and by its bytes, one after the other."""
    with following(Trace()) as trace:
        draw = trace.variable("draw", -1, 300, 1, range=512)
        pieces = [("draw", draw, 2**power) for power in powers] + [("byte", ("draw", draw), k) for k in octets]
        counted = bits_of(pieces)
    seeds = {(*(x % 2**power for power in powers), *(x >> 8 * k & 255 for k in octets)) for x in range(512)}
    assert counted <= math.log2(len(seeds))
