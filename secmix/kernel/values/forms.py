"""Linear combinations of variables, by coefficient, which entries of a vector share.

A protocol that treats entries alike adds up the same terms for each of them, with other variables. Counted from one of
these, they are the same numbers: such a sum is made once, however many entries there are. Long sums of floats are added
up as arrays. Below: of what step numbers are whole multiples.
"""

from __future__ import annotations

import math
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from secmix.kernel.values.current_trace import EXACT, INF, now


class Packed:
    """Variables in order, (k,), and their coefficients, (k,), floats."""

    __slots__ = ("coefficients", "variables")

    def __init__(self, variables: Any, coefficients: Any) -> None:
        self.variables, self.coefficients = variables, coefficients

    def __len__(self) -> int:
        return len(self.variables)

    def __iter__(self) -> Iterator[int]:
        return iter(self.variables.tolist())

    def values(self) -> list[float]:
        return self.coefficients.tolist()  # type: ignore[no-any-return]


class Shared:
    """The combination of ``base``, whose variables are counted from ``first``."""

    __slots__ = ("base", "first")

    def __init__(self, base: dict[int, Any] | Packed, first: int) -> None:
        self.base, self.first = base, first

    def __len__(self) -> int:
        return len(self.base)

    def __iter__(self) -> Iterator[int]:
        return map(self.first.__add__, self.base)

    def items(self) -> Iterator[tuple[int, Any]]:
        return zip(self, self.base.values(), strict=True)


Form = dict[int, Any] | Shared
_ITSELF = {0: 1}
EACH = 20  # terms that take as long as all else of a sum
LONG, CHEAP = 24, 50  # terms from which on arrays are faster, and how many of these take as long as one of others
_KEPT: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()  # arrays that several may have
MOST_TERMS = 10**8
"""Most terms that a call may add up; more would take minutes."""


def alone(variable: int) -> Form:
    """Return the combination that is a variable itself.

    >>> dict(alone(3).items())
    {3: 1}
    """
    return Shared(_ITSELF, variable)


def is_same(a: Form, b: Form) -> bool:
    """Say whether two combinations are the same, term by term.

    >>> is_same(alone(3), {3: 1}), is_same(alone(3), alone(4))
    (True, False)
    """
    if isinstance(a, Shared) and isinstance(b, Shared) and a.base is b.base:
        return a.first == b.first
    return a is b or (len(a) == len(b) and dict(a.items()) == dict(b.items()))


def variables_in(forms: Sequence[Form]) -> Any:
    """Return the variables of some combinations, (k,), in no order, and some more than once."""
    if sum(map(len, forms)) < 1000:  # which are listed sooner than sorted by what they share
        return np.fromiter(chain.from_iterable(forms), np.int64)
    return np.concatenate([np.empty(0, np.int64), *(table.ravel() for table, _ in tables_of(forms))])


def tables_of(forms: Iterable[Form]) -> Iterator[tuple[Any, list[int]]]:
    """Yield the variables (k, m) of combinations that share their base and follow each other, and which column each is.

    Those that are counted from the same variable have one column.
    """
    origins = ((form.base, form.first) if isinstance(form, Shared) else (form, 0) for form in forms)
    for _, some in groupby(origins, key=lambda origin: id(origin[0])):
        bases, firsts = zip(*some, strict=True)
        columns = {first: k for k, first in enumerate(dict.fromkeys(firsts))}
        yield np.add.outer(_in_order(bases[0]), np.array([*columns])), [columns[first] for first in firsts]


def packed(form: Form) -> Packed | None:
    """Return a long combination of floats as arrays; None where it is another."""
    if isinstance(form, Shared) and isinstance(form.base, Packed):
        return Packed(form.base.variables + form.first, form.base.coefficients) if form.first else form.base
    return None


def _in_order(base: dict[int, Any] | Packed) -> Any:
    return base.variables if isinstance(base, Packed) else np.fromiter(base, np.int64, len(base))


def scaled(form: Form, scale: Any) -> dict[int, Any]:
    """Multiply all coefficients; what comes out is not to be written to."""
    if scale == 1:
        return form if isinstance(form, dict) else dict(form.items())
    return {v: scale * c for v, c in form.items()}


def sum_of(a: Form, by_a: Any, b: Form, by_b: Any, *, of_floats: bool = False) -> Form:
    """Add two combinations, each times a number; the sum of the call before is looked up, not made.

    Coefficients ``of_floats`` need not stay whole numbers of any length.
    """
    trace = now()
    trace.terms += EACH
    if not (isinstance(a, Shared) and isinstance(b, Shared)):
        trace.terms += len(a) + len(b)
        return a if not b and by_a == 1 else _added(dict(scaled(a, by_a)), b, by_b)
    how = by_a, type(by_a), by_b, type(by_b), b.first - a.first, of_floats
    base_a, base_b, how_before, added, terms = trace.last_sum
    if base_a is a.base and base_b is b.base and how_before == how:
        trace.shared += terms
    else:
        terms = len(a) + len(b)
        if of_floats and terms >= LONG:
            added, terms = _packed_sum(a.base, by_a, b.base, by_b, b.first - a.first), LONG + terms // CHEAP
        else:
            added = _added(dict(scaled(Shared(a.base, 0), by_a)), Shared(b.base, b.first - a.first), by_b)
        trace.last_sum = a.base, b.base, how, added, terms
        trace.terms += terms
        if trace.terms > trace.most_terms:
            trace.leave("a call that adds up more terms than are followed (use fewer nodes or entries)")
    return Shared(added, a.first) if added else {}


def apart(forms: Sequence[Form]) -> tuple[int, tuple[Any, ...]]:
    """Return the variable that shared combinations are counted from, and what they are, for what others count alike.

    Nothing where some are not shared. The same bases have to be there for as long as this is compared.
    """
    if not all(isinstance(form, Shared) for form in forms):
        return 0, ()
    first = forms[0].first  # type: ignore[union-attr]
    return first, tuple([(id(form.base), form.first - first) for form in forms])  # type: ignore[union-attr]


def weighted_sum(terms: Iterable[tuple[Any, Any, Form]], first: int) -> dict[int, Any]:
    """Add combinations, each times a coefficient and a scale; variables are counted from ``first``."""
    out: dict[int, Any] = {}
    for c, scale, form in terms:
        for variable, coefficient in form.items():
            out[variable - first] = out.get(variable - first, 0) + c * (scale * coefficient)
    return {variable: coefficient for variable, coefficient in out.items() if coefficient}


def _added(out: dict[int, Any], form: Form, scale: Any) -> dict[int, Any]:
    for variable, coefficient in form.items():
        out[variable] = total = out.get(variable, 0) + scale * coefficient
        if not total:
            del out[variable]
    return out


def _packed(base: dict[int, Any] | Packed) -> Packed:
    if isinstance(base, Packed):
        return base
    variables = np.array([*base], dtype=np.int64)
    order = variables.argsort()
    return Packed(variables[order], np.array([*base.values()], dtype=float)[order])


def _packed_sum(a: Any, by_a: Any, b: Any, by_b: Any, apart: int) -> Packed:
    """Add arrays as :func:`_added` adds dictionaries: the same two products, and their sum."""
    a, b, by_a, by_b = _packed(a), _packed(b), float(by_a), float(by_b)
    of_b = b.variables + apart if apart else b.variables
    if np.array_equal(a.variables, of_b):
        variables, total = a.variables, by_a * a.coefficients + by_b * b.coefficients
    else:
        variables = np.union1d(a.variables, of_b)
        total = np.zeros(len(variables))
        total[variables.searchsorted(a.variables)] = by_a * a.coefficients
        total[variables.searchsorted(of_b)] += by_b * b.coefficients
    if not total.all():
        variables, total = variables[total != 0], total[total != 0]
    return Packed(kept_once(variables), kept_once(total))  # other calls make the same sums


def kept_once(array: Any) -> Any:
    """Return an array that is kept and equal, or keep this one, which nobody is to write to."""
    stretch = sum(abs(step) * (count - 1) for step, count in zip(array.strides, array.shape, strict=True))
    if stretch + array.itemsize < array.nbytes:  # a copy would take more memory
        return array
    own = np.ascontiguousarray(array)
    same = _KEPT.setdefault((own.dtype.char, own.shape, zlib.crc32(own.data)), own)
    return same if np.array_equal(same, own) else own


def common_step(a: Any, b: Any) -> Any:
    """Return the largest number that divides both, as far as is known; infinity is that of zero, 0 is none.

    >>> common_step(6, 4), common_step(0.25, 1.0), common_step(INF, 3), common_step(0, 3)
    (2, 0.25, 3, 0)
    """
    if not a or not b:
        return 0
    small, large = min(a, b), max(a, b)
    if is_multiple(large, small):
        return small
    return math.gcd(int(small), int(large)) if small == int(small) and large == int(large) else 0


def is_multiple(step: Any, of: Any) -> bool:
    """Say whether whole multiples of ``step`` are whole multiples of ``of``."""
    if step == INF:
        return True
    if not step or not of or of == INF or (isinstance(step, float) and step > EXACT * of):
        return False
    return bool(step % of == 0)


def size_of(value: Any) -> Any:
    """Return the largest step of a public number: infinity of zero, 0 of what is not finite."""
    if value == 0:
        return INF
    return abs(value) if math.isfinite(value) else 0


def times(step: Any, by: Any, value: Any) -> Any:
    """Multiply a step, or modulus; the old one stays where a float does not hold the product exactly."""
    if not step or step == INF:
        return step
    inexact = isinstance(value, float) and by == int(by) and step * abs(by) > EXACT
    return step if inexact else step * abs(by)
