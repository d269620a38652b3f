"""Neighbouring data: another value of one row, one row more or fewer, or other rows of a whole node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.soundness.collaborations.unusual_rows import CHANGES, FAR
from secmix.scenario import PrivacyTerms
from secmix.scenario.claim_spec import Relation

Draw = Callable[[int], Array]
"""``draw(k)``: other rows (1, N_i, d) of the node, different ones for each k."""

_VALUES: tuple[Callable[[Array], Array], ...] = (
    np.asarray,
    lambda row: FAR * row,
    np.zeros_like,
    lambda row: -row,
    lambda row: row / FAR,
    lambda row: row + FAR,
    lambda row: row - FAR,
)
"""Of one row: usual, distant, zero, of other sign, close to zero, and moved in all columns."""


@dataclass(frozen=True)
class Neighbour:
    """Rows (1, N, d) of a node that differ from those of a recorded call by one unit."""

    rows: Array
    relation: Relation


def neighbour_of(rows: Array, draw: Draw, place: int, terms: PrivacyTerms) -> Neighbour:
    """Return the neighbour with number ``place`` of a node's rows (1, N, d); over many numbers all kinds occur."""
    if terms.unit == "node":
        return Neighbour(_other_node(rows, draw, place, as_many=terms.counts_are_public), "replace")
    count = rows.shape[1]
    at, value = place % count, _value(rows, draw, place)
    # Leakage is of the value of a row, which is exchanged whatever the policy's relation is.
    if terms.relation == "replace" or place % 3 == 0:
        return Neighbour(np.concatenate([rows[:, :at], value, rows[:, at + 1 :]], axis=1), "replace")
    if place % 3 == 1 or count == 1:
        return Neighbour(np.concatenate([rows[:, :at], value, rows[:, at:]], axis=1), "add-or-remove")
    return Neighbour(np.delete(rows, at, axis=1), "add-or-remove")


def _value(rows: Array, draw: Draw, place: int) -> Array:
    """Return another value of a row, (1, 1, d): mostly usual, now and then that of another row of the node."""
    kind = place // 2 % (len(_VALUES) + 1) if place % 2 else 0
    if kind == len(_VALUES):
        return np.asarray(rows[:, [(place + 1) % rows.shape[1]]])
    return np.asarray(_VALUES[kind](draw(place)[:, :1]))


def _other_node(rows: Array, draw: Draw, place: int, *, as_many: bool) -> Array:
    """Return other rows of a whole node: usual and unusual, as many, or more or fewer of them too."""
    other = draw(place)
    sizes: Sequence[Array] = (other, np.concatenate([other, draw(-1 - place)[:, :1]], axis=1), other[:, :-1])
    chosen = other if as_many else sizes[place % (3 if rows.shape[1] > 1 else 2)]
    return np.asarray(CHANGES[place // 2 % len(CHANGES)](chosen)) if place % 2 else chosen
