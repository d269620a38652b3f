"""Words: numbers as a type of few bits keeps them, and what else of :class:`Number` needs that."""

from __future__ import annotations

from typing import Any

import numpy as np

from secmix.kernel.numbers import Number, arguments, function, keyed
from secmix.kernel.state import INF, common_step, is_multiple, now

_DOUBLE = np.dtype(float)


def whole(number: Any, *, may_fail: bool = True) -> Any:
    """Return a secret as Python's int, cut off towards zero; what is not finite fails in Python, and not in NumPy."""
    cut = number.rounded(lambda x: float(np.trunc(x)), "trunc", may_fail=may_fail)
    if isinstance(cut.value, int):
        return cut
    modulus, step = _unrounded(cut.modulus), _unrounded(cut.step)
    out = Number(int(cut.value), cut.form, modulus, cut.depends, step, scale=cut.scale, pure=cut.pure)
    out.below, out.span = cut.below, cut.span
    return keyed(out, "whole", cut)


def _unrounded(step: Any) -> Any:
    """Return a whole step, or modulus, as an int: products of words are exact, and those of floats are not."""
    return int(step) if isinstance(step, float) and step.is_integer() else step


def centred(number: Any, width: int) -> Any:
    """Return the residue of ``number`` modulo ``width`` that lies in [-width/2, width/2)."""

    def moved(word: int) -> int:
        return word - width if word >= width // 2 else word

    residue = number % width
    if not isinstance(residue, Number):
        return moved(residue)
    out = function(f"centred {width}", moved, residue, step=common_step(residue.step, width))
    if out.modulus == 0:  # it differs from the residue by nothing or by the width
        out.modulus, out.form, out.scale = common_step(residue.modulus, width), residue.form, residue.scale
        out.span = width // 2
    return out


def cast(number: Any, dtype: np.dtype[Any]) -> Any:
    """Keep ``number`` as an array of ``dtype`` does: words wrap around, and few digits are a function of many."""
    if not isinstance(number, Number):
        if dtype == _DOUBLE:
            return float(number)
        return wrapped(int(number), dtype) if dtype.kind in "iu" else np.asarray(number).astype(dtype).item()
    if dtype.kind == "b":
        return number if isinstance(number.value, bool) else function("bool", bool, number)
    if dtype.kind in "iu":
        return wrapped(whole(number, may_fail=False), dtype)
    if dtype.kind == "f" and dtype.itemsize < 8:
        known, key = now().known, ("as", dtype, arguments(number))
        if key not in known:  # and what is one already stays as it is
            known[key] = function(f"as {dtype}", lambda x: float(dtype.type(x)), number)
            known[("as", dtype, arguments(known[key]))] = known[key]
        return known[key]
    return number * 1.0 if isinstance(number.value, int) and dtype.kind == "f" else number


def wrapped(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a whole number as a word of ``dtype``, for other than sums and products: those wrap around alike.

    A signed word reduces where its draws may carry it beyond its ends; overflow of data is assumed away.
    """
    width = 2 ** (8 * dtype.itemsize)
    if dtype.kind == "u":
        return number % width
    largest = abs(2 * (number.value if isinstance(number, Number) else number) + 1)
    if isinstance(number, Number) and number.modulus == INF:
        draws = [(c, now().own(v)) for v, c in number.terms.items()]
        largest = max(largest, sum(2 * abs(c) * draw.range * draw.step for c, draw in draws))
    elif isinstance(number, Number) and is_multiple(number.modulus, width):
        return centred(number, width)  # a sum of residues, whether or not it left the word in this run
    return number if largest <= width else centred(number, width)


def rounded(number: Any, digits: int | None = None) -> Any:
    """Stand for Python's ``round``."""
    if digits is None:
        return whole(number.rounded(lambda x: float(round(x)), "round", may_fail=True))
    return number.rounded(lambda x: round(x, digits), f"round {digits}", 10.0**-digits)


Number.as_it_passes = lambda self: self  # type: ignore[attr-defined]
Number.__round__ = rounded  # type: ignore[attr-defined]
Number.astype = lambda self, dtype, **kw: cast(self, np.dtype(dtype))  # type: ignore[attr-defined]
