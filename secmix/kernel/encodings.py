"""Which inputs an encoding was computed from, and whether as many sums of encodings are known as there are inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from secmix.kernel.state import Trace


def encodings(trace: Trace) -> dict[int, frozenset[int]]:
    """Return the variables of the inputs behind each encoding of one node's own data."""
    codes = {
        next(iter(each.form)): key[1] for key, each in trace.known.items() if type(key) is tuple and key[0] == "code"
    }
    behind = {number: key for key, number in trace.keys.items()} if codes else {}
    return {code: frozenset(_inputs(number, trace, codes, behind)) for code, number in codes.items()}


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
            elif variable in codes:
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
