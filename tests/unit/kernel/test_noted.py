"""What a call may hang on beside its arguments is noted: coins of the system, errors that numbers decide on."""

from __future__ import annotations

import os
import random
import secrets
import ssl
import threading
import timeit
import types
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import networkx
import numpy as np
import pytest
import scipy.stats
from numpy.random import rand
from unit.kernel.examples import RingSum

from secmix.kernel.randomness.coins import OF_NUMPY, OF_PYTHON
from secmix.kernel.tracing.trace import follow
from secmix.kernel.tracing.world import replaced
from secmix.kernel.values.current_trace import Trace, following
from secmix.network import Network


def imported_where_it_is_used() -> Any:
    from numpy.random import rand

    return rand()  # noqa: NPY002


def raising() -> None:
    with np.errstate(invalid="raise"):
        pass


def recording() -> None:
    with warnings.catch_warnings(record=True):
        pass


def made_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")


def ignoring() -> None:
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)


NOTED: dict[str, Callable[[], Any]] = {
    "secrets.choice": lambda: secrets.choice(range(9)),
    "uuid4": lambda: uuid.uuid4(),
    "SystemRandom": lambda: random.SystemRandom().choice(range(9)),
    "Random without a seed": lambda: random.Random().random(),
    "random.random": lambda: random.random(),
    "os.getrandom": lambda: os.getrandom(1),
    "ssl.RAND_bytes": lambda: ssl.RAND_bytes(1),
    "uuid1": lambda: uuid.uuid1(),
    "a timer": lambda: round(timeit.default_timer()),
    "a function that is imported by name": lambda: rand(),  # noqa: NPY002
    "RandomState without a seed": lambda: np.random.RandomState().rand(),
    "a bit generator without a seed": lambda: np.random.PCG64(),
    "a function that is imported where it is used": imported_where_it_is_used,
    "floating-point errors that are raised": raising,
    "errors that are raised from here on": lambda: np.seterr(**np.seterr(invalid="call")),
    "warnings that are recorded": recording,
    "warnings that are errors": made_errors,
}
PLAIN: dict[str, Callable[[], Any]] = {
    "Random with a seed": lambda: random.Random(3).random(),
    "what is ignored": ignoring,
}


def noted(call: Callable[[], Any]) -> list[str]:
    with replaced({__name__}), following(Trace()) as trace:
        call()
    return list(trace.by_value)


@pytest.mark.parametrize("name", NOTED)
def test_it_is_noted(name: str) -> None:
    assert noted(NOTED[name])


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_always_the_same_is_not(name: str) -> None:
    assert not noted(PLAIN[name])


def test_before_a_trace_begins_nothing_is_noted() -> None:
    with replaced({__name__}):
        assert NOTED["secrets.choice"]() in range(9)
        assert NOTED["Random without a seed"]() < 1.0
        raising()


def test_outside_a_trace_all_is_as_it_was() -> None:
    before = os.urandom, random.Random, warnings.simplefilter, warnings.catch_warnings
    noted(NOTED["uuid4"])
    assert (os.urandom, random.Random, warnings.simplefilter, warnings.catch_warnings) == before


class Drawing(RingSum):
    """Draws a lot by what is no generator of its own."""

    def __init__(self, draw: Callable[[], Any]) -> None:
        self.draw = draw

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        self.draw()


@pytest.mark.parametrize(
    ("draw", "what"),
    [
        (lambda: np.random.mtrand._rand.rand(), {OF_NUMPY}),
        (lambda: scipy.stats.norm.rvs(), {OF_NUMPY}),
        (lambda: networkx.gnp_random_graph(2, 0.5), {OF_PYTHON}),
        (lambda: scipy.stats.norm.ppf(0.5), set()),
    ],
)
def test_a_draw_of_a_library_from_a_generator_of_all_is_noted(draw: Callable[[], Any], what: set[str]) -> None:
    fit = follow(Drawing(draw), Network.complete(3), [np.ones((1, 3, 2))])
    assert not fit.error
    assert {*fit.trace.by_value} == what


def test_what_other_threads_draw_meanwhile_is_not_taken_for_a_lot() -> None:
    asked, drawn = threading.Event(), threading.Event()
    module, dice = random, random._inst.randint  # type: ignore[attr-defined]

    def draw() -> None:
        asked.wait()
        module.random()
        dice(1, 6)
        drawn.set()

    def ask() -> None:
        asked.set()
        drawn.wait()

    of_another = types.FunctionType(draw.__code__, {"__name__": "a server"}, None, None, draw.__closure__)
    other = threading.Thread(target=of_another)
    other.start()
    try:
        fit = follow(Drawing(ask), Network.complete(3), [np.ones((1, 3, 2))])
    finally:
        ask()
        other.join()
    assert not fit.error
    assert not fit.trace.by_value


def in_a_thread() -> None:
    thread = threading.Thread(target=networkx.gnp_random_graph, args=(2, 0.5))
    thread.start()
    thread.join()


def test_what_a_thread_of_the_protocol_draws_is_noted() -> None:
    fit = follow(Drawing(in_a_thread), Network.complete(3), [np.ones((1, 3, 2))])
    assert fit.error or {*fit.trace.by_value} == {OF_PYTHON}
