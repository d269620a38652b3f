"""What is kept from call to call is compared in full; what cannot be compared is unlike everything."""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import copyreg
import datetime
import functools
import hashlib
import io
import itertools
import logging
import os
import random
import re
import statistics
import sys
import threading
import time
import types
import weakref
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

import networkx as nx
import numpy as np
import pytest
from unit.kernel import examples

import secmix
from secmix import Network
from secmix.adversaries import CuriousServer
from secmix.kernel import Open, clear, prove
from secmix.kernel.randomness.draws import generator
from secmix.kernel.tracing import kept as kept_module
from secmix.kernel.tracing.kept import KEPT, first_change, kept, may_hold_draws
from secmix.kernel.tracing.trace import follow
from secmix.kernel.values.arrays import followed
from secmix.kernel.values.current_trace import INF, Trace, following
from secmix.kernel.values.numbers import Number
from secmix.transcript import Channel

NETWORK = Network.complete(3)
CALLS = 0


class Holder:
    def __init__(self, part: Any = None, count: int = 0) -> None:
        self.part, self.count = part, count


class Slotted:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class PrivatelySlotted:
    __slots__ = ("__count",)

    def __init__(self) -> None:
        self.__count = 0

    def add(self) -> None:
        self.__count += 1


class Remembering:
    def __call__(self, x: int, seen: list[int] = []) -> None:  # noqa: B006
        seen.append(x)


class Counter:
    """An object that is called, and counts."""

    def __init__(self) -> None:
        self.seen: dict[str, list[int]] = {"calls": [0]}

    def __call__(self) -> None:
        self.seen["calls"][0] += 1


def closure() -> Any:
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1

    return ask


def counting() -> Callable[[Any], Any]:
    """Return what counts its calls."""
    ask = closure()
    return lambda x: (ask(), x)[1]


def managing() -> Any:
    asked = []

    @contextlib.contextmanager
    def manage() -> Iterator[int]:
        asked.append(0)
        yield len(asked)

    return manage


def managed(manage: Any) -> None:
    with manage():
        pass


def finished() -> Future[int]:
    future: Future[int] = Future()
    future.set_result(0)
    return future


class Named(np.ndarray[Any, Any]):
    """An array with a name."""

    name = "first"


class Sentinel:
    """Stands for itself in a copy, by a name."""

    state = "a"

    def __reduce__(self) -> str:
        return "SENTINEL"


class TypedList:
    """Stand for a list of Numba's, which is compiled and called from Python."""

    def __init__(self) -> None:
        self.length = "none"


TypedList.__module__ = "numba.typed.typedlist"


class Watched(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that says how often it was asked."""

    asked = 0


class Unlisted(dict):  # type: ignore[type-arg]
    """A dict that lists nothing."""

    def items(self) -> Any:
        return ()


class Unread(list):  # type: ignore[type-arg]
    """A list that shows nothing."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def named_tuple() -> Any:
    class Settings(NamedTuple):
        rounds: int = 1

    return Settings()


def masked_out() -> Any:
    return np.ma.MaskedArray([1.0, 2.0], mask=[True, False])


def table_of_objects() -> Any:
    table = np.zeros(1, [("figures", object)])
    table["figures"][0] = [0]
    return table


def digest(holder: Any) -> Any:
    return look(holder)[0]


def look(holder: Any, varying: frozenset[str] | None = frozenset()) -> tuple[Any, dict[str, str]]:
    return kept(holder, NETWORK, {}, set(), varying)


def deep(levels: int) -> Holder:
    holder = Holder()
    for _ in range(levels):
        holder = Holder(holder)
    return holder


def innermost(holder: Holder) -> Holder:
    while holder.part is not None:
        holder = holder.part
    return holder


@functools.cache
def cached_list() -> list[int]:
    return []


@functools.lru_cache(maxsize=2)
def cached_few(key: int) -> list[int]:
    return []


def adapted(adapter: Any) -> None:
    adapter.extra["calls"] = 1


class CountingPool(ThreadPoolExecutor):
    _calls = 0


def generator_in_a_trace() -> Any:
    with following(Trace()):
        return generator(5)


def drawn_in_a_trace(made: Any) -> None:
    with following(Trace()):
        made.random()


def rule() -> Any:
    """Return a function of a text that was run, which counts in a namespace of its own."""
    space: dict[str, Any] = {}
    exec("uploads = 0\ndef rule():\n    global uploads\n    uploads += 1", space)
    return space["rule"]


def settings() -> Any:
    """Return settings that are a module, which nothing loads."""
    made: Any = types.ModuleType("settings")
    made.figures = types.SimpleNamespace(uploads=0)
    return made


class Elsewhere:
    """Say that a library has it, which is not so."""

    __module__ = "collections"
    figures = types.SimpleNamespace(uploads=0)


LOCAL = threading.local()
ELSEWHERE: Any = types.ModuleType("elsewhere")
ELSEWHERE.key = Holder()
CHANGES: dict[str, tuple[Any, Any]] = {
    "an attribute eight objects deep": (lambda: deep(8), lambda v: setattr(innermost(v), "count", 1)),
    "a callable": (Counter, lambda v: v()),
    "a closure": (closure, lambda v: v()),
    "slots": (Slotted, lambda v: setattr(v, "count", 1)),
    "a default of a special method": (Remembering, lambda v: v(1)),
    "a bound method": (lambda: Counter().__call__, lambda v: v()),
    "a partial": (lambda: functools.partial(Counter()), lambda v: v()),
    "a queue": (lambda: deque([1]), lambda v: v.append(2)),
    "a set": (lambda: {1}, lambda v: v.add(2)),
    "an array of numbers": (lambda: array("d", [1.0]), lambda v: v.append(2.0)),
    "text in memory": (io.StringIO, lambda v: v.write("x")),
    "a counter of itertools": (itertools.count, next),
    "its method": (lambda: itertools.count().__next__, lambda v: v()),
    "Python's generator": (lambda: random.Random(0), lambda v: v.random()),
    "NumPy's generator": (lambda: np.random.default_rng(0), lambda v: v.random()),
    "NumPy's generator of old": (lambda: np.random.RandomState(0), lambda v: v.rand()),
    "a thread's data": (lambda: LOCAL, lambda v: setattr(v, "calls", 1)),
    "an array": (lambda: np.zeros(3), lambda v: v.__setitem__(0, 1.0)),
    "a sign of zero": (lambda: [0.0], lambda v: v.__setitem__(0, -0.0)),
    "a cache": (lambda: functools.lru_cache(lambda x: x), lambda v: v(1)),
    "what a cached function returned": (lambda: cached_list, lambda v: v().append(1)),
    "what a function returned that caches few": (lambda: cached_few, lambda v: v(1).append(1)),
    "an attribute of a logger": (lambda: logging.getLogger("kept"), lambda v: setattr(v, "calls", [1])),
    "an adapter of a logger": (lambda: logging.LoggerAdapter(logging.getLogger("kept"), {}), adapted),
    "a pool's attribute": (lambda: ThreadPoolExecutor(1), lambda v: setattr(v, "calls", 1)),
    "a number on a module": (lambda: types.ModuleType("other"), lambda v: setattr(v, "calls", 1)),
    "a pool of its own": (lambda: CountingPool(1), lambda v: setattr(v, "_calls", 1)),
    "a generator of a public seed in a trace": (generator_in_a_trace, drawn_in_a_trace),
    "a polynomial": (lambda: np.polynomial.Polynomial([0.0]), lambda v: v.coef.__setitem__(0, 1.0)),
    "a polynomial of old": (lambda: np.poly1d([1.0, 2.0]), lambda v: v.coeffs.__setitem__(0, 5.0)),
    "a vectorized function": (lambda: np.vectorize(counting()), lambda v: v(1)),
    "a ufunc of Python's": (lambda: np.frompyfunc(counting(), 1, 1), lambda v: v(1)),
    "a weak dictionary": (
        lambda: weakref.WeakKeyDictionary({ELSEWHERE.key: "a"}),
        lambda v: v.__setitem__(ELSEWHERE.key, "b"),
    ),
    "a weak dictionary of values": (
        lambda: weakref.WeakValueDictionary({1: ELSEWHERE.key}),
        lambda v: v.__setitem__(2, ELSEWHERE.key),
    ),
    "a weak reference": (lambda: weakref.ref(ELSEWHERE.key), lambda v: setattr(v(), "count", 1)),
    "a future": (finished, lambda v: setattr(v, "_result", 1)),
    "a list of Numba's": (TypedList, lambda v: setattr(v, "length", "one")),
    "a cached function": (lambda: functools.lru_cache(counting()), lambda v: v.__wrapped__(1)),
    "a context manager": (managing, managed),
    "a function of several types": (
        lambda: functools.singledispatch(lambda x: x),
        lambda v: v.register(int, lambda x: x + 1),
    ),
    "a hash": (hashlib.sha256, lambda v: v.update(b"x")),
    "private slots": (PrivatelySlotted, lambda v: v.add()),
    "a long list": (lambda: list(range(2000)), lambda v: v.__setitem__(1500, 0)),
    "an array of objects": (lambda: np.array([Holder(), None], object), lambda v: setattr(v[0], "count", 1)),
    "a sentinel's attribute": (Sentinel, lambda v: setattr(v, "state", "b")),
    "an edge": (lambda: nx.cycle_graph(5), lambda v: v.add_edge(0, 2)),
    "an edge's attribute": (lambda: nx.complete_graph(5), lambda v: v[0][1].__setitem__("seen", 1)),
    "an edge of its own": (lambda: nx.path_graph(2), lambda v: v.adj[0]._atlas.__setitem__(1, {})),
    "an attribute of a weak reference": (lambda: Watched(ELSEWHERE.key), lambda v: setattr(v, "asked", 1)),
    "a number that is masked out": (masked_out, lambda v: v.data.__setitem__(0, 5.0)),
    "an object in a table": (table_of_objects, lambda v: v["figures"][0].append(1)),
    "what makes defaults": (lambda: defaultdict(Counter()), lambda v: v.default_factory()),
    "what a dict does not list": (lambda: Unlisted(a="1"), lambda v: v.update(a="2")),
    "what a list does not show": (lambda: Unread(["1"]), lambda v: v.append("2")),
    "the class of a named tuple": (named_tuple, lambda v: setattr(type(v), "uploads", 1)),
    "a lock": (threading.Lock, lambda v: v.acquire()),
    "a lock that counts": (threading.RLock, lambda v: v.acquire()),
    "an object among settings": (settings, lambda v: setattr(v.figures, "uploads", 1)),
    "a text that was run": (rule, lambda v: v()),
    "a class of another name": (Elsewhere, lambda v: setattr(v.figures, "uploads", 1)),
    "a parsed expression": (lambda: ast.parse("0", mode="eval").body, lambda v: setattr(v, "value", 1)),
    "an attribute of an array": (lambda: np.zeros(3).view(Named), lambda v: setattr(v, "name", "second")),
}


NOT_COMPARED = [
    "a ufunc of Python's",
    "a hash",
    "a pool's attribute",
    "a pool of its own",
    "a weak dictionary of values",
]
if sys.version_info >= (3, 14):  # from then on iterators cannot be copied
    NOT_COMPARED += ["a counter of itertools", "its method"]


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_is_seen(name: str) -> None:
    make, change = CHANGES[name]
    holder = Holder(make())
    before, again = digest(holder), digest(holder)
    assert before == again or name in NOT_COMPARED
    change(holder.part)
    assert digest(holder) != before
    named = first_change(before, digest(holder))
    assert named in ("", "network") or named.endswith(f"{Holder.__module__}.Holder") or name in NOT_COMPARED


class Lines(io.StringIO):
    """A stream that counts."""

    uploads = 0


def added_function() -> Any:
    def figures(uploads: list[int] = []) -> None:  # noqa: B006
        uploads.append(1)

    return figures


AT_HAND: dict[str, Callable[[], Any]] = {  # by what returns them: this module is among what is digested
    "the root logger": lambda: logging.root,
    "loggers": lambda: logging.Logger,
    "channels": lambda: Channel,
    "networks": lambda: Network,
    "pools": lambda: ThreadPoolExecutor,
    "this package": lambda: secmix,
    "builtins": lambda: builtins,
    "NumPy": lambda: np,
    "the main thread": lambda: threading.main_thread(),
    "the output": lambda: sys.__stdout__,
}


@pytest.mark.parametrize("place", AT_HAND)
@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda: types.SimpleNamespace(uploads=0), lambda figures: setattr(figures, "uploads", 1)),
        (lambda: np.zeros(1), lambda figures: figures.__setitem__(0, 1.0)),
        (added_function, lambda figures: figures()),
        (Holder, lambda figures: setattr(figures, "count", 1)),
    ],
    ids=["a namespace", "an array", "a function", "an object"],
)
def test_figures_on_what_all_code_has_at_hand_are_seen(
    place: str, make: Any, count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = make()
    monkeypatch.setattr(AT_HAND[place](), "figures", figures, raising=False)
    before = digest(Holder())
    assert digest(Holder()) == before
    count(figures)
    assert digest(Holder()) != before


def test_figures_among_modules_and_on_streams_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "figures", cast(Any, types.SimpleNamespace(uploads=0)))
    stream, before = Lines(), digest(Holder())
    sys.modules["figures"].uploads = 1  # type: ignore[attr-defined]
    counted = digest(Holder())
    assert counted != before
    monkeypatch.setattr(logging.getLogger("kept"), "handlers", [logging.StreamHandler(stream)])
    listening = digest(Holder())
    stream.uploads = 1
    assert digest(Holder()) != listening


def test_figures_on_a_loop_of_events_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    monkeypatch.setattr(kept_module, "_loops", lambda: [loop])
    before = digest(Holder())
    loop.figures = [1]  # type: ignore[attr-defined]
    assert digest(Holder()) != before


def test_the_loop_of_events_of_a_thread_is_found() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(kept_module._loops).result() == []

    async def found() -> bool:
        return kept_module._loops() == [asyncio.get_running_loop()]

    def run() -> bool:
        with asyncio.Runner() as runner:
            return runner.run(found())

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result()


def test_a_path_that_grows_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(Holder())
    monkeypatch.setattr(sys, "path", [*sys.path, "more"])
    assert digest(Holder()) != before


class Terminal:
    """A library's stream, with what cannot be compared."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()


Terminal.__module__ = "a_library.console"


def test_a_librarys_stream_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else no audit of the command line would hold: its messages go to a stream that refuses to be compared."""
    terminal: Any = Terminal()
    monkeypatch.setattr(logging.getLogger("kept"), "handlers", [logging.StreamHandler(terminal)])
    assert digest(Holder()) == digest(Holder())


def test_what_a_library_adds_to_itself_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(Holder())
    monkeypatch.setattr(nx.utils, "added", nx.Graph(), raising=False)
    monkeypatch.setattr(statistics, "added", statistics.mean, raising=False)
    monkeypatch.setattr(statistics, "text", "a", raising=False)
    assert digest(Holder()) == before


def test_what_changes_is_named_by_what_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    holder, class_name = Holder([1, "a"]), f"{Holder.__module__}.Holder"
    before = digest(holder)
    holder.part.append("b")
    assert first_change(before, digest(holder)) == f"part of {class_name}"
    holder.__dict__["other"] = None
    assert first_change(before, digest(holder)) == class_name
    monkeypatch.setenv("AVERAGINGS", "1")
    assert first_change(digest(Holder()), before) == "part of " + class_name
    assert first_change(object(), before) == ""


@pytest.mark.parametrize(("module", "name"), [(os, "urandom"), (time, "time"), (time, "perf_counter_ns")])
def test_a_source_of_numbers_that_is_kept_is_unlike_itself(module: Any, name: str) -> None:
    holder = Holder(getattr(module, name))
    assert digest(holder) != digest(holder)
    assert digest(Holder(os.fspath)) == digest(Holder(os.fspath))


def test_the_environment_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(Holder())
    monkeypatch.setenv("AVERAGINGS", "1")
    assert digest(Holder()) != before


def test_a_pool_beside_data_of_threads_is_unlike_itself() -> None:
    holder = Holder([threading.local(), ThreadPoolExecutor(1)])
    assert digest(holder) != digest(holder)


def namesake(of: Any) -> Any:
    """Return another function of a library, under the same name."""
    code = statistics.mean.__code__.replace(co_name=of.__code__.co_name, co_qualname=of.__code__.co_qualname)
    other = types.FunctionType(code, {}, of.__name__)
    other.__qualname__ = of.__qualname__
    return other


OTHERS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "a path": lambda: (Path("a"), Path("b")),
    "a pattern": lambda: (re.compile("a"), re.compile("b")),
    "a function of the library": lambda: (statistics.mean, statistics.median),
    "a function of the same name": lambda: (lambda: 1, lambda: 2),
    "a function of the same name that holds something": lambda: (lambda x=1: x, lambda x=1: -x),
    "a library's function of the same name": lambda: (copyreg.__newobj__, namesake(copyreg.__newobj__)),
    "a method of a type": lambda: (str.upper, str.lower),
    "a function in C": lambda: (len, abs),
    "a function of NumPy's": lambda: (np.sum, np.mean),
    "a ufunc": lambda: (np.add, np.multiply),
    "a class of the library": lambda: (Fraction, statistics.NormalDist),
    "a number of another type": lambda: (1, True),
    "a value of another key": lambda: ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    "a value of a key in underscores": lambda: ({"__last__": 1}, {"__last__": 2}),
    "a value of a key that begins so": lambda: ({"__last": 1}, {"__last": 2}),
    "an order": lambda: ((1, 2), (2, 1)),
    "a shape": lambda: (np.zeros((2, 3)), np.zeros((3, 2))),
    "a type of numbers": lambda: (np.zeros(2), np.zeros(2, int)),
    "what is given by default": lambda: (lambda x=1: x, lambda x=2: x),
    "what is given by name": lambda: (lambda *, x=1: x, lambda *, x=2: x),
    "a part of a partial": lambda: (functools.partial(max, 1), functools.partial(max, 2)),
}
"""Made anew each time: what this module keeps is compared too."""


def test_a_generator_of_the_system_keeps_nothing() -> None:
    holder = Holder(random.SystemRandom())
    before = digest(holder)
    holder.part.random()
    assert digest(holder) == before


def test_an_earlier_proof_that_somebody_has_at_hand_is_not_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook keeps what it asked before: its traces are large, and no protocol writes to them."""
    inputs = np.random.default_rng(0).normal(size=(3, 1, 3, 2))
    holder = Holder([proof := prove(examples.RingSum(), NETWORK, inputs), clear(proof, NETWORK, CuriousServer())])
    monkeypatch.setattr(kept_module, "_MOST", 2000)
    assert digest(holder.part) == digest(holder.part)


def test_other_secrets_in_an_array_are_seen() -> None:
    with following(Trace()) as trace:
        one, other = (Number(1.0, {trace.variable("draw", -1, 1.0, 0, spread=1.0): 1}, INF, 1, 0) for _ in range(2))
        digests = [digest(Holder(followed([each, 2.0]))) for each in (one, one, other)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_is_seen(name: str) -> None:
    one, again, other = (digest(Holder(OTHERS[name]()[k])) for k in (0, 0, 1))
    assert one == again != other


class _Unhashable(type):
    def __eq__(cls, other: object) -> bool:
        return cls is other


@pytest.mark.parametrize(
    "make",
    [lambda: (x for x in [1]), lambda: memoryview(b"x"), lambda: types.CellType(1), _Unhashable("Kind", (), {})],
    ids=["generator", "memory", "of C, larger than its attributes", "of a class without a hash"],
)
def test_what_cannot_be_compared_is_unlike_itself(make: Any) -> None:
    holder = Holder(make())
    assert digest(holder) != digest(holder)


def test_what_is_too_deep_or_too_much_is_unlike_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    holder = deep(2000)
    assert digest(holder) != digest(holder)
    holder = deep(20)
    assert digest(holder) == digest(holder)
    monkeypatch.setattr("secmix.kernel.tracing.kept._MOST", 10)
    assert digest(holder) != digest(holder)


def test_what_a_closure_is_still_to_hold_is_compared_once_it_is_there() -> None:
    def early() -> Any:
        return late

    holder = Holder(early)
    before = digest(holder)
    assert before == digest(holder)
    late = "now"
    assert digest(holder) != before


def test_a_proof_that_is_kept_ends_no_other() -> None:
    """In a notebook it is a global beside the protocol: it was once unlike itself, with all that had been compared."""
    network, inputs = Network.complete(3), np.random.default_rng(0).normal(size=(3, 1, 3, 2))
    proof = prove(examples.WordSum(), network, inputs)
    holder = Holder(proof)
    assert digest(holder) == digest(holder)
    assert all(not each.kept and not each.counts for each in proof.fits)


def objects_in(digest: Any, met: dict[int, Any]) -> dict[int, Any]:
    """Return the lists and tuples of a digest, and those met before."""
    if isinstance(digest, (list, tuple)) and id(digest) not in met:
        met[id(digest)] = digest
        for each in digest:
            objects_in(each, met)
    return met


def test_what_calls_leave_as_it_is_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol among a large package was looked at a thousand times, of which each took four megabytes."""
    monkeypatch.setattr(sys.modules[__name__], "TABLE", [[str(k)] for k in range(1000)], raising=False)
    several, met = [], dict[int, Any]()
    for call in range(5):
        holder = Holder([call])
        several.append(kept(holder, NETWORK, {}, {__name__}, frozenset())[0])
        objects_in(several[-1], met)
        if not call:
            alone = len(met)
    assert len({*map(repr, several)}) == 5
    assert len(met) < 1.1 * alone


class Weekly(datetime.date):
    """Is looked at as for a copy, by which Python notes in its class which slots it has."""


def test_what_a_first_look_leaves_in_a_class_is_no_difference() -> None:
    holder = Holder([Weekly, Weekly(2026, 11, 27)])
    before = digest(holder)
    Weekly.__slotnames__ = []  # type: ignore[attr-defined]
    assert digest(holder) == before


def test_names_of_compiled_code_are_compared() -> None:
    holder = Holder([datetime.datetime_CAPI, vars(int)["from_bytes"]])
    before = digest(holder)
    assert digest(holder) == before
    holder.part[1] = vars(float)["fromhex"]
    assert digest(holder) != before


def test_locks_and_loops_are_compared() -> None:
    holder = Holder(threading.Lock())
    holder.part = [holder.part, holder]
    assert digest(holder) == digest(holder)


@pytest.mark.parametrize("name", list(CHANGES)[:4])
def test_numbers_that_vary_may_be_any_and_are_what_they_were_afterwards(name: str) -> None:
    make, change = CHANGES[name]
    holder = Holder(make())
    _, before = look(holder)
    change(holder.part)
    after, numbers = look(holder)
    varying = frozenset(path for path, text in numbers.items() if before[path] != text)
    assert len(varying) == 1
    lent, _ = look(holder, varying)
    assert KEPT in look(holder)[1].values()
    assert lent == digest(holder)
    look(holder, None)
    assert digest(holder) == after


class CountsForAll(examples.RingSum):
    """Counts its calls in this module, and is interrupted at a call, if it is told to be."""

    interrupted = False

    def beside(self, channel: Any, rows: Any, masks: Any, rng: Any) -> None:
        global CALLS
        if self.interrupted and hasattr(CALLS, "coin"):
            raise KeyboardInterrupt
        CALLS += 1


class Refusing:
    """An object of a library that fails where it is asked for an attribute."""

    __slots__ = ("listener",)

    def __getattr__(self, name: str) -> Any:
        raise (TypeError if name == "listener" else AttributeError)(name)


def test_what_refuses_to_say_what_it_holds_is_unlike_everything() -> None:
    protocol = examples.RingSum()
    protocol.helper = Refusing()
    fit = follow(protocol, NETWORK, [np.ones((1, 3, 2))] * 3)
    assert not fit.error
    assert len({id(each) for each in fit.kept}) == len(fit.kept)
    assert fit.kept[1] != fit.kept[2]


def test_a_module_has_its_numbers_back_after_an_interrupt() -> None:
    inputs = [np.ones((1, 3, 2))] * 3
    varying = follow(CountsForAll(), NETWORK, inputs).varying
    assert any(path.endswith("CALLS") for path in varying)
    stopped = CountsForAll()
    stopped.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        follow(stopped, NETWORK, inputs, varying=varying)
    assert type(CALLS) is int


WITHOUT_A_FILE = """
from unit.kernel.examples import RingSum, bare

CALLS = 0


def counter():
    calls = 0

    def count():
        nonlocal calls
        calls += 1
        return calls

    return count


class CountsInItsModule(RingSum):
    def beside(self, channel, rows, masks, rng):
        global CALLS
        CALLS += 1
        if CALLS > 100:
            bare(channel, rows[:, 0])


class CountsInAClosure(RingSum):
    def __init__(self):
        self.count = counter()

    def beside(self, channel, rows, masks, rng):
        if self.count() > 100:
            bare(channel, rows[:, 0])
"""
"""What somebody may write into a cell of a notebook."""


@pytest.mark.build
@pytest.mark.parametrize("name", ["CountsInItsModule", "CountsInAClosure"])
def test_code_without_a_file_keeps_what_it_keeps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = types.ModuleType("cell")
    monkeypatch.setitem(sys.modules, "cell", cell)
    exec(compile(WITHOUT_A_FILE, "<cell 1>", "exec"), vars(cell))
    inputs = [np.random.default_rng([3, call]).normal(size=(1, 3, 2)) for call in range(3)]
    proof = prove(getattr(cell, name)(), NETWORK, inputs)
    found = clear(proof, NETWORK, CuriousServer())
    assert isinstance(found, Open) or found.covers or found.exact[0] == pytest.approx(1.0)


@pytest.mark.build
def test_an_array_that_comes_and_goes_is_no_error() -> None:
    """The members of its type are numbers that vary then, and nobody can write to them."""

    class EveryOther(examples.RingSum):
        """Has the masks of the last call at hand in every other call."""

        def __init__(self) -> None:
            self.last: dict[str, Any] = {}

        def draw_masks(self, runs: int, m: int, network: Any, rng: Any) -> Any:
            masks = super().draw_masks(runs, m, network, rng)
            if self.last.pop("masks", None) is None:
                self.last["masks"] = masks
            return masks

    inputs = np.random.default_rng(0).normal(size=(3, 1, 4, 2))
    proof = prove(EveryOther(), Network.complete(4), inputs)
    assert not proof.open
    assert proof.covers == (f"{KEPT} (last of {EveryOther.__module__}.{EveryOther.__qualname__})",)


_CACHED = "functools._lru_cache_wrapper"


@pytest.mark.parametrize(
    ("before", "after", "may"),
    [
        ((), (), False),
        (("", (int, "1")), ("", (int, "2")), False),
        ([], [(("a",), ("builtins.list", [(str, "'x'")]))], False),
        ([(("a",), (int, "1"))], [(("a",), (int, "1")), (("b",), ("secret", 7))], False),
        ([(("a",), (int, "1"))], [(("b",), ("secret draws", 7)), (("a",), (int, "1"))], True),
        ((int, "1"), ("secret draws", 7), True),
        (("secret", 6), ("secret", 7), False),
        (("secret draws", 6), ("secret draws", 7), True),
        (("seen", 6), ("seen", 7), False),
        (("own.Holder", ([(("a",), (int, "1"))], [])), ("own.Holder", ([(("a",), (int, "2"))], [])), False),
        (("own.Holder", ([], [])), ("own.Other", ([], [])), True),
        ((_CACHED, (0, 0, [])), (_CACHED, (1, 0, [])), True),
        (("secmix.kernel.own", 1), ("secmix.kernel.own", 2), True),
        (0, object(), True),
        ((), ("secret draws", 7), True),
        (0, "a text", False),
    ],
)
def test_what_is_kept_may_hold_draws_unless_all_of_it_is_said(before: Any, after: Any, may: bool) -> None:
    assert may_hold_draws(("", before), ("", after)) == may
