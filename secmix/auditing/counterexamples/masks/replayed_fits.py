"""Replay fits without a trace, call after call: their messages, and what generators are made of."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import stream
from secmix.auditing.setup import deep_copy
from secmix.kernel.tracing.trace import RESULT, Fit
from secmix.kernel.values.current_trace import Place
from secmix.kernel.values.protocol_text import is_protocol
from secmix.network import Network
from secmix.transcript import Block, Channel


@dataclass
class Replayed:
    """One replayed fit."""

    inputs: list[Array]  # list of (1, n, m): inputs of each call
    payloads: dict[int, Any] = field(default_factory=dict)  # message -> (rows, 1, m)
    # list of (call, line, maker, numbers): what generators were made of, and by which class or function
    seeds: list[tuple[int, Place, str, tuple[int, ...]]] = field(default_factory=list)


def sizes(fit: Fit) -> list[int]:
    """Count the entries of an input in each traced call."""
    widths: list[int] = []
    for variable in fit.trace.variables.values():
        if variable.kind == "input" and variable.node == 0:
            widths += [0] if variable.entry == 0 else []
            widths[-1] = variable.entry + 1
    return widths


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
    """Run fits on ``inputs``, those of each call of each run; leave out fits that send different messages.

    With ``zeros`` all inputs are zero. With ``reseeded`` the protocol's code gets generators with other seeds than it
    asks for.
    """
    fits = []
    for run, calls in enumerate(inputs):
        replay = Replayed(list(calls))
        blocks = _blocks(deep_copy(protocol), network, replay, seed, run, zeros=zeros, reseeded=reseeded)
        messages = {k: message for k, message in enumerate(fit.messages) if message.frame[2] != RESULT}
        if len(blocks) < len(messages):
            continue
        pairs = list(zip(messages.items(), blocks, strict=False))
        if all(block.kind == sent.frame[2] and block.payload.shape == sent.rows.shape for (_, sent), block in pairs):
            replay.payloads = {k: block.payload for (k, _), block in pairs}
            fits.append(replay)
    return fits


def _blocks(
    protocol: Any, network: Network, replay: Replayed, seed: int, run: int, *, zeros: bool, reseeded: bool
) -> list[Block]:
    channel, masks = Channel(), None
    reuses = getattr(protocol, "reuses_masks", False)
    for call, inputs in enumerate(replay.inputs):
        channel.iteration = call
        rng = stream(seed, "soundness", "replay", run, call)
        if reuses and masks is None:
            masks = protocol.draw_masks(1, inputs.shape[2], network, rng.spawn(1)[0])
        change = _reseeded if reseeded else lambda name, args: args
        with recorded_seeds(lambda *seed, call=call: replay.seeds.append((call, *seed)), change):
            try:
                protocol.average(0 * inputs if zeros else inputs.copy(), network, rng, masks=masks, channel=channel)
            except Exception:  # the protocol's code may raise anything
                break
    return list(channel.transcript)


def _reseeded(name: str, args: Any) -> Any:
    """Return other numbers than those that a generator is asked for with."""
    others = [1, *(abs(number) % 2**32 for number in _numbers(args))]
    return (repr(others) if name == "Random" else others,)


@contextmanager
def recorded_seeds(
    note: Callable[[Place, str, tuple[int, ...]], None], change: Callable[[str, Any], Any]
) -> Iterator[None]:
    """Record what the protocol's own code makes generators of; ``change`` returns other arguments for them."""

    def seeds(name: str, args: Any, kw: Any) -> Any:
        """Note the seed, and return the arguments to go on with."""
        frame = sys._getframe(2)
        seed_arguments = (*args, *kw.values())
        numbers = _numbers(seed_arguments)
        if not numbers or not is_protocol(frame.f_code.co_filename):
            return args, kw
        note(Place(frame.f_code.co_filename, frame.f_lineno), name, numbers)
        return change(name, seed_arguments), {}

    def default_rng(*args: Any, **kw: Any) -> Any:
        args, kw = seeds("default_rng", args, kw)
        return original(*args, **kw)

    class RandomState(np.random.RandomState):
        def __init__(self, *args: Any, **kw: Any) -> None:
            args, kw = seeds("RandomState", args, kw)
            super().__init__(*args, **kw)

    class Random(random.Random):
        def __init__(self, *args: Any, **kw: Any) -> None:
            args, kw = seeds("Random", args, kw)
            super().__init__(*args, **kw)

    original = np.random.default_rng
    with (
        patch.object(np.random, "default_rng", default_rng),
        patch.object(np.random, "RandomState", RandomState),
        patch.object(random, "Random", Random),
    ):
        yield


def _numbers(seed: Any) -> tuple[int, ...]:
    if isinstance(seed, (int, np.integer)):
        return (int(seed),)
    if isinstance(seed, np.ndarray) and seed.dtype.kind in "iu":
        return tuple(seed.ravel().tolist())
    if isinstance(seed, bytes):
        return tuple(seed)
    return tuple(number for part in seed for number in _numbers(part)) if isinstance(seed, (list, tuple)) else ()


def inputs_of(inputs_by_call: Mapping[int, Array], widths: Sequence[int], runs: int) -> list[list[Array]]:
    """Choose inputs (1, n, m) of each call of ``runs`` fits, with different data in every call."""
    first = next(iter(inputs_by_call.values()))
    out = []
    for run in range(min(runs, first.shape[1])):
        calls = []
        for call, width in enumerate(widths):
            source = next((inputs for inputs in inputs_by_call.values() if inputs.shape[2] == width), first)
            which = (run + call * (first.shape[1] // max(len(widths), 1))) % source.shape[1]
            calls.append(np.ascontiguousarray(source[:, which : which + 1, :width].transpose(1, 0, 2), dtype=float))
        out.append(calls)
    return out
