"""Linear combinations of variables, by coefficient, which entries of a vector share.

A protocol that treats entries alike adds up the same terms for each of them, with other variables. Counted from one of
these, they are the same numbers: such a sum is made once, however many entries there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from secmix.kernel.state import now


class Shared:
    """The combination of ``base``, whose variables are counted from ``first``."""

    __slots__ = ("base", "first")

    def __init__(self, base: dict[int, Any], first: int) -> None:
        self.base, self.first = base, first

    def __len__(self) -> int:
        return len(self.base)

    def __iter__(self) -> Iterator[int]:
        return map(self.first.__add__, self.base)

    def items(self) -> Iterator[tuple[int, Any]]:
        """Yield variables, with their coefficients."""
        return zip(self, self.base.values(), strict=True)


Form = dict[int, Any] | Shared
_ITSELF = {0: 1}
_EACH = 20  # terms that take as long as all else of a sum
MOST_TERMS = 10**8
"""How many terms a call may add up; more would take minutes."""


def alone(variable: int) -> Form:
    """Return the combination that is a variable itself.

    Examples
    --------
    >>> dict(alone(3).items())
    {3: 1}
    """
    return Shared(_ITSELF, variable)


def scaled(form: Form, scale: Any) -> dict[int, Any]:
    """Multiply all coefficients; what comes out is not to be written to."""
    if scale == 1:
        return form if isinstance(form, dict) else dict(form.items())
    return {v: scale * c for v, c in form.items()}


def sum_of(a: Form, by_a: Any, b: Form, by_b: Any) -> Form:
    """Add two combinations, each times a number; the sum of the call before is looked up, not made."""
    trace = now()
    trace.terms += _EACH
    if not (isinstance(a, Shared) and isinstance(b, Shared)):
        trace.terms += len(a) + len(b)
        return _added(dict(scaled(a, by_a)), b, by_b)
    how = by_a, type(by_a), by_b, type(by_b), b.first - a.first
    base_a, base_b, how_before, made = trace.last_sum
    if base_a is a.base and base_b is b.base and how_before == how:
        trace.shared += len(a) + len(b)
    else:
        trace.terms += len(a) + len(b)
        if trace.terms > trace.most_terms:
            trace.leave("a call that adds up more terms than are followed (use fewer nodes or entries)")
        made = _added(dict(scaled(a.base, by_a)), Shared(b.base, b.first - a.first), by_b)
        trace.last_sum = a.base, b.base, how, made
    return Shared(made, a.first) if made else {}


def _added(out: dict[int, Any], form: Form, scale: Any) -> dict[int, Any]:
    for variable, coefficient in form.items():
        out[variable] = total = out.get(variable, 0) + scale * coefficient
        if not total:
            del out[variable]
    return out
