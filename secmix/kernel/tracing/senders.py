"""Say whether whoever sends a message can compute it: of numbers that it was sent added up it knows no single one.

A simulation may take masks off that nobody told the one who takes them off, which no implementation can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from secmix.kernel.randomness.streams import follows
from secmix.kernel.tracing.trace import RESULT, Fit, Message
from secmix.kernel.values.current_trace import INF, Trace
from secmix.kernel.values.numbers import Number, traced_back
from secmix.transcript import SERVER

_MOST = 5_000  # numbers that are sent or held in a run: of more it is not asked


@dataclass(frozen=True)
class _Combination:
    """Variables that a number is made of, as bits; of words also what some are multiplied by, in which ring."""

    bits: int
    coefficients: tuple[tuple[int, Any], ...] = ()
    modulus: Any = INF

    def within(self, modulus: Any) -> int:
        """Return the variables that are left modulo a number."""
        if modulus == INF or not self.coefficients:
            return self.bits
        return self.bits & ~_bits(place for place, by in self.coefficients if Fraction(by) % modulus == 0)


class _Held:
    """Keep what a node or the server knows: some variables, and combinations of others."""

    def __init__(self, node: int, first: int, trace: Trace) -> None:
        self.node, self.first, self.trace = node, first, trace
        self.known = self.met = self.asked = 0
        self.combinations: list[_Combination] = []

    def add(self, combinations: Iterable[_Combination], parts: int) -> None:
        """Add combinations, and variables of which functions are known that are not followed: all may follow."""
        self.known |= parts
        for combination in combinations:
            self.met |= combination.bits
            if combination.bits & (combination.bits - 1):
                self.combinations.append(combination)
            else:
                self.known |= combination.bits

    def makes(self, combination: _Combination) -> bool:
        """Say whether what is known may make a combination."""
        for streams in (False, True):
            self._ask(combination.bits | self.met, streams=streams)
            if self._spans(combination.bits & ~self.known, combination.modulus):
                return True
        return False

    def _spans(self, target: int, modulus: Any) -> bool:
        """Say whether combinations may add up to one: so not, where each has a variable that no other takes away."""
        left, of_parts = list[int](), 0
        for combination in reversed(self.combinations):  # the last first, of which a node mostly makes what it sends
            if not target & ~of_parts:
                return True
            left.append(combination.within(modulus) & ~self.known)
            of_parts |= 0 if left[-1] & ~target else left[-1]
        while target & ~of_parts:
            once = twice = 0
            for bits in left:
                twice |= once & bits
                once |= bits
            remaining = [bits for bits in left if not bits & once & ~twice & ~target]
            if len(remaining) == len(left) or target & ~once:
                return not target & ~once
            left = remaining
        return True

    def _ask(self, variables: int, *, streams: bool) -> None:
        """Note which variables the node made itself; of ``streams`` those of which it has the seed."""
        for k in _places(variables & ~self.known & ~(0 if streams else self.asked)):
            own = self.trace.variables[self.first + k]
            if own.kind != "draw":
                is_own = own.node == self.node
            else:
                is_own = streams and own.stream >= 0 and follows(self.first + k, self._has_beside(k), self.trace)
            self.known |= is_own << k
        self.asked |= variables

    def _has_beside(self, k: int) -> Callable[[int], bool]:
        return lambda v: v != self.first + k and bool((self.met | self.known) >> (v - self.first) & 1)


def not_computed(fit: Fit) -> str:
    """Name the first message that is no combination of what its sender made, held or was sent; empty: none.

    It is asked which variables a combination leaves over, whatever its coefficients are: in any ring a number with one
    that is in nothing else, and not in what is sent, has no part in it.
    """
    are_alike = all(message.rows.table is not None for message in fit.messages)  # their entries
    entries = 1 if are_alike else max((message.rows.shape[2] for message in fit.messages), default=0)
    numbers = sum(len(message.rows) * entries for message in fit.messages)
    if numbers > _MOST or fit.trace.projects is not None:
        return ""
    first = fit.trace.ends[0]
    held = {node: _Held(node, first, fit.trace) for node in (*range(fit.n), SERVER)}
    for message in fit.messages:
        of_row = {row: _combinations_in(message, row, first, entries) for row in {*message.content}}
        for sender, receiver, row in zip(message.sender, message.receiver, message.content, strict=True):
            combinations, parts = of_row[row]
            if message.frame[3] == "held" and message.frame[2] != RESULT:
                held[sender].add(combinations, parts)
                continue
            if not all(map(held[sender].makes, combinations)):
                return f"{message} from {sender} takes a sum apart of which nobody told it a part (send it, or note it)"
            held[receiver].add(combinations, parts)
    return ""


def _combinations_in(message: Message, row: int, first: int, entries: int) -> tuple[list[_Combination], int]:
    """Return the combinations that a row tells in its first run, and the variables of what is not followed in it."""
    table = message.rows.table
    if table is not None:
        columns = table.columns[table.coefficients[row, 0] != 0] - first
        places = (columns + entry for entry in range(min(entries, message.rows.shape[2])) if columns.size)
        return [_Combination(_bits(each)) for each in places], 0
    cells = [each for each in message.rows.reading[row, 0].tolist() if isinstance(each, Number)]
    parts = traced_back(each for each in cells if not each.is_followed)[0]
    combinations = [_combination(each, first) for each in cells if each.is_followed and each.form]
    return combinations, _bits(variable - first for each in parts for variable in each.form)


def _combination(number: Number, first: int) -> _Combination:
    bits = _bits(variable - first for variable in number.form)
    if number.modulus in (0, INF):
        return _Combination(bits)
    larger = tuple((variable - first, by) for variable, by in number.form.items() if abs(by) != 1)
    return _Combination(bits, larger, abs(Fraction(number.modulus) / Fraction(number.scale)))


def _bits(places: Iterable[int]) -> int:
    return sum(1 << int(place) for place in {*places})


def _places(bits: int) -> Iterator[int]:
    """Yield which bits are set."""
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1
