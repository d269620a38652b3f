"""Several sets of messages at once: a rule makes of each, bit for bit, what it makes of it by itself.

Small arrays cost more in calls than in arithmetic. To try a rule on many sets of few messages, give them to it as a
stack (s, n, p). A rule of ours is written for stacks, as its *core*; called with one set, it works on a stack of one,
so that there is no second way to compute it. Any other rule is called set by set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array, integer
from secmix.aggregators.screened_messages import Messages, Vector, admitted, returned
from secmix.aggregators.traits import TRAITS

Core = Callable[..., NDArray[Any]]
"""``core(stack (s, n, p), f) -> (s, p)``, of finite messages."""

_ENTRIES = 2**15  # of a part of a stack: what is made of it on the way, n times as much, stays in the caches
_CORES: dict[str, tuple[Callable[..., Any], Core]] = {}  # by the name of the rule: it, and its core


def alone(core: Core, messages: ArrayLike, f: int, rule: str, **options: Any) -> Vector:
    """Apply the rule of that name to messages (n, p): called by the rule itself, which a warning passes over."""
    kept, left = admitted(messages, f, rule, stacklevel=4)
    return returned(core(kept[None], left, **options)[0], kept)


def core_of(rule: Callable[..., Any]) -> Callable[[Core], Core]:
    """Declare the core of one of our rules."""

    def declared(core: Core) -> Core:
        _CORES[rule.__name__] = rule, core
        return core

    return declared


def takes_stacks(rule: Callable[..., Any]) -> bool:
    """Check whether the rule is one of ours that is written for stacks.

    >>> from secmix.aggregators import krum
    >>> takes_stacks(krum), takes_stacks(lambda messages, f: messages[0])
    (True, False)
    """
    # By the function itself: a stranger's may have any name.
    return _CORES.get(str(getattr(rule, "__name__", "")), (None,))[0] is rule


def apply_to_each(rule: Callable[..., Any], stack: Array, f: int) -> Array:
    """Apply the rule to each of several sets of messages (s, n, p): (s, p), bit for bit as set by set.

    Raises SecmixError as the rule does for any of the sets.

    >>> from secmix.aggregators import coordinate_median
    >>> apply_to_each(coordinate_median, np.array([[[1.0], [2.0], [9.0]], [[5.0], [6.0], [7.0]]]), f=1).tolist()
    [[2.0], [6.0]]
    """
    if not takes_stacks(rule) or stack.dtype != np.float64 or len(stack) < 2:
        return np.stack([np.asarray(rule(messages, f=f)) for messages in stack])
    s, n, p = stack.shape
    core = _CORES[rule.__name__][1]
    TRAITS[rule.__name__].check(n, integer(f, "f", least=0))
    results = np.empty((s, p))
    with np.errstate(all="ignore"):  # the sum is finite only if each entry is
        clean = np.isfinite(stack.sum(axis=(1, 2)))
    for k in np.flatnonzero(~clean):  # what is rejected differs from set to set
        results[k] = rule(stack[k], f=f)
    for part in parts(np.flatnonzero(clean), n * p):
        messages: Messages = stack[part]
        results[part] = returned(core(messages, f), messages)
    return results


def parts(members: NDArray[np.intp], entries: int) -> list[NDArray[np.intp]]:
    """Split the members of a stack into groups that stay in the caches, given how many entries each has."""
    size = at_once(entries)
    return [members[k : k + size] for k in range(0, len(members), size)]


def at_once(entries: int) -> int:
    """Compute how many sets of so many entries it pays to take together."""
    return max(_ENTRIES // max(entries, 1), 1)
