"""Checks of collaborations: an adversary that reads nothing of honest rows must observe the same for all rows.

What it reads is then public: bit-identical for all rows. Nothing clears any other adversary of a collaboration, so a
cleared node rests on these checks alone: metadata and numbers of single calls on other rows, of batches, of an object
in long use, and with other public draws.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from secmix._base.random import stream
from secmix.adversaries import Adversary
from secmix.auditing.soundness.check_result import BLIND, Check, Counterexample, Soundness, guarded
from secmix.auditing.soundness.collaborations.check_context import (
    CallVariant,
    CheckContext,
    SampleRows,
    depends,
    difference,
)
from secmix.auditing.soundness.collaborations.unusual_rows import CHANGES, one_unlike_all
from secmix.network import Network
from secmix.protocols import Collaboration

_SETS_OF_ROWS = 6
_LIFE = (6, 40)  # calls in a row, fewer if each takes long
_SEEDS = (8, 300)  # an event in one of a hundred draws occurs in 300 with 95 %
_SIZES = (2, 5, 10, 20, 50, 100)  # runs of a call
_BATCH = 2_000  # messages of the largest batch, since some protocols go run by run
_RUNS = (30, 300)
_ALONE = (1, 8)  # nodes with unusual rows
_OPENING = 4_000  # messages of the calls that search for a rare draw


def examine_collaboration(
    protocol: Collaboration,
    network: Network,
    adversary: Adversary,
    sample_rows: SampleRows,
    *,
    reads_messages: bool = False,
    used: Collaboration | None = None,
    seed: int = 0,
) -> Soundness:
    """Run every check of a collaboration against ``adversary``.

    ``reads_messages`` says whether the adversary read any message in the runs of the audit, and ``used`` is an object
    that made these runs.
    """
    context = CheckContext(
        protocol, network, adversary, sample_rows, seed, protocol if used is None else used, reads_messages
    )
    checks = [guarded("transcript", lambda: _transcript(context))]
    other = guarded("other rows", lambda: _other_rows(context))
    public = not reads_messages
    if reads_messages and not other.failed:  # what is read is bit-identical on all rows, and may be public
        more = _further_checks(context)
        public = not any(check.failed for check in [*checks, *more])
        checks += [other, *more] if public else []
    elif not reads_messages:
        checks += [other, *_further_checks(context)]
    return Soundness([BLIND, *checks] if context.blind else checks, public=public)


def _further_checks(context: CheckContext) -> list[Check]:
    return [
        guarded("batch size", lambda: _batch_size(context)),
        guarded("state", lambda: _state(context)),
        guarded("call variants", lambda: _call_variants(context)),
        guarded("public draws", lambda: _draws(context)),
    ]


def _transcript(context: CheckContext) -> Check:
    call = context.first.call
    if call.failure:
        return Check("transcript", "failed", f"A single call fails with {call.failure}.", calls=1)
    if call.unrecorded:
        counterexample = Counterexample("the transcript", call.unrecorded)
        return Check("transcript", "failed", "Not all messages are known.", counterexample, 1)
    return Check("transcript", "passed", "All messages went through the channel, and are known.", calls=1)


def _result(
    name: str,
    context: CheckContext,
    before: int,
    counterexample: Counterexample | None,
    sentences: tuple[str, str, str],
) -> Check:
    done = context.calls - before
    if counterexample is not None:
        return Check(name, "failed", sentences[0], counterexample, done)
    return Check(name, "passed", sentences[1].format(done), calls=done, assumes=sentences[2].format(done))


def _other_rows(context: CheckContext) -> Check:
    calls, counterexample = context.calls, None
    # If later draws are visible, in numbers or in messages, so is the final state of the generator.
    drawn = context.observe_call(context.rows, rng=stream(context.seed, "soundness", "collaboration", 1))
    visible = context.reads_messages or difference(context.first, drawn) is not None
    used = False
    for key in range(1, _SETS_OF_ROWS + 1):
        observed = context.observe_call(context.other_rows(1, key))
        used = used or depends(context.first.call, observed.call)
        counterexample = difference(context.first, observed)
        if counterexample is None and visible and observed.generator != context.first.generator:
            counterexample = Counterexample(
                "the generator", "expected the same final state on all rows, found another, which later draws reveal"
            )
        if counterexample is not None:
            break
    unusual = [context.other_rows(1, key, change) for key, change in enumerate(CHANGES, 1)]
    unusual += one_unlike_all(context.rows, context.honest, context.times(_ALONE))
    for rows in unusual:
        if counterexample is not None:
            break
        # The protocol may refuse unusual rows; its messages before that must be the same.
        observed = context.observe_call(rows)
        used = used or depends(context.first.call, observed.call)
        counterexample = difference(context.first, observed, may_refuse=True)
    bad = "What the adversary observes depends on the rows of honest nodes."
    if counterexample is None and not used:
        bad = "The protocol does not use the rows that it is given."
        counterexample = Counterexample(
            "all messages and results",
            "expected different ones on different rows, found the same: it may use other data",
        )
    good = (
        "On {} other sets of honest rows (some scaled, equal, sorted, zero, or unusual at one node), the adversary "
        "observes the same."
    )
    return _result(
        "other rows",
        context,
        calls,
        counterexample,
        (bad, good, "{} sets of honest rows gave the same; others may differ."),
    )


def _batch_size(context: CheckContext) -> Check:
    before = context.calls
    messages = [name for name in context.first.view.names if " from " in name and not context.reads_messages]
    why = "expected no readable message, as in batches, found one"
    counterexample = Counterexample(messages[0], why) if messages else None
    most = context.times((_SIZES[2], _SIZES[-1]), _BATCH)
    sizes = [runs for runs in _SIZES if runs <= most]
    rare = f"Batches of more than {sizes[-1]} runs were not tried." if sizes[-1] < _SIZES[-1] else ""
    if context.reads_messages:  # what is public in a few runs may depend on rows in a rare one
        runs = context.times(_RUNS)
        sizes.append(runs)
        rare += f" What the adversary reads was the same in {runs} runs on other rows; rarer runs may differ."
    for runs in sizes:
        if counterexample is None and (changed := context.compare_pair(1, runs=runs)) is not None:
            counterexample = Counterexample(f"batch of {runs} runs, {changed.where}", changed.what, changed.entry)
    bad, good = "Messages depend on the batch size.", "Messages do not depend on the batch size."
    return _result("batch size", context, before, counterexample, (bad, good, rare.strip()))


def _state(context: CheckContext) -> Check:
    """Call an object in use on different rows each time: later calls must not depend on earlier rows."""
    before, counterexample = context.calls, None
    for key in range(context.times(_LIFE)):
        rows = context.other_rows(1, key, CHANGES[key % len(CHANGES)]) if key % 2 else context.other_rows(1, key)
        counterexample = difference(
            context.first, context.observe_call(rows, protocol=context.used), may_refuse=bool(key % 2)
        )
        if counterexample is not None:
            break
    bad, good = (
        "An object in use behaves differently from a new copy.",
        "Over {} calls in a row on different rows, an object behaved the same.",
    )
    rare = "Behaviour in fewer than one call in a dozen may be missed."
    return _result("state", context, before, counterexample, (bad, good, rare))


def _draws(context: CheckContext) -> Check:
    """Compare calls with other draws: metadata may differ, but must not depend on honest rows."""
    before, counterexample = context.calls, None
    seeds = context.times(_SEEDS, _OPENING)
    for key in range(1, seeds + 1):
        counterexample = context.compare_pair(key, rng=partial(stream, context.seed, "soundness", "collaboration", key))
        if counterexample is not None:
            break
    bad = "With other draws the adversary observes more."
    good = "With other draws, in {} calls, the adversary observes nothing more."
    rare = 1 - 0.05 ** (1 / seeds)  # more frequent draws would have occurred with 95 % confidence
    assumes = f"Draws that occur in fewer than {rare:.2g} of the calls may behave differently."
    return _result("public draws", context, before, counterexample, (bad, good, assumes))


class _Rows(np.ndarray):
    """Rows of an array subclass, as of a memory map or a table."""


_VARIANTS = {
    "rows in single precision": CallVariant(form=partial(np.array, dtype=np.float32)),
    "rows as integers": CallVariant(form=lambda part: np.rint(part).astype(np.int64)),
    "rows of an array subclass": CallVariant(form=lambda part: part.copy().view(_Rows)),
    "parts in a tuple": CallVariant(container=tuple),
    "a channel with earlier messages": CallVariant(begun=True),
}


def _call_variants(context: CheckContext) -> Check:
    """Call the collaboration with other types of rows and channels."""
    before, counterexample = context.calls, None
    for key, (what, variant) in enumerate(_VARIANTS.items(), 200):
        changed = context.compare_pair(key, variant=variant)
        if changed is not None:
            counterexample = Counterexample(f"{what}, {changed.where}", changed.what, changed.entry)
            break
    bad = "The protocol depends on the type of its arguments."
    good = "Over {} calls with other types of rows and channels, the adversary observes the same."
    return _result("call variants", context, before, counterexample, (bad, good, ""))
