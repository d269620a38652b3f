"""Errors that nobody sees raised, and places where nobody looks for a count: none of them lets a protocol be proved."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import logging
import math
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from unit.kernel import examples
from unit.kernel.examples import RingSum

from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import KnownSums, Open, clear, prove
from secmix.kernel.randomness.draws import pieces_of_several
from secmix.kernel.tracing.kept import kept
from secmix.kernel.tracing.world import _import_by_name
from secmix.kernel.values.current_trace import DRAWS, INF, LeftTrace, Trace, following
from secmix.kernel.values.forms import alone
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.protocol_text import _hearing
from secmix.protocols import Plain
from secmix.transcript import Channel

NETWORK = Network.complete(5)
INPUTS = [np.random.default_rng([3, call]).normal(size=(1, 5, 3)) for call in range(3)]
LOG, LINES = logging.getLogger("lines"), logging.StreamHandler(io.StringIO())
LOG.addHandler(LINES)
LOG.setLevel(logging.INFO)
LOG.propagate = False


def proved(protocol: Any) -> KnownSums | Open:
    found = clear(prove(protocol, NETWORK, INPUTS, in_other_calls=False), NETWORK, CuriousServer())
    assert isinstance(found, (KnownSums, Open))
    return found


def room(row: Any) -> list[Any]:
    """Return logarithms: of what is too large there is none, and Python raises an error."""
    return [math.log(1e9 - x) for x in row.ravel().tolist()]


def continued(row: Any) -> None:
    for _ in range(2):
        try:
            row = row * 1.0
        except IndexError:
            pass
        else:
            room(row)
        finally:
            continue  # noqa: B012


@contextlib.contextmanager
def scope(values: list[Any]) -> Iterator[list[Any]]:
    yield values


def second_of_with(row: Any) -> None:
    with contextlib.suppress(ValueError), scope(room(row)):
        pass


class Costs:
    def __init__(self, row: Any) -> None:
        self.row = row

    def __getitem__(self, place: int) -> Any:
        return room(self.row)[place]


def ends_a_loop(row: Any) -> None:
    [*Costs(row)]  # type: ignore[misc]


def dropped(row: Any) -> None:
    def entries() -> Iterator[int]:
        try:
            yield 1
        finally:
            room(row)

    next(entries())


def of_bytes(row: Any) -> None:
    with contextlib.suppress(OverflowError):
        np.maximum(np.zeros(1, np.uint8), row.ravel()[0].astype(int))


def a_stop(row: Any) -> None:
    room(row)


QUIET: dict[str, tuple[Callable[[Any], None], str]] = {
    "goes on finally": (continued, "math.log of a secret, whose failure the protocol catches"),
    "between two parts of a with": (second_of_with, "math.log of a secret, whose failure the protocol catches"),
    "in what a loop asks": (ends_a_loop, "math.log of a secret, whose failure the protocol catches"),
    "as a generator is dropped": (dropped, "math.log of a secret, whose failure the protocol catches"),
    "in bytes": (of_bytes, "whose failure the protocol catches"),
}


class Doing(RingSum):
    """Does something with each row before it is sent."""

    def __init__(self, what: Callable[[Any], None]) -> None:
        self.what = what

    def encode(self, row: Any) -> Any:
        self.what(row)
        return row


@pytest.mark.parametrize("name", QUIET)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_error_that_nobody_sees_ends_the_proof(name: str) -> None:
    what, reason = QUIET[name]
    found = proved(Doing(what))
    assert isinstance(found, Open)
    assert reason in found.reason


def test_an_error_that_ends_the_call_does_not() -> None:
    assert isinstance(proved(Doing(a_stop)), KnownSums)


@pytest.mark.parametrize(
    ("text", "hears"),
    [
        ("np.seterr(over='raise')", {"raise"}),
        ("numpy.seterr(all='call')", {"call"}),
        ("seterr(divide='ignore')", set()),
        ("warnings.simplefilter('error')", {"raise"}),
        ("warnings.filterwarnings('ignore', 'x')", set()),
        ("with scipy.special.errstate(underflow='raise'): pass", {"raise"}),
        ("warnings.showwarning = print", {"call"}),
        ("logging.captureWarnings(True)", {"call"}),
        ("weakref.finalize(a, f)", {"weak"}),
        ("weakref.ref(a, f)", {"weak"}),
        ("weakref.ref(a)", set()),
        ("x = 1", set()),
        ("def f():\n    np.seterr(all='call')\n    warnings.showwarning = print", set()),
        ("def f():\n    with errstate(all='raise'):\n        pass", {"raise"}),
        ("class A:\n    def __init__(self):\n        np.seterr(all='call')", {"call"}),
        ("not a text", set()),
    ],
)
def test_how_a_text_hears_of_errors(text: str, hears: set[str]) -> None:
    assert _hearing((text,)) == hears


class KeepsAtAStop(RingSum):
    """Keeps its mask until all have sent, which an error comes before."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def encode(self, row: Any) -> Any:
        self.kept.append(1.5)
        room(row)
        self.kept.clear()
        return row


class KeepsAtALaterGuard(KeepsAtAStop):
    """Refuses a row in its turn; of the first nothing is kept yet."""

    def encode(self, row: Any) -> Any:
        if (row > 1e6).any():
            raise ValueError("too large")
        self.kept.append(1.5)
        if len(self.kept) == 5:
            self.kept.clear()
        return row


@pytest.mark.parametrize("protocol", [KeepsAtAStop, KeepsAtALaterGuard])
def test_what_an_error_leaves_behind_ends_the_proof(protocol: type) -> None:
    found = proved(protocol())
    assert isinstance(found, Open)
    assert "a call that ends in an error leaves something behind" in found.reason


def on_a_logger() -> None:
    place: Any = logging.getLogger("quiet")
    place._uploads = getattr(place, "_uploads", 0) + 1


def on_the_root() -> None:
    place: Any = logging.root
    place.uploads = getattr(place, "uploads", 0) + 1


def on_the_thread() -> None:
    place: Any = threading.current_thread()
    place.uploads = getattr(place, "uploads", Counter())
    place.uploads["all"] += 1


def on_channels() -> None:
    place: Any = Channel
    place._uploads = getattr(place, "_uploads", 0) + 1


def on_a_class() -> None:
    place: Any = ThreadPoolExecutor
    place.uploads = getattr(place, "uploads", 0) + 1


def on_another_protocol() -> None:
    place: Any = Plain
    place.uploads = getattr(place, "uploads", 0) + 1


def on_a_module() -> None:
    place: Any = sys
    place.uploads = getattr(place, "uploads", Counter())
    place.uploads["all"] += 1


def in_lines() -> None:
    LOG.info("an upload")


COUNTS = [on_a_logger, on_the_root, on_channels, on_a_class, on_another_protocol, in_lines]


@pytest.mark.build
@pytest.mark.parametrize("count", COUNTS)
def test_a_count_that_hangs_on_what_is_at_hand_narrows_the_claim(count: Callable[[], None]) -> None:
    found = proved(Doing(lambda row: count()))
    assert isinstance(found, Open) or any("keeps from call to call" in each for each in found.covers)
    _clean()


@pytest.mark.parametrize("count", [on_the_thread, on_a_module])
def test_a_count_in_a_container_is_among_what_is_kept(count: Callable[[], None]) -> None:
    """It is let be any then, as an attribute is: every way that hangs on it is traced."""
    count()
    _, numbers = kept(RingSum(), NETWORK, {}, [__name__], frozenset())
    assert any(path.endswith("uploads/all") for path in numbers)
    _clean()


def _clean() -> None:
    for place in (threading.current_thread(), logging.root, Channel, ThreadPoolExecutor, Plain, sys):
        for name in ("uploads", "_uploads"):
            if name in vars(place):
                delattr(place, name)


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    does: Callable[[Any], Any]


def _around(what: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def go(row: Any, by: Any = what) -> Any:
        return what(by(row))

    return go


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda f: deque([f]),
        lambda f: Step("step", f),
        lambda f: functools.partial(f),
        _around,
        lambda f: Doing(f).encode,
        lambda f: {"a": [f]},
    ],
)
def test_the_module_of_a_part_is_followed_wherever_the_part_is(wrapped: Callable[[Any], Any]) -> None:
    from unit.kernel import seeded

    from secmix.kernel.tracing.world import modules_of

    protocol = RingSum()
    protocol.parts = wrapped(
        next(each for each in vars(seeded).values() if callable(each) and each.__module__ == seeded.__name__)
    )  # type: ignore[attr-defined]
    assert seeded.__name__ in modules_of(protocol)


class Plugged(RingSum):
    name = "gaussian_truth"

    def encode(self, row: Any) -> Any:
        assert importlib.import_module(self.name).__name__ == self.name
        return row


class OfLibrary(Plugged):
    name = "string"


class OfItself(Plugged):
    name = "unit.kernel.examples"


def test_a_module_that_no_text_names_ends_the_proof() -> None:
    found = proved(Plugged())
    assert isinstance(found, Open)
    assert "a module that is imported by its name (import it at the top)" in found.reason
    assert isinstance(proved(OfLibrary()), KnownSums)
    assert isinstance(proved(OfItself()), KnownSums)
    assert _import_by_name(frozenset(), {}, "string").__name__ == "string"  # outside a trace
    assert examples.RingSum is RingSum


class Counting(RingSum):
    """Works with the iteration where an error is kept quiet."""

    def __init__(self, what: Callable[[Any], Any]) -> None:
        self.what = what

    def beside(self, channel: Channel, rows: Any, masks: Any, rng: Any) -> None:
        with contextlib.suppress(ArithmeticError):
            self.what(channel.iteration)


@pytest.mark.parametrize(
    ("what", "is_narrow"),
    [
        (lambda t: 1 / (100 - t), True),
        (lambda t: 1000 % (100 - t), True),
        (lambda t: 1 << t, True),
        (lambda t: t.to_bytes(1, "big"), True),
        (lambda t: t.to_bytes(8, "big"), False),
        (lambda t: t / 4 + t * 3, False),
        (lambda t: t % 1000, False),
    ],
)
def test_what_fails_of_another_iteration_narrows_the_claim(what: Callable[[Any], Any], is_narrow: bool) -> None:
    found = proved(Counting(what))
    assert isinstance(found, KnownSums)
    assert any(each.startswith("the iteration") for each in found.covers) == is_narrow


@pytest.mark.parametrize(
    ("numbers", "is_open"),
    [
        ((2**64, 2**63, 0), False),
        ((2**64, 2**33, 0), True),
        ((2**61 - 1, 2**61 - 1, 0), False),
        ((2**64, 2**60, 0), True),
        ((2**64, 2**64, 2**33), False),
        ((2**33,), False),
        ((2**64, 2**31, 0), False),
    ],
)
def test_numbers_of_a_seed_that_may_have_fewer_words_end_the_proof(numbers: tuple[int, ...], is_open: bool) -> None:
    """NumPy makes words of 32 bits of each, and leaves out those that are zero: what follows moves up."""
    trace = Trace()
    with following(trace):
        several = [
            Number(5, alone(trace.variable("draw", -1, 5, 1, range=most)), INF, DRAWS, 1) if most else 7
            for most in numbers
        ]
        for number, most in zip(several, numbers, strict=True):
            if most:
                number.below = most
        if not is_open:
            assert pieces_of_several(several)
            return
        with pytest.raises(LeftTrace, match="may have fewer words of 32 bits"):
            pieces_of_several(several)


def test_a_rest_of_a_draw_has_no_words_of_its_own() -> None:
    trace = Trace()
    with following(trace):
        draw = Number(5, alone(trace.variable("draw", -1, 5, 1, range=2**64)), INF, DRAWS, 1)
        assert pieces_of_several([draw % 2**31])
        with pytest.raises(LeftTrace, match="may have fewer words"):
            pieces_of_several([draw % 2**31, 7])
