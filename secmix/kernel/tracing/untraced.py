"""Check traces against plain calls, in which nothing is followed: the same numbers, and the same messages.

A trace is to do what NumPy does. In a plain call the protocol's numbers are NumPy's own; public numbers come out as
they did in the trace, of which each kind of call, and each way that it takes, is checked so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from secmix.kernel.randomness.coins import ITSELF, Public
from secmix.kernel.tracing.kept import kept
from secmix.kernel.tracing.trace import (
    RESULT,
    ROUNDING,
    Fit,
    calling,
    copied,
    draws_of,
    made_by_protocol,
    traced_call,
)
from secmix.kernel.tracing.world import drawing_apart, drawn_again, modules_of
from secmix.kernel.values.arrays import concrete, followed
from secmix.kernel.values.current_trace import DRAWS, LeftTrace, Trace, following
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.tables import Table
from secmix.network import Network
from secmix.transcript import Block, Channel


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

    Nothing is said of a fit that claims no more than what was traced.
    """
    if fit.trace.by_value or fit.trace.left or fit.trace.flip is not None:
        return ""
    try:
        blocks, results = _plain_calls(copied(protocol), network, fit, seed)
    except (LeftTrace, Exception) as error:
        return f"a plain call ends in {type(error).__name__}: {error}"[:200]
    return _difference(fit, blocks, results)


def _plain_calls(protocol: Any, network: Network, fit: Fit, seed: int) -> tuple[Sequence[Block], list[Any]]:
    trace = Trace(settled=iter(fit.trace.coins), in_order=bool(fit.iterations))
    channel, masks, modules, results = Channel(), None, modules_of(protocol), []
    reuses = getattr(protocol, "reuses_masks", False)
    beside = {each.ident for each in threading.enumerate()} - {threading.get_ident()}
    with calling(protocol, modules, trace):
        for (trace.call, given), way in zip(enumerate(fit.inputs), fit.ways, strict=True):
            masks = masks if reuses else None
            if (way.masks_seed is not None or reuses) and masks is None:
                draws = draws_of(seed if way.masks_seed is None else way.masks_seed, trace.call, 9)
                masks = protocol.draw_masks(len(given), np.shape(given)[2], network, draws)
            any_at_all = Public(trace.call, "the iteration", of=ITSELF)
            channel.iteration = fit.iterations[trace.call] if fit.iterations else any_at_all  # type: ignore[assignment]
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
