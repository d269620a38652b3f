"""Fits that nobody traces, call after call as the trace made them: what is sent, and of what generators are made."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.soundness.runner import fresh
from secmix.kernel.state import Place, is_protocol
from secmix.kernel.trace import RESULT, Fit
from secmix.network import Network
from secmix.transcript import Block, Channel


@dataclass
class Replayed:
    """One fit.

    Attributes
    ----------
    inputs : list of (1, n, m)
        Of each call.
    payloads : dict of message -> (rows, 1, m)
    seeds : list of (call, line, numbers)
        Of what generators were made.
    """

    inputs: list[Array]
    payloads: dict[int, Any] = field(default_factory=dict)
    seeds: list[tuple[int, Place, tuple[int, ...]]] = field(default_factory=list)


def sizes(fit: Fit) -> list[int]:
    """Return how many entries an input has in each call that was traced."""
    found: list[int] = []
    for each in fit.trace.variables.values():
        if each.kind == "input" and each.node == 0:
            found += [0] if each.entry == 0 else []
            found[-1] = each.entry + 1
    return found


def replayed(
    protocol: Any,
    network: Network,
    fit: Fit,
    inputs: Sequence[Sequence[Array]],
    seed: int,
    *,
    zeros: bool = False,
    reseeded: bool = False,
) -> list[Replayed]:
    """Run fits on ``inputs``, those of each call of each run; leave out those that send other messages.

    With ``zeros`` all inputs are nought; ``reseeded``, the protocol's code is handed generators of other seeds than it
    asks for.
    """
    found = []
    for run, calls in enumerate(inputs):
        one = Replayed(list(calls))
        blocks = _blocks(fresh(protocol), network, one, seed, run, zeros=zeros, reseeded=reseeded)
        messages = {k: each for k, each in enumerate(fit.messages) if each.frame[2] != RESULT}
        if len(blocks) < len(messages):
            continue
        pairs = list(zip(messages.items(), blocks, strict=False))
        if all(block.kind == each.frame[2] and block.payload.shape == each.rows.shape for (_, each), block in pairs):
            one.payloads = {k: block.payload for (k, _), block in pairs}
            found.append(one)
    return found


def _blocks(
    protocol: Any, network: Network, one: Replayed, seed: int, run: int, *, zeros: bool, reseeded: bool
) -> list[Block]:
    channel, masks = Channel(), None
    reuses = getattr(protocol, "reuses_masks", False)
    for call, given in enumerate(one.inputs):
        channel.iteration = call
        rng = stream(seed, "soundness", "replay", run, call)
        if reuses and masks is None:
            masks = protocol.draw_masks(1, given.shape[2], network, rng.spawn(1)[0])
        with _noting(lambda where, numbers, call=call: one.seeds.append((call, where, numbers)), reseeded):
            try:
                protocol.average(0 * given if zeros else given.copy(), network, rng, masks=masks, channel=channel)
            except Exception:  # a stranger's code may fail in any way
                break
    return list(channel.transcript)


@contextmanager
def _noting(note: Any, reseeded: bool) -> Iterator[None]:
    """Note what the protocol's own code makes generators of."""

    original = np.random.default_rng

    def default_rng(*args: Any, **kw: Any) -> Any:
        frame = sys._getframe(1)
        numbers = _numbers([*args, *kw.values()])
        if numbers and is_protocol(frame.f_code.co_filename):
            note(Place(frame.f_code.co_filename, frame.f_lineno), numbers)
            if reseeded:
                return original([1, *map(abs, numbers)])
        return original(*args, **kw)

    np.random.default_rng = default_rng
    try:
        yield
    finally:
        np.random.default_rng = original


def _numbers(given: Any) -> tuple[int, ...]:
    if isinstance(given, (int, np.integer)):
        return (int(given),)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        return tuple(given.ravel().tolist())
    return tuple(number for each in given for number in _numbers(each)) if isinstance(given, (list, tuple)) else ()


def inputs_of(given: Mapping[int, Array], widths: Sequence[int], runs: int) -> list[list[Array]]:
    """Return inputs (1, n, m) of each call of so many fits: other data in every call."""
    first = next(iter(given.values()))
    out = []
    for run in range(min(runs, first.shape[1])):
        calls = []
        for call, width in enumerate(widths):
            of = next((each for each in given.values() if each.shape[2] == width), first)
            which = (run + call * (first.shape[1] // max(len(widths), 1))) % of.shape[1]
            calls.append(np.ascontiguousarray(of[:, which : which + 1, :width].transpose(1, 0, 2), dtype=float))
        out.append(calls)
    return out
