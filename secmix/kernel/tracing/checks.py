"""Check what stands beside a trace: plain calls, other inputs, what nodes hold, and calls as they come in use.

A trace is to do what NumPy does. In a plain call the protocol's numbers are NumPy's own; public numbers come out as
they did in the trace, of which each kind of call, and each way that it takes, is checked so. Forms are to hang on no
number, and messages to follow from what their senders hold. In use a call has no channel, or many runs.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from secmix.kernel.randomness.streams import follows
from secmix.kernel.tracing.kept import kept
from secmix.kernel.tracing.trace import (
    RESULT,
    ROUNDING,
    Fit,
    Message,
    calling,
    copied,
    draws_of,
    have_draws_in_common,
    iteration_of,
    made_by_protocol,
    masks_given,
    traced_call,
)
from secmix.kernel.tracing.world import drawing_apart, drawn_again, modules_of, with_method
from secmix.kernel.values.arrays import Followed, concrete, followed, variables_of
from secmix.kernel.values.current_trace import DRAWS, INF, LeftTrace, Trace, following
from secmix.kernel.values.forms import Shared, packed
from secmix.kernel.values.numbers import Number, traced_back
from secmix.kernel.values.tables import Table
from secmix.network import Network
from secmix.transcript import SERVER, Block, Channel

FEW_ENTRIES = 2  # entries of what is traced beside the fit: how a call is made does not hang on their number
_MOST_RUNS, _NUMBERS = 1009, 10**6  # of the largest batch that is called: runs, a prime, and numbers it may send
_EVERY, _MESSAGES = 65, 60_000  # below the first all batches are called, as far as they send no more messages


def disagreement(protocol: Any, network: Network, fit: Fit, inputs: Sequence[Any], *, seed: int) -> str:
    """Say how an untraced fit of the same seeds differs from the traced one; empty where it does not.

    Whole numbers are compared bit for bit, floats up to the order in which sums are taken.
    """
    with drawn_again(modules_of(protocol) if fit.trace.system_seeds else set()):
        try:
            blocks, results = _untraced(copied(protocol), network, fit, inputs, seed)
        except Exception as error:
            return f"an untraced call ends in {type(error).__name__}: {error}"
    return _difference(fit, blocks, results)


def _untraced(
    protocol: Any, network: Network, fit: Fit, inputs: Sequence[Any], seed: int
) -> tuple[Sequence[Block], list[Any]]:
    channel, masks, results = Channel(), None, []
    for call, given in enumerate(inputs):
        channel.iteration = fit.iterations[call] if fit.iterations else call
        if getattr(protocol, "reuses_masks", False) and masks is None:
            masks = protocol.draw_masks(len(given), np.shape(given)[2], network, np.random.default_rng([seed, call, 9]))
        rng = np.random.default_rng([seed, call])
        result, _ = protocol.average(np.array(given, dtype=float), network, rng, masks=masks, channel=channel)
        results.append(result)
    return list(channel.transcript), results


def otherwise_in_plain_calls(protocol: Any, network: Network, fit: Fit, *, seed: int) -> str:
    """Say how plain calls differ from those of a fit, of its kinds and with its public numbers; empty: they do not.

    Nothing is said of a fit that claims no more than what was traced; the fit itself has not failed.
    """
    if fit.trace.by_value:
        return ""
    try:
        blocks, results = _plain_calls(copied(protocol), network, fit, seed)
    except (LeftTrace, Exception) as error:
        return f"a plain call ends in {type(error).__name__}: {error}"[:200]
    return _difference(fit, blocks, results)


def _plain_calls(protocol: Any, network: Network, fit: Fit, seed: int) -> tuple[Sequence[Block], list[Any]]:
    trace = Trace(outcomes=iter(fit.trace.coins), in_order=bool(fit.iterations))
    channel, masks, modules, results = Channel(), None, modules_of(protocol), []
    beside = {each.ident for each in threading.enumerate()} - {threading.get_ident()}
    with calling(protocol, modules, trace):
        for (trace.call, given), way in zip(enumerate(fit.inputs), fit.ways, strict=True):
            masks = masks_given(protocol, network, given, way, seed, masks)
            channel.iteration = iteration_of(fit)
            with drawing_apart(beside), made_by_protocol(channel, way):
                rng, own = draws_of(seed, trace.call), channel if way.is_heard else None
                result, _ = traced_call(protocol, np.array(given, dtype=float), network, rng, masks, own)
            results.append(result)
            if fit.lets_vary:
                kept(protocol, network, channel.__dict__, modules, fit.lets_vary)
        if fit.lets_vary:
            kept(protocol, network, channel.__dict__, modules, None)
    return list(channel.transcript), results


def _difference(fit: Fit, blocks: Sequence[Block], results: Sequence[Any]) -> str:
    for call, (traced, plain) in enumerate(zip(fit.results, results, strict=True)):
        if not _alike(traced, plain, fit):
            return f"an untraced call ends with other results than the traced call {call}"
    messages = [each for each in fit.messages if each.frame[2] != RESULT]
    if len(blocks) != len(messages):
        return f"an untraced fit sends {len(blocks)} blocks of messages, the traced one {len(messages)}"
    for block, message in zip(blocks, messages, strict=True):
        if frame_of(block, block.payload) != (*message.frame[:5], message.sender, message.receiver, message.content):
            return f"{message} is another message untraced"
        if not _alike(message.rows, block.payload, fit):
            return f"{message} has other numbers untraced"
    return ""


def frame_of(block: Block, payload: Any) -> tuple[Any, ...]:
    ends = map(tuple, (block.sender.tolist(), block.receiver.tolist(), block.content.tolist()))
    return (block.iteration, block.round, block.kind, block.line, payload.shape, *ends)


def _alike(traced: Any, plain: Any, fit: Fit) -> bool:
    traced = followed(traced)
    if traced.table is None:
        largest = np.array([largest_within(x, fit) for x in traced.objects.ravel().tolist()]).reshape(traced.shape)
    else:
        largest = largest_in(traced.table, fit)
    with following(fit.trace):
        traced, plain = np.asarray(concrete(traced)), np.asarray(plain)
    if traced.shape != plain.shape or plain.dtype.kind not in "biuf":
        return False
    if plain.dtype.kind in "biu":
        return bool((traced == plain).all())
    return bool(near(traced.astype(float), plain, ROUNDING * largest).all())


def largest_within(number: Any, fit: Fit) -> float:
    """Return the largest number that may have gone into another: of what has no mask in it, none is a mask."""
    if not isinstance(number, Number):
        return 0.0
    return fit.largest if number.depends & DRAWS else fit.largest_data


def largest_in(table: Table, fit: Fit) -> Any:
    """Return the same of each vector of a table, (..., 1)."""
    of_vector = table.depends.ravel().tolist()
    largest = [fit.largest if each & DRAWS else fit.largest_data if each else 0.0 for each in of_vector]
    return np.array(largest).reshape(*table.depends.shape, 1)


def near(a: Any, b: Any, allowed: Any) -> Any:
    """Say which numbers differ by rounding; infinities are alike where they are equal, as are NaNs."""
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= np.where(np.isfinite(allowed) & np.isfinite(b), allowed + ROUNDING * np.abs(b), 0.0)
    return near | (a == b) | (np.isnan(a) & np.isnan(b))


def other_frames(first: Fit, second: Fit) -> str:
    """Say how two traces of other inputs and other masks differ, but for their numbers; empty where they do not.

    Forms are equal, and so is what is public beside them: else a coefficient would be wrong, or hang on a secret.
    """
    if len(first.messages) != len(second.messages):
        return "other inputs make other messages"
    for a, b in zip(first.messages, second.messages, strict=True):
        if (a.frame, a.sender, a.receiver, a.content) != (b.frame, b.sender, b.receiver, b.content):
            return f"{a} is another message for other inputs"
        if not _same_forms(a.rows, b.rows, first, second):
            return f"{a} is made otherwise for other inputs"
    return ""


def _same_forms(a: Followed, b: Followed, first: Fit, second: Fit) -> bool:
    table, other, apart = a.table, b.table, second.trace.ends[0] - first.trace.ends[0]
    moved = second.is_as_another  # its columns are those of the first, but for how they are counted
    if table is None or other is None or not (moved or np.array_equal(table.columns + apart, other.columns)):
        pairs = zip(a.reading.ravel().tolist(), b.reading.ravel().tolist(), strict=True)
        return all(_same_form(x, y, first, second) for x, y in pairs)
    if not all(x is y or np.array_equal(x, y) for x, y in zip(table.numberless, other.numberless, strict=True)):
        return False
    off = _constants(table, first) - _constants(other, second)
    largest = np.maximum(largest_in(table, first), largest_in(other, second))
    public = near(table.values, other.values, ROUNDING * max(first.largest, second.largest))
    of_form = abs(off) <= ROUNDING * np.maximum(1e3 * largest, np.maximum(abs(table.values), abs(other.values)))
    return bool(np.where(table.is_public, public, of_form).all())


def _constants(table: Table, fit: Fit) -> Any:
    """Return what is public beside the combinations of a table."""
    at = np.add.outer(table.columns - fit.trace.ends[0], np.arange(table.values.shape[-1]))
    return table.values - table.scale[..., None] * (table.coefficients @ fit.values[at])


def _same_form(x: Any, y: Any, first: Fit, second: Fit) -> bool:
    if not (isinstance(x, Number) and isinstance(y, Number)):
        same = not isinstance(x, Number) and not isinstance(y, Number)
        largest = max(first.largest, second.largest)
        return same and bool(near(np.array(float(x)), np.array(float(y)), ROUNDING * largest))
    if (x.modulus, x.depends, x.pure) != (y.modulus, y.depends, y.pure) or not _same_terms(x, y, first, second):
        return False
    if not x.is_followed:
        back, beside = traced_back([x])[0], traced_back([y])[0]
        return len(back) == len(beside) and all(
            _same_form(a, b, first, second) for a, b in zip(back, beside, strict=True)
        )
    if x.modulus == 0:
        return True
    off = _constant(x, first) - _constant(y, second)
    if x.modulus != INF:
        off -= round(off / Fraction(x.modulus)) * Fraction(x.modulus)
    own = max(abs(x.value), abs(y.value)) if x.modulus == INF else 0.0  # its units may be others than those of masks
    return bool(abs(off) <= ROUNDING * max(1e3 * largest_within(x, first), 1e3 * largest_within(y, second), own))


def _same_terms(x: Number, y: Number, first: Fit, second: Fit) -> bool:
    """Say whether two forms are the same by variables counted within their fits."""
    apart = second.trace.ends[0] - first.trace.ends[0]
    long, other = packed(x.form), packed(y.form)
    if isinstance(x.form, Shared) and isinstance(y.form, Shared) and (x.scale, x.form.base) == (y.scale, y.form.base):
        return x.form.first + apart == y.form.first
    if long is not None and other is not None and x.scale == y.scale:
        same = np.array_equal(long.variables + apart, other.variables)
        return same and np.array_equal(long.coefficients, other.coefficients)
    return {v + apart: c for v, c in x.terms.items()} == dict(y.terms.items())


def _constant(number: Number, fit: Fit) -> Any:
    """Return what is public beside the form; exactly, where it is known modulo a number: coefficients may be long."""
    variables = fit.trace.variables
    if number.modulus == INF and (long := packed(number.form)) is not None:
        return number.value - number.scale * (long.coefficients @ fit.values[long.variables - fit.trace.ends[0]])
    if number.modulus == INF:
        return number.value - sum(c * variables[v].value for v, c in number.terms.items())
    pairs = [(c, variables[v].value) for v, c in number.form.items()]
    form = sum(c * x if type(c) is type(x) is int else Fraction(c) * Fraction(x) for c, x in pairs)
    return Fraction(number.value) - Fraction(number.scale) * form


def not_explained(fit: Fit) -> str:
    """Name the first message with what its sender neither made, nor held, nor was sent; empty: none."""
    first, last = fit.trace.ends
    # By node, the server last, which variables, counted from the first.
    held = np.zeros((fit.n + 1, last - first + 1), dtype=bool)
    by_all = np.zeros(last - first + 2, dtype=int)  # how many variables before each all nodes hold
    for message in fit.messages:
        if _held_by_all(message, by_all, first):  # nobody learns of another
            continue
        if _all_explained(message, held, fit):
            by_all[1:] = held[:-1].all(axis=0).cumsum()
            continue
        content: dict[int, Any] = {}
        for sender, receiver, row in zip(message.sender, message.receiver, message.content, strict=True):
            if row not in content:  # one at a time, since all may be much
                content = {row: variables_of(message.rows[row : row + 1]) - first}
            own, of_receiver = held[sender], held[receiver]
            if message.frame[3] != "held" or message.frame[2] == RESULT:
                left = {*(content[row][~own[content[row]]] + first).tolist()}
                strange = [v for v in sorted(left) if not _made(v, sender, lambda v: own[v - first], fit.trace)]  # noqa: B023
                if strange:
                    return f"{message} from {sender} has in it {_unknown(strange, sender, fit.trace)}"
            of_receiver[content[row]] = True
    return ""


def shared_coins(fit: Fit) -> str:
    """Name coins that a node uses in an encoding, and that something else is made of, or a seed; empty: none."""
    if not fit.encodings.coins:
        return ""
    variables, nodes = fit.trace.variables, dict[int, set[int]]()
    for code, coins in fit.encodings.coins.items():
        for coin in coins:
            nodes.setdefault(coin, set()).add(variables[code].node)
    sent = {*fit.made_of(fit.messages)}
    shared = next((v for v, of in nodes.items() if len(of) > 1 or v in sent or variables[v].stream >= 0), None)
    if shared is None:
        return ""
    return f"what a node encodes is made of draws that it does not have for itself alone: {variables[shared].place}"


def _held_by_all(message: Message, by_all: Any, first: int) -> bool:
    """Say whether a table from node to node has nothing in it but what all nodes held before."""
    table = message.rows.table
    if table is None or message.frame[3] == "held" or SERVER in (*message.sender, *message.receiver):
        return False
    columns, entries = table.columns - first, table.values.shape[-1]
    return bool((by_all[columns + entries] - by_all[columns] == entries).all())


def _all_explained(message: Message, held: Any, fit: Fit) -> bool:
    """Say whether a table has nothing in it but what its senders held before; then its receivers hold it, too."""
    table = message.rows.table
    if table is None or message.frame[3] == "held":
        return False
    used = np.zeros((len(table.values), held.shape[1]), dtype=bool)  # by row, in any run
    of_entry = table.coefficients.any(axis=1)
    for entry in range(table.values.shape[-1]):
        used[:, table.columns - fit.trace.ends[0] + entry] |= of_entry
    senders, content = map(list, zip(*{*zip(message.sender, message.content, strict=True)}, strict=True))
    if (used[content] & ~held[senders]).any():
        return False
    for row in {*content}:
        to = [receiver for receiver, which in zip(message.receiver, message.content, strict=True) if which == row]
        held[to] |= used[row]
    return True


def _unknown(variables: list[int], sender: int, trace: Trace) -> str:
    """Say what ``sender`` is not known to have, and how to mend it."""
    drawn = [v for v in (trace.variables[v] for v in variables) if v.stream >= 0 and not trace.streams[v.stream].pieces]
    if drawn:
        return f"coins of the system that the audit does not hand out, drawn at {drawn[0].place}: see secmix.wrap"
    return f"what {sender} neither holds nor was sent: note it with hold"


def _made(variable: int, sender: int, is_held: Callable[[int], bool], trace: Trace) -> bool:
    own = trace.variables[variable]
    return follows(variable, is_held, trace) if own.kind == "draw" else own.node == sender


def largest_batch(numbers: int) -> int:
    """Return the runs of the largest batch that is called where one of them sends so many numbers."""
    return min(_MOST_RUNS, max(_NUMBERS // max(numbers, 1), 2))


def other_calls(protocol: Any, network: Network, fit: Fit, inputs: Sequence[Any], *, seed: int) -> str:
    """Say how a call in use differs from a traced one, of a single run on a channel; empty where it does not.

    In use nobody hands over a channel, and many runs may be averaged in one call: each run of a batch sends what it
    sends in any other, by the same masks and coins. ``inputs`` are those of the calls of ``fit``, (runs, n, m) each.
    """
    inputs = [each[:1] for each in inputs[: len(fit.iterations) or 1]]
    alike = not fit.trace.system_seeds  # else calls of one seed send other numbers
    try:
        _, alone = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]))
        _, together = copied(protocol).average(inputs[0], network, np.random.default_rng([seed]), channel=Channel())
        if difference := _unlike(list(alone), list(together), alike):
            return f"{difference} is another message where no channel is given"
        if alike and (difference := _handed_over(protocol, network, inputs[0], seed)):
            return f"{difference} is another message where masks are handed over"
        messages = sum(len(block.sender) for block in together) * len(inputs)
        return _other_batches(protocol, network, fit, inputs, seed, messages, alike)
    except Exception as error:
        return f"a call in use ends in {type(error).__name__}: {error}"[:200]


def _handed_over(protocol: Any, network: Network, given: Any, seed: int) -> str:
    """Name the first block that is another where a call is given the masks that it would draw first; empty: none.

    It is a long vector's only call of that kind with all entries. Where other masks are drawn, nothing is said.
    """
    drawn, own, size = list[Any](), getattr(type(protocol), "draw_masks", None), np.shape(given)[2]

    def noted(self: Any, *args: Any, **kw: Any) -> Any:
        masks = own(self, *args, **kw)  # type: ignore[misc]
        drawn.append(copy.deepcopy(masks))
        return masks

    if own is None:
        return ""
    with with_method(type(protocol), "draw_masks", noted):
        _, before = copied(protocol).average(given, network, np.random.default_rng([seed]), channel=Channel())
    called, rng = copied(protocol), np.random.default_rng([seed])
    masks = called.draw_masks(len(given), size, network, rng)
    if len(drawn) != 1 or not np.array_equal(drawn[0], masks):
        return ""
    _, after = called.average(given, network, rng, masks=masks, channel=Channel())
    return _unlike(list(after), list(before), alike=True)


def _other_batches(
    protocol: Any, network: Network, fit: Fit, inputs: Any, seed: int, messages: int, alike: bool
) -> str:
    most = largest_batch(messages * inputs[0].shape[2])
    batches = [each * (1 + np.arange(most) / most)[:, None, None] for each in inputs]
    draws = [
        copied(protocol).draw_masks(most, each.shape[2], network, np.random.default_rng([seed, 9])) for each in inputs
    ]
    have_coins = False  # of their nodes' own, of which these runs have others

    def call(part: slice) -> list[Block]:
        nonlocal have_coins
        channel, rng, of_these = Channel(), np.random.default_rng([seed]), copied(protocol)
        before = rng.bit_generator.state
        for channel.iteration, batch, masks in zip(fit.iterations or (0,), batches, draws, strict=True):
            of_these.average(batch[part], network, rng, masks=masks[part].copy(), channel=channel)  # to write to
        have_coins = rng.bit_generator.state != before
        return list(channel.transcript)

    if any(map(_is_repeated, draws)):
        return f"two of {most} runs in one call have the same masks"
    m = inputs[0].shape[2]
    entries = min(m, FEW_ENTRIES)
    of_run = max(each.size for each in draws) * entries // (m * most)
    runs = _DRAWN_OF_SEEDS if fit.trace.streams else max(_DRAWN // max(of_run, 1), _DRAWN_OF_SEEDS)
    runs = min(runs, most)
    if have_draws_in_common(protocol, network, runs, entries, seed):
        return f"masks of several of {runs} runs in one call are made of the same draws"
    if _share_masks(protocol, network, fit, inputs[0], draws[0], seed):
        return f"two of {most} runs in one call have the same masks, where the protocol draws them"
    together = call(slice(None))
    for some in _batches(most, min(most, _EVERY, max(_MESSAGES // max(messages, 1), 2))):
        if difference := _unlike(together, call(some), alike and not have_coins, some, most):
            return f"{difference} is another message among {most} runs in one call than among {len(batches[0][some])}"
    return ""


def _batches(most: int, sizes: int) -> Iterator[slice]:
    """Yield which runs are called together: none is left out, and no size below so many.

    What hangs on the size of a batch, and on the place in it, shows whichever runs it is of: so batches of all sizes
    lie side by side, from the last run on and once more where they do not fit, and then come the largest.
    """
    end, size = most, 0
    while end > 0 or size < sizes - 1:
        end, size = (end if end > 0 else most), (size + 1 if size < sizes - 1 else _EVERY)
        yield slice(max(end - size, 0), end if size == _EVERY else max(end, size))
        end -= size


_DRAWN = 20_000  # masks of several runs that are followed
_DRAWN_OF_SEEDS = 17  # runs whose masks are followed where seeds make them: each is compared with all others
_FEW_RUNS = 5  # of equal inputs: where masks cancel, rounding and wrapped words leave fewer different numbers


def _share_masks(protocol: Any, network: Network, fit: Fit, inputs: Any, masks: Any, seed: int) -> bool:
    """Say whether runs of equal inputs send the same numbers in a large batch, where a few runs send all others.

    They do so in one call, or in the one after it, with masks that the protocol draws; ``masks`` are as many others.
    """
    draws = {v for v, each in fit.trace.variables.items() if each.kind == "draw"}
    masked = set[str]()
    for each in fit.messages:  # of a kind until one has a draw
        if each.frame[2] not in masked and not draws.isdisjoint(each.variables.tolist()):
            masked.add(each.frame[2])

    def calls(runs: int, most: int = 2, given: Any = None) -> list[list[Block]]:
        one, same = copied(protocol), np.repeat(inputs, runs, axis=0)
        rngs = [np.random.default_rng([seed, 5 + call]) for call in range(most)]
        return [list(one.average(same, network, rng, masks=given)[1]) for rng in rngs]

    runs = [_FEW_RUNS, _FEW_RUNS, *[len(masks)] * 3]
    several = zip(*calls(_FEW_RUNS), *calls(len(masks)), *calls(len(masks), 1, masks), strict=False)  # may send others
    blocks = [
        [block.payload for block in matching]
        for matching in several
        if matching[0].kind in masked
        and [block.payload.shape[1] for block in matching] == runs
        and matching[0].payload.dtype.kind in "iuf"
    ]
    sizes = [float(np.abs(few).max(initial=0)) for few, *_ in blocks if few.dtype.kind == "f"]
    allowed = ROUNDING * max(sizes, default=0.0)
    of_all = ([payload[: min(map(len, block))] for payload in block] for block in blocks)  # a lot may decide who sends
    return any(_are_shared(allowed, *block) for block in of_all)


def _are_shared(allowed: float, few_runs: Any, few_again: Any, many_runs: Any, many_again: Any, others: Any) -> bool:
    """Say whether runs of some row (P, runs, m) have the same numbers, in any order or entry, not so by chance.

    Others are those that differ by more than rounding. What all runs send alike has no mask in it, since a coin has it
    that another node begins, say.
    """

    def arenear(runs: Any) -> Any:
        runs = runs.astype(float)
        return near(runs[:, :1], runs[:, 1:], allowed).all(axis=2)

    def are_as_before(runs: Any, before: Any) -> Any:
        return (runs == before).mean(axis=1) > 0.5

    of_each = ~(arenear(few_runs).any(axis=1) | arenear(many_runs).all(axis=1))
    several = (each[of_each] for each in (few_runs, few_again, many_runs, many_again, others))
    few_runs, few_again, many_runs, many_again, others = several
    different = _different(many_runs)
    fresh = ~are_as_before(few_again, few_runs) & (_different(few_runs) == few_runs.shape[1]) & (different > 1)
    shared = (2 * different < _different(others)) | are_as_before(many_again, many_runs)
    rows = zip(many_runs, few_runs, strict=True)
    return bool((fresh & shared).any() or any(_is_repeated(many) and not _is_repeated(few) for many, few in rows))


def _different(runs: Any) -> Any:
    """Count the different numbers of each entry, (P, m)."""
    ordered = np.sort(runs, axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


def _is_repeated(numbers: Any) -> bool:
    """Say whether two runs have the same numbers, in whatever order, where no two have by chance."""
    kind = numbers.dtype.kind
    bits = 64.0 if kind == "f" else math.log2(2.0 + float(numbers.max(initial=0)) - float(numbers.min(initial=0)))
    several = np.sort(numbers.reshape(len(numbers), -1), axis=1)
    return bool(several[:1].size * bits >= 64 and len({of_run.tobytes() for of_run in several}) < len(several))


def _unlike(blocks: list[Block], others: list[Block], alike: bool, part: slice = slice(None), most: int = 1) -> str:
    """Name the first block that differs from the other, by more than rounding where they are ``alike``; empty: none."""
    if len(blocks) != len(others):
        return f"one of {len(blocks)} or {len(others)} blocks"
    # Of another length than ``most`` it is the same for all runs, of which the others are ``part``.
    payloads = [x[:, part] if x.shape[1] == most else x for x in (block.payload for block in blocks)]
    for block, payload, other in zip(blocks, payloads, others, strict=True):
        same_kind = payload.dtype == other.payload.dtype and payload.dtype.kind in "biuf"
        if not same_kind or frame_of(block, payload) != frame_of(other, other.payload):
            return f"'{block.kind}' in round {block.round}"
    if not alike:
        return ""
    pairs = [(block, x, other.payload) for block, x, other in zip(blocks, payloads, others, strict=True)]
    allowed = ROUNDING * max(
        (float(np.fmax.reduce(abs(y), axis=None, initial=0)) for _, _, y in pairs if _is_float(y)), default=0.0
    )
    unlike = (block for block, x, y in pairs if not (near(x, y, allowed) if _is_float(y) else x == y).all())
    return next((f"'{block.kind}' in round {block.round}" for block in unlike), "")


def _is_float(payload: Any) -> bool:
    return bool(payload.dtype.kind == "f")
