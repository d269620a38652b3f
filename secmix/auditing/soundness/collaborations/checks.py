"""Collaborations: an adversary that hears nothing of honest rows must see the same, whatever they are.

What it hears is then public, to the last bit the same for all rows. Nothing clears any other adversary of a
collaboration, so these checks are all that a clear verdict rests on there: frames and numbers of single calls on
other rows, of batches, of an object long in use, and with other public draws.
"""

from __future__ import annotations

from functools import partial

from secmix._base.random import stream
from secmix.adversaries import Adversary
from secmix.auditing.soundness.collaborations.bench import Bench, Deal, depends, unlike
from secmix.auditing.soundness.collaborations.handed import handed
from secmix.auditing.soundness.collaborations.rows import CHANGES, one_unlike_all
from secmix.auditing.soundness.result import BLIND, Check, Soundness, Witness, guarded
from secmix.network import Network
from secmix.protocols import Collaboration

_DEALS = 6
_LIFE = (6, 40)  # calls in a row, fewer where each takes long
_SEEDS = (8, 300)  # one draw in a hundred shows in 300 with 95 %
_SIZES = (2, 5, 10, 20, 50, 100)  # runs of a call,
_BATCH = 2_000  # and messages of the largest: some protocols go run by run
_RUNS = (30, 300)
_ALONE = (1, 8)  # nodes that are made unlike all others
_OPENING = 4_000  # messages of the calls that look for a rare draw


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
    bench = Bench(protocol, network, adversary, deal, seed, protocol if used is None else used, heard)
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


def _others(bench: Bench) -> list[Check]:
    return [
        guarded("company", lambda: _company(bench)),
        guarded("state", lambda: _state(bench)),
        guarded("handed", lambda: handed(bench)),
        guarded("public draws", lambda: _draws(bench)),
    ]


def _transcript(bench: Bench) -> Check:
    call = bench.first.call
    if call.failure:
        return Check("transcript", "failed", f"A single call fails with {call.failure}.", calls=1)
    if call.untold:
        witness = Witness("the transcript", call.untold)
        return Check("transcript", "failed", "Not all that was sent is known.", witness, 1)
    return Check("transcript", "passed", "What was sent went through the channel, and all of it is known.", calls=1)


def _result(name: str, bench: Bench, before: int, witness: Witness | None, said: tuple[str, str, str]) -> Check:
    done = bench.calls - before
    if witness is not None:
        return Check(name, "failed", said[0], witness, done)
    return Check(name, "passed", said[1].format(done), calls=done, assumes=said[2].format(done))


def _other_rows(bench: Bench) -> Check:
    before, witness = bench.calls, None
    # Whoever meets what is drawn next, in numbers or in what is sent, meets the state the generator was left in.
    drawn = bench.look(bench.rows, rng=stream(bench.seed, "soundness", "collaboration", 1))
    lots = bench.heard or unlike(bench.first, drawn) is not None
    used = False
    for key in range(1, _DEALS + 1):
        one = bench.look(bench.others(1, key))
        used = used or depends(bench.first.call, one.call)
        witness = unlike(bench.first, one)
        if witness is None and lots and one.left != bench.first.left:
            witness = Witness("the generator", "it is left in another state: what is drawn next tells of them")
        if witness is not None:
            break
    odd = [bench.others(1, key, change) for key, change in enumerate(CHANGES, 1)]
    odd += one_unlike_all(bench.rows, bench.honest, bench.times(_ALONE))
    for rows in odd:
        if witness is not None:
            break
        # Rows that are no data of this kind any more may be refused; what was said before that must be the same.
        one = bench.look(rows)
        used = used or depends(bench.first.call, one.call)
        witness = unlike(bench.first, one, may_refuse=True)
    bad = "What the adversary notices changes with the rows of honest nodes."
    if witness is None and not used:
        bad = "The protocol does not use the rows that it is dealt."
        witness = Witness("all messages and results", "they are the same on all rows: it may work on other data")
    good = (
        "On {} other sets of honest rows, some scaled, equal, sorted or zero, or at one node unlike all others, the "
        "adversary notices the same."
    )
    return _result(
        "other rows", bench, before, witness, (bad, good, "{} sets of honest rows looked alike; others may not.")
    )


def _company(bench: Bench) -> Check:
    before = bench.calls
    said = [name for name in bench.first.seen.names if " from " in name and not bench.heard]
    witness = Witness(said[0], "it can be heard in a single run, and could not in many") if said else None
    most = bench.times((_SIZES[2], _SIZES[-1]), _BATCH)
    sizes = [runs for runs in _SIZES if runs <= most]
    rare = f"Batches of more than {sizes[-1]} runs were not tried." if sizes[-1] < _SIZES[-1] else ""
    if bench.heard:  # what is public in a few runs may carry rows in a rare one
        runs = bench.times(_RUNS)
        sizes.append(runs)
        rare += f" What the adversary hears was the same in {runs} runs on other rows; in rarer ones it may not be."
    for runs in sizes:
        if witness is None and (found := bench.pair(1, runs=runs)) is not None:
            witness = Witness(f"{runs} runs together, {found.where}", found.what, found.entry)
    bad, good = "Several runs together do not look like one by itself.", "Single runs look as they do in company."
    return _result("company", bench, before, witness, (bad, good, rare.strip()))


def _state(bench: Bench) -> Check:
    """An object in use is called on other rows each time: what it keeps of them must not show later."""
    before, witness = bench.calls, None
    for key in range(bench.times(_LIFE)):
        rows = bench.others(1, key, CHANGES[key % len(CHANGES)]) if key % 2 else bench.others(1, key)
        witness = unlike(bench.first, bench.look(rows, protocol=bench.used), may_refuse=bool(key % 2))
        if witness is not None:
            break
    bad, good = (
        "An object in use does something else than a fresh one.",
        "Over {} calls in a row, on other rows each, an object did the same.",
    )
    rare = "What happens in fewer than one call in a dozen may be missed."
    return _result("state", bench, before, witness, (bad, good, rare))


def _draws(bench: Bench) -> Check:
    """With other draws the frames may be others; nothing may be heard, and honest rows may not show."""
    before, witness = bench.calls, None
    seeds = bench.times(_SEEDS, _OPENING)
    for key in range(1, seeds + 1):
        witness = bench.pair(key, rng=partial(stream, bench.seed, "soundness", "collaboration", key))
        if witness is not None:
            break
    bad = "With other draws the adversary hears or notices what it did not."
    good = "With other draws, in {} calls, nothing more is noticed."
    rare = 1 - 0.05 ** (1 / seeds)  # what comes up more often would have been met with 95 % confidence
    assumes = f"Draws that come up in fewer than {rare:.2g} of the calls may be other."
    return _result("public draws", bench, before, witness, (bad, good, assumes))
