"""Inputs to try a rule on: drawn sizes, number types and kinds of messages, and numbers of each kind."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from secmix._base.checks import Array
from secmix.testing.counterexample import Promise, laid_out
from secmix.testing.rule_promises import AGREEING, EQUIVARIANCES, F_LIMITS, ITSELF, NO_MEMORY, NOT_FINITE

RELATIONS = (NO_MEMORY, *ITSELF, *EQUIVARIANCES)
"""Promises that compare results of the rule with one another."""
FARTHEST = {"float64": 1e9, ">f8": 1e9, "int64": 1e6, "int32": 1e3, "uint64": 1e6, "float32": 1e6, "float16": 60.0}
"""The largest entries drawn for each number type: their squares can still be summed in it."""

# What is drawn from: what comes first is simplest, what stands there twice is drawn twice as often.
_TYPES = (*("float64",) * 10, *("float32", "int64") * 3, "int32", "uint64", "float16", ">f8")
_LAYOUTS = (
    *("C",) * 11, "F", "every second row", "every second column", "backwards", "transposed view",
    "part of a larger array", "read-only",
)  # fmt: skip
_ARRIVALS = ("honest first", "any", "any", "byzantine first", "ascending", "descending")
_CLOUDS: dict[str, Callable[[Array, np.random.Generator], Any]] = {
    "zeros": lambda x, rng: 0 * x,
    "general": lambda x, rng: x,
    "ties": lambda x, rng: np.rint(x) % 2,
    "duplicates": lambda x, rng: x[rng.integers(0, len(x), len(x))],
    "few": lambda x, rng: x[rng.integers(0, min(len(x), int(rng.integers(2, 4))), len(x))],  # fewer than colluders
    "line": lambda x, rng: x[0] + np.outer(rng.integers(-5, 6, len(x)), x[-1] if x[-1].any() else x[-1] + 1),
    "positive": lambda x, rng: np.abs(x) + 1,
    "negative": lambda x, rng: -np.abs(x) - 1,
    "offset": lambda x, rng: x + 10.0 ** rng.uniform(0, 4) * rng.standard_normal(x.shape[1]),
    "two groups": lambda x, rng: x + 20 * np.outer(rng.random(len(x)) < 0.5, rng.standard_normal(x.shape[1])),
    "tight": lambda x, rng: x[0] + 1e-3 * rng.standard_normal(x.shape),  # where little is enough to be seen
    # Heavy tails: a rule that has its eye on f may lose another honest one.
    "one far": lambda x, rng: x * np.where(np.arange(len(x)) <= rng.integers(max(len(x) // 3, 1)), 1e3, 1)[:, None],
}
"""Kinds of honest messages, made of any (h, p)."""
_COLLUSIONS = (
    "by as much", *("together", "ratios", "axis", "sizes") * 2, "apart", "one far", "opposite", "mirrored", "near",
    "stretched", "shuffled", "chain",
)  # fmt: skip
SIZES = (-1.0, 1.0, 1e3, 1e6, 1e9, *(None,) * 20)


def _together(*options: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return one of each of the options in all ways, those first that are the first of the most of them."""
    return tuple(
        sorted(product(*options), key=lambda way: sum(map(str.__ne__, way, next(zip(*options, strict=False)))))
    )


FORMS = _together(_TYPES, _LAYOUTS, _ARRIVALS)
PLAIN = _together(("float64",), ("C",), _ARRIVALS)
KINDS, CHAINS = _together((*_CLOUDS, "general", "tight"), _COLLUSIONS), _together(tuple(_CLOUDS), ("chain",))
SPREAD = _together(("general", "one far"), ("by as much",))
ALIKE: tuple[Callable[[Array], Array], ...] = (
    lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300),  # of length 1
    lambda x: (np.abs(x) + 1e-9) / (np.abs(x) + 1e-9).sum(axis=1, keepdims=True),  # shares of a whole
    lambda x: x - x.mean(axis=1, keepdims=True),
    lambda x: np.where(x < 0, -1.0, 1.0),
    lambda x: (x > 0).astype(np.float64),
    lambda x: np.clip(np.abs(x), 0.0, 1.0),
    lambda x: np.sort(x, axis=1),
    lambda x: (np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]).astype(np.float64),  # one hot
)
"""What all messages may be in practice, so that colluders keep to it: each makes any rows (n, p) so."""


@dataclass(frozen=True)
class Space:
    """Sets that inputs are drawn from."""

    pairs: Sequence[tuple[int, int]]  # (n, f) that the rule accepts, from small to large
    widths: Sequence[int]  # numbers of entries, from small to large
    most: float = 20_000  # numbers of all messages together: large in one way at a time
    translates: bool = True  # the rule promises to be indifferent to where the origin is,
    scales: bool = True  # and to what the unit is
    withstands: Callable[[int, int], int] = lambda n, f: f  # how many colluders of n when set to f
    values: tuple[float, ...] = ()  # numbers that the rule's code names: entries, sizes and ratios
    kinds: Sequence[tuple[str, ...]] = KINDS  # of honest messages and of collusion
    forms: Sequence[tuple[str, ...]] = FORMS  # number types, layouts in memory, orders of arrival
    sizes: Sequence[float | None] = SIZES  # of integers for a reader; None for messages of every scale

    def plain(self, pairs: Sequence[tuple[int, int]]) -> Space:
        """Return the inputs that are easy to read."""
        widths = (1, 2, 3) if len(self.widths) > 1 else self.widths
        return replace(self, pairs=pairs, widths=widths, forms=PLAIN, sizes=SIZES[:5])

    @functools.cached_property
    def options(self) -> tuple[Sequence[Any], ...]:
        """Return what each part of ``RuleDraw`` is one of."""
        return self.pairs, self.widths, self.forms, self.kinds, self.sizes, range(2**32)


class RuleDraw(NamedTuple):
    """Options that are drawn of the inputs; the numbers follow from them."""

    pair: tuple[int, int]
    p: int
    forms: tuple[str, ...]  # number type, layout in memory, order of arrival
    kinds: tuple[str, ...]  # of honest messages and of collusion
    size: float | None  # of plain messages, integers for a reader; None for those of every scale
    seed: int

    @property
    def plain(self) -> bool:
        """Say whether the messages are for a reader."""
        return self.size is not None


@dataclass(frozen=True)
class RuleInputs:
    """Inputs that a promise is tried on."""

    honest: Array  # (h, p), before it is of the number type
    byzantine: Array  # (b, p)
    order: Any  # (h + b,), the places of the messages as they arrive
    f: int  # what the rule is set to
    dtype: str = "float64"
    layout: str = "C"
    extra: dict[str, Any] = field(default_factory=dict)  # what else the promise needs

    @property
    def n(self) -> int:
        """Count the messages."""
        return len(self.honest) + len(self.byzantine)

    @property
    def p(self) -> int:
        """Count the entries of each."""
        return int(self.honest.shape[1])

    @property
    def shape(self) -> tuple[int, int, int, str, str]:
        """Return all for which a rule may refuse messages whatever they are: n, p, f, type and layout."""
        return self.n, self.p, self.f, self.dtype, self.layout

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by the names that promises use: messages, honest, agreed."""
        plain = _typed(np.concatenate([self.honest, self.byzantine]), self.dtype)
        values = np.asarray(plain, dtype=np.float64)
        messages = laid_out(plain[self.order], self.layout)
        return {"messages": messages, "honest": values[: len(self.honest)], "agreed": values[0]}

    def harmless(self, *, alike: bool = False) -> Any:
        """Return messages of the same shape, type and layout that no rule has a reason to refuse."""
        integers = np.random.default_rng(0).integers(-9, 10, (self.n, self.p)).astype(np.float64)
        return laid_out(_typed(np.ones_like(integers) if alike else integers, self.dtype), self.layout)


def of_zeros(n: int, f: int, p: int, byzantine: int, extra: dict[str, Any]) -> RuleInputs:
    """Return inputs whose messages are zeros in their order, since they do not matter."""
    return RuleInputs(np.zeros((n - byzantine, p)), np.zeros((byzantine, p)), np.arange(n), f, extra=extra)


def _typed(values: Array, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype.startswith("uint"):
            values = np.abs(values)
        return np.rint(values).astype(dtype) if "int" in dtype else values.astype(dtype)


def filled(promise: Promise, drawn: RuleDraw, space: Space) -> RuleInputs:
    """Draw the numbers that the promise is to be tried on."""
    rng = np.random.default_rng(drawn.seed)
    if promise in RELATIONS:
        return _compared(promise, drawn, space, rng)
    ((n, f), p), (dtype, layout, arrival) = (drawn.pair, drawn.p), drawn.forms
    b = max(0, min(f, space.withstands(n, f)))
    if b > 1 and not drawn.plain and rng.random() < 0.2:
        b = int(rng.integers(1, b + 1))
    cloud, floats = _cloud(drawn, space, n - b, p, rng), dtype in ("float64", ">f8")
    if floats and not drawn.plain and space.scales and rng.random() < 0.2:
        cloud = cloud * 10.0 ** rng.uniform(-30, 30)
    if not floats:
        cloud = np.clip(cloud, -FARTHEST[dtype] / 4, FARTHEST[dtype] / 4)
    sent = _byzantine(drawn, space, cloud, b, dtype, rng)
    if not drawn.plain and np.abs(sent).max(initial=0.0) < 1e100 and rng.random() < 0.12:
        alike = ALIKE[int(rng.integers(len(ALIKE)))]
        cloud, sent = alike(cloud), alike(sent)
    if promise in AGREEING:
        cloud = np.repeat(cloud[:1], n - b, axis=0)
    inputs = RuleInputs(cloud, sent, _order(arrival, cloud, sent, rng), f, dtype, layout)
    return _judged(promise, inputs, drawn, space, rng)


def _judged(
    promise: Promise, inputs: RuleInputs, drawn: RuleDraw, space: Space, rng: np.random.Generator
) -> RuleInputs:
    """Add what a promise needs that judges one result."""
    if promise is F_LIMITS:
        f = int(rng.choice([(inputs.n + 1) // 2, inputs.n, inputs.n + 1, -1]))
        return replace(inputs, f=f, dtype="float64")
    if not drawn.plain:  # where the unit does not matter, a small vector must come out as exactly as a large one
        unit = 0.0 if space.scales and np.abs(inputs.honest).max() > 0.0 else 1.0
        inputs = replace(inputs, extra={"unit": unit})
    if promise is not NOT_FINITE:
        return inputs
    spoilt = inputs.byzantine.copy()
    for row in range(len(spoilt)):
        if row == 0 or rng.random() < 0.5:
            where = slice(None) if rng.random() < 0.3 else int(rng.integers(inputs.p))
            spoilt[row, where] = rng.choice([np.nan, np.inf, -np.inf])
    return replace(inputs, byzantine=spoilt, dtype="float32" if inputs.dtype == "float32" else "float64")


def _compared(promise: Promise, drawn: RuleDraw, space: Space, rng: np.random.Generator) -> RuleInputs:
    """Draw messages in general position: of two that are equally good, nobody can choose alike in another guise.

    On a line even those of general position may tie, as sums of distances do; so there are two entries at least.
    """
    (n, f), more = drawn.pair, len(space.widths) > 1
    p, (dtype, layout, _) = max(drawn.p, 2) if more else drawn.p, drawn.forms
    numbers, extra = rng.standard_normal((n, p)).round(6), dict[str, Any]()
    numbers[: max(f, 0)] *= float(rng.choice([1.0, 10.0]))
    if promise.title != "number type":
        dtype = "float64"
    elif dtype not in (
        "float64",
        ">f8",
    ):  # integers, whose squares can be summed without rounding in any of the types
        top, dtype = max(int(np.sqrt(2**23 / p)), 6) // 2, "int32" if dtype in ("uint64", "float16") else dtype
        numbers = rng.integers(-top, top + 1, (n, p)).astype(np.float64)
    if promise is NO_MEMORY:
        width = int(rng.integers(1, 12)) if more else p
        extra["other"] = rng.standard_normal((n, width)).round(3) * 10.0 ** rng.integers(-2, 5)
    elif promise.title == "more entries":
        extra["common"] = np.rint(rng.standard_normal(int(rng.integers(1, 4 if drawn.plain else 60))) * 8)
    elif promise.title == "permutation":
        extra["order"] = rng.permutation(n)
    elif promise.title == "translation":
        extra["shift"] = np.rint(rng.standard_normal(p) * 40) * float(rng.choice([1.0, 1e3]))
    elif promise.title == "scale":
        # Powers of two round nothing, so that a rule has no excuse; some are far out.
        extra["factor"] = 2.0 ** int(rng.choice([1, -1, 10, -40, 300, -300]))
    elif promise.title == "orthogonal":
        wider = int(rng.integers(0, 3 if drawn.plain else 8)) if more else 0
        extra["axis"] = np.round(rng.standard_normal(p + wider), 3) + 0.001
    return RuleInputs(numbers, np.empty((0, p)), np.arange(n), f, dtype, layout, extra)


def _cloud(drawn: RuleDraw, space: Space, h: int, p: int, rng: np.random.Generator) -> Array:
    """Draw the honest messages (h, p)."""
    general = not drawn.plain and rng.random() < 0.4
    cloud = rng.standard_normal((h, p)) if general else rng.integers(-9, 10, (h, p)).astype(np.float64)
    if drawn.kinds[0] != "offset" or space.translates:
        cloud = _CLOUDS[drawn.kinds[0]](cloud, rng)
    cloud = np.rint(np.clip(cloud, -9, 9)) if drawn.plain else cloud * float(rng.choice([1.0, 0.1, 6.7]))
    if space.values and rng.random() < 0.3:
        cloud[rng.integers(h), rng.integers(p)] = np.clip(rng.choice(space.values), -1e30, 1e30)
    return np.asarray(cloud, dtype=np.float64)


def _byzantine(drawn: RuleDraw, space: Space, cloud: Array, b: int, dtype: str, rng: np.random.Generator) -> Array:
    """Draw the messages (b, p) of the colluders."""
    p, floats = cloud.shape[1], dtype in ("float64", ">f8")
    most = min(FARTHEST[dtype], float(np.sqrt(2e4 / p))) if dtype == "float16" else FARTHEST[dtype]
    size = drawn.size or 10.0 ** rng.uniform(-1, np.log10(most))
    if space.values and rng.random() < 0.4:
        size = abs(float(rng.choice(space.values))) * float(rng.choice([1.0, 1.01, 0.99, 2.0]))
    elif not drawn.plain and dtype == "float64" and rng.random() < 0.2:
        size = 10.0 ** rng.uniform(9, rng.choice([40, 140, 300]))
    with np.errstate(all="ignore"):
        scale = 1.0 if drawn.plain else float(np.abs(cloud).max()) or 1.0
        far = size * scale if floats else min(size * scale, most)
        sent = _in_concert(drawn.kinds[1], cloud, b, size, far, scale, most, space.values, rng)
        if drawn.plain and size < 1e9 and p <= 3:  # integers are easier to read
            sent = np.rint(sent)
        if space.values and rng.random() < 0.5:
            sent[:, rng.integers(p)] = rng.choice(space.values)
    largest = 1e300 if floats else most
    return np.asarray(np.clip(np.nan_to_num(sent), -largest, largest), dtype=np.float64)


def _in_concert(
    how: str, cloud: Array, b: int, size: float, far: float, scale: float, most: float, values: tuple[float, ...],
    rng: np.random.Generator,
) -> Any:  # fmt: skip
    """Draw what b colluders send: ``far`` from a point, or so many times the ``size`` of an honest message."""
    (h, p), mean = cloud.shape, cloud.mean(axis=0)
    base = (np.zeros(p), cloud[0], mean)[int(rng.integers(3))]
    way, rows = _direction(p, rng), cloud[rng.integers(0, h, b)]
    ratios = [1.0, 2.0, 3.0, 0.5, -1.0, -2.0, 1.5, 4.0, *rng.standard_normal(2), *values[:20]]
    apart = float(np.linalg.norm(cloud - mean, axis=1).max()) or scale
    ways: dict[str, Callable[[], Any]] = {
        "by as much": lambda: cloud[0] + np.full((b, p), far),
        "together": lambda: base + far * np.outer(np.ones(b), way),
        "mirrored": lambda: base + far * np.outer(np.where(np.arange(b) % 2, -1.0, 1.0), way),
        "ratios": lambda: (
            base + far * np.outer(rng.choice(ratios, b) if rng.random() < 0.7 else np.resize(ratios, b), way)
        ),
        "axis": lambda: base + far * (np.arange(p) == rng.integers(0, p, (b, 1))) * rng.choice([1.0, -1.0], (b, 1)),
        "apart": lambda: base + far * rng.standard_normal((b, p)),
        # One drowns what the other does.
        "sizes": lambda: (
            base + 10.0 ** rng.uniform(-1, np.log10(np.clip(far, 10, 1e300)), (b, 1)) * rng.normal(size=(b, p))
        ),
        "one far": lambda: rows,
        # The direction of an honest message, or its very numbers in another order.
        "opposite": lambda: -size * rows,
        "stretched": lambda: far * rows,
        "shuffled": lambda: rng.permuted(rows, axis=1),
        "near": lambda: rows + 10.0 ** rng.uniform(-7, 0) * rng.choice([1.0, scale]) * rng.standard_normal((b, p)),
        # Each next farther by the same factor, so that the one before it makes it look usual.
        "chain": lambda: mean + apart * np.outer(np.minimum(rng.uniform(1.2, 5.0) ** np.arange(1, b + 1), most), way),
    }
    sent = ways[how]()
    if how in ("sizes", "one far"):
        sent[:1] = base + far * way
    return sent


def _direction(p: int, rng: np.random.Generator) -> Array:
    """Draw a vector of length 1 (p,): in every third all entries, or some side by side, are alike or zero."""
    if rng.random() < 0.2:
        direction = np.full(p, float(rng.choice([1.0, -1.0])))
    else:
        direction = rng.standard_normal(p)
        if rng.random() < 0.3:  # some entries only, side by side
            start = int(rng.integers(p))
            direction[:start] = direction[start + int(rng.integers(1, p + 1)) :] = 0.0
    return np.asarray(direction / (np.linalg.norm(direction) or 1.0))


def _order(arrival: str, cloud: Array, sent: Array, rng: np.random.Generator) -> Any:
    """Draw the places of the messages, honest ones first, as they arrive."""
    h, b = len(cloud), len(sent)
    if arrival == "any":
        return rng.permutation(h + b)
    if arrival == "byzantine first":
        return np.roll(np.arange(h + b), b)
    if arrival == "honest first":
        return np.arange(h + b)
    first = np.concatenate([cloud, sent])[:, 0]
    return np.argsort(first if arrival == "ascending" else -first, kind="stable")
