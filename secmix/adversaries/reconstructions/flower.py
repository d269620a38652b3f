"""The row of a client of a Flower app from the model that it sends back: x = ∂L/∂W : ∂L/∂b in every unit.

How the client trains is not known, so nothing is replayed. But as often as there are units and rounds the ratio must be
the same row; where two of them agree to the precision of the messages, it is certified. All clients but one do not see
the model of that one: under federated averaging (McMahan et al. 2017, algorithm 1) it is what the next model has beside
theirs. If the server combines models in another way, the ratios do not agree.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.adversaries.reconstructions.layer_ratios import Unit, agreed, ratio, with_decay
from secmix.protocols.flower import FlowerApp
from secmix.transcript import Origin

_ROUNDING = 8.0
_Exchange = tuple[
    list[Array], list[Array], list[float]
]  # arrays before and after, and how far rounding may put them off


def reconstruct_flower(known: KnownMessages) -> Reconstruction | None:
    """Recover the only row of a client, from the first two arrays that fit the weights and biases of a first layer.

    Weights may be stored unit by unit or column by column. A label, in the last column, may be no part of x: it does
    not come out then.
    """
    if not isinstance(known.protocol, FlowerApp) or known.count != 1:
        return None
    return _from(_exchanges(known.node, known.messages) or _left_by_the_others(known), known.d)


def only_row(updates: Iterable[tuple[list[Array], list[Array]]], d: int | None = None) -> Reconstruction | None:
    """Recover the row of a client that is known to have one row, as :func:`reconstruct_flower` does.

    ``updates``, iterable of (list of (m,) arrays, list of (m,) arrays): for each round, the arrays of the model that
    the client got and of the one that it sent back; ``d``: numbers of the row; without it as many come out as the first
    layer has inputs.
    """
    return _from(_with_rounding(updates), d)


def _from(exchanges: list[_Exchange], d: int | None) -> Reconstruction | None:
    tables = [table for exchange in exchanges for table in _tables(*exchange, d)]
    moved = [[ratio(unit) for unit in table if unit.moved] for table in tables]
    single = [each[0] for table, each in zip(tables, moved, strict=True) if len(table) == len(each) == 1]
    for ratios in [*(each for each in moved if len(each) > 1), single]:
        if len(ratios) > 1 and (common := agreed(ratios)) is not None:
            how = "it has one row, and its weights moved along it wherever the biases did, by the same factor"
            return Reconstruction(_row(common.x, d), True, how, error=common.error)
    for units in _by_layout(tables):
        if (common := with_decay(units)) is not None:
            how = "it has one row, and but for weight decay its weights moved along it, the biases by the same factor"
            return Reconstruction(_row(common.x, d), True, how, error=common.error)
    if not any(moved):
        return None
    best = min((each for ratios in moved for each in ratios), key=lambda each: each.error)
    how = "if the first arrays of its model are a layer, its weights moved along its only row"
    return Reconstruction(_row(best.x, d), False, how, error=best.error)


def _by_layout(tables: list[list[Unit]]) -> list[list[Unit]]:
    """Group the units of all rounds by their number and that of their weights: rounds with the same layer."""
    groups: dict[tuple[int, int, int], list[Unit]] = {}
    layouts = 2 if tables and len(tables[0]) > 1 else 1
    for k, table in enumerate(tables):
        shape = len(table), len(table[0].weights)
        groups.setdefault((*shape, k % layouts), []).extend(table)
    return list(groups.values())


def _row(x: Array, d: int | None) -> Array:
    return np.append(x, np.full(0 if d is None else d - len(x), np.nan))[None]


def _exchanges(node: int, messages: Iterable[tuple[Origin, Array]]) -> list[_Exchange]:
    """Pair the arrays that the node got in a round with those it sent back."""
    got: dict[int, list[Array]] = {}
    sent: dict[int, list[Array]] = {}
    for origin, row in messages:
        if "/" in origin.kind and node in (origin.sender, *origin.receivers):
            into = sent if origin.sender == node else got
            into.setdefault(origin.iteration, []).append(row)
    return _with_rounding((got[t], sent[t]) for t in sorted(sent) if t in got)


def _with_rounding(pairs: Iterable[tuple[list[Array], list[Array]]]) -> list[_Exchange]:
    """Add how far rounding may put off each array, of pairs that have the same layout."""
    return [
        (before, after, [_ROUNDING * _unit(array) for array in after])
        for before, after in pairs
        if _sizes(before) == _sizes(after)
    ]


def _left_by_the_others(known: KnownMessages) -> list[_Exchange]:
    """Compute a node's exchanges from what all others know: averages weighted by rows, less their own models."""
    rows = {o.sender: len(row) // known.d for o, row in known.messages if o.line == "held" and o.kind == "input"}
    if known.node in rows or len(rows) != known.network.n - 1:
        return []
    got: dict[int, dict[int, list[Array]]] = {}
    sent: dict[int, dict[int, list[Array]]] = {}
    for origin, row in known.messages:
        if "/" in origin.kind and origin.line != "held":
            is_known = origin.sender in rows
            of = origin.sender if is_known else origin.receivers[0]
            (sent if is_known else got).setdefault(origin.iteration, {}).setdefault(of, []).append(row)
    exchanges = []
    everything = known.count + sum(rows.values())
    for t, models in sorted(sent.items()):
        later = min((s for s in got if s > t), default=None)
        if later is None or t not in got or set(models) != set(rows):
            continue
        before, new = (next(iter(got[k].values())) for k in (t, later))
        if any(_sizes(new) != _sizes(each) for each in (before, *models.values())):
            continue
        left = [
            (everything * array.astype(float) - sum(rows[i] * models[i][k].astype(float) for i in rows)) / known.count
            for k, array in enumerate(new)
        ]
        # Each product and each partial sum is rounded to its last digit, and all that is divided by the node's share.
        steps = _ROUNDING + len(rows)
        off = [max(_unit(each[k]) for each in (new, *models.values())) for k in range(len(new))]
        exchanges.append((before, left, [steps * unit * everything / known.count for unit in off]))
    return exchanges


def _unit(array: Array) -> float:
    """Compute the last digit of the largest number."""
    return float(np.finfo(array.dtype).eps * np.abs(array).max(initial=0.0))


def _sizes(arrays: list[Array]) -> list[int]:
    return [len(array) for array in arrays]


def _tables(before: list[Array], after: list[Array], off: list[float], d: int | None) -> list[list[Unit]]:
    """Split the first layer whose biases may have moved into units, for either way in which weights may be stored."""
    for k in range(len(before) - 1):
        units, width = len(before[k + 1]), len(before[k]) // max(len(before[k + 1]), 1)
        if units and units * width == len(before[k]) and (width > 1 if d is None else width in (d - 1, d)):
            size = max(off[k], off[k + 1])
            (weights, trained), (bias, trained_bias) = (
                (before[j].astype(float), after[j].astype(float)) for j in (k, k + 1)
            )
            stored = [(each.reshape(units, width), each.reshape(width, units).T) for each in (weights, trained)]
            return [
                [Unit(w[j], v[j], float(bias[j]), float(trained_bias[j]), size) for j in range(units)]
                for w, v in list(zip(*stored, strict=True))[: 1 if units == 1 else 2]
            ]
    return []
