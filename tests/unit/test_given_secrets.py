"""Keys that a protocol had before it is audited are no constants of its code: who lacks them removes no masks."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import secmix
from secmix.adversaries import CuriousServer
from secmix.auditing.counterexamples.affine import AffineReading, DirectDecoding
from secmix.auditing.counterexamples.masks.given import given_secrets, is_made_of
from secmix.protocols.interfaces import ProtocolWrapper
from secmix.transcript import SERVER, Channel

WRITTEN = b"a key that stands in the code of all"
IN_HEX = "00112233445566778899aabbccddeeff"
ENROLLED = secrets.token_bytes(24)


class Salted:
    """Pairs expand a key and a salt, which goes in the clear in each call."""

    def __init__(self, n: int = 4) -> None:
        self.keys = {pair: self.key() for pair in itertools.combinations(range(n), 2)}

    def key(self) -> bytes:
        return secrets.token_bytes(32)

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
        return rng.integers(0, 2**64, size=(runs, 1, 2), dtype=np.uint64)

    def average(self, inputs: Any, network: Any, rng: Any, *, masks: Any = None, channel: Any = None) -> Any:
        rows = np.asarray(inputs, dtype=float).transpose(1, 0, 2)
        channel = channel or Channel()
        salts = self.draw_masks(rows.shape[1], rows.shape[2], network, rng) if masks is None else masks
        nodes = np.arange(network.n)
        told = channel.send(-1, SERVER, nodes, "salt", salts.transpose(1, 0, 2), content=np.zeros(network.n, dtype=int))
        words = np.rint(rows * 2**16).astype(np.int64).view(np.uint64)
        for run in range(rows.shape[1]):
            for (i, j), key in self.keys.items():
                octets = hashlib.shake_256(key + told[0, run].tobytes()).digest(8 * rows.shape[2])
                mask = np.frombuffer(octets, np.uint64)
                words[i, run] += mask
                words[j, run] -= mask
        mean = channel.send(0, nodes, SERVER, "masked", words).sum(axis=0).view(np.int64) / 2**16 / network.n
        back = channel.send(1, SERVER, nodes, "mean", mean[None], content=np.zeros(network.n, dtype=int))
        return np.repeat(back.transpose(1, 0, 2), network.n, axis=1), channel.transcript


class Written(Salted):
    """The key stands in the code."""

    def key(self) -> bytes:
        return WRITTEN


@pytest.mark.build
@pytest.mark.parametrize(("protocol", "verdict"), [(Salted, "inconclusive"), (Written, "violated")])
def test_only_keys_that_stand_in_the_code_are_anybodys(protocol: type, verdict: str) -> None:
    report = secmix.audit(
        {
            "network": {"kind": "complete", "nodes": 4},
            "data": {"name": "breast_cancer", "features": 2, "rows_per_node": 20},
            "runs": 200,
            "model": {"iterations": 2},
            "measure": {"evidence": ["structure", "gaussian"], "sigmas": [1e6]},
            "policy": {"max_revealed_nodes": 0, "max_normalised_leakage": 0.8},
        },
        protocols={"salted": protocol()},
        adversaries={"server": CuriousServer()},
    )
    assert report.verdict == verdict


@dataclass
class Holding:
    value: Any
    more: dict[str, Any] = field(default_factory=dict)


def key() -> bytes:
    return secrets.token_bytes(32)


def words() -> Any:
    return np.frombuffer(key(), np.uint64)


@pytest.mark.parametrize(
    ("make", "is_given"),
    [
        (key, True),
        (lambda: [(key(),)], True),
        (lambda: {key(): 1}, True),
        (lambda: Holding({"a": Holding(key())}), True),
        (lambda: secrets.randbits(127) | 1 << 127, True),
        (words, True),
        (lambda: np.stack([words(), words()]), True),
        (lambda: WRITTEN, False),
        (lambda: bytes.fromhex(IN_HEX), False),
        (lambda: b"short", False),
        (lambda: 2**40, False),
        (lambda: np.arange(40), False),
        (lambda: np.ones(40), False),
        (lambda: int, False),
    ],
)
def test_what_an_object_was_given(make: Any, is_given: bool) -> None:
    of_module = given_secrets(Holding(None))
    assert of_module == [ENROLLED]
    assert bool(set(given_secrets(Holding(make()))) - set(of_module)) == is_given


def test_what_stands_in_the_code_of_a_wrapped_protocol_is_not_given() -> None:
    assert given_secrets(ProtocolWrapper(Written())) == [ENROLLED]
    assert len(given_secrets(ProtocolWrapper(Salted()))) == 1 + 6  # that of the module, and of each pair


def test_what_is_made_of_a_secret() -> None:
    own = key()
    assert is_made_of(b"label" + own, [own])
    assert is_made_of(own[4:24], [own])
    assert not is_made_of(own[:8], [own])


@pytest.mark.parametrize(("offset", "is_one"), [(0.0, False), (7.0, True)])
def test_an_offset_of_what_is_read(offset: float, is_one: bool) -> None:
    truth = np.random.default_rng(0).normal(size=(40, 2))
    reading = AffineReading("m", "a number", 0, (3 * truth[:, :1] + offset), np.array([1e-15]))
    assert DirectDecoding([(reading, 0)], (0,), True, 0.0, 20).has_offset(truth) == is_one
