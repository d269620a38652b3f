"""Follow calls by projections, where they send what a first call does.

Most of the time of a large protocol's trace moves coefficients, and nearly all calls have the same ones. So one call is
followed in full, and of the others each vector carries what a few random vectors make of its coefficients. Where these
products agree with those of the first call, message by message and run by run, so do the coefficients: of a row that
differs by more than 1e-10 of its largest, all products would agree in one of 10**8 tries (after R. Freivalds,
"Probabilistic machines can use less running time", IFIP 1977). Rounding moves products by some 1e-13 of it. Each
variable counts in units of its largest coefficient: small masks beside large data count as much as these.

A call stands for another only if its variables are of the same laws, too: masks may be smaller in a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix.kernel.tracing.trace import Fit, Message
from secmix.kernel.values.tables import PROJECTED, Projections, Table, Vectors

BY_PRODUCTS = (
    "calls send the same combinations where four random sums of their coefficients agree (at odds of 1 to 10**8)"
)
_AGREE = 1e-12  # of the largest coefficient of a row, by the weights of its variables: up to here products agree


@dataclass(frozen=True)
class _Sent:
    """A message of the first call, of one run."""

    message: Message
    table: Table
    places: Any  # (V,) of its variables among all of the call
    products: Any  # (P, WIDTH) of its coefficients
    allowed: Any  # (P, 1) by how much others may differ


def stands_for_others(fit: Fit) -> bool:
    """Say whether a fit of one call of one run may speak for others: all that it sends has a table, of one length."""
    is_of_tables = not fit.error and all(message.rows.table is not None for message in fit.messages)
    return is_of_tables and _are_of_one_length(fit.trace.vectors, fit.messages) and _laws(fit, 0, 1) is not None


def by_projections(run: Callable[..., Fit], first: Fit) -> Callable[..., Fit]:
    """Return what follows calls as ``run`` does, in full where they do not send what the one of ``first`` does.

    Of a guard that is taken the other way nobody asks what was sent before.
    """
    columns = np.concatenate([each.columns for each in first.trace.vectors])
    weights = 1 / _largest(first, columns)
    own = Projections(weights)
    projections = own.of(0, (1, len(columns))) / own.factors(0, 1)
    sent = [_sent(message, columns, projections, weights) for message in first.messages]
    laws, shapes = _laws(first, 0, 1), [each.shape[1:-1] for each in first.trace.vectors]

    def go(calls: Sequence[Any], **how: Any) -> Fit:
        fit = run(calls, weights=weights, **how)
        is_enough = not fit.error and ("flip" in how or _sends(fit, sent, laws, shapes))
        return fit if is_enough else run(calls, **how)

    return go


def _largest(fit: Fit, columns: Any) -> Any:
    """Return the size of the largest coefficient of each variable, (V,); 1 of one that nothing is made of."""
    sizes = np.zeros(len(columns))
    for table in (message.rows.table for message in fit.messages):
        assert table is not None
        own = np.abs(table.coefficients * table.scale[..., None]).reshape(-1, len(table.columns))
        places = columns.searchsorted(table.columns)
        sizes[places] = np.maximum(sizes[places], own.max(axis=0, initial=0.0))
    return np.where(sizes > 0, sizes, 1.0)


def _laws(fit: Fit, call: int, runs: int) -> list[Any] | None:
    """Return the laws of the variables of a run of a call, in order; None where runs, or entries, have others."""

    def law(variable: int) -> Any:
        own = fit.trace.variables[variable]
        return own.kind, own.node, own.step, own.spread, own.centre, own.law, own.range, own.stream

    of_run: list[Any] = []
    for vectors in (each for each in fit.trace.vectors if each.call == call):
        of_each = [{law(v + entry) for entry in range(vectors.shape[-1])} for v in vectors.columns.tolist()]
        count = len(of_each) // runs
        of_run += of_each[:count]
        if any(len(each) > 1 for each in of_each) or of_each != of_each[:count] * runs:
            return None
    return of_run


def _sent(message: Message, columns: Any, projections: Any, weights: Any) -> _Sent:
    table: Any = message.rows.table
    places, coefficients = columns.searchsorted(table.columns), table.coefficients[:, 0]
    allowed = _AGREE * np.abs(coefficients * weights[places]).max(axis=1, initial=0.0, keepdims=True)
    return _Sent(message, table, places, coefficients @ projections[places], allowed)


def _sends(fit: Fit, sent: Sequence[_Sent], laws: Any, shapes: Any) -> bool:
    """Say whether each run of each call sends these forms, of its own variables, which are of the same laws.

    Then a fit of single runs is given their coefficients.
    """
    if len(fit.messages) != len(sent) * len(fit.results):
        return False
    tables: list[tuple[Any, Any, Any]] = []
    for call, result in enumerate(fit.results):
        own = [each for each in fit.trace.vectors if each.call == call]
        messages = fit.messages[call * len(sent) :][: len(sent)]
        if [each.shape[:-1] for each in own] != [(len(result), *each) for each in shapes]:
            return False
        if not _are_of_one_length(own, messages) or _laws(fit, call, len(result)) != laws:
            return False
        columns, factors = np.concatenate([each.columns for each in own]), fit.trace.projects.factors(call, len(result))
        for message, other in zip(messages, sent, strict=True):
            if not _is_alike(message, other, call, factors):
                return False
            tables.append((message.rows.table, columns[other.places], other.table))
    fit.is_as_another = True
    if all(len(result) == 1 for result in fit.results):
        for table, of_run, other in tables:
            table.columns, table.coefficients = of_run, other.coefficients
    return True


def _are_of_one_length(vectors: Sequence[Vectors], messages: Sequence[Message]) -> bool:
    return len({*(each.shape[-1] for each in vectors), *(message.rows.shape[-1] for message in messages)}) == 1


def _is_alike(message: Message, other: _Sent, call: int, factors: Any) -> bool:
    """Say whether a message of a call is another but for its numbers, in each of its runs, which have ``factors``."""
    ends, of_its = ((x.frame[1:4], x.frame[5], x.sender, x.receiver, x.content) for x in (message, other.message))
    table, shape = message.rows.table, (len(other.products), len(factors))
    if table is None or (message.frame[0], ends) != (call, of_its) or table.scale.shape != shape:
        return False
    laws = (table.scale, other.table.scale), (table.depends, other.table.depends)
    if not all(np.array_equal(own, np.broadcast_to(wanted, shape)) for own, wanted in laws):
        return False
    if not np.array_equal(table.columns, PROJECTED):  # there is something of another trace in it
        return False
    off = table.coefficients - factors * other.products[:, None]
    return bool((np.abs(off).max(axis=2) <= other.allowed).all())
