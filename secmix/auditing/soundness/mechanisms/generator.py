"""The generator: what is drawn from it may be sent, where it is public; what it holds beside may not.

Who knows the state of the generator, a copy of it or its seed knows the masks that are drawn from it. The draws are
played back from another generator, and the masks are drawn from others: neither may show in any message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix.auditing.soundness.masks.traced import Logged
from secmix.auditing.soundness.mechanisms.draws import Forced
from secmix.auditing.soundness.model import Bench, Case
from secmix.auditing.soundness.result import Witness
from secmix.auditing.soundness.runner import Call, call_sum, fresh
from secmix.auditing.soundness.sight import other_frames, other_numbers

_KEYS = (8, 9)  # of the check's own draws
_NOT_DRAWN = ("bit_generator", "spawn")


@dataclass
class Tape:
    """What was drawn from a generator and all it spawned, in order, with the method that drew it."""

    drawn: list[tuple[str, Any]] = field(default_factory=list)
    place: int | None = None  # of the next draw that is played back; None while it is recorded
    inside: bool = False  # a draw that numpy makes up of others


class Taped(np.random.Generator):
    """A generator that records its draws on a tape, or gives those of the tape whatever its own state is.

    Examples
    --------
    >>> tape = Tape()
    >>> first = Taped(np.random.PCG64(0), tape).normal(size=2)
    >>> tape.place = 0
    >>> bool((Taped(np.random.PCG64(1), tape).normal(size=2) == first).all())
    True
    """

    tape: Tape

    def __init__(self, bit_generator: Any, tape: Tape | None = None) -> None:
        super().__init__(bit_generator)
        self.tape = Tape() if tape is None else tape

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Children on the same tape."""
        return [Taped(child.bit_generator, self.tape) for child in super().spawn(n_children)]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name.startswith("_") or name in _NOT_DRAWN or not callable(found) or self.tape.inside:
            return found

        def draw(*arguments: Any, **more: Any) -> Any:
            return _drawn(self.tape, name, found, arguments, more)

        return draw


def _drawn(tape: Tape, name: str, genuine: Any, arguments: tuple[Any, ...], more: dict[str, Any]) -> Any:
    """The draw of the tape if that is played back and goes on with this method, or a genuine one."""
    into = next(iter([*arguments, *more.values()]), None) if name == "shuffle" else more.get("out")
    if tape.place is not None and tape.place < len(tape.drawn) and tape.drawn[tape.place][0] == name:
        values = tape.drawn[tape.place][1]
        tape.place += 1
        if into is not None:
            into[:] = values
            return None if name == "shuffle" else into
        return values.copy() if isinstance(values, np.ndarray) else values
    tape.inside = True
    try:
        values = genuine(*arguments, **more)
    finally:
        tape.inside = False
    kept = into if name == "shuffle" else values
    tape.drawn.append((name, np.array(kept) if isinstance(kept, np.ndarray | list) else kept))
    return values


def state_shown(bench: Bench, case: Case) -> Witness | None:
    """The first message that shows the state of the generator, with masks given and with masks of its own."""
    for own in (False, True):
        tape = Tape()
        calls = []
        for key in (None, *_KEYS) if own else (None, _KEYS[0]):
            tape.place = None if key is None else 0
            bits = (bench.public(case.seed) if key is None else bench.private(key)).bit_generator
            calls.append(_call(bench, case, Taped(bits, tape), bench.private(*_KEYS, key or 0) if own else None))
        first = bench.eyes.see(calls[0])
        for call in calls[1:]:
            if call.failure or calls[0].failure:
                continue
            seen = bench.eyes.see(call)
            if witness := other_frames(first, seen) or other_numbers(first.rows, seen.rows, first.names):
                return Witness(witness.where, "it shows more of the generator than was drawn in public", witness.entry)
    return None


def unwatched(bench: Bench, case: Case) -> Witness | None:
    """What is different where a protocol is handed what it is in use: numpy's own generator, and an object as it was.

    A protocol may look at what it is handed. What the other checks hand it are generators of classes of their own, and
    an object whose method is another: each of these must send the very bits that a plain call sends.
    """
    for own in (False, True):
        plain = bench.call(case, own=own)
        seen = bench.eyes.see(plain)
        for kind in (Logged, Taped, Forced):
            changed = fresh(bench.protocol)
            if own and changed is not bench.protocol:
                genuine = changed.draw_masks
                object.__setattr__(changed, "draw_masks", lambda *a, genuine=genuine, **more: genuine(*a, **more))
            rng = kind(np.random.PCG64(bench.public_seed(case.seed)))
            call = bench.call(case, rng=rng, protocol=changed, own=own)
            if plain.failure != call.failure:
                return Witness("a call that is not watched", f"it ends with {plain.failure or 'a result'}")
            looks = bench.eyes.see(call)
            if witness := other_frames(seen, looks) or other_numbers(seen.rows, looks.rows, seen.names):
                return Witness(witness.where, "it is another where nobody watches", witness.entry)
    return None


def _call(bench: Bench, case: Case, rng: np.random.Generator, masks: np.random.Generator | None) -> Call:
    """A call; with a generator for ``masks``, one that draws its own from that, and then uses those of the case."""
    protocol = fresh(bench.protocol)
    if masks is None or protocol is bench.protocol:
        given = case.masks
    else:
        given = None
        genuine = protocol.draw_masks

        def draw_masks(runs: int, m: int, network: Any, *_: Any, **__: Any) -> Any:
            genuine(runs, m, network, masks)
            return case.masks.copy()

        object.__setattr__(protocol, "draw_masks", draw_masks)
    call = call_sum(protocol, case.inputs, given, bench.network, rng, iteration=case.iteration, most=bench.most)
    return bench.noted(call)
