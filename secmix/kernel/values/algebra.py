"""What linear forms tell, exactly where masks are residues, and behind masks of a size where they are real.

Variables that no message joins are split into components, mostly one an entry; equal components are worked out once.
Below: by which formula an encoding was computed from which inputs, and whether sums of encodings may be solved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import gcd, inf, pi
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from secmix.kernel.values.current_trace import Trace, Variable
from secmix.kernel.values.forms import Form, Packed, Shared, kept_once, packed, scaled, tables_of
from secmix.kernel.values.numbers import Number
from secmix.kernel.values.tables import Table

TOLERANCE = 1e-9
"""What of a unit row counts as rounding: a mask of 1e6 would then still leave 1e-3 of what it hides. The error is on
the safe side, since a combination is called known that is all but known. PDMM's rows are at most 1e-13 off."""

_NOTHING = 1e-12
"""What of a unit row of data counts as nothing where its masks cancel: here rounding is no longer on the safe side."""

_FAINT = 1e-10  # of the masks' coefficients in a row: where those of data are smaller, they may be taken for rounding

_DIFFERS = 1e-11  # of the largest coefficient of a combination: another is a number that is known, not rounding

_EDGES = 2**20  # that are joined at once: rows of a running sum over thousands of nodes have a hundred times as many

_AT_ONCE = 2**22  # numbers of rows that are reduced to a triangle together
_BLOCK = 32  # times as many rows as numbers in one: more are looked through for those that follow from others

UNIFORM = ("uniform", "random")
"""Laws of draws whose ends tell more than their spread says."""

UNSEEN = 2.0**-40
"""How far from uniform masks may be in all, in total variation: by so much at most may any guess succeed more often."""


@dataclass(frozen=True)
class Component:
    """F rows of messages that hang together by their V variables."""

    rows: tuple[tuple[int, int], ...]  # where each comes from: message, row of its payload
    forms: tuple[tuple[Form, Any], ...]  # of each, or of the same row of other variables, with what it is multiplied by
    places: Mapping[int, int]  # of the variables of these forms, in what follows
    column: Mapping[int, int]  # of its own variables
    modulus: tuple[Any, ...]  # infinite: the form is known exactly from the row; else its residue
    variables: tuple[Variable, ...]
    formula: tuple[int | None, ...]  # of data by which formula it is computed, as ``formulas`` numbers them
    largest: float  # of the data in this run
    columns: list[Mapping[int, int]] = field(default_factory=list)  # those of all components that are equal to it

    def table(self, rows: Sequence[int]) -> tuple[Any, list[int]]:
        """Return the coefficients of some rows, (F, V), and which variables its V columns are: those that are there."""
        variables = np.array([*self.places])
        is_long = all(packed(self.forms[row][0]) is not None for row in rows)
        is_real = is_long and not any(each.step for each in self.variables)
        table = np.zeros((len(rows), len(variables)), float if is_real else object)
        for line, row in zip(table, rows, strict=True):
            form, scale = self.forms[row]
            if (long := packed(form)) is not None:
                line[variables.searchsorted(long.variables)] = scale * long.coefficients
                continue
            for v, coefficient in scaled(form, scale).items():
                line[self.places[v]] = coefficient
        used = np.flatnonzero(table.astype(bool).any(axis=0))
        return table.take(used, axis=1), used.tolist()


Row = tuple[tuple[int, int], Number]
"""Origin of a number: message, row of its payload; and the number."""


def components(
    cells: Iterable[Row], variables: Mapping[int, Variable], formulas: Mapping[int, int] | None = None
) -> list[Component]:
    """Return all components of the rows that ``cells`` hold, equal ones once, with the largest data."""
    linear = [cell for cell in cells if cell[1].form]
    groups: dict[int, list[Row]] = {}
    of_row, variables_of = _joined(number.form for _, number in linear)
    for label, row in zip(of_row, linear, strict=True):
        groups.setdefault(label, []).append(row)
    several: list[Component] = []
    shapes: dict[Any, tuple[int, tuple[tuple[Form, Any], ...], dict[int, int], dict[int, int]]] = {}
    for label, group in groups.items():
        forms = tuple((number.form, number.scale) for _, number in group)
        shape, first = _shape(forms)
        if shape not in shapes:
            places = column = {v: k for k, v in enumerate(variables_of[label].tolist())}
        else:  # the same rows, of other variables
            before, forms, places, column = shapes[shape]
            column = {first - before + v: k for v, k in column.items()}
        shapes.setdefault(shape, (first, forms, places, column))
        rows, modulus = zip(*((where, number.modulus or inf) for where, number in group), strict=True)
        several.append(_component(rows, forms, modulus, places, column, variables, formulas or {}))
    return _once(several)


def components_of_tables(
    tables: Iterable[tuple[int, Table]], variables: Mapping[int, Variable], formulas: Mapping[int, int]
) -> list[Component]:
    """Return the same of messages (number, table) of vectors that have no variable of different entries in common.

    They are the components of the first entries, and these moved on: each of their variables is the one after.
    """
    secret = [(k, table) for k, table in tables if table.columns.size]
    first = min((int(table.columns[0]) for _, table in secret), default=0)
    last = max((int(table.columns[-1]) for _, table in secret), default=0)
    labels, rows_of = _joined_rows([table for _, table in secret], first, last)
    groups: dict[int, tuple[int, list[tuple[int, int]], list[tuple[Form, Any]]]] = {}
    for (k, table), rows in zip(secret, rows_of, strict=True):
        of_column, scales, flat = labels[table.columns - first], table.scale.ravel().tolist(), _flat(table)
        for label, some in groupby(sorted((int(of_column[column]), row) for row, column in rows), itemgetter(0)):
            own, there = [row for _, row in some], of_column == label
            _, where, forms = groups.setdefault(label, (table.values.shape[-1], [], []))
            where += [(k, row * len(table.scale) // len(flat)) for row in own]
            of_rows = flat if len(own) == len(flat) and there.all() else kept_once(flat[np.ix_(own, there)])
            columns = table.columns[there]
            forms += [(Shared(Packed(columns, each), 0), scales[row]) for each, row in zip(of_rows, own, strict=True)]
    several = []
    for label, (entries, where, forms) in groups.items():
        same = tuple(where), tuple(forms), (inf,) * len(where)
        places = column_of = {v: k for k, v in enumerate((np.flatnonzero(labels == label) + first).tolist())}
        for entry in range(entries):
            column_of = {v + (entry > 0): k for v, k in column_of.items()}
            several.append(_component(*same, places, column_of, variables, formulas))
    return _once(several)


def _flat(table: Table) -> Any:
    return table.coefficients.reshape(table.scale.size, len(table.columns))


def _joined_rows(tables: Iterable[Table], first: int, last: int) -> tuple[Any, list[list[tuple[int, int]]]]:
    """Label the variables from ``first`` to ``last`` that rows join alike; list rows, and a variable of each.

    Of the rows of a table, one after the other, only these are listed that are not zero.
    """
    labels, used = np.arange(last - first + 1), []
    for table in tables:
        of_column = labels[table.columns - first]
        if (of_column == of_column[:1]).all():  # others have joined these before, or there are none
            used.append([(row, 0) for row in np.flatnonzero(_flat(table).any(axis=1)).tolist()])
            continue
        row_of, column_of = _flat(table).nonzero()
        begins = np.flatnonzero(np.diff(row_of, prepend=-1))
        used.append(list(zip(row_of[begins].tolist(), column_of[begins].tolist(), strict=True)))
        from_first = np.repeat(column_of[begins], np.diff(begins, append=len(row_of)))
        edges = np.stack([of_column[from_first], of_column[column_of]])
        edges = edges[:, edges[0] != edges[1]]
        if edges.size:
            graph = coo_array((np.ones(edges.shape[1]), tuple(edges)), shape=(len(labels), len(labels)))
            labels = connected_components(graph, directed=False)[1][labels]
    return labels, used


def _component(
    rows: Any, forms: Any, modulus: Any, places: Any, column: Any, variables: Any, formulas: Mapping[int, int]
) -> Component:
    own, formula = tuple(variables[v] for v in column), tuple(map(formulas.get, column))
    largest = max((abs(float(each.value)) for each in own if each.kind != "draw"), default=0.0)
    return Component(rows, forms, places, column, modulus, own, formula, largest)


def _once(several: Iterable[Component]) -> list[Component]:
    """Return equal components once: that of the largest data speaks for all."""
    unique: dict[Any, list[tuple[Component, list[Mapping[int, int]]]]] = {}
    for component in several:
        for k, (known, columns) in enumerate(alike := unique.setdefault(_laws(component), [])):
            if known.forms is component.forms or _are_equal(known, component):
                alike[k] = max(known, component, key=lambda each: each.largest), columns
                columns.append(component.column)
                break
        else:
            alike.append((component, [component.column]))
    return [replace(component, columns=columns) for alike in unique.values() for component, columns in alike]


def _are_equal(component: Component, other: Component) -> bool:
    """Say whether the rows of two components have the same coefficients, column by column."""
    used, of_other = (np.array([*each.places]) for each in (component, other))
    alike: dict[Any, bool] = {}  # rows of one table share their variables
    for (a, by_a), (b, by_b) in zip(component.forms, other.forms, strict=True):
        long, beside = packed(a), packed(b)
        if long is not None and beside is not None:
            bases = ((form.base, form.first) for form in (a, b) if isinstance(form, Shared))
            key = tuple((id(base.variables), first) for base, first in bases if isinstance(base, Packed))
            if key not in alike:
                places = used.searchsorted(long.variables), of_other.searchsorted(beside.variables)
                alike[key] = np.array_equal(*places)
            if not alike[key] or not np.array_equal(by_a * long.coefficients, by_b * beside.coefficients):
                return False
        elif {component.places[v]: c for v, c in scaled(a, by_a).items()} != {
            other.places[v]: c for v, c in scaled(b, by_b).items()
        }:
            return False
    return True


def _joined(forms: Iterable[Form]) -> tuple[list[int], list[Any]]:
    """Return of each form which component it is in, and of each component its variables, in order."""
    of_form: list[Any] = []
    edges: list[Any] = []
    count = 0
    for table, columns in tables_of(forms):
        of_form.append(table[0, columns])
        edges.append(np.stack([np.repeat(table[0], len(table)), table.T.ravel()]))  # from the first to each
        count += table.size
        if count > _EDGES:
            edges, count = [_least(np.concatenate(edges, axis=1))], 0
    if not of_form:
        return [], []
    least, used = _least(np.concatenate(edges, axis=1))
    _, labels = np.unique(least, return_inverse=True)
    variables = np.split(used[labels.argsort(kind="stable")], np.cumsum(np.bincount(labels))[:-1])
    return labels[used.searchsorted(np.concatenate(of_form))].tolist(), variables


def _least(edges: Any) -> Any:
    """Return of each variable that edges (2, E) lead to the least that hangs together with it, and itself, (2, V)."""
    first = edges.min()
    count = edges.max() - first + 1
    graph = coo_array((np.ones(edges.shape[1]), tuple(edges - first)), shape=(count, count))
    _, labels = connected_components(graph, directed=False)
    is_used = np.zeros(count, bool)
    is_used[edges[1] - first] = True
    used = np.flatnonzero(is_used)
    least = np.full(labels.max() + 1, count)
    np.minimum.at(least, labels[used], used)
    return first + np.stack([least[labels[used]], used])


def _shape(forms: Sequence[tuple[Form, Any]]) -> tuple[Any, int]:
    """Return what makes rows the same but for where their variables are counted from, and where that is."""
    shared = [(form, scale) for form, scale in forms if isinstance(form, Shared)]
    if len(shared) < len(forms):
        return object(), 0  # like no other
    (origin, _), *_ = shared
    return tuple((id(form.base), form.first - origin.first, x, type(x)) for form, x in shared), origin.first


def _laws(component: Component) -> Any:
    """Return what equal components have in common beside the terms of their rows."""
    of_formula = {each: k for k, each in reversed([*enumerate(component.formula)])}
    alike = tuple(map(of_formula.get, component.formula))  # which are computed alike, whatever the formula
    laws = tuple((each.node, each.step, each.range, each.spread, each.law, each.stream) for each in component.variables)
    return component.rows, component.modulus, laws, alike


Combination = tuple[tuple[tuple[int, Any], float], ...]
"""A sum of numbers, by node and place in its component, or name, with their coefficients."""


@dataclass(frozen=True)
class Knowledge:
    """Knowledge that some rows give of the data of honest nodes."""

    exact: dict[int, float]  # by node: of its best-known direction the share that follows whatever the masks are
    behind_masks: dict[int, float]  # the same, with real masks of the size they have
    sums: list[Combination]  # what is known exactly
    symmetric: bool = True  # in each of these all nodes take part alike
    distance: float = 0.0  # how far masks are from uniform, in total variation
    open: str = ""  # why the masks may not hide what these numbers say; empty where they do


def knowledge_of_all(
    asked: Iterable[tuple[Component, Sequence[int], Collection[int]]], corrupt: frozenset[int], repeated: float = 1.0
) -> list[Knowledge]:
    """Return the :func:`knowledge` that some rows give, of components with draws that are known; of equal ones once."""
    unique: dict[Any, list[tuple[list[int], Component, Collection[int]]]] = {}
    for place, (component, rows, known) in enumerate(asked):
        forms, modulus = (tuple(each[row] for row in rows) for each in (component.forms, component.modulus))
        part = replace(component, rows=tuple((0, k) for k in range(len(rows))), forms=forms, modulus=modulus)
        open_ = frozenset(component.column[v] for v in known if v in component.column)
        for k, (places, other, of_other) in enumerate(alike := unique.setdefault((_laws(part), open_), [])):
            if _are_equal(part, other):
                is_largest = part.largest > other.largest
                alike[k] = ([*places, place], part, known) if is_largest else ([*places, place], other, of_other)
                break
        else:
            alike.append(([place], part, known))
    by_place: dict[int, Knowledge] = {}
    for places, part, known in (each for alike in unique.values() for each in alike):
        learnt = knowledge(part, range(len(part.rows)), corrupt, repeated, known=known)
        by_place.update(dict.fromkeys(places, learnt))
    return [by_place[place] for place in range(len(by_place))]


def knowledge(
    component: Component,
    rows: Sequence[int],
    corrupt: frozenset[int],
    repeated: float = 1.0,
    *,
    known: Collection[int] = (),
) -> Knowledge:
    """Work out what the rows numbered ``rows`` tell whoever knows the data of ``corrupt``, and the draws ``known``.

    ``repeated`` says how often the same data may meet fresh masks: averaged, these are so much smaller.
    """
    table, used = component.table(rows)
    own = [component.variables[v] for v in used]
    open_ = {component.column[v] for v in known if v in component.column}
    data = [k for k, each in enumerate(own) if each.node >= 0 and each.node not in corrupt]
    draws = [k for k, each in enumerate(own) if each.node == -1 and used[k] not in open_]
    if not data:
        return Knowledge({}, {}, [])
    nodes, places = [own[k].node for k in data], [(own[k].node, used[k]) for k in data]
    modulus = [component.modulus[k] for k in rows]
    words, reason = _words(table, modulus, data, draws, own)
    if words is not None:
        known = np.array([[float(c) for c in row] for row in words]).reshape(-1, len(data))
        # A residue of a number is no more than the number.
        exact = _shares(known, np.zeros((len(known), 0)), nodes)
        sums = _sums(known, places)
        distance = _uniform(table, modulus, draws, own)[1] if draws else 0.0
        return Knowledge(exact, exact, sums, _symmetric(sums, component.formula), distance)
    of_data, hiding = (table.take(several, axis=1).astype(float, copy=False) for several in (data, draws))
    if _is_faint(of_data, hiding):
        return Knowledge({}, {}, [], open="masks are multiplied by so much that rounding decides what is left of data")
    spread = np.array([_hiding(own[k], component.largest) for k in draws])
    free = _free_of(hiding, of_data)
    exact = _shares(free, np.zeros((len(free), 0)), nodes)
    behind = _shares(of_data * (component.largest or 1.0), hiding * spread / repeated**0.5, nodes)
    behind = {node: max(share, exact.get(node, 0.0)) for node, share in behind.items()}
    between_steps = reason if any(own[k].step for k in draws) and hiding.any() else ""
    sums = _sums(free, places)
    return Knowledge(exact, behind, sums, _symmetric(sums, component.formula), open=between_steps)


def _hiding(draw: Variable, largest: float) -> float:
    """Return the spread of the normal draw that tells as much of a number up to ``largest`` as this one does.

    Laplace and logistic draws are those of equal Fisher information. Of c + U, with U uniform over a width w, at most
    log(1 + 2 largest / w) nats are known of c: it lies within a width of w + 2 largest, and no law over a width has
    more entropy than the uniform one. Of a normal draw of spread s it is log(1 + (largest / s)**2) / 2, the most that
    any law of c of that size lets it tell.
    """
    if draw.law in UNIFORM:
        width = draw.spread * 12**0.5
        return float(width / (2 * (width / (largest or 1.0) + 1) ** 0.5))
    return draw.spread * {"laplace": 2**-0.5, "logistic": 3 / pi}.get(draw.law, 1.0)


def determined(
    component: Component, rows: Sequence[int], secrets: Collection[int], known: Collection[int]
) -> tuple[set[int], set[int]]:
    """Return which of the draws ``secrets`` the rows tell anything of, once all other draws are eliminated.

    Then also those that stand beside data there: whoever guesses these knows the draws.
    """
    table, used = component.table(rows)
    variables = [{k: v for v, k in column.items()} for column in component.columns]
    laws = [component.variables[each] for each in used]
    own = [k for k, each in enumerate(used) if any(one[each] in secrets for one in variables)]
    others = [k for k, each in enumerate(laws) if each.node >= 0]
    open_ = [k for k, each in enumerate(used) if any(one[each] in known for one in variables)]
    draws = [k for k in range(len(used)) if k not in {*own, *others, *open_}]
    if not own:
        return set(), set()
    left, _ = _words(table, [component.modulus[k] for k in rows], [*own, *others], draws, laws)
    left = [[1] * (len(own) + len(others))] if left is None else left
    beside = [row for row in left if any(row[len(own) :])]
    shown, hiding = (
        {of[used[k]] for place, k in enumerate(own) if any(row[place] for row in several) for of in variables}
        for several in (left, beside)
    )
    return shown, hiding


def _words(
    table: Any, modulus: list[Any], data: list[int], draws: list[int], variables: list[Variable]
) -> tuple[list[list[int]] | None, str]:
    """Eliminate masks that are uniform words, exactly; return what is left of the data, or None and why that fails.

    In units of the masks' step every row is whole, modulo the number R of words. Rows are reduced by units of Z/R: a
    row with a pivot is uniform, whatever the data, and independent of all others; what is left has no mask in it.
    """
    if not draws:
        return None, ""
    words, _ = _uniform(table, modulus, draws, variables)
    if not words:
        return None, "masks that are not uniform words of one length"
    lines = []
    for row, q in zip(table, modulus, strict=True):
        sizes_of = [[row[v] * variables[v].step for v in some] for some in (draws, data)]
        if q == inf and any(sizes_of[0]) and sum(map(bool, sizes_of[0])) + any(row[v] for v in data) > 1:
            return None, "masks added without reduction: what lies between their steps, and their ends, are open"
        if isinstance(q, int) and q % words and words % q:
            return None, "masks that are not uniform words of the modulus, or of a part of it"
        # A row of data alone, or of masks alone, is known exactly.
        own = min((abs(each) for some in sizes_of for each in some if each), default=0)
        unit = own if q == inf else q / words if q % words else q // words
        if any(row[v] and not variables[v].step for v in (*data, *draws)):
            return None, "numbers of no known step beside masks that are whole words"
        line = [_in_units(each, unit) if each else 0 for some in sizes_of for each in some]
        if None in line:
            return None, "numbers that lie between the steps of the masks"
        lines.append([c or 0 for c in line])
        if q == inf and not any(sizes_of[0]) and 2 * max(map(abs, lines[-1]), default=0) >= words:
            return None, "sums of numbers in units so large that they vanish modulo the masks"
    left = _eliminated(lines, words, len(draws))
    if left is None:
        return None, "multiples of masks: a residue of what they hide is open"
    rest = [row[len(draws) :] for row in left]
    reduced = _eliminated(rest, words, len(data), keep=True)
    # Of equal rows one: rounding would take two for a little more.
    return [list(row) for row in dict.fromkeys(map(tuple, rest if reduced is None else reduced))], ""


def _is_faint(data: Any, hiding: Any) -> bool:
    """Say whether a row has coefficients of data that may be taken for rounding beside those of masks."""
    of_data, of_masks = (np.abs(each).max(axis=1, initial=0.0) for each in (data, hiding))
    return bool(((of_data > 0) & (of_data < _FAINT * of_masks)).any())


def _uniform(table: Any, modulus: list[Any], draws: list[int], variables: list[Variable]) -> tuple[int, float]:
    """Return of how many values masks are uniform, 0 if they are not, and how far they are from it in total variation.

    A draw of R values of which all rows know the rest modulo q alone is there a draw of q values, of which R modulo q
    come about more often than the others, each by one part in R. One of a few values less than q leaves these out.
    """
    sizes = {variables[v].range for v in draws}
    moduli = {q for row, q in zip(table, modulus, strict=True) if any(row[v] for v in draws)}
    values, q = sizes.pop(), next((each for each in moduli if isinstance(each, int)), 0)
    if not sizes and 0 < q - values < q * UNSEEN:
        return q, len(draws) * (q - values) / q
    more = values % q if q and len(moduli) == 1 and q < values else 0
    if sizes or not more:
        return 0 if sizes else values, 0.0
    return q, len(draws) * more * (q - more) / (values * q)


def _in_units(value: Any, unit: Any) -> int | None:
    """Divide, and return None where what comes out is not whole, or too large for a float to say so."""
    if isinstance(value, int) and isinstance(unit, int):
        return None if value % unit else value // unit
    ratio = value / unit
    return round(ratio) if abs(ratio - round(ratio)) <= 2**-50 * abs(ratio) < 8 else None


def _eliminated(rows: list[list[int]], modulus: int, columns: int, *, keep: bool = False) -> list[list[int]] | None:
    """Eliminate the first ``columns`` of ``rows`` by units modulo ``modulus``, and return the rows that are left.

    None where a column cannot be. With ``keep`` the rows of the pivots instead, centred.
    """
    rows = [[c % modulus for c in row] for row in rows]
    pivots: list[list[int]] = []
    for column in range(columns):
        place = next((k for k, row in enumerate(rows) if gcd(row[column], modulus) == 1), None)
        if place is None:
            if any(row[column] for row in rows):
                return None
            continue
        pivot = rows.pop(place)
        inverse = pow(pivot[column], -1, modulus)
        pivot = [c * inverse % modulus for c in pivot]
        rows = [_less(row, pivot, row[column], modulus) for row in rows]
        pivots = [_less(row, pivot, row[column], modulus) for row in pivots]
        pivots.append(pivot)
    if keep:
        return [[(c + modulus // 2) % modulus - modulus // 2 for c in row] for row in pivots]
    return [row for row in rows if any(row)]


def _less(row: list[int], pivot: list[int], factor: int, modulus: int) -> list[int]:
    return [(a - factor * b) % modulus for a, b in zip(row, pivot, strict=True)] if factor else row


def _free_of(hiding: Any, data: Any) -> Any:
    """Return the combinations of rows in which every mask cancels, as combinations of data."""
    data, hiding = _unit_rows(data, hiding)
    if hiding.size:
        basis, sizes, _ = np.linalg.svd(hiding, full_matrices=True)
        sizes = np.concatenate([sizes, np.zeros(len(basis) - len(sizes))])
        data = basis[:, sizes <= TOLERANCE * max(sizes[0], TOLERANCE)].T @ data
    if not data.size:
        return data
    _, sizes, rows = np.linalg.svd(data, full_matrices=False)
    return rows[sizes > _NOTHING]


def _unit_rows(data: Any, hiding: Any) -> tuple[Any, Any]:
    """Scale rows to length one, whatever their units are, and leave out those of zeros.

    Of many rows those are left out that follow from rows before them, whose rounding would add up; of the others the
    triangle is left: it has their inner products, and with them all that is asked of them.
    """
    width = data.shape[1] + hiding.shape[1]
    rows, basis = np.empty((2, 0, width))
    at_once = max(min(_AT_ONCE // max(width, 1), _BLOCK * width), width, 1)
    for begin in range(0, len(data), at_once):
        block = np.concatenate([each[begin : begin + at_once] for each in (data, hiding)], axis=1)
        largest = np.abs(block).max(axis=1, initial=0.0)
        block = block[largest > 0] / largest[largest > 0][:, None]
        block /= np.linalg.norm(block, axis=1)[:, None]
        block = block[np.linalg.norm(block - block @ basis.T @ basis, axis=1) > _NOTHING]
        rows = np.concatenate([rows, block])
        if len(block) and len(rows) > width:
            rows = np.asarray(np.linalg.qr(rows, mode="r"))
            if len(data) > _BLOCK * width:
                _, sizes, directions = np.linalg.svd(rows)
                basis = directions[sizes > _NOTHING]
    return rows[:, : data.shape[1]], rows[:, data.shape[1] :]


def _shares(data: Any, hiding: Any, nodes: list[int]) -> dict[int, float]:
    """Return each node's share of its best-known direction, for independent data of one size."""
    if not len(data):
        return dict.fromkeys(nodes, 0.0)
    data, hiding = _unit_rows(data, hiding)
    basis, some, _ = np.linalg.svd(hiding, full_matrices=True)
    sizes = np.concatenate([some, np.zeros(len(basis) - len(some))])
    through = basis.T @ data / np.maximum(sizes, 1e-13)[:, None]
    _, gain, directions = np.linalg.svd(through, full_matrices=False)
    weighted = directions.T * (gain / np.hypot(1.0, gain))  # of a direction that nothing is read of, nothing
    places: dict[int, list[int]] = {}
    for k, node in enumerate(nodes):
        places.setdefault(node, []).append(k)
    shares = {node: float(np.linalg.norm(weighted[own], 2)) ** 2 for node, own in places.items()}
    return {node: 1.0 if share > 1 - TOLERANCE else share for node, share in shares.items()}


def known_together(combinations: Iterable[Combination]) -> dict[int, float]:
    """Return each node's share, were all these combinations of the same data.

    Examples
    --------
    >>> ours = ((0, 0), 1.0), ((1, 0), 1.0)
    >>> theirs = ((0, 0), 1.0), ((1, 0), 1.0 + 1e-9)
    >>> [round(known_together(each)[0], 6) for each in ([ours], [ours, theirs])]
    [0.5, 1.0]
    """
    known = list(combinations)
    number = {each: k for k, each in enumerate(sorted({each for row in known for each, _ in row}))}
    names = [*number]
    groups: dict[int, list[Combination]] = {}
    for label, combination in zip(
        _joined([{number[each]: c for each, c in row} for row in known])[0], known, strict=True
    ):
        groups.setdefault(label, []).append(combination)
    shares: dict[int, float] = {}
    for several in groups.values():
        column = {each: k for k, each in enumerate(sorted({number[each] for row in several for each, _ in row}))}
        table = np.zeros((len(several), len(column)))
        for line, combination in zip(table, several, strict=True):
            line[[column[number[each]] for each, _ in combination]] = [c for _, c in combination]
        _, sizes, rows = np.linalg.svd(_unit_rows(table, table[:, :0])[0], full_matrices=False)
        rows = rows[sizes > _DIFFERS * sizes[0]]
        for node, share in _shares(rows, rows[:, :0], [names[each][0] for each in column]).items():
            shares[node] = max(share, shares.get(node, 0.0))
    return shares


def _sums(known: Any, places: list[tuple[int, int]]) -> list[Combination]:
    """Return the rows of the reduced echelon basis."""
    rows = np.array(known, dtype=float)
    rank = 0
    for column in range(rows.shape[1] if len(rows) else 0):
        pivot = rank + int(np.argmax(np.abs(rows[rank:, column]) > 1e-8)) if rank < len(rows) else rank
        if rank < len(rows) and abs(rows[pivot, column]) > 1e-8:
            rows[[rank, pivot]] = rows[[pivot, rank]]
            rows[rank] /= rows[rank, column]
            others = np.arange(len(rows)) != rank
            rows[others] -= rows[others, column][:, None] * rows[rank]
            rank += 1
    return [tuple((places[k], float(row[k])) for k in np.flatnonzero(np.abs(row) > _DIFFERS)) for row in rows[:rank]]


def _symmetric(sums: Iterable[Combination], formulas: Sequence[int | None]) -> bool:
    """Say whether in each of ``sums`` all its nodes take part alike: by the same formulas, times the same numbers."""
    for each in sums:
        parts: dict[int, set[Any]] = {}
        for (node, k), coefficient in each:
            parts.setdefault(node, set()).add((formulas[k], round(coefficient, 6)))
        if len({frozenset(part) for part in parts.values()}) != 1:
            return False
    return True


_LARGE = 1e6  # times the data: what is added to them


@dataclass(frozen=True)
class Encodings:
    """Hold what encodings of one node's own data are made of, and by which formula; of inputs too."""

    inputs: dict[int, frozenset[int]]  # behind each encoding
    coins: dict[int, frozenset[int]]  # the draws behind it, where there are any
    formulas: dict[int, int]  # by which each was computed: the same number if nodes did the same with the same entries


def encodings(trace: Trace, sent: Collection[int]) -> Encodings:
    """Describe encodings; an input has the formula of its entry, below zero.

    Only encodings among ``sent`` are looked at, and what they are made of. Two are made alike if their draws are of the
    same laws and lie as far apart.
    """
    codes = {key[1]: next(iter(x.form)) for key, x in trace.known.items() if type(key) is tuple and key[0] == "code"}
    formulas = _Formulas(trace)
    for key in _made_of(sent, codes, formulas.of_keys):  # what a formula is made of stands before it
        formulas.read(key)
        if key in codes:
            v = codes[key]
            formulas.of[v], formulas.inputs[v] = formulas.number_of[key], formulas.behind[key]
            formulas.coins[v] = formulas.drawn[key]
    for number, how, place in trace.infinite:
        if type(number.key) is int and number.key in formulas.behind:
            trace.by_value.setdefault(how, place)
    inputs = {v: formulas.inputs[v] for v in codes.values() if v in formulas.inputs}
    return Encodings(inputs, {v: coins for v in inputs if (coins := formulas.coins[v])}, formulas.of)


class _Formulas:
    """By which formulas numbers are computed, equal ones by one number; ``of`` those of variables."""

    def __init__(self, trace: Trace) -> None:
        self._trace, self.of_keys = trace, list(trace.keys)
        self.of = {v: -1 - each.entry for v, each in trace.variables.items() if each.kind == "input"}
        self.inputs = {v: frozenset({v}) for v in self.of}
        self.coins: dict[int, frozenset[int]] = {}
        self.number_of: dict[int, int] = {}  # of a key
        self.behind: dict[int, frozenset[int]] = {}  # the inputs that it is made of
        self.drawn: dict[int, frozenset[int]] = {}  # and the draws
        self._numbers: dict[Any, int] = {}
        self._offsets: dict[Any, list[tuple[float, float]]] = {}

    def read(self, key: int) -> None:
        """Read the formula of a key; of those that it is made of it has been read."""
        name, *args = self.of_keys[key]
        variables = [v for v, _ in args[0]] if name == "linear" else []
        for v in variables:
            if (own := self._trace.variables[v]).kind == "draw":
                law = own.law, own.spread, own.centre, own.range
                self.of[v], self.coins[v] = self._numbers.setdefault(law, len(self._numbers)), frozenset({v})
        parts, none = variables or [*_numbers_in([name, args])], frozenset[int]()
        of_parts, draws = (self.inputs, self.coins) if variables else (self.behind, self.drawn)
        self.behind[key] = frozenset().union(*(of_parts.get(each, none) for each in parts))
        self.drawn[key] = drawn = frozenset().union(*(draws.get(each, none) for each in parts))
        first = min(drawn, default=0)
        apart = [min(draws.get(each, none), default=first - 1) - first for each in parts] if drawn else []
        if name == "linear":
            own_formulas = {v: (self.of[v], *apart[k : k + 1]) for k, v in enumerate(variables)}
            terms, offset, error = _linear(args, self._trace, own_formulas)
            alike: Any = terms, _same(offset, error, self._offsets.setdefault(terms, []))
        else:
            alike = self._named(name), self._named(args), tuple(apart)
        self.number_of[key] = self._numbers.setdefault(alike, len(self._numbers))

    def _named(self, key: Any) -> Any:
        if type(key) is int:
            return self.number_of[key]
        return tuple(map(self._named, key)) if type(key) in (list, tuple) else key


def _made_of(sent: Collection[int], codes: Mapping[int, int], formulas: Sequence[Any]) -> list[int]:
    """List the keys of the encodings ``sent`` and of all that they are made of, in order."""
    of_code = {v: key for key, v in codes.items()}
    keys: set[int] = set()
    left = [of_code[v] for v in sent if v in of_code]
    while left:
        if (key := left.pop()) not in keys:
            keys.add(key)
            name, *args = formulas[key]
            left += [of_code[v] for v, _ in args[0] if v in of_code] if name == "linear" else _numbers_in([name, args])
    return sorted(keys)


def _linear(key: Any, trace: Trace, formulas: Mapping[int, Any]) -> tuple[Any, float, float]:
    """Return the terms of a linear form by the formulas of its variables; what is added, and by how much that is off.

    Beside small data a ninth digit of what is added may be all that counts; then all digits count that are exact.
    """
    terms, value, pure = key
    parts = [c * trace.variables[v].value for v, c in terms]
    offset, added = float(value - sum(parts)), float(sum(map(abs, parts)))
    size = abs(float(value)) + added
    offset = offset if abs(offset) > 1e-12 * size else 0.0
    digits = 5e-10 if abs(offset) < _LARGE * added else 0.0
    return (tuple(sorted((formulas[v], c) for v, c in terms)), pure), offset, max(1e-14 * size, digits * abs(offset))


def _same(offset: float, error: float, known: list[tuple[float, float]]) -> int:
    """Return which of some offsets one is, as far as they are known; of none it is a new one."""
    for k, (other, of_other) in enumerate(known):
        if abs(offset - other) <= max(error, of_other):
            return k
    known.append((offset, error))
    return len(known) - 1


def _numbers_in(key: Any) -> Iterator[int]:
    if type(key) is int:
        yield key
    elif type(key) in (list, tuple):
        for each in key:
            yield from _numbers_in(each)


Sums = tuple[frozenset[int], int, bool]
"""The inputs behind some combinations that are known, how many these are, and whether any is of encodings."""


def as_many_as_inputs(sums: Iterable[Sums]) -> bool:
    """Say whether of some inputs as many combinations are known as they are numbers, some of encodings among them.

    Inputs that two of ``sums`` share are solved for together.

    Examples
    --------
    >>> as_many_as_inputs([(frozenset({0, 1}), 1, True), (frozenset({2, 3}), 1, True)])
    False
    >>> as_many_as_inputs([(frozenset({0, 1}), 1, True), (frozenset({0, 1}), 1, False)])
    True
    """
    groups: dict[int, Sums] = {}
    group_of: dict[int, int] = {}
    for k, (inputs, known, coded) in enumerate(sums):
        joined = [groups.pop(each) for each in {group_of[v] for v in inputs if v in group_of}]
        together = inputs.union(*(each[0] for each in joined))
        group_of.update(dict.fromkeys(together, k))
        groups[k] = (together, known + sum(each[1] for each in joined), coded or any(each[2] for each in joined))
    return any(coded and inputs and known >= len(inputs) for inputs, known, coded in groups.values())
