"""A collaboration as a mechanism: its output is what an adversary reads of one call on the rows of every node.

It stands below adversaries and audits, of which it needs no more than that an adversary observes a transcript: so the
audit of a claim and :func:`~secmix.privacy.epsilon_lower_bound` run a protocol by this code and no other.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.transcript import Channel

Mechanism = Callable[[Any, np.random.Generator], ArrayLike]
"""``mechanism(data, rng)``: the numbers that are released."""

NEIGHBOURS: Mapping[tuple[str, str], str] = {
    ("row", "replace"): "one row exchanged",
    ("row", "add-or-remove"): "one row added or removed",
    ("node", "replace"): "all rows of a node exchanged",
}
"""Difference of neighbours by unit and relation, in words."""

_GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
_WHO = "the mechanism is a protocol"


def outputs_on(
    mechanism: Mechanism, neighbours: Sequence[Any], rngs: Iterable[Iterable[np.random.Generator]]
) -> tuple[Array, Array]:
    """Return what a mechanism releases on both data sets in a run with each generator, (runs, m) each.

    Raises DataError if runs release more numbers than others.
    """
    first, second = (
        [np.ravel(np.asarray(mechanism(data, rng), dtype=float)) for rng in of_side]
        for data, of_side in zip(neighbours, rngs, strict=True)
    )
    sizes = {len(row) for row in [*first, *second]}
    if len(sizes) > 1:
        raise DataError(
            f"{min(sizes)} numbers are read in one run and {max(sizes)} in another; expected as many in all runs on "
            "both data sets: what their number tells was not counted"
        )
    return np.stack(first), np.stack(second)


def mechanism_of(
    protocol: Any, network: Network, adversary: Any, duplicate: Callable[[Any], Any] = copy.deepcopy
) -> Callable[[Sequence[Array], np.random.Generator], Array]:
    """Return the mechanism that takes n arrays (1, N_i, d) to the numbers (m,) that an adversary reads of one call.

    Each call is made by a ``duplicate`` of the protocol: runs are independent, whatever a call leaves in the object.
    Raises SecmixError if the protocol cannot be copied, where a duplicate is a copy in full, or if it keeps a
    generator, of which all copies would draw the same noise.
    """
    copied: dict[int, Any] = {}  # all that a copy is made of, by the identity of the original
    try:
        copy.deepcopy(protocol, copied)
    except Exception as error:  # an object's own code may raise anything
        if duplicate is copy.deepcopy:
            raise SecmixError(
                f"the protocol cannot be copied for independent runs ({type(error).__name__}); keep locks, files and "
                "connections out of the object"
            ) from error
        copied = {}  # duplicates share its parts, and draw other noise
    if any(isinstance(part, _GENERATORS) for part in copied.values()):
        raise SecmixError(
            "the protocol keeps a random generator, of which copies for independent runs would draw the same noise; "
            "let it draw from the rng that collaborate is given"
        )

    def release(parts: Sequence[Array], rng: np.random.Generator) -> Array:
        channel = Channel()
        duplicate(protocol).collaborate([part.copy() for part in parts], network, rng, channel=channel)
        view = adversary.observe(channel.transcript, network)
        sent = [row for row, origin in zip(view.rows, view.origins, strict=True) if origin.line != "held"]
        return np.concatenate([np.empty(0), *(row.ravel() for row in sent if row.dtype.kind in "fiub")])

    return release


def checked_run(
    protocol: Any, neighbours: Sequence[Any], adversary: Any, network: Network | None, unit: str
) -> tuple[Mechanism, list[list[Array]], str]:
    """Check a protocol with its neighbours; return its mechanism, the rows (1, N_i, d) and their difference in words.

    Raises SecmixError, with what is expected, if the parts do not fit or the neighbours differ in more than one unit.
    """
    if network is None:
        raise SecmixError(f"{_WHO}: give network=Network.complete({len(neighbours[0])}), or who else talks to whom")
    if not (hasattr(adversary, "observe") and hasattr(adversary, "corrupt_nodes")):
        raise SecmixError(
            f"{_WHO}: give an adversary with observe and corrupt_nodes, such as CuriousServer(); given {adversary!r}"
        )
    sides = [_checked_rows(rows, side, network) for side, rows in enumerate(neighbours)]
    node, words = _difference(sides[0], sides[1], unit)
    if node in adversary.corrupt_nodes(network):
        raise SecmixError(
            f"neighbours differ at node {node}, whose rows this adversary knows; let an honest one differ"
        )
    serves = getattr(adversary, "serves", None)  # a server that sends what it chooses, as AdversaryTraits says
    release = mechanism_of(protocol if serves is None else serves(protocol), network, adversary)
    return release, [[part[None] for part in side] for side in sides], words


def _checked_rows(rows: Any, side: int, network: Network) -> list[Array]:
    if len(rows) != network.n:
        raise DataError(
            f"neighbours[{side}]: expected the rows of {network.n} nodes, an array (N_i, d) each; given {len(rows)}"
        )
    return [finite_array(part, f"neighbours[{side}][{node}]", 2) for node, part in enumerate(rows)]


def _difference(first: Sequence[Array], second: Sequence[Array], unit: str) -> tuple[int, str]:
    """Return at which node two data sets differ, and by what in words; raise if it is not one unit."""
    nodes = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if not np.array_equal(a, b)]
    if len(nodes) != 1:
        raise DataError(f"neighbours: expected them to differ at one node; they differ at nodes {nodes}")
    (node,) = nodes
    rows, other_rows = first[node], second[node]
    if rows.shape[1] != other_rows.shape[1]:
        raise DataError(
            f"neighbours: expected rows of one length at node {node}; given arrays {rows.shape} and {other_rows.shape}"
        )
    relation = "replace"
    if unit == "row":
        relation = "replace" if len(rows) == len(other_rows) else "add-or-remove"
        if not _one_row_apart(rows, other_rows):
            raise DataError(
                f'neighbours: unit = "row" expects one row exchanged, added or removed; arrays {rows.shape} and '
                f'{other_rows.shape} of node {node} differ in more. For all rows of a node give unit="node"'
            )
    elif unit != "node":
        raise SecmixError(f'unit: expected "node" or "row"; given {unit!r}')
    return node, f"{NEIGHBOURS[unit, relation]} (node {node})"


def _one_row_apart(rows: Array, other_rows: Array) -> bool:
    """Say whether one row is exchanged, added or removed between arrays (N, d)."""
    if len(rows) == len(other_rows):
        return int(np.any(rows != other_rows, axis=1).sum()) == 1
    short, long = sorted((rows, other_rows), key=len)
    if len(long) != len(short) + 1:
        return False
    place = int(np.argmax([*np.any(short != long[:-1], axis=1), True]))  # the first row that is not in its place
    return np.array_equal(np.delete(long, place, axis=0), short)
