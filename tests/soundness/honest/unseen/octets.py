"""Slips of uploads as bytes: a byte that is not masked, a checksum of what is sent, masks that leave a byte out."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer, Eavesdropper
from secmix.transcript import SERVER

from ...case import ENTRY, Case, each, sign_of
from ...right.serialised import Octets


class SignInTheHeader(Octets):
    """Sends the last byte of each word beside it, by which a monitor tells overflows: it is that of the encoding."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        octets = self.as_bytes(self.encode(s))
        channel.send(0, np.arange(len(s)), SERVER, "levels", octets[..., 7::8])


class Checksum(Octets):
    """Adds up the bytes of each word before it is masked, so that the server may see whether the sum is whole."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        octets = self.as_bytes(self.encode(s))
        sums = octets.reshape(*octets.shape[:-1], -1, 8).astype(np.uint64).sum(axis=-1, dtype=np.uint64)
        channel.send(0, np.arange(len(s)), SERVER, "checksums", sums)


class LastByteKept(Octets):
    """Draws masks of seven bytes, and puts the last byte of a word behind them: no carry is to reach it."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return np.asarray(rng.integers(0, 2**56, size=(runs, self.count(network), m), dtype=np.uint64))

    def chosen(self, channel: Any, hidden: Array, words: Array, s: Array) -> Array:
        low, high = (self.as_bytes(each).reshape(*each.shape, 8) for each in (hidden, words))
        joined = np.concatenate([low[..., :7], high[..., 7:]], axis=-1)
        channel.send(0, np.arange(len(s)), SERVER, "as bytes", joined.reshape(*s.shape[:2], -1))
        return hidden


class ShiftedMasks(Octets):
    """Shifts masks by a byte, so that the low bits of a word, which are rounding, show how large that is."""

    def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Array:
        return super().draw_masks(runs, m, network, rng) << np.uint64(8)


def level(heard: Any) -> float:
    return float(heard.one("levels", 0)[ENTRY] > 127)


def kept(heard: Any) -> float:
    return float(heard.one("as bytes", 0)[8 * ENTRY + 7] > 127)


def checked(heard: Any) -> float:
    return float(heard.one("checksums", 0)[ENTRY] > 4 * 255)  # ones in front


def low_bits(heard: Any) -> float:
    return float(heard.one("masked", 0)[8 * ENTRY] & 1)


def lowest(truth: Any) -> float:
    """The lowest bit of an encoding."""
    return float(int(np.rint(truth.inputs[0][0, 0, ENTRY] * Octets.unit)) & 1)


def case(name: str, protocol: Any, adversary: Any, why: str, guess: Any, secret: Any = None) -> Case:
    return Case(name, "bytes of words", protocol, adversary, why, attack=each(guess),
                secret=secret or sign_of(0), goal="bits")  # fmt: skip


SERVED, OUT = CuriousServer(), Eavesdropper()
CASES = [
    case("a byte for the monitor", SignInTheHeader, SERVED, "the last byte of a word tells its sign", level),
    case("a checksum of bytes", Checksum, OUT, "words below zero have ones in front", checked),
    case("masks of seven bytes", LastByteKept, SERVED, "the eighth byte is bare", kept),
    case("masks without a low byte", ShiftedMasks, OUT, "the low byte is bare", low_bits, lowest),
]
