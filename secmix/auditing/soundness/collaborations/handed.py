"""What a collaboration is handed in use may lie otherwise than in an audit; it must not matter.

Rows that are a view of others, may not be written on, lie otherwise in memory, are less precise or of another class;
parts in a tuple; a channel of another class, that keeps no record or has carried other messages before; a call in a
thread; a generator of another kind, or one that somebody seeded by hand: two calls with other honest rows must look
alike in each of these, and nothing more be heard.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix._base.random import sequence
from secmix.auditing.soundness.collaborations.bench import AS_USUAL, Bench, Draws, Handed
from secmix.auditing.soundness.result import Check, Witness
from secmix.transcript import Channel

_KINDS: tuple[Any, ...] = (np.random.Philox, np.random.MT19937, np.random.SFC64, np.random.PCG64DXSM)


def handed(bench: Bench) -> Check:
    """The check."""
    before, witness = bench.calls, None
    for key, (what, how, rng) in enumerate(_ways(bench), 200):
        found = bench.pair(key, how=how, rng=rng)
        if found is not None:
            witness = Witness(f"{what}, {found.where}", found.what, found.entry)
            break
    done = bench.calls - before
    if witness is not None:
        return Check("handed", "failed", "What it does depends on how it is handed its rows.", witness, done)
    good = f"Over {done} calls with rows, channels and generators of other kinds, the adversary notices the same."
    return Check("handed", "passed", good, calls=done)


def _ways(bench: Bench) -> Iterator[tuple[str, Handed, Draws | None]]:
    yield "rows that are a view", Handed(form=_a_view), None
    yield "rows that may not be written on", Handed(form=_frozen), None
    yield "rows in Fortran's order", Handed(form=partial(np.array, order="F")), None
    yield "rows in single precision", Handed(form=partial(np.array, dtype=np.float32)), None
    yield "rows in whole numbers", Handed(form=_integers), None
    yield "rows of a class of their own", Handed(form=_of_a_class), None
    yield "rows in lists", Handed(form=np.ndarray.tolist), None
    yield "parts in a tuple", Handed(together=tuple), None
    yield "a channel that keeps no record", Handed(record=False), None
    yield "a channel that carried something before", Handed(begun=True), None
    yield "a channel of another class", Handed(line=_Line), None
    yield "a call in a thread", Handed(apart=True), None
    number = int(sequence(bench.seed, "soundness", "collaboration", "by hand").generate_state(1)[0])
    for kind in _KINDS:
        yield "a generator of another kind", AS_USUAL, partial(_generator, kind, number)
    yield "a generator with a seed", AS_USUAL, partial(np.random.default_rng, number)
    yield "a generator with seeds", AS_USUAL, partial(np.random.default_rng, [number, 1])
    yield "a generator that was spawned", AS_USUAL, lambda: np.random.default_rng(number).spawn(2)[1]


def _generator(kind: Any, number: int) -> np.random.Generator:
    return np.random.Generator(kind(number))


def _a_view(part: Array) -> Array:
    """Rows that lie among those of other runs."""
    view: Array = np.repeat(part[None], 2, axis=0)[1]
    return view


def _integers(part: Array) -> Any:
    return np.rint(part).astype(np.int64)


class _Rows(np.ndarray):
    """Rows as a memory map or a table would have them: an array, but not plainly one."""


def _of_a_class(part: Array) -> Any:
    return part.copy().view(_Rows)


class _Line(Channel):
    """A channel of somebody's own."""


def _frozen(part: Array) -> Array:
    rows = part.copy()
    rows.flags.writeable = False
    return rows
