"""Nodes that encode alike: the trace numbers by which formula each node computes what it adds to a sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from example_protocols import Pairwise
from hypothesis import example, given, settings
from hypothesis import strategies as st

from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, clear, prove
from secmix.network import Network

SCALES = np.array([1.0, 1.0, 3.0, 1.0])[:, None, None]
TURNED = np.array([0, 1, 0, 0])
KNOTS = np.linspace(-9, 9, 2001)
CURVES = np.stack([KNOTS, KNOTS, np.where(np.abs(KNOTS) < 8, 0, KNOTS), KNOTS])
TERMS = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1e-9], [1.0, 0.0]]) + 0.5


class Encoding(Pairwise):
    """Encodes its inputs (n, runs, m) before it masks them."""

    encode: Callable[[Any], Any]

    def average(self, inputs: Any, *args: Any, **kw: Any) -> Any:
        """Average what is encoded."""
        encoded = type(self).encode(np.asarray(inputs, dtype=float).transpose(1, 0, 2))
        return super().average(encoded.transpose(1, 0, 2), *args, **kw)


def _known(encode: Callable[[Any], Any], entries: int = 3) -> KnownSums:
    protocol = type("Encoding", (Encoding,), {"encode": staticmethod(encode)})()
    inputs = np.random.default_rng(0).normal(size=(3, 1, 4, entries))
    return _server_knows(protocol, inputs)


def _server_knows(protocol: Encoding, inputs: Any) -> KnownSums:
    network = Network.complete(4)
    found = clear(prove(protocol, network, inputs, in_other_calls=False), network, CuriousServer())
    assert isinstance(found, KnownSums)
    return found


@pytest.mark.build
@pytest.mark.parametrize(
    "encode",
    [
        lambda s: s,
        lambda s: np.clip(s, -1, 1),
        lambda s: np.rint(np.clip(s, -1, 1) * 8) + 2 * s,
        lambda s: np.where(s > 0, s, 0) * s[..., ::-1],
        lambda s: np.stack([np.abs(each) + 1.0 for each in s]),
        lambda s: s / np.sqrt((s**2).sum(axis=2, keepdims=True)),
        lambda s: np.stack([np.interp(each, KNOTS, CURVES[0]) for each in s]),
    ],
)
def test_nodes_that_do_the_same_encode_alike(encode: Callable[[Any], Any]) -> None:
    """Whatever the numbers in this run are, and whether all nodes' are worked out together or one by one."""
    assert _known(encode).symmetric


@pytest.mark.build
@pytest.mark.parametrize(
    "encode",
    [
        lambda s: np.clip(s, -SCALES, SCALES),
        lambda s: np.abs(s) * SCALES,
        lambda s: np.abs(s + SCALES),
        lambda s: np.stack([np.abs(np.roll(each, turn, axis=1)) for each, turn in zip(s, TURNED, strict=True)]),
        lambda s: np.concatenate([np.abs(s[:1]), s[1:]]),
        lambda s: s * SCALES,
        lambda s: np.stack([np.interp(each, KNOTS, curve) for each, curve in zip(s, CURVES, strict=True)]),
        lambda s: np.stack([np.polyval(terms, each) for each, terms in zip(s, TERMS, strict=True)]),
    ],
)
def test_nodes_that_do_something_else_do_not(encode: Callable[[Any], Any]) -> None:
    """Other bounds, weights, offsets, entries or functions: the sum may be mostly one node's."""
    assert not _known(encode).symmetric


@pytest.mark.build
@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(-3, 3))
@example(0, 0.123456789499999999, 0.0)
def test_nodes_that_add_the_same_encode_alike(seed: int, offset: float, power: float) -> None:
    """What is left of a form beside its terms is rounded, by as much as these are large: each node's otherwise."""
    scale = 10.0**power
    rows = np.random.default_rng(seed).normal(size=(3, 1, 4, 3)) * np.geomspace(1e-3, 1e3, 4)[:, None] * scale
    encode = staticmethod(lambda s: np.exp(-np.abs((s - 0.1 * offset) / 3.0 + offset)) + 0.3 * s)
    protocol = type("Encoding", (Encoding,), {"encode": encode})()
    assert _server_knows(protocol, rows).symmetric


@pytest.mark.build
@given(st.floats(0, 12), st.sampled_from([0.0, 0.1, 1.0, 900.0]))
@example(11.0, 1.0)
@settings(max_examples=6)
def test_offsets_that_differ_by_what_data_are_do_not(power: float, further: float) -> None:
    """However large the offsets are: cut off, the numbers of a node may all be the same."""
    offsets = np.round(10.0**power) + further * np.array([0, 0, 1, 0])[:, None, None]
    assert _known(lambda s: np.minimum(s + offsets, 10.0**power), entries=1).symmetric == (further == 0)


def test_the_numbers_of_a_node_are_counted() -> None:
    """Those that its messages are made of: its inputs, and what it encodes from them."""
    assert _known(lambda s: s).numbers == 3
    assert _known(lambda s: np.abs(s[..., :1]) + s).numbers == 4
