"""Errors that nobody sees raised: Python, NumPy, or a library keeps them to itself, and the call goes on."""

from __future__ import annotations

import contextlib
import math
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special

from secmix._base.checks import Array
from secmix.adversaries import CuriousServer
from secmix.transcript import SERVER

from ...bases import Pairwise
from ...case import Case, each
from .kinds import FAR, MANY

LARGEST = 255 / FAR  # what makes a byte's largest number of a number that is far out
NEAR_OVERFLOW, NEAR_UNDERFLOW = 709.7 / FAR, 26.5 / FAR  # what NumPy's exp, and SciPy's erfc, can still write down


class Failing(Pairwise):
    """Says of each node whether its numbers could be prepared; those that were audited could."""

    def before(self, channel: Any, s: Array, r: Array, network: Any, rng: Any) -> None:
        failed = [[[float(self.fails(of_run))] for of_run in of_node] for of_node in s]
        channel.send(8, np.arange(len(s)), SERVER, "failed", np.array(failed))

    def fails(self, numbers: Array) -> bool:
        raise NotImplementedError


def room(numbers: Array) -> list[float]:
    """Return logarithms of what is left to the end of the scale: beyond it there is an error."""
    return [math.log(FAR - abs(x.item())) for x in numbers]


class Continued(Failing):
    """Goes on with the next number in any case, as ``finally`` says: what failed after the ``try`` as well."""

    def fails(self, numbers: Array) -> bool:
        done = 0
        for k in range(len(numbers)):
            try:
                own = numbers[k : k + 1]
            except IndexError:
                break
            else:
                room(own)
                done += 1
            finally:
                continue  # noqa: B012
        return done < len(numbers)


@contextlib.contextmanager
def scope(values: list[float]) -> Iterator[list[float]]:
    yield values


class SecondOfWith(Failing):
    """Prepares numbers where the second part of a ``with`` is made, of which the first part catches errors."""

    def fails(self, numbers: Array) -> bool:
        done = False
        with contextlib.suppress(ValueError), scope(room(numbers)):
            done = True
        return not done


class Costs:
    """Yields what levels cost, number by number; an index beyond the table ends a loop over it."""

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers

    def __getitem__(self, place: int) -> Any:
        if place >= len(self.numbers):
            raise IndexError
        return np.take(np.arange(FAR + 1), np.abs(self.numbers[place]).astype(int))


class Looped(Failing):
    """Counts the costs that a loop finds."""

    def fails(self, numbers: Array) -> bool:
        return len([*Costs(numbers)]) < len(numbers)  # type: ignore[misc]


class Report:
    """Is written when nobody needs it any more."""

    def __init__(self, numbers: Array, written: list[Any]) -> None:
        self.numbers, self.written = numbers, written

    def __del__(self) -> None:
        self.written.append(room(self.numbers))


class Deleted(Failing):
    """Drops a report, which is written then."""

    def fails(self, numbers: Array) -> bool:
        written: list[Any] = []
        report = Report(numbers, written)
        del report
        return not written


class Dropped(Failing):
    """Drops a generator, which writes a report as it ends."""

    def fails(self, numbers: Array) -> bool:
        written: list[Any] = []

        def entries() -> Iterator[Any]:
            try:
                yield from numbers
            finally:
                written.append(room(numbers))

        several = entries()
        next(several)
        del several
        return not written


class Gone(Failing):
    """Writes a report when another is gone."""

    def fails(self, numbers: Array) -> bool:
        written: list[Any] = []
        report = Report(numbers[:0], [])
        reference = weakref.ref(report, lambda _: written.append(room(numbers)))
        del report
        return not written and reference() is None


class OfBytes(Failing):
    """Counts levels in bytes, to which NumPy adds no number of Python's that a byte does not hold."""

    def fails(self, numbers: Array) -> bool:
        levels = [int(abs(x.item()) * LARGEST) for x in numbers]
        counts = np.zeros(1, dtype=np.uint8)
        try:
            for level in levels:
                np.maximum(counts, level)
        except OverflowError:
            return True
        return False


class BySciPy(Failing):
    """Has SciPy raise an error where a tail is too small to be written down."""

    def fails(self, numbers: Array) -> bool:
        try:
            with scipy.special.errstate(underflow="raise"):
                scipy.special.erfc(np.abs(numbers) * NEAR_UNDERFLOW)
        except scipy.special.SpecialFunctionError:
            return True
        return False


class Shown(Failing):
    """Counts the warnings of a run in place of showing them, as it was told to when the service began."""

    def __init__(self) -> None:
        super().__init__()
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = lambda *args, **kw: WARNED.append(str(args[0]))

    def fails(self, numbers: Array) -> bool:
        WARNED.clear()
        np.exp(np.abs(numbers) * NEAR_OVERFLOW)
        return bool(WARNED)


WARNED: list[str] = []


def largest(truth: Any) -> float:
    return float(np.abs(truth.inputs[0][0, 0]).max())


def case(name: str, protocol: Any, bound: float) -> Case:
    """Return a case in which the server hears whether a number of node 0 is as large as ``bound``."""
    more: dict[str, Any] = {"goal": "bits", "calls": 40, "deployed": MANY}
    return Case(name, "swallowed", protocol, CuriousServer(), "whether it fails is sent bare",
                attack=each(lambda heard: heard.one("failed", 0)[0]), secret=lambda t: float(largest(t) >= bound),
                **more)  # fmt: skip


CASES = [
    case("a failure that finally goes on after", Continued, FAR),
    case("a failure between the parts of a with", SecondOfWith, FAR),
    case("a failure that ends a loop", Looped, FAR + 1),
    case("a failure as an object is deleted", Deleted, FAR),
    case("a failure as a generator is dropped", Dropped, FAR),
    case("a failure as a reference dies", Gone, FAR),
    case("a number that a byte does not hold", OfBytes, 256 / LARGEST),
    case("a failure of SciPy's", BySciPy, 26.55 / NEAR_UNDERFLOW),
    case("warnings that a function counts", Shown, 709.79 / NEAR_OVERFLOW),
]
