"""A property tried on a case: which values it needs, whether it holds, and how a failing case is made smaller."""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from types import CodeType
from typing import Any

import numpy as np

from secmix.adversaries.search.oracle import Rule, quietly
from secmix.testing.cases import ROUNDING, Case, Space, draw_case
from secmix.testing.properties import ELSEWHERE, Property, a_tie

UNBOUNDED = 1e3
"""Without a bound given, an error of so many honest spreads counts as one."""
AGREEING = ("consensus", "not finite")
GENERAL = (
    "number type",
    "however handed",
    ELSEWHERE,
    "more entries",
    "orthogonal",
)  # nobody can break a tie alike in another guise
_STEPS = 1500  # attempts to make a case smaller
_REMEMBERED = 40  # cases that passed


@dataclass
class Trials:
    """Tries properties of a rule, and counts.

    Attributes
    ----------
    allowed : (n, f) -> float
        The largest error, in honest spreads.
    cases : Counter of title
    refused : Counter of (n, p, f, type, layout)
        What the rule takes no messages of, whatever they hold.
    passed : list
        The first that passed, to be tried again when something fails.
    fresh : callable or None
        A copy of the rule that has not been called.
    written_on : bool
        Whether the messages of the last case were others afterwards.
    """

    rule: Rule
    allowed: Callable[[int, int], float]
    cases: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    sizes: list[tuple[int, int, int]] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)
    layouts: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[int, int, int, str, str]] = field(default_factory=Counter)
    passed: list[tuple[Property, Case]] = field(default_factory=list)
    fresh: Rule | None = None
    written_on: bool = False

    def hold(self, one: Property, case: Case) -> BaseException | None:
        """Try ``case``, and count it: what was raised, or None where the promise is kept."""
        why = self.fails(one, case)
        self.cases[one.title] += 1
        self.calls += one.calls * int(case.numbers.get("calls", 1))
        self.sizes.append((case.n, case.p, case.f))
        self.types[case.dtype] += 1
        self.layouts[case.layout] += 1
        if why is None and one.title in AGREEING and len(self.passed) < _REMEMBERED:
            self.passed.append((one, case))
        return why

    def changed(self, one: Property, case: Case) -> bool:
        """Whether a failing case sometimes passes, or one that passed before fails now: the rule counts or draws."""
        if any(self.fails(one, case) is None for _ in range(3)):
            return True
        if self.fresh is not None and Trials(copy.deepcopy(self.fresh), self.allowed).fails(one, case) is None:
            return True
        return any(self.fails(*before) is not None for before in self.passed)

    def fades(self, one: Property, case: Case) -> bool:
        """Whether a case of numbers a little larger passes: the rule may know the old ones from another call."""
        factor = 1 + 1e-9 if case.dtype in ("float64", ">f8") else 3.0  # fewer digits, or whole numbers
        larger = replace(case, cloud=case.cloud * factor, byzantine=case.byzantine * factor)
        return self.fails(one, larger) is None

    def fails(self, one: Property, case: Case) -> BaseException | None:
        """What the property's lines raise on ``case``; None too where the rule refuses all messages of this shape."""
        arrays = values_of(one, case, self.allowed)
        names: dict[str, Any] = {"rule": self.rule, "np": np, **arrays}
        before = np.array(arrays["messages"]) if "messages" in arrays else None
        self.written_on = False
        try:
            quietly(lambda: exec(_compiled(one), names))
            self.written_on = before is not None and not np.array_equal(before, arrays["messages"], equal_nan=True)
        except AssertionError as error:
            return None if a_tie(one, _compiled(one), arrays, names) else error
        except (Exception, SystemExit) as error:
            if one.title != "f limits" and self._refuses(case):
                self.refused[case.shape] += 1
                return None
            return error
        return None

    def _refuses(self, case: Case) -> bool:
        """Whether the rule takes no messages of this shape, neither such as differ nor such as are all alike."""
        return all(self._refused(case, alike) for alike in (False, True))

    def _refused(self, case: Case, alike: bool) -> bool:
        try:
            quietly(lambda: self.rule(case.harmless(alike=alike), f=case.f))
        except ValueError:
            return True
        except TypeError:  # a number type that the rule does not take
            return case.dtype != "float64"
        except Exception:
            return False
        return False

    def smallest(self, one: Property, case: Case, why: BaseException) -> tuple[Case, BaseException]:
        """The smallest case found that still fails, and what it raises."""
        left = _STEPS
        smaller = True
        while smaller and left > 0:
            smaller = False
            for candidate in _smaller(case):
                if 2 * case.f < case.n and 2 * candidate.f >= candidate.n:
                    continue  # of so few messages nobody could tell
                left -= 1
                if left <= 0:
                    break
                error = self.fails(one, candidate)
                if error is not None and type(error) is type(why):
                    case, why, smaller = candidate, error, True
                    break
        return case, why


@functools.cache
def _compiled(one: Property) -> CodeType:
    return compile(one.lines, f"<{one.title}>", "exec")


def values_of(one: Property, case: Case, allowed: Callable[[int, int], float]) -> dict[str, Any]:
    """What the lines of a property need, by name, in the order of ``needs``."""
    found: dict[str, Any] = {**case.arrays(), **case.vectors, **case.numbers, "f": case.f}
    messages = found["messages"]
    if "order" in one.needs:
        found["order"] = np.argsort(case.vectors["second order"], kind="stable")
    if "tolerance" in one.needs:
        size = float(np.abs(found["honest"]).max())
        if one.title not in (*AGREEING, "within reach", "worst case"):
            finite = np.abs(np.asarray(messages, dtype=np.float64))
            size = max(size, float(finite.max()), *(float(np.abs(v).max()) for v in case.vectors.values() if v.size))
        size = max(size, case.numbers.get("unit", 1.0)) or 1.0
        found["tolerance"] = float(f"{ROUNDING[case.dtype] * size:.3g}")
    if "allowed" in one.needs:
        found["allowed"] = float(allowed(case.n, case.f))
    return {name: found[name] for name in one.needs}


def draw_for(one: Property, space: Space, rng: np.random.Generator) -> Case:
    """A case that the property can be tried on."""
    title = one.title
    relation = bool(one.only_if) or title in ("no memory", "number type", "however handed", ELSEWHERE)
    case = draw_case(space, rng, agree=title in AGREEING, exact=relation)
    vectors: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    n, p = case.n, case.p
    if space.wide and not relation:
        # Where the unit does not matter, a small vector must come out as exactly as a large one.
        numbers["unit"] = 0.0 if space.scales else 1.0
        size = float(np.abs(case.cloud[:1] if case.agree else case.cloud).max())
        if size == 0.0:
            numbers["unit"] = 1.0
    if title in GENERAL:
        case = _in_general_position(case, space, title, rng)
        p = case.p
    if title == "f limits":
        case = replace(case, f=int(rng.choice([(n + 1) // 2, n, n + 1, -1])), dtype="float64")
    elif title == "not finite":
        spoilt = case.byzantine.copy()
        for row in range(len(spoilt)):
            if row == 0 or rng.random() < 0.5:
                where = slice(None) if rng.random() < 0.3 else int(rng.integers(p))
                spoilt[row, where] = rng.choice([np.nan, np.inf, -np.inf])
        floats = case.dtype if case.dtype in ("float64", "float32") else "float64"
        case = replace(case, byzantine=spoilt, dtype=floats)
    elif title == "no memory":
        width = p if len(space.widths) == 1 else int(rng.integers(1, 12))
        numbers["other"] = rng.standard_normal((n, width)) * 10.0 ** rng.uniform(-2, 4)
    elif title == "more entries":
        vectors["common"] = np.rint(rng.standard_normal(int(rng.integers(1, 60 if space.wide else 4))) * 8)
    elif title == "permutation":
        vectors["second order"] = rng.permutation(n).astype(np.float64)
    elif title == "translation":
        # Eighths are added without rounding: messages that tie still tie when all are moved.
        case = replace(case, cloud=np.rint(case.cloud * 8) / 8, byzantine=np.rint(case.byzantine * 8) / 8)
        vectors["shift"] = np.rint(rng.standard_normal(p) * 40) * float(rng.choice([1.0, 1e3]))
    elif title == "scale":
        # Powers of two round nothing, so that a rule has no excuse; some are far out.
        numbers["factor"] = 2.0 ** int(rng.choice([1, -1, 10, -40, 300, -300]))
    elif title == "orthogonal":
        more = 0 if len(space.widths) == 1 else int(rng.integers(0, 8 if space.wide else 3))
        vectors["axis"] = np.round(rng.standard_normal(p + more), 3) + 0.001
    return replace(case, vectors=vectors, numbers=numbers)


def _in_general_position(case: Case, space: Space, title: str, rng: np.random.Generator) -> Case:
    if title == "number type" and space.wide:
        dtype = str(rng.choice(["float64", "float32", "int64", "int32", ">f8"]))
        if dtype != "float64":
            # Whole numbers whose squares can be summed without rounding in any of the types.
            top = max(int(np.sqrt(2**23 / case.p)), 6) // 2
            drawn = rng.integers(-top, top + 1, (case.n, case.p)).astype(np.float64)
            layout = case.layout
        else:
            drawn, layout = rng.standard_normal((case.n, case.p)).round(3), str(rng.choice(["F", "transposed view"]))
        cloud, byzantine = drawn[: len(case.cloud)], drawn[len(case.cloud) :]
        return replace(case, cloud=cloud, byzantine=byzantine, dtype=dtype, layout=layout)
    drawn = rng.standard_normal((case.n, case.p)).round(6)
    drawn[len(case.cloud) :] *= float(rng.choice([1.0, 10.0]))
    return replace(case, cloud=drawn[: len(case.cloud)], byzantine=drawn[len(case.cloud) :])


def _smaller(case: Case) -> Iterator[Case]:
    """Cases like this one but simpler, the boldest first."""
    h, b, p = len(case.cloud), len(case.byzantine), case.p
    if case.layout != "C":
        yield replace(case, layout="C")
    if case.dtype != "float64":
        yield replace(case, dtype="float64")
    if (np.diff(case.keys) < 0).any():
        yield replace(case, keys=np.arange(case.n, dtype=np.float64))
    for rows in _cuts(h):
        if len(rows) < h:
            yield _kept(case, rows, np.arange(b))
    for rows in _cuts(b):
        yield _kept(case, np.arange(h), rows)
    if p > 40:
        yield from islice(_simpler_numbers(case), 12)
    for columns in _cuts(p):
        if columns.size:
            yield _columns(case, columns)
    yield from _simpler_numbers(case)


def _cuts(count: int) -> Iterator[Any]:
    """Ways to keep fewer of ``count``: halves, quarters, ..., all but one."""
    size = count // 2
    while size >= 1:
        for start in range(0, count, size):
            kept = np.delete(np.arange(count), slice(start, start + size))
            if len(kept) < count:
                yield kept
        if count > 40 and size < count // 16:
            return
        size //= 2


def _kept(case: Case, honest: Any, byzantine: Any) -> Case:
    if not len(honest):
        return case
    rows = np.concatenate([honest, len(case.cloud) + byzantine]).astype(np.intp)
    vectors = dict(case.vectors)
    if "second order" in vectors:
        vectors["second order"] = vectors["second order"][rows]
    numbers = dict(case.numbers)
    if "other" in numbers:
        numbers["other"] = numbers["other"][: len(rows)]
    return replace(
        case, cloud=case.cloud[honest], byzantine=case.byzantine[byzantine], keys=case.keys[rows],
        vectors=vectors, numbers=numbers,
    )  # fmt: skip


def _columns(case: Case, columns: Any) -> Case:
    vectors = {}
    for name, vector in case.vectors.items():
        if name == "shift":
            vector = vector[columns]
        elif name == "axis":
            vector = np.concatenate([vector[: case.p][columns], vector[case.p :]])
        vectors[name] = vector
    return replace(case, cloud=case.cloud[:, columns], byzantine=case.byzantine[:, columns], vectors=vectors)


def _simpler_numbers(case: Case) -> Iterator[Case]:
    """Zeros first, then small whole numbers, of whole arrays, rows and single entries."""
    for name in ("cloud", "byzantine"):
        array = getattr(case, name)
        yield from (replace(case, **{name: other}) for other in _simpler(array, name == "cloud" and case.agree))
    for name, vector in case.vectors.items():
        if name in ("shift", "common") and vector.any():
            yield from (
                replace(case, vectors={**case.vectors, name: other[0]}) for other in _simpler(vector[None], False)
            )


def _simpler(array: Any, first_row_only: bool) -> Iterator[Any]:
    if first_row_only:
        array = np.repeat(array[:1], len(array), axis=0)
    with np.errstate(all="ignore"):
        first = np.rint(np.clip(array[:, :1], -9, 9))
        alike = np.repeat(np.where(first == 0, 1.0, first), array.shape[1], axis=1)
        for other in (np.zeros_like(array), alike, np.rint(np.clip(array, -9, 9)), np.rint(array), np.sign(array)):
            if not np.array_equal(other, array, equal_nan=True) and _complexity(other) < _complexity(array):
                yield other
    rows = 1 if first_row_only else len(array)
    pieces: list[Any] = [(slice(None), j) for j in range(array.shape[1])] if rows > 1 and array.shape[1] <= 60 else []
    pieces += [(i, slice(None)) for i in range(rows)]
    if rows * array.shape[1] <= 120:
        pieces += [(i, j) for i in range(rows) for j in range(array.shape[1])]
    for piece in pieces:
        where = (slice(None), piece[1]) if first_row_only else piece
        for value in (0.0, 1.0, -1.0):
            other = array.copy()
            other[where] = value
            if _complexity(other) < _complexity(array):
                yield other
        other = array.copy()
        other[where] = np.rint(other[where])
        if _complexity(other) < _complexity(array):
            yield other


def _complexity(array: Any) -> float:
    """How hard an array is to read: digits, signs, entries that are not zero."""
    with np.errstate(all="ignore"):
        size = np.abs(array)
        broken = array != np.rint(array)
        costs = 1.0 * (size > 0) + 0.2 * (array < 0) + np.log2(1 + np.where(np.isfinite(size), size, 1e9)) + 20 * broken
    return float(np.sum(costs))
