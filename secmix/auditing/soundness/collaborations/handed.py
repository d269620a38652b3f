"""What a collaboration is handed in use may be other than in an audit; it must not matter.

Rows that are less precise, whole or of another class, parts in a tuple, a channel that has carried other messages
before: two calls with other honest rows must look alike in each of these, and nothing more be heard.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.collaborations.bench import Bench, Handed
from secmix.auditing.soundness.result import Check, Witness


class _Rows(np.ndarray):
    """Rows as a memory map or a table would have them: an array, but not plainly one."""


def _of_a_class(part: Array) -> Any:
    return part.copy().view(_Rows)


def _integers(part: Array) -> Any:
    return np.rint(part).astype(np.int64)


_WAYS = {
    "rows in single precision": Handed(form=partial(np.array, dtype=np.float32)),
    "rows in whole numbers": Handed(form=_integers),
    "rows of a class of their own": Handed(form=_of_a_class),
    "parts in a tuple": Handed(together=tuple),
    "a channel that carried something before": Handed(begun=True),
}


def handed(bench: Bench) -> Check:
    """Call with rows and channels of other kinds."""
    before, witness = bench.calls, None
    for key, (what, how) in enumerate(_WAYS.items(), 200):
        found = bench.pair(key, how=how)
        if found is not None:
            witness = Witness(f"{what}, {found.where}", found.what, found.entry)
            break
    done = bench.calls - before
    if witness is not None:
        return Check("handed", "failed", "What it does depends on how it is handed its rows.", witness, done)
    good = f"Over {done} calls with rows and channels of other kinds, the adversary notices the same."
    return Check("handed", "passed", good, calls=done)
