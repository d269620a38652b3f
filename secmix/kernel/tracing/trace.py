"""One fit of a sum protocol, followed: the same object on the same channel, call after call.

Each trace is checked (`secmix.kernel.proving`): an untraced call of the same seeds sends the same messages, and calls
with other inputs and other masks are made of the same combinations of them.
"""

from __future__ import annotations

import copy
import functools
import gc
import sys
import threading
import traceback
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from concurrent.futures import thread as pools
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from secmix.errors import SecmixError
from secmix.kernel.randomness.coins import ITSELF, Public, global_coins
from secmix.kernel.randomness.draws import Draws
from secmix.kernel.randomness.secret_bytes import SecretBytes
from secmix.kernel.tracing.kept import KEPT, digest_of, kept
from secmix.kernel.tracing.python_library import asked_in, begins_files, done_later, goes_on_beside, is_of_machine
from secmix.kernel.tracing.world import drawing_apart, limits_noted, modules_of, own_of, replaced, with_method
from secmix.kernel.values.algebra import Encodings, encodings
from secmix.kernel.values.arrays import (
    Followed,
    array_of,
    concrete,
    followed,
    is_secret,
    of_table,
    parts,
    public,
    secrets_in,
    variables_of,
)
from secmix.kernel.values.current_trace import (
    ANYTHING,
    INF,
    LeftTrace,
    Place,
    Trace,
    following,
    is_of_call,
    is_raise,
    now,
    outlets_of_now,
)
from secmix.kernel.values.forms import MOST_TERMS, alone
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.protocol_text import file_of, hearing_in, identities_in, is_followed, is_protocol
from secmix.kernel.values.tables import Projections, unknowns
from secmix.network import Network
from secmix.transcript import Block, Channel, Transcript, listening, passed_on, watched

ROUNDING = 1e-12
"""By how much of the largest number on the way sums of floats may differ that are added up in another order."""
_WHOLE_AS_FLOAT = 2**53  # a seed of more values is no part of a sum of floats
RESULT = "what the node ends with"


@dataclass(frozen=True)
class Message:
    """A block of messages, or what nodes hold, with its numbers followed."""

    frame: tuple[Any, ...]  # iteration, round, kind, line, shape and type: what it is, apart from its numbers
    sender: tuple[int, ...]
    receiver: tuple[int, ...]
    content: tuple[int, ...]
    rows: Followed  # (P, runs, m)

    @property
    def variables(self) -> Any:
        """The variables that these are made of, (k,), some more than once; kept, they would take more than the rows."""
        return variables_of(self.rows)

    def block(self, payload: Any) -> Block:
        """Return the block that a transcript has of it, with other numbers."""
        ends = [np.array(each, dtype=np.intp) for each in (self.sender, self.receiver, self.content)]
        iteration, round, kind, line, *_ = self.frame
        return Block(iteration, round, kind, line, ends[0], ends[1], ends[2], payload)

    def __str__(self) -> str:
        return f"'{self.frame[2]}'{'' if self.frame[2] == RESULT else f' in round {self.frame[1]}'}"


@dataclass
class Fit:
    """Trace of some calls."""

    trace: Trace
    n: int
    messages: list[Message] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)  # what each call returned, (runs, n, m)
    kept: list[Any] = field(default_factory=list)  # what the protocol keeps before the first and after each call
    counts: list[dict[str, str]] = field(default_factory=list)  # the numbers among that
    encodings: Encodings = field(default_factory=lambda: Encodings({}, {}, {}))
    error: str = ""  # why there is no more: an exit, or an error of the protocol's own
    failed: bool = False  # which it is
    iterations: Sequence[int] = ()  # which the calls are; empty: any
    inputs: Sequence[Any] = ()  # of each call
    ways: Sequence[Way] = ()  # of each call
    lets_vary: frozenset[str] = frozenset()  # numbers that are kept from call to call, and may be any
    changes_masks: set[int] = field(default_factory=set)  # calls that change what a session hands to the next
    is_as_another: bool = False  # each run of it sends what a run of another fit does

    @cached_property
    def largest(self) -> float:
        """The largest number on the way, once the fit is done; but for words, which are compared bit for bit."""
        several = (v for v in self.trace.variables.values() if v.kind != "draw" or v.range <= _WHOLE_AS_FLOAT)
        return max((abs(float(v.value)) for v in several), default=1.0)

    @cached_property
    def largest_data(self) -> float:
        """The largest on the way of what no mask goes into."""
        return max((abs(float(v.value)) for v in self.trace.variables.values() if v.kind != "draw"), default=1.0)

    @cached_property
    def sent(self) -> tuple[Block, ...]:
        """The messages as they were sent in this run."""
        with following(self.trace):
            return tuple(message.block(concrete(message.rows)) for message in self.messages)

    @cached_property
    def numbered(self) -> tuple[Block, ...]:
        """The same messages, each of their rows full of its own number."""
        blocks: list[Block] = []
        count = 0
        for message in self.messages:
            shape, kind = message.rows.shape, {"f": np.float64, "u": np.uint64}.get(message.rows.kind.kind, np.int64)
            numbers = np.arange(count, count + shape[0], dtype=kind)[:, None, None]
            blocks.append(message.block(np.broadcast_to(numbers, shape).copy()))
            count += shape[0]
        return tuple(blocks)

    @cached_property
    def values(self) -> Any:
        """The values of all variables (V,), as floats, from the first to the last."""
        first, last = self.trace.ends
        values = np.zeros(last - first + 1)
        values[np.fromiter(self.trace.variables, np.int64) - first] = [v.value for v in self.trace.variables.values()]
        return values

    def made_of(self, messages: Iterable[Message]) -> list[int]:
        """List the variables that some messages are made of, each once."""
        first, last = self.trace.ends
        sent = np.zeros(last - first + 1, dtype=bool)
        for message in messages:
            sent[message.variables - first] = True
        return (np.flatnonzero(sent) + first).tolist()

    @property
    def varying(self) -> frozenset[str]:
        """Name the numbers that are kept and change from call to call."""
        last, before = self.counts[-1], self.counts[1:]  # the first call may fill what others find
        return frozenset(
            path for path, text in last.items() if text == KEPT or any(each.get(path) != text for each in before)
        )


@dataclass(frozen=True)
class Way:
    """Say how a protocol is called: on a channel that is handed over or on its own, with masks or without."""

    is_heard: bool = True
    masks_seed: int | None = None  # from which masks are drawn and handed over; None: it draws its own
    draws_own: bool = False  # also in a session, to which masks are handed otherwise


class _Unread(Sequence[Block]):
    """Blocks of a record that are read where they lie, past its attribute."""

    def __init__(self, record: Transcript) -> None:
        self._record = record

    def __len__(self) -> int:
        return len(self._record.blocks)

    def __getitem__(self, place: Any) -> Any:
        return self._record.blocks[place]


class _Record(Transcript):
    """A transcript that notes when it is read: how much it holds differs from call to call."""

    def __init__(self) -> None:
        self._written: list[Block] = []
        self.__dict__["blocks"] = _Unread(self)  # where a transcript has them

    @property
    def blocks(self) -> list[Block]:  # type: ignore[override]
        """Return the blocks, by value."""
        now().narrow("what the channel has carried")
        return self._written

    def append(self, block: Block) -> None:
        self._written.append(block)


class _Channel(Channel):
    """Carries what is followed, and writes down what passes."""

    def __init__(self, fit: Fit) -> None:
        super().__init__(record=False)
        self.fit, self.transcript = fit, _Record()

    def _pass(self, round: int, sender: Any, receiver: Any, kind: str, payload: Any, line: Any, content: Any) -> Any:
        if not self.fit.trace.is_under_way:  # a thread goes on after the call, which has ended the proof
            return payload

        def write(name: str, rows: Any) -> Any:
            if isinstance(rows, SecretBytes):
                raise LeftTrace(f"'{name}' is secret bytes, the same for all runs; send np.frombuffer() of each run's")
            coin = rows if isinstance(rows, Public) and content is None else None
            rows = followed(rows if coin is None else coin.as_it_passes()).as_it_passes()
            cells = rows.reshape(1, 1, 1) if rows.ndim == 0 else rows[None] if rows.ndim == 2 else rows
            self._note(round, sender, receiver, name, cells, line, content)
            if coin is not None:
                return coin
            return rows.item() if rows.ndim == 0 else rows if line == "held" else self._arriving(rows, content)

        count = max(np.size(sender), np.size(receiver))
        if isinstance(payload, list) and any(True for _ in parts(payload)):
            rows: Any = followed(payload)
            payload = rows if rows.ndim == 2 or (rows.ndim == 3 and len(rows) == count) else payload
        return passed_on(payload, kind, write, count)

    def _note(self, round: Any, sender: Any, receiver: Any, kind: str, rows: Any, line: str, content: Any) -> None:
        if now().answering:
            raise LeftTrace(f"'{kind}' is sent after a guard has found an error")
        ends = [np.atleast_1d(np.asarray(public(each, "an end of a message"), np.intp)) for each in (sender, receiver)]
        senders, receivers = (
            x.tolist() for x in (ends if ends[0].shape == ends[1].shape else np.broadcast_arrays(*ends))
        )
        which = range(len(senders)) if content is None else np.asarray(public(content, "content"), np.intp).tolist()
        if line == "held" and senders != receivers:
            raise SecmixError(f"'{kind}' is given to hold(), but its sender and receiver differ; use send() instead")
        if strange := {node for node in (*senders, *receivers) if not -1 <= node < self.fit.n}:
            raise SecmixError(
                f"'{kind}' passes from or to {sorted(strange)}; nodes are 0 to {self.fit.n - 1}, -1 the server"
            )
        self._record(int(round), str(kind), line, (tuple(senders), tuple(receivers), tuple(which)), rows)
        self.transcript.append(self.fit.messages[-1].block(rows.copy()))  # which a protocol may write to

    def _record(self, round: int, kind: str, line: str, ends: tuple[Any, Any, Any], rows: Followed) -> None:
        iteration: Any = public(self.iteration, "an iteration made of a secret")
        if rows.table is not None:
            rows.table.keep()
        elif any(cell.depends == ANYTHING for cell in secrets_in(rows)):
            now().leave("memory that nobody wrote to")
        now().owns(variables_of(rows))
        frame = (getattr(iteration, "value", iteration), round, kind, line, rows.shape, rows.kind.str)
        self.fit.messages.append(Message(frame, *ends, rows))

    def end_with(self, result: Any) -> Any:
        """Note what each node ends with, as what it holds."""
        if type(result) not in (np.ndarray, Followed):
            now().leave(f"a result of type {type(result).__name__}")
        ends = followed(result)
        if ends.ndim != 3 or ends.shape[1] != self.fit.n:
            raise SecmixError(f"average returned shape {ends.shape}; expected (runs, nodes, entries)")
        nodes = tuple(range(self.fit.n))
        self._record(2**30, RESULT, "held", (nodes, nodes, nodes), ends.transpose(1, 0, 2).as_it_passes())
        return ends

    def _arriving(self, rows: Any, content: Any) -> Any:
        arrived = rows.copy()
        if content is not None and rows.ndim == 3 and len(rows) > 1:
            is_sent = np.zeros(len(rows), dtype=bool)
            is_sent[np.array(self.fit.messages[-1].content) % len(rows)] = True  # as it has just been noted
            if not is_sent.all():
                arrived[np.flatnonzero(~is_sent)] = np.nan if rows.kind.kind == "f" else 0
        return arrived


def follow(
    protocol: Any,
    network: Network,
    inputs: Sequence[Any],
    *,
    seed: int = 0,
    ways: Way | Sequence[Way] = Way(),
    iterations: Sequence[int] = (),
    flip: tuple[Place, int, int] | None = None,
    script: tuple[int, ...] = (),
    varying: frozenset[str] = frozenset(),
    looks: bool = True,
    weights: Any = None,
) -> Fit:
    """Trace one call for each of ``inputs`` (runs, n, m), of one object on one channel, in one of ``ways`` or in each.

    ``iterations`` says which the calls are; where it is empty each may be any.
    ``flip`` is a guard to be taken the other way, from some call on, ``script`` says how the first turns of public
    numbers come out, and ``varying`` which numbers that are kept from call to call may be any. Unless it ``looks``, a
    fit does not say what is kept, which takes long. With ``weights`` (V,) of the variables of a run its tables
    carry products in place of coefficients.
    """
    # What other traces add up is foreseen from one with masks that are handed over.
    ways = [ways] * len(inputs) if isinstance(ways, Way) else ways
    most = INF if any(way.masks_seed is None for way in ways) else MOST_TERMS * len(inputs)
    trace = Trace(flip=flip, script=script, in_order=bool(iterations), most_terms=most)
    trace.projects = None if weights is None else Projections(weights)
    fit = Fit(trace, network.n, iterations=iterations, inputs=inputs, ways=ways, lets_vary=varying)
    calls = _Calls(fit, copied(protocol), network, seed, looks)
    with ExitStack() as end, calling(calls.protocol, calls.modules, trace), listening(_other_channel):
        end.callback(
            calls.look, None
        )  # numbers that vary are what they are again: a module of the user's may hold some
        calls.look(frozenset())
        for (trace.call, given), way in zip(enumerate(inputs), ways, strict=True):
            if not calls.goes_on(given, way):
                break
    _end(fit)
    return fit


def _end(fit: Fit) -> None:
    """Describe what nodes encoded, and let go of what is asked while calls are followed alone."""
    trace = fit.trace
    fit.encodings = encodings(trace, [] if trace.projects else fit.made_of(fit.messages))
    trace.known, trace.keys, trace.infinite = {}, {}, []
    for number in secrets_in([message.rows for message in fit.messages if message.rows.table is None]):
        number.key = None  # which function it is of which numbers was asked for the last time: these may go
    if trace.left and not fit.error:
        fit.error = "{} at {}".format(*trace.left[0])


@dataclass
class _Calls:
    """The calls of one fit, of one object on one channel."""

    fit: Fit
    protocol: Any
    network: Network
    seed: int
    looks: bool
    masks: Any = None  # that the call under way is handed, and in a session the next
    keys: Any = None  # a digest of these, where calls of a session may change them

    def __post_init__(self) -> None:
        self.channel, self.modules = _Channel(self.fit), modules_of(self.protocol)
        self.beside = {each.ident for each in threading.enumerate()} - {threading.get_ident()}

    def look(self, varying: frozenset[str] | None) -> None:
        """Note what is kept; with None only have numbers that vary be what they are again."""
        counts = self.fit.counts
        if not self.looks or (
            varying is None and len(counts) >= self.fit.trace.call + 2 and KEPT not in counts[-1].values()
        ):
            return
        digest, numbers = kept(self.protocol, self.network, self.channel.__dict__, self.modules, varying)
        if varying is not None:
            self.fit.kept.append(digest)
            counts.append(numbers)

    def goes_on(self, given: Any, way: Way) -> bool:
        """Follow the next call, and say whether others may come after it."""
        fit, trace = self.fit, self.fit.trace
        try:
            trace.begins = trace.next
            private = _inputs(given)  # before masks, as where the protocol draws them: equal calls look equal
            self.masks = self._masks(given, way)
            self.channel.iteration = iteration_of(fit)
            draws, self.keys = draws_of(self.seed, trace.call), self._session_keys()
            with drawing_apart(self.beside), made_by_protocol(self.channel, way):
                _follow_call(self.protocol, self.network, private, draws, self.masks, self.channel, way.is_heard)
            self._look_after()
        except (LeftTrace, Exception) as error:
            if isinstance(error, LeftTrace) or not (trace.answering and (trace.stopped or _is_raised(error))):
                fit.error, fit.failed = _reason(error), not isinstance(error, LeftTrace)
            else:
                self._look_after()
            return False
        return True

    def _look_after(self) -> None:
        if self._session_keys() != self.keys:
            self.fit.changes_masks.add(self.fit.trace.call)
        self.look(self.fit.lets_vary)

    def _session_keys(self) -> Any:
        """Return a digest of the masks that a session hands from call to call."""
        return digest_of(self.masks) if getattr(self.protocol, "reuses_masks", False) else None

    def _masks(self, given: Any, way: Way) -> Any:
        """Return the masks that the next call is handed, and note those that a session is handed from its first on."""
        trace = self.fit.trace
        first, streams = trace.next, len(trace.streams)
        masks = masks_given(self.protocol, self.network, given, way, self.seed, self.masks)
        if self.masks is None and getattr(self.protocol, "reuses_masks", False):
            trace.lasting = range(first, trace.next)
            trace.lasting_streams = range(streams, len(trace.streams))
        return masks


def masks_given(protocol: Any, network: Network, given: Any, way: Way, seed: int, before: Any) -> Any:
    """Draw the masks that the call under way is given; in a session it is those of the call ``before``."""
    reuses = getattr(protocol, "reuses_masks", False)
    if way.draws_own or (way.masks_seed is None and not reuses):
        return None
    if before is not None and reuses:
        return before
    draws = draws_of(seed if way.masks_seed is None else way.masks_seed, now().call, 9)
    return protocol.draw_masks(len(given), np.shape(given)[2], network, draws)


def iteration_of(fit: Fit) -> Any:
    """Return the iteration of the call under way: its number, or where calls may be any, one that is public."""
    call = now().call
    return fit.iterations[call] if fit.iterations else Public(call, "the iteration", of=ITSELF)


@contextmanager
def calling(protocol: Any, modules: set[str], trace: Trace) -> Iterator[None]:
    """Have the protocol's modules see what is followed, for all its threads, and watch what they ask and write."""
    own = own_of(protocol, modules)
    with ExitStack() as end, replaced(modules, own), following(trace), guarded(protocol):
        end.enter_context(uncollected())
        end.enter_context(with_method(ThreadPoolExecutor, "submit", _submit_in_turn))
        end.enter_context(with_method(threading.Thread, "start", _start))
        end.enter_context(limits_noted())
        end.enter_context(_questions_noted(modules, own))
        trace.hears = frozenset().union(*(hearing_in(file_of(name)) for name in modules))
        trace.outlets = outlets_of_now()  # as they are while what is written is watched
        yield


def made_by_protocol(channel: Channel, way: Way) -> AbstractContextManager[None]:
    """Have a channel that the protocol makes stand for this one, where a call is given none."""
    of_call: Any = functools.partialmethod(_made, channel)
    return nullcontext() if way.is_heard else with_method(Channel, "__init__", of_call)


def have_draws_in_common(protocol: Any, network: Network, runs: int, m: int, seed: int) -> bool:
    """Say whether masks of several of so many runs are made of the same draws; where that is not followed, no."""
    protocol = copied(protocol)
    with replaced(modules_of(protocol)), following(Trace()), guarded(protocol), uncollected():
        try:
            masks = followed(protocol.draw_masks(runs, m, network, draws_of(seed, 9)))
        except (LeftTrace, Exception):  # which other traces meet, too
            return False
        of_runs = [{*variables_of(masks[run : run + 1]).tolist()} for run in range(len(masks))]
    return len(set().union(*of_runs)) < sum(map(len, of_runs))


@contextmanager
def uncollected() -> Iterator[None]:
    """Have no garbage collected meanwhile: Python would walk through all numbers again and again."""
    restore = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        restore()


_TURN = 2.0  # seconds that a task is waited for; those that wait for each other take longer
_SUBMIT, _START = ThreadPoolExecutor.submit, threading.Thread.start
_WORKER = pools._worker  # what threads of a pool run
_BUS = str(Path(__file__).parents[2] / "wrap" / "bus.py")  # whose parties wait for each other


def _submit_in_turn(self: Any, *task: Any, **kw: Any) -> Any:
    """Stand for ``submit``: a task is done before the next begins, for what it computes is numbered in that order."""
    future = _SUBMIT(self, *task, **kw)
    if is_of_call():  # others may hand over tasks of their own meanwhile
        trace = now()
        trace.tasks.append(future)
        if trace.takes_turns and threading.get_ident() == trace.thread and sys._getframe(1).f_code.co_filename != _BUS:
            trace.takes_turns = not wait([future], _TURN).not_done
    return future


def _start(self: threading.Thread) -> None:
    """Stand for ``Thread.start``: note the threads that a call starts, and those that they start."""
    if is_of_call():
        now().threads.append(self)
    _START(self)


def _await_threads() -> None:
    """End the proof if a thread goes on once its call is over; those of a pool wait for tasks."""
    late: set[Any] = wait(now().tasks, _TURN).not_done
    for thread in now().threads:
        if getattr(thread, "_target", None) is not _WORKER:
            thread.join(_TURN)
            late |= {thread} if thread.is_alive() else set()
    now().tasks.clear()
    if late:
        raise LeftTrace("a thread goes on after the call, unseen: join it")


_MONITORING: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
_TOOL = 4  # of those that may watch lines, one that neither a debugger nor a profiler takes


@contextmanager
def _questions_noted(modules: Iterable[str], own: Iterable[str]) -> Iterator[None]:
    """End the proof at a line of these modules that asks what something *is*: a stand-in is nothing else.

    A line that asks the machine narrows the claim.
    """
    files, of_own = ({*map(file_of, each)} for each in (modules, own))
    compared = {file: identities_in(file) for file in files}
    asked = {file: asked_in(file) if file in of_own else {} for file in files}
    lines = {file: several for file in files if (several := compared[file].keys() | asked[file].keys())}
    now().by_value.update(done_later(of_own))
    if beside := goes_on_beside(own) or begins_files(own):
        now().narrow(beside)

    def reached(frame: Any) -> None:  # pragma: no cover (what watches lines is not watched itself)
        file, line = frame.f_code.co_filename, frame.f_lineno
        for how, of in asked[file].get(line, ()):
            if how not in now().by_value and is_of_machine(of, frame):
                now().by_value[how] = Place(file, line)
        if not now().left and any(is_followed(each, frame) for each in compared[file].get(line, ())):
            how = "a secret or a public number that is compared by identity (leave `is` out)"
            now().left.append((how, Place(file, line)))

    with _lines_watched(lines, reached) if lines else nullcontext():
        yield


@contextmanager
def _lines_watched(lines: Mapping[str, Container[int]], reached: Callable[[Any], None]) -> Iterator[None]:
    """Call ``reached`` with the frame wherever one of these lines is about to run, by file."""

    def line_runs(code: Any, line: int) -> Any:  # pragma: no cover
        if line not in lines.get(code.co_filename, ()):
            return _MONITORING.DISABLE  # at this place
        return reached(sys._getframe(1))

    def function_begins(code: Any, offset: int) -> Any:  # pragma: no cover
        line = code.co_firstlineno
        is_one_line = line in lines.get(code.co_filename, ()) and {each for *_, each in code.co_lines()} <= {line, None}
        return reached(sys._getframe(1)) if is_one_line else _MONITORING.DISABLE

    def traced(frame: Any, event: str, _: Any) -> Any:  # pragma: no cover (before Python 3.12)
        if event == "line" and frame.f_lineno in lines[frame.f_code.co_filename]:
            reached(frame)
        return traced if frame.f_code.co_filename in lines else None

    if _MONITORING is None:  # pragma: no cover
        before = sys.gettrace()
        threading.settrace(traced)
        sys.settrace(traced)
        try:
            yield
        finally:
            threading.settrace(None)
            sys.settrace(before)
        return
    event, begin = _MONITORING.events.LINE, _MONITORING.events.PY_START  # Python 3.13.0 tells no line of some functions
    _MONITORING.use_tool_id(_TOOL, "secmix")
    _MONITORING.register_callback(_TOOL, event, line_runs)
    _MONITORING.register_callback(_TOOL, begin, function_begins)
    _MONITORING.set_events(_TOOL, event | begin)
    _MONITORING.restart_events()
    try:
        yield
    finally:
        _MONITORING.set_events(_TOOL, 0)
        _MONITORING.free_tool_id(_TOOL)


def draws_of(*seed: int) -> Draws:
    return Draws(np.random.default_rng(seed).bit_generator, secret=None)


def _follow_call(
    protocol: Any, network: Network, private: Followed, rng: Any, masks: Any, channel: _Channel, heard: bool
) -> None:
    before, table = private.copy().reading.ravel().tolist(), private.table
    coins = global_coins()
    try:
        result, _ = traced_call(protocol, private, network, rng, masks, channel if heard else None)
    finally:
        _await_threads()
    for what, state in global_coins().items():
        if state != coins[what]:
            code = getattr(type(protocol).average, "__code__", traced_call.__code__)
            now().by_value.setdefault(what, Place(code.co_filename, code.co_firstlineno))
    if now().answering:
        raise LeftTrace("the error that is raised is caught")
    channel.fit.results.append(channel.end_with(result))
    if (table is None or private.table is not table) and not all(
        map(_is_same, before, private.reading.ravel().tolist())
    ):
        now().leave("the inputs were written to")


def _is_same(input_: Number, number: Any) -> bool:
    """Say whether a number is an input as it was; where forms are not carried, by what it is in this run."""
    if now().projects is not None:
        return (getattr(number, "depends", 0), getattr(number, "value", number)) == (input_.depends, input_.value)
    return number is input_ or (
        isinstance(number, Number) and number.modulus == INF and number.pure and number.terms == input_.terms
    )


def traced_call(protocol: Any, inputs: Any, network: Network, rng: Any, masks: Any, channel: Channel | None) -> Any:
    return protocol.average(inputs, network, rng, masks=masks, channel=channel)


def copied(protocol: Any) -> Any:
    """Copy it, so that no trace sees what another left; what cannot be copied deeply is copied shallowly."""
    try:
        return copy.deepcopy(protocol)
    except TypeError:
        return copy.copy(protocol)


def _is_raised(error: BaseException) -> bool:
    """Say whether a ``raise`` of the protocol's made it: what fails in a trace alone goes on in a plain call."""
    lines = [Place(each.filename, each.lineno or 0) for each in traceback.extract_tb(error.__traceback__)]
    return any(is_protocol(each.file) and is_raise(each) for each in lines)


def _reason(error: BaseException) -> str:
    """Say what ended a call, and name the last line of the protocol's that an error comes from."""
    if isinstance(error, LeftTrace):
        return str(error)
    lines = [each for each in traceback.extract_tb(error.__traceback__) if is_protocol(each.filename)]
    if isinstance(error, IndexError) and ("used as indices" in str(error) or "only integers, " in str(error)):
        error = IndexError("an array at a secret place (write np.take(array, place, axis=0))")
    if isinstance(error, TypeError) and SecretBytes.__name__ in str(error):
        error = TypeError(
            "bytes of secrets, or of the iteration, in a function that is not followed "
            '(a + b is, and b"".join([a, b]) is not; hashlib and hmac are)'
        )
    if isinstance(error, TypeError) and "array of references" in str(error):
        error = TypeError("an array of objects that NumPy made of secrets (np.sum(several, axis=0) is followed)")
    place = f"{lines[-1].filename.rsplit('/', 1)[-1]}, line {lines[-1].lineno}" if lines else "an unknown line"
    return f"the call ends in {type(error).__name__}: {error}"[:200] + f" at {place}"


def _inputs(given: Any) -> Followed:
    values = np.array(given, dtype=float)
    entries = [*np.ndenumerate(values)]
    variables = [now().variable("input", node, value.item(), 0, entry=k) for (_, node, k), value in entries]
    depends = np.array([2 << node for node in range(values.shape[1])], object)
    if (table := unknowns(values, variables, depends, abs(values))) is not None:
        return of_table(table)
    numbers = np.empty(values.shape, object)
    for variable, (place, value) in zip(variables, entries, strict=True):
        numbers[place] = Number(value.item(), alone(variable), INF, depends[place[1]], 0)
    return array_of(numbers, float)  # type: ignore[no-any-return]


_MADE = Channel.__init__


def _made(self: Channel, given: Channel, **kw: Any) -> None:
    """Stand for ``Channel()`` where a call is given none: what it makes carries messages as ``given`` would."""
    _MADE(self, **kw)
    if type(self) is Channel and is_of_call():
        self.__dict__.update(given.__dict__, _pass=given._pass)


def _other_channel(channel: Any, block: Any) -> None:
    if not isinstance(channel, _Channel) and "fit" not in channel.__dict__:
        now().leave("a message on another channel than the one given")


def _written(where: str, what: list[Any], _: bool) -> list[Any]:
    """End the proof where a secret is in what is written; write what is public as it is in this call."""
    if is_secret(what) or any(isinstance(each, SecretBytes) for each in what):
        now().leave(f"a secret is {where}: log what is public, or send it through the channel,")
    repr(what := [each.value if isinstance(each, Public) else each for each in what])  # asks objects for text too
    return what


@contextmanager
def guarded(protocol: Any) -> Iterator[None]:
    """Watch what is written, and take draws in ``draw_masks`` for secret, also in that of a protocol within another."""
    kinds: dict[type, None] = {}
    while protocol is not None:
        kinds[type(protocol)] = None
        protocol = getattr(protocol, "inner", None)
    with watched(_written), ExitStack() as stack:
        for kind in kinds:
            if hasattr(kind, "draw_masks"):
                stack.enter_context(with_method(kind, "draw_masks", _secretly(kind.draw_masks)))
        yield


def _secretly(original: Any) -> Any:
    def draw_masks(self: Any, *args: Any, **kw: Any) -> Any:
        now().secret_draws += 1
        try:
            return original(self, *args, **kw)
        finally:
            now().secret_draws -= 1

    return draw_masks
