"""Sensitivity of a release: how far its value moves between neighbours, by the clip of the very array."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.runner import same_bits
from secmix.privacy.noted_releases import Clip, Release


@dataclass(frozen=True, order=True)
class Reach:
    """Farthest move of a release, over the scale of its noise; infinite where nothing bounds it, and why."""

    ratio: float
    why: str = ""


def reach_of(old: Release, new: Release, *, all_move: bool = False) -> Reach:
    """Bound how far a release moves between the data of two calls and all that differ from them in the same unit.

    ``all_move`` says that all clipped vectors may, however many did.
    """
    before, after = old.clip, new.clip
    if before is None or after is None:
        return Reach(math.inf, "no clip bounds the very array that gets the noise: clip it right before")
    order = 2 if old.noise == "gaussian" else 1
    if order == 1 and before.order == 2:
        return Reach(math.inf, "Laplace noise needs a clip with ord=1")
    distance, why = _distance(before, after, order, all_move)
    return Reach(distance / old.scale, why)


def _distance(before: Clip, after: Clip, order: int, all_move: bool) -> tuple[float, str]:
    """Return the sensitivity in the norm of ``order``, and what makes it larger than that of one vector."""
    shorter, longer = sorted((before.vectors, after.vectors), key=len)
    if len(shorter) == len(longer):
        moved = sum(not same_bits(a, b) for a, b in zip(shorter, longer, strict=True))
        if moved <= 1 and not all_move:
            return before.moves_by(order, 1), ""
        why = f"{len(longer)} clipped vectors count, since several of them move at a time"
        return before.moves_by(order, len(longer)), why
    if before.reduction == "mean" and len(shorter):  # two means of vectors within a ball lie within it
        return 2 * before.norm, ""
    if before.reduction == "sum" and len(longer) == len(shorter) + 1 and _is_one_more(shorter, longer):
        return before.norm, ""
    return math.inf, "the number of clipped vectors changes, and others than one of them move"


def _is_one_more(shorter: Array, longer: Array) -> bool:
    """Say whether ``longer`` (k + 1, d) is ``shorter`` (k, d) with one vector more, in the same order."""
    same = [same_bits(a, b) for a, b in zip(shorter, longer[:-1], strict=True)]
    at = int(np.argmin([*same, False]))
    return all(same_bits(a, b) for a, b in zip(shorter[at:], longer[at + 1 :], strict=True))
