"""Which inputs an encoding was computed from and by which formula, and whether sums of encodings may be solved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from secmix.kernel.state import Trace

_LARGE = 1e6  # times the data: what is added to them


def encodings(trace: Trace) -> dict[int, frozenset[int]]:
    """Return the variables of the inputs behind each encoding of one node's own data."""
    codes = _codes(trace)
    behind = _behind(trace, codes)
    return {code: frozenset(_inputs(number, trace, codes, behind)) for code, number in codes.items()}


def formulas(trace: Trace) -> dict[int, int]:
    """Number how each encoding was computed: two have the same number if nodes did the same with the same entries.

    An input has the number of its entry, below zero.
    """
    codes = _codes(trace)
    behind = _behind(trace, codes)
    made = {key: code for code, key in codes.items()}
    numbers: dict[Any, int] = {}
    found = {v: -1 - each.entry for v, each in trace.variables.items() if each.kind == "input"}
    of_key: dict[int, int] = {}

    def named(key: Any) -> Any:
        if type(key) is int:
            return of_key[key]
        return tuple(map(named, key)) if type(key) in (list, tuple) else key

    for key, (name, *args) in behind.items():  # what a formula is made of stands before it
        alike = _linear(args, trace, found) if name == "linear" else (named(name), named(args))
        of_key[key] = numbers.setdefault(alike, len(numbers))
        if key in made:
            found[made[key]] = of_key[key]
    return found


def _linear(key: Any, trace: Trace, found: Mapping[int, int]) -> Any:
    """Return the terms of a linear form by the formulas of its variables, and what is added to them."""
    terms, value, pure = key
    parts = [c * trace.variables[v].value for v, c in terms]
    offset = value - sum(parts)
    rounding = 1e-12 * (abs(value) + sum(map(abs, parts)))
    alike = tuple(sorted((found.get(v, v), c) for v, c in terms))
    # Beside small data a ninth digit of it may be all that counts; then all digits are compared that are exact.
    digits = 9 if abs(offset) < _LARGE * sum(map(abs, parts)) else 14
    return alike, float(f"{offset:.{digits}g}") if abs(offset) > rounding else 0.0, pure


def _codes(trace: Trace) -> dict[int, int]:
    """Return by which number in ``trace.keys`` each encoding is known."""
    return {
        next(iter(each.form)): key[1] for key, each in trace.known.items() if type(key) is tuple and key[0] == "code"
    }


def _behind(trace: Trace, codes: Mapping[int, int]) -> dict[int, Any]:
    return {number: key for key, number in trace.keys.items()} if codes else {}


def _inputs(number: int, trace: Trace, codes: Mapping[int, int], behind: Mapping[int, Any]) -> Iterator[int]:
    seen, waiting = set(), [number]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        name, *args = behind[one]
        if name != "linear":
            waiting += _numbers_in([name, args])
            continue
        for variable, _ in args[0]:
            if trace.variables[variable].kind == "input":
                yield variable
            else:
                waiting.append(codes[variable])


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
    groups: list[Sums] = []
    for inputs, known, coded in sums:
        joined = [each for each in groups if each[0] & inputs]
        groups = [each for each in groups if not each[0] & inputs]
        together = inputs.union(*(each[0] for each in joined))
        groups.append((together, known + sum(each[1] for each in joined), coded or any(each[2] for each in joined)))
    return any(coded and inputs and known >= len(inputs) for inputs, known, coded in groups)
