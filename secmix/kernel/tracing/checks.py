"""What every trace has to meet: forms that do not hang on numbers, and messages that follow from what nodes hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from secmix.kernel.randomness.streams import follows
from secmix.kernel.tracing.trace import RESULT, ROUNDING, Fit, Message
from secmix.kernel.tracing.untraced import largest_in, largest_within, near
from secmix.kernel.values.arrays import Followed, variables_of
from secmix.kernel.values.current_trace import INF, Trace
from secmix.kernel.values.forms import Shared, packed
from secmix.kernel.values.numbers import Number, traced_back
from secmix.kernel.values.tables import Table
from secmix.transcript import SERVER


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
