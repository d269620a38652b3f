"""Collaborations: an adversary that hears nothing of honest rows must see the same, whatever they are.

What it hears is then public, to the last bit the same for all rows. Nothing clears any other adversary of a
collaboration, so these checks are all that a clear verdict rests on there: frames and numbers of single calls on
other rows, of batches, of an object long in use, and with extreme public draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array
from secmix._base.random import sequence, stream
from secmix.adversaries import Adversary
from secmix.adversaries.interfaces import AdversaryTraits
from secmix.auditing.soundness.mechanisms.draws import Count, Forced, steered
from secmix.auditing.soundness.result import BLIND, Check, Soundness, Witness, guarded
from secmix.auditing.soundness.runner import ALLOWED, Call, fresh, observation
from secmix.auditing.soundness.sight import Eyes, Seen, other_frames, other_numbers
from secmix.network import Network
from secmix.protocols import Collaboration
from secmix.transcript import Channel

_SCALES = (2.0**4, 2.0**-4, 2.0**12)
_SHAPES: tuple[Callable[[Array], Array], ...] = (  # rows as they hardly come by chance
    np.abs,
    lambda rows: -np.abs(rows),
    np.rint,
    np.zeros_like,
    lambda rows: np.repeat(rows[:, :1], rows.shape[1], axis=1),
    lambda rows: np.sort(rows, axis=1),
)
_DEALS = 6
_LIFE = (6, 40)  # calls in a row, fewer where each takes long
_SEEDS = (8, 120)
_SIZES = (2, 5, 10, 20, 50, 100)  # runs of a call
_RUNS = (30, 300)
_MESSAGES = 1_000  # of the calls of a check together
_OPENING = 4_000  # and of those that look for a rare draw
_FORCED = 4

Deal = Callable[[int, int], Sequence[Array]]
"""``deal(runs, key)``: rows of every node, n arrays (runs, N_i, d), other ones for each key."""


class _Bench:
    """What the checks share."""

    def __init__(self, protocol: Any, network: Network, adversary: Adversary, deal: Deal, seed: int, used: Any) -> None:
        self.protocol, self.network, self.deal, self.seed, self.used = protocol, network, deal, seed, used
        self.corrupt = adversary.corrupt_nodes(network)
        self.blind = not AdversaryTraits.of(adversary).sees_metadata
        self.eyes = Eyes(adversary, network, self.corrupt, self.blind)
        self.calls, self.most = 0, None
        self.rows = deal(1, 0)
        self.first = self.call(self.rows)
        self.seen = self.eyes.see(self.first)
        self.most = ALLOWED * max(self.first.messages, 1)

    most: int | None
    heard = False  # whether the adversary heard any message in the runs of the audit

    def call(self, rows: Sequence[Array], *, rng: np.random.Generator | None = None, protocol: Any = None) -> Call:
        """One call with the same draws each time; corrupt nodes keep their rows."""
        self.calls += 1
        chosen = fresh(self.protocol) if protocol is None else protocol
        generator = stream(self.seed, "soundness", "collaboration", 0) if rng is None else rng

        def run(channel: Channel) -> ArrayLike:
            given = [part.copy() for part in rows]
            return np.asarray(chosen.collaborate(given, self.network, generator, channel=channel))

        return replace(observation(run, Channel(), self.most), left=_state_of(generator))

    def times(self, bounds: tuple[int, int], messages: int = _MESSAGES) -> int:
        """How often to call, within ``bounds``."""
        return int(np.clip(messages // max(self.first.messages, 1), *bounds))

    def others(self, runs: int, key: int, change: Callable[[Array], Array] = np.asarray) -> list[Array]:
        """Other rows at honest nodes."""
        first = self.deal(runs, 0) if runs > 1 else self.rows
        return [
            mine if node in self.corrupt else change(other)
            for node, (mine, other) in enumerate(zip(first, self.deal(runs, key), strict=True))
        ]


def _state_of(generator: np.random.Generator) -> str:
    """All that its next draws depend on, those of its children too."""
    bits: Any = generator.bit_generator
    return f"{bits.state} {getattr(bits.seed_seq, 'n_children_spawned', 0)}"


def examine_collaboration(
    protocol: Collaboration,
    network: Network,
    adversary: Adversary,
    deal: Deal,
    *,
    heard: bool = False,
    used: Collaboration | None = None,
    seed: int = 0,
) -> Soundness:
    """Every check of a collaboration against ``adversary``.

    Parameters are those of ``examine``, with rows in place of inputs; ``heard`` is whether the adversary heard any
    message in the runs of the audit.
    """
    bench = _Bench(protocol, network, adversary, deal, seed, protocol if used is None else used)
    bench.heard = heard
    checks = [guarded("transcript", lambda: _transcript(bench))]
    other = guarded("other rows", lambda: _other_rows(bench))
    public = not heard
    if heard and not other.failed:  # to the last bit the same on all rows: what is heard may be public
        more = _others(bench)
        public = not any(check.failed for check in [*checks, *more])
        checks += [other, *more] if public else []
    elif not heard:
        checks += [other, *_others(bench)]
    return Soundness([BLIND, *checks] if bench.blind else checks, public=public)


def _others(bench: _Bench) -> list[Check]:
    return [
        guarded("company", lambda: _company(bench)),
        guarded("state", lambda: _state(bench)),
        guarded("public draws", lambda: _draws(bench)),
    ]


def _transcript(bench: _Bench) -> Check:
    call = bench.first
    if call.failure:
        return Check("transcript", "failed", f"A single call fails with {call.failure}.", calls=1)
    if call.altered:
        witness = Witness("the transcript", call.altered)
        return Check("transcript", "failed", "The transcript does not tell all that was sent.", witness, 1)
    return Check("transcript", "passed", "The transcript holds what was sent, as it was sent.", calls=1)


def _unlike(bench: _Bench, other: Call, seen: Seen | None = None) -> Witness | None:
    if other.failure:
        return Witness("a call", f"it ends with {other.failure}")
    one, two = seen or bench.seen, bench.eyes.see(other)
    if other.altered:
        return Witness("the transcript", other.altered)
    heard = two.names[: two.heard]
    if heard and not one.heard:
        return Witness(heard[0], "it can be heard, which it could not before")
    return other_frames(one, two) or other_numbers(one.rows, two.rows, one.names)


def _result(name: str, bench: _Bench, before: int, witness: Witness | None, said: tuple[str, str, str]) -> Check:
    done = bench.calls - before
    if witness is not None:
        return Check(name, "failed", said[0], witness, done)
    return Check(name, "passed", said[1].format(done), calls=done, assumes=said[2].format(done))


def _other_rows(bench: _Bench) -> Check:
    before, witness = bench.calls, None
    # Whoever meets what is drawn next, in numbers or in what is sent, meets the state the generator was left in.
    drawn = bench.eyes.see(bench.call(bench.rows, rng=stream(bench.seed, "soundness", "collaboration", 1)))
    lots = bench.heard or other_frames(bench.seen, drawn) is not None
    for key in range(1, _DEALS + 1):
        call = bench.call(bench.others(1, key))
        witness = _unlike(bench, call)
        if witness is None and lots and call.left != bench.first.left:
            witness = Witness("the generator", "it is left in another state: what is drawn next tells of them")
        if witness is not None:
            break
    scaled = [lambda rows, factor=factor: factor * rows for factor in _SCALES]
    for key, change in enumerate([*scaled, *_SHAPES], 1):
        if witness is not None:
            break
        call = bench.call(bench.others(1, key, change))
        if not call.failure:  # rows that are no data of this kind any more may be refused
            witness = witness or _unlike(bench, call)
    bad = "What the adversary notices changes with the rows of honest nodes."
    good = "On {} other sets of honest rows, some scaled, equal, sorted or zero, the adversary notices the same."
    return _result(
        "other rows", bench, before, witness, (bad, good, "{} sets of honest rows looked alike; others may not.")
    )


def _company(bench: _Bench) -> Check:
    before = bench.calls
    said = [name for name in bench.seen.names if " from " in name and not bench.heard]
    witness = Witness(said[0], "it can be heard in a single run, and could not in many") if said else None
    rare = ""
    if bench.heard:  # what is public in a few runs may carry rows in a rare one
        runs = bench.times(_RUNS)
        first = bench.eyes.see(bench.call(bench.deal(runs, 0)))
        witness = _unlike(bench, bench.call(bench.others(runs, 1)), first)
        rare = f"What the adversary hears was the same in {runs} runs on other rows; in rarer ones it may not be."
    elif not bench.corrupt:
        witness = witness or _unlike(bench, bench.call(bench.others(3, 1)), bench.seen)
    for runs in _SIZES:
        one = bench.call(bench.deal(runs, 0)) if witness is None else bench.first
        if witness is not None or one.failure:
            continue
        seen = bench.eyes.see(one)
        if seen.heard > bench.seen.heard:
            witness = Witness(f"{runs} runs together", f"{seen.names[0]} can be heard")
        elif bench.heard or not bench.corrupt:
            witness = _unlike(bench, bench.call(bench.others(runs, 1)), seen)
    bad, good = "Several runs together do not look like one by itself.", "Single runs look as they do in company."
    return _result("company", bench, before, witness, (bad, good, rare))


def _state(bench: _Bench) -> Check:
    before, witness = bench.calls, None
    for _ in range(bench.times(_LIFE)):
        witness = witness or _unlike(bench, bench.call(bench.rows, protocol=bench.used))
        if witness is not None:
            break
    bad, good = (
        "An object in use does something else than a fresh one.",
        "Over {} calls in a row an object did the same.",
    )
    rare = "What happens in fewer than one call in a dozen may be missed."
    return _result("state", bench, before, witness, (bad, good, rare))


def _draws(bench: _Bench) -> Check:
    """With other draws the frames may be others; nothing may be heard, and honest rows may not show."""
    before, witness = bench.calls, None
    ends = [(k, high, plain) for k in range(_FORCED) for high in (False, True) for plain in (False, True)]
    seeds = bench.times(_SEEDS, _OPENING)
    tries = [(0, *end) for end in ends] + [(seed, -1, False, True) for seed in range(1, seeds + 1)]
    for key, (seed, forced, high, plain) in enumerate(tries, 1):

        def generator(
            seed: int = seed, forced: int = forced, high: bool = high, plain: bool = plain
        ) -> np.random.Generator:
            of = sequence(bench.seed, "soundness", "collaboration", seed)
            if not plain:
                return Forced(np.random.PCG64(of), Count(forced=forced, high=high))
            return np.random.default_rng(of) if forced < 0 else steered(of, forced, high)

        one = bench.call(bench.rows, rng=generator())
        if one.failure:
            continue
        seen = bench.eyes.see(one)
        if seen.heard > bench.seen.heard:
            witness = Witness(seen.names[0], "with another draw it can be heard")
        elif key % 2 == 0 or bench.heard:
            witness = _unlike(bench, bench.call(bench.others(1, key), rng=generator()), seen)
        if witness is not None:
            break
    bad = "With other draws the adversary hears or notices what it did not."
    good = "With {} other draws, extreme ones among them, nothing more is noticed."
    rare = 1 - 0.05 ** (1 / seeds)  # what comes up more often would have been met with 95 % confidence
    assumes = f"Draws that come up in fewer than {rare:.2g} of the calls may be other."
    return _result("public draws", bench, before, witness, (bad, good, assumes))
