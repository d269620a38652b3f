"""Numbers prepared with coins, by powers and by logarithms; what is asked by identity; texts; keys by HKDF."""

from __future__ import annotations

import contextlib
import hmac
import io
import logging
import operator
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import Channel

from ...bases import Words
from ...case import ENTRY, Case, each, input_of, sign_of
from ...right.expanded import KeptKeys, Seeded
from ...right.preparing import Prepared
from ..seeds.ciphers import HAS_CIPHERS
from .kinds import FAR, LONG, MANY, Counts, is_bare, is_far, words

if HAS_CIPHERS:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

SIZES = np.array([2**20, 1, 1, 1, 1])[:, None, None]
BITS = 2.0**10
ROOM = 76
SERVED = CuriousServer()


class Weighed(Words):
    """Weighs what a node has by how many rows it has, which it does not tell exactly. Node 0 has a million."""

    unit = BITS

    def weights(self, s: Array) -> Array:
        raise NotImplementedError

    def encode(self, s: Array) -> Array:
        return np.rint(s * self.weights(s) * self.unit).astype(np.int64).astype(np.uint64)


class Normal(Weighed):
    def weights(self, s: Array) -> Array:
        return np.random.default_rng().normal(SIZES, 0.1, s.shape)


class Uniform(Weighed):
    def weights(self, s: Array) -> Array:
        return np.random.default_rng().uniform(SIZES, SIZES + 1.0, s.shape)


class Whole(Weighed):
    def weights(self, s: Array) -> Array:
        return np.random.default_rng().integers(SIZES, SIZES + 2, s.shape)


class Passing(Words):
    """Only what is above a level counts, which is blurred; that of node 0 is nought, others' is out of reach."""

    def encode(self, s: Array) -> Array:
        level = np.array([0.0, 1e6, 1e6, 1e6, 1e6])[:, None, None]
        blurred = s + np.random.default_rng().normal(-level, 1e-6, s.shape)
        return np.rint(np.maximum(blurred, 0.0) * self.unit).astype(np.int64).astype(np.uint64)


class Finely(Prepared):
    """Four vectors in a thousand are counted in small units, by lot."""

    def prepared(self, s: Array) -> Array:
        return s * np.where(np.random.default_rng().random((*s.shape[:2], 1)) < 4e-3, 1e12, 1.0)


class Compressed(Prepared):
    """Large vectors are made smaller by a power that hangs on their norm, also what is negative in them."""

    def prepared(self, s: Array) -> Array:
        norm = np.sqrt((s**2).sum(axis=2, keepdims=True))
        return np.power(s, FAR / np.maximum(norm, FAR))


class CompressedByPython(Prepared):
    """The same, by ``**``."""

    def prepared(self, s: Array) -> Array:
        norm = np.sqrt((s**2).sum(axis=2, keepdims=True))
        return s ** (FAR / np.maximum(norm, FAR))


class Barrier(Prepared):
    """A logarithm of how much room is left of a range, in fifths: of nought where a number is at its end."""

    def prepared(self, s: Array) -> Array:
        room = np.maximum(ROOM + 3 - np.abs(s.astype(int)), 3) / 5
        return np.log(room - 3 / 5)


TRUE = True


class NumPysTrue(Counts):
    def is_count(self, x: Any) -> bool:
        return (x >= FAR) is np.True_


class NamedTrue(Counts):
    def is_count(self, x: Any) -> bool:
        return (x.item() >= FAR) is TRUE


class ByOperator(Counts):
    def is_count(self, x: Any) -> bool:
        return operator.is_(x.item() >= FAR, True)


class OneTruth(Counts):
    """Both comparisons come out alike only at the end of the scale."""

    def is_count(self, x: Any) -> bool:
        number = x.item()
        return (number >= FAR) is (number > -FAR)


class SmallNumber(Counts):
    """Small whole numbers are one object each in Python."""

    def is_count(self, x: Any) -> bool:
        last = int(FAR)
        return x.astype(int).item() is last


class Written(Words):
    """What is written is kept, and one averaging in a hundred is looked at, by what is written of it."""

    def line(self, channel: Channel) -> str:
        raise NotImplementedError

    def chosen(self, channel: Channel, hidden: Array, words: Array, s: Array) -> Array:
        return words if self.line(channel).endswith("00") else hidden


class Printed(Written):
    def line(self, channel: Channel) -> str:
        lines = io.StringIO()
        with contextlib.redirect_stdout(lines):
            print(f"averaging {channel.iteration}")
        return lines.getvalue().strip()


class Logged(Written):
    def line(self, channel: Channel) -> str:
        lines, log = io.StringIO(), logging.getLogger("secure sum")
        handler = logging.StreamHandler(lines)
        log.setLevel(logging.INFO)
        log.addHandler(handler)
        log.info(f"averaging {channel.iteration}")
        log.removeHandler(handler)
        return lines.getvalue().strip()


def derived(key: bytes, salt: Any, size: int) -> Array:
    derivation = HKDF(algorithm=hashes.SHA256(), length=8 * size, salt=salt, info=b"mask")
    return np.frombuffer(derivation.derive(key), np.uint64)


def expanded(key: bytes, size: int) -> Array:
    return np.frombuffer(HKDFExpand(algorithm=hashes.SHA256(), length=8 * size, info=b"mask").derive(key), np.uint64)


class ZeroLast(Seeded):
    """The second part of a mask has the key with a nought at its end, which HMAC fills it up with anyway."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key = seed.tobytes()
        return np.concatenate([expanded(key, 1), expanded(key + b"\0", m - 1)])


class ByHand(Seeded):
    """The second part of a mask is made by hand, as HKDF makes the first."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key = seed.tobytes()
        return np.concatenate([derived(key, b"sum", 1), expanded(hmac.digest(b"sum", key, "sha256"), m - 1)])


class WideSalt(KeptKeys):
    """The averaging is the salt, of eight bytes for the first part and of sixteen for the second: noughts follow it."""

    def mask(self, channel: Any, seed: Any, pair: tuple[int, int], m: int) -> Array:
        key, salts = seed.tobytes(), [channel.iteration.to_bytes(size, "little") for size in (8, 16)]
        return np.concatenate([derived(key, salts[0], 1), derived(key, salts[1], m - 1)])


def of_sum(by: float) -> Any:
    """Return what an attack reads off the average: what node 0 has, times ``by``."""
    return each(lambda heard: heard.one("average") * 5 / by)


def enlarged(heard: Any) -> Array:
    """Return what node 0 sends in small units, where it does."""
    number = heard.one("masked", 0)
    return np.where(np.abs(number).max() > 1e10, number / 1e12, np.nan)


def no_number(heard: Any) -> float:
    """Return that an entry is negative where it is sent as no number."""
    return 1.0 if np.isnan(heard.one("masked", 0)[ENTRY]) else np.nan


def at_end(heard: Any) -> float:
    return float(np.isinf(heard.one("masked", 0)).any())


def is_at_end(truth: Any) -> float:
    return float((np.abs(truth.inputs[0][0, 0]) >= ROOM).any())


def between_parts(heard: Any) -> float:
    """Return how far two entries of node 0 lie apart, which have one mask."""
    words_ = heard.one("masked", 0).astype(np.uint64)
    return float((words_[1:2] - words_[:1]).view(np.int64)[0] / Seeded.unit)


def apart(truth: Any) -> float:
    return float(truth.inputs[0][0, 0, 1] - truth.inputs[0][0, 0, 0])


_ONCE: dict[str, Any] = {"model": {"iterations": 1}}
_WEIGHED: dict[str, type[Weighed]] = {"normal": Normal, "uniform": Uniform, "whole": Whole}
_IDENTITY: dict[str, type[Counts]] = {
    "NumPy's True": NumPysTrue,
    "a name for True": NamedTrue,
    "operator.is_": ByOperator,
    "the truth of another": OneTruth,
    "a small number": SmallNumber,
}
_POWERS: dict[str, type[Prepared]] = {"np.power": Compressed, "Python's": CompressedByPython}
_WRITTEN: dict[str, type[Written]] = {"printed": Printed, "logged": Logged}
_HKDF: dict[str, type[Seeded]] = {"a nought last": ZeroLast, "by hand": ByHand, "a wide salt": WideSalt}

CASES = [
    *(
        Case(f"weights around sizes, {name}", "preparing", protocol, SERVED, "beside what node 0 has others are small",
             attack=of_sum(float(SIZES.max())), secret=input_of(0), accuracy=1e-3)
        for name, protocol in _WEIGHED.items()
    ),
    Case("levels out of reach", "preparing", Passing, SERVED, "all but node 0 give nought",
         attack=of_sum(1.0), secret=lambda t: np.maximum(t.inputs[0][0, 0], 0.0), accuracy=1e-4),
    Case("small units by lot", "preparing", Finely, SERVED, "beside it masks are small",
         attack=each(enlarged), secret=input_of(0), accuracy=1e-3, calls=8000, claims=1e-4, deployed=_ONCE),
    *(
        Case(f"powers of negative numbers, {name}", "preparing", protocol, SERVED, "what is no number was negative",
             attack=each(no_number), secret=sign_of(0), goal="bits", calls=40, claims=0.1, deployed=MANY)
        for name, protocol in _POWERS.items()
    ),
    Case("a logarithm of the room that is left", "preparing", Barrier, SERVED, "at the end it is infinite",
         attack=each(at_end), secret=is_at_end, goal="bits", calls=40, deployed=MANY),
    *(
        Case(f"counts by {name}", "preparing", protocol, SERVED, "what is cut off is whole, and bare",
             attack=each(is_bare), secret=is_far, goal="bits", calls=40, deployed=MANY)
        for name, protocol in _IDENTITY.items()
    ),
    *(
        Case(f"looked at by what is {name}", "preparing", protocol, SERVED, "the hundredth averaging is bare",
             attack=words(100), secret=input_of(0, 100), accuracy=1e-4, calls=3, deployed=LONG)
        for name, protocol in _WRITTEN.items()
    ),
]  # fmt: skip
if HAS_CIPHERS:
    CASES += [
        Case(f"keys by HKDF, {name}", "preparing", protocol, SERVED, "two entries have one mask",
             attack=each(between_parts), secret=apart, accuracy=1e-4)
        for name, protocol in _HKDF.items()
    ]  # fmt: skip
