"""Call variants: a collaboration may be called differently in use than in an audit, which must not matter.

Variants are rows of less precision, of integers or of another class, a tuple of parts, and a channel with earlier
messages. In each, two calls with different honest rows must look the same, and no more messages may be readable.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.collaborations.check_context import CallVariant, CheckContext
from secmix.auditing.soundness.result import Check, Counterexample


class _Rows(np.ndarray):
    """Rows of an array subclass, as of a memory map or a table."""


def _of_a_class(part: Array) -> Any:
    return part.copy().view(_Rows)


def _integers(part: Array) -> Any:
    return np.rint(part).astype(np.int64)


_VARIANTS = {
    "rows in single precision": CallVariant(form=partial(np.array, dtype=np.float32)),
    "rows as integers": CallVariant(form=_integers),
    "rows of an array subclass": CallVariant(form=_of_a_class),
    "parts in a tuple": CallVariant(container=tuple),
    "a channel with earlier messages": CallVariant(begun=True),
}


def check_call_variants(context: CheckContext) -> Check:
    """Call the collaboration with other types of rows and channels."""
    before, counterexample = context.calls, None
    for key, (what, variant) in enumerate(_VARIANTS.items(), 200):
        changed = context.compare_pair(key, variant=variant)
        if changed is not None:
            counterexample = Counterexample(f"{what}, {changed.where}", changed.what, changed.entry)
            break
    done = context.calls - before
    if counterexample is not None:
        sentence = "The protocol depends on the type of its arguments."
        return Check("call variants", "failed", sentence, counterexample, done)
    good = f"Over {done} calls with other types of rows and channels, the adversary observes the same."
    return Check("call variants", "passed", good, calls=done)
