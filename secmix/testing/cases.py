"""One case that a rule is tried on: honest messages, Byzantine ones, and how all of them lie in memory.

A case is kept in parts, so that it can be made smaller while it fails; the arrays the rule is given are made of it
last. The messages are drawn over everything a rule may depend on: how many there are and of how many entries, their
order of arrival, their sizes, signs, ties and directions, their number type and their layout in memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.testing.counterexample import LAYOUTS, laid_out

ROUNDING = {
    "float64": 1e-7,
    ">f8": 1e-7,
    "int64": 1e-7,
    "int32": 1e-7,
    "uint64": 1e-7,
    "float32": 2e-4,
    "float16": 3e-2,
}
"""What a rule may be wrong by, in units of the largest entry, for each number type of the messages."""

FARTHEST = {"float64": 1e9, ">f8": 1e9, "int64": 1e6, "int32": 1e3, "uint64": 1e6, "float32": 1e6, "float16": 60.0}
"""The largest entries drawn for each number type: their squares can still be summed in it."""


@dataclass(frozen=True)
class Case:
    """What a property is tried on.

    Attributes
    ----------
    cloud : (h, p)
        Honest messages; if ``agree``, all of them send the first row.
    byzantine : (b, p)
    keys : (h + b,)
        The messages arrive in ascending order of these.
    f : int
        What the rule is set to.
    dtype, layout : str
    vectors : dict of name -> (p,) or (p + pad,)
        A shift, an axis: what else the property needs for each entry.
    numbers : dict of name -> number
    kind : str
        What was drawn, in words.
    """

    cloud: Array
    byzantine: Array
    keys: Array
    f: int
    agree: bool = False
    dtype: str = "float64"
    layout: str = "C"
    vectors: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    kind: str = ""

    @property
    def n(self) -> int:
        """How many messages there are."""
        return len(self.cloud) + len(self.byzantine)

    @property
    def p(self) -> int:
        """How many entries each has."""
        return int(self.cloud.shape[1])

    @property
    def shape(self) -> tuple[int, int, int, str, str]:
        """All that a rule may refuse whatever the numbers are: n, p, f, type and layout."""
        return self.n, self.p, self.f, self.dtype, self.layout

    def arrays(self) -> dict[str, Any]:
        """The arrays by the names that the properties use: messages, honest, byzantine, agreed."""
        honest = np.repeat(self.cloud[:1], len(self.cloud), axis=0) if self.agree else self.cloud
        order = np.argsort(self.keys, kind="stable")
        plain = _typed(np.concatenate([honest, self.byzantine]), self.dtype)
        values = np.asarray(plain, dtype=np.float64)
        h = len(honest)
        return {
            "messages": laid_out(plain[order], self.layout),
            "honest": values[:h],
            "byzantine": values[h:],
            "agreed": values[0],
        }

    def harmless(self, *, alike: bool = False) -> Any:
        """Messages of the same shape, type and layout of which no rule has a reason to refuse any."""
        integers = np.random.default_rng(0).integers(-9, 10, (self.n, self.p)).astype(np.float64)
        return laid_out(_typed(np.ones_like(integers) if alike else integers, self.dtype), self.layout)


def _typed(values: Array, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        if dtype.startswith("uint"):
            values = np.abs(values)
        return np.rint(values).astype(dtype) if "int" in dtype else values.astype(dtype)


@dataclass(frozen=True)
class Space:
    """What cases are drawn from.

    Attributes
    ----------
    pairs : list of (n, f)
        Those the rule accepts, from small to large.
    widths : tuple of int, or (least, most)
        The numbers of entries: one of these; or, if ``wide``, anything between the two.
    wide : bool
        Whether sizes, types, layouts and scales are drawn from everything, or kept small for a reader.
    moves, scales : bool
        Whether the rule promises to be indifferent to where the origin and what the unit is.
    values, directions : tuple
        Numbers and vectors that the rule was seen to work with; tried as entries, sizes, ratios and directions.
    how : str
        One of the ways in which colluders act in concert; any where none is given.
    """

    pairs: list[tuple[int, int]]
    widths: tuple[int, ...]
    wide: bool = False
    moves: bool = True
    scales: bool = True
    withstands: Callable[[int, int], int] = lambda n, f: f
    values: tuple[float, ...] = ()
    directions: tuple[Array, ...] = ()
    how: str = ""

    @functools.cached_property
    def largest(self) -> list[tuple[int, int]]:
        """The pairs whose f no smaller n allows."""
        found: list[tuple[int, int]] = []
        for n, f in sorted(dict(sorted(self.pairs)).items()):
            if not found or f > found[-1][1]:
                found.append((n, f))
        return found


MOST_MESSAGES, MOST_ENTRIES = 64, 2000
WIDE_NUMBERS = (
    ("float64",) * 10 + ("float32",) * 3 + ("int64",) * 3 + ("int32",) + ("uint64",) + ("float16",) + (">f8",)
)
CLOUDS = (
    "general",
    "general",
    "grid",
    "ties",
    "duplicates",
    "line",
    "positive",
    "negative",
    "offset",
    "two groups",
    "tight",
    "tight",
    "few",
    "one far",
)
COLLUSIONS = (
    *("together", "ratios", "axis", "sizes") * 2,
    "apart",
    "one far",
    "opposite",
    "mirrored",
    "near",
    "stretched",
    "shuffled",
    "chain",
)
ALIKE: dict[str, Callable[[Array], Array]] = {
    "of length 1": lambda x: x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300),
    "shares": lambda x: (np.abs(x) + 1e-9) / (np.abs(x) + 1e-9).sum(axis=1, keepdims=True),
    "without sum": lambda x: x - x.mean(axis=1, keepdims=True),
    "signs": lambda x: np.where(x < 0, -1.0, 1.0),
    "bits": lambda x: (x > 0).astype(np.float64),
    "within 0 and 1": lambda x: np.clip(np.abs(x), 0.0, 1.0),
    "sorted": lambda x: np.sort(x, axis=1),
    "one hot": lambda x: (np.arange(x.shape[1]) == x.argmax(axis=1)[:, None]).astype(np.float64),
}
"""What all messages may be in practice, so that colluders keep to it: each makes any rows (n, p) so."""


def draw_case(space: Space, rng: np.random.Generator, *, agree: bool = False, exact: bool = False) -> Case:
    """A case; with ``exact`` one of general position in float64, on which rules must agree with themselves."""
    pairs = space.pairs
    if space.wide:
        # An off-by-one, and a breakdown point below one half, show where f is the largest that n messages allow.
        drawn = space.largest if rng.random() < 0.2 else pairs
        n, f = drawn[int(len(drawn) * rng.random() ** (1.5 if drawn is pairs else 1.0))]
    else:
        n, f = pairs[int(rng.integers(min(3, len(pairs))))]
    p = _width(space, rng)
    if n * p > 20_000:  # large in one way at a time
        small = [pair for pair in pairs if pair[0] * p <= 20_000] or pairs[:1]
        n, f = small[int(rng.integers(len(small)))]
    b = max(0, min(f, space.withstands(n, f)))
    if b > 1 and rng.random() < 0.2:
        b = int(rng.integers(1, b + 1))
    dtype = "float64" if exact or not space.wide else str(rng.choice(WIDE_NUMBERS))
    layout = str(rng.choice(list(LAYOUTS))) if space.wide and rng.random() < 0.4 else "C"
    cloud, kind = _cloud(space, n - b, p, rng)
    floats = dtype in ("float64", ">f8")
    if floats and not exact and space.wide and space.scales and rng.random() < 0.2 and np.abs(cloud).max() < 1e100:
        cloud = cloud * 10.0 ** rng.uniform(-30, 30)
    if not floats:
        cloud = np.clip(cloud, -FARTHEST[dtype] / 4, FARTHEST[dtype] / 4)
    byzantine, how = _byzantine(space, cloud, b, rng, dtype, agree=agree, mild=exact)
    if space.wide and not exact and np.abs(byzantine).max(initial=0.0) < 1e100 and rng.random() < 0.12:
        kept = str(rng.choice(list(ALIKE)))
        cloud, byzantine, kind = ALIKE[kept](cloud), ALIKE[kept](byzantine), f"{kind}, {kept}"
    order = rng.choice(["any", "any", "honest first", "byzantine first", "ascending", "descending"])
    keys = _keys(str(order), cloud, byzantine, rng)
    return Case(cloud, byzantine, keys, f, agree, dtype, layout, kind=f"{kind}; {how}; {order}")


def _width(space: Space, rng: np.random.Generator) -> int:
    if not space.wide or len(space.widths) == 1:
        return int(rng.choice(space.widths))
    low, high = space.widths
    cut = [low, min(60, high), min(400, high), high]
    part = int(rng.choice(3, p=[0.7, 0.2, 0.1]))
    return int(np.exp(rng.uniform(np.log(cut[part]), np.log(cut[part + 1] + 1 - 1e-9))))


def _cloud(space: Space, h: int, p: int, rng: np.random.Generator) -> tuple[Array, str]:
    kind = str(rng.choice(CLOUDS))
    unit = float(rng.choice([1.0, 0.1, 6.7]))
    cloud = rng.integers(-9, 10, (h, p)) * unit
    if kind == "general" or (space.wide and kind in ("positive", "negative", "line") and rng.random() < 0.5):
        cloud = rng.standard_normal((h, p)) * unit
    if kind == "ties":
        cloud = np.rint(cloud) % 2
    elif kind == "duplicates":
        cloud = cloud[rng.integers(0, h, h)]
    elif kind == "line":
        cloud = cloud[0] + np.outer(rng.integers(-5, 6, h), cloud[-1] if cloud[-1].any() else np.ones(p))
    elif kind in ("positive", "negative"):
        cloud = (np.abs(cloud) + unit) * (1.0 if kind == "positive" else -1.0)
    elif kind == "offset" and space.moves and space.wide:
        cloud = cloud + 10.0 ** rng.uniform(0, 4) * rng.standard_normal(p)
    elif kind == "tight" and space.wide:  # where little is enough to be seen
        cloud = cloud[0] + 1e-3 * rng.standard_normal((h, p))
    elif kind == "few":  # so that what is told apart is fewer than the colluders
        cloud = cloud[rng.integers(0, min(h, 1 + int(rng.integers(1, 3))), h)]
    elif kind == "one far" and space.wide:  # heavy tails: a rule that has its eye on f may lose another honest one
        cloud = cloud.astype(np.float64)
        cloud[: 1 + int(rng.integers(max(h // 3, 1)))] *= 10.0 ** rng.uniform(1, 4)
    elif kind == "two groups" and space.wide:
        cloud = cloud + 20.0 * unit * np.outer(rng.random(h) < 0.5, rng.standard_normal(p))
    if space.values and rng.random() < 0.3:
        cloud = np.array(cloud, dtype=np.float64)
        cloud[rng.integers(h), rng.integers(p)] = np.clip(rng.choice(space.values), -1e30, 1e30)
    return np.asarray(cloud, dtype=np.float64), kind


def _byzantine(
    space: Space, cloud: Array, b: int, rng: np.random.Generator, dtype: str, *, agree: bool, mild: bool
) -> tuple[Array, str]:
    p = cloud.shape[1]
    most = FARTHEST[dtype]
    if dtype == "float16":
        most = min(most, float(np.sqrt(2e4 / p)))
    size = float(rng.choice([1.0, 1e3, 1e6, 1e9])) if not space.wide else 10.0 ** rng.uniform(-1, np.log10(most))
    how = space.how or str(rng.choice(COLLUSIONS))
    if mild:
        size = float(rng.choice([1.0, 10.0]))
    if space.values and rng.random() < 0.4:
        size = abs(float(rng.choice(space.values))) * float(rng.choice([1.0, 1.01, 0.99, 2.0]))
    elif space.wide and not mild and dtype == "float64" and rng.random() < 0.15:
        size = 10.0 ** rng.uniform(9, rng.choice([40, 140, 300]))
    scale = float(np.abs(cloud).max()) if space.wide else 1.0
    with np.errstate(all="ignore"):
        far = size * (scale or 1.0)
        far = far if dtype in ("float64", ">f8") else min(far, most)
        direction = _direction(space, p, rng)
        ratios = rng.choice([1.0, 2.0, 3.0, 0.5, -1.0, -2.0, 1.5, 4.0, *space.values[:20]], b)
        if space.wide and rng.random() < 0.3:
            ratios = rng.standard_normal(b)
        base = (np.zeros(p), cloud[0], cloud.mean(axis=0))[int(rng.integers(3))]
        if how == "together":
            sent = np.tile(base + far * direction, (b, 1))
        elif how == "ratios":  # in concert: each goes its own multiple of one way, from one point
            sent = base + far * np.outer(ratios, direction)
        elif how == "axis":
            sent = np.zeros((b, p))
            sent[np.arange(b), rng.integers(0, p, b)] = far * rng.choice([1.0, -1.0], b)
            sent += base
        elif how == "one far":
            sent = cloud[rng.integers(0, len(cloud), b)].copy()
            sent[:1] = base + far * direction
        elif how == "opposite":
            sent = -size * cloud[rng.integers(0, len(cloud), b)]
        elif how == "mirrored":
            sent = base + far * np.outer(np.where(np.arange(b) % 2, -1.0, 1.0), direction)
        elif how == "sizes":  # one drowns what the other does
            sizes = 10.0 ** rng.uniform(-1, np.log10(min(max(far, 10.0), 1e300)), b)
            sent = base + sizes[:, None] * rng.standard_normal((b, p))
            sent[:1] = base + far * direction
        elif how == "stretched":  # the direction of an honest message
            sent = far * cloud[rng.integers(0, len(cloud), b)]
        elif how == "shuffled":  # its very numbers, in another order
            sent = rng.permuted(cloud[rng.integers(0, len(cloud), b)], axis=1)
        elif how == "near":
            step = 10.0 ** rng.uniform(-7, 0) * float(rng.choice([1.0, scale]))
            sent = cloud[rng.integers(0, len(cloud), b)] + step * rng.standard_normal((b, p))
        elif how == "chain":  # each next farther by the same factor, so that the one before is its witness
            apart = float(np.linalg.norm(cloud - cloud.mean(axis=0), axis=1).max()) or scale
            ratio = float(np.exp(rng.uniform(np.log(1.2), np.log(5.0))))
            reach = np.clip(np.arange(1, b + 1) * np.log10(ratio), 0.0, np.log10(most))
            sent = cloud.mean(axis=0) + apart * np.outer(10.0**reach, direction)
        else:
            sent = base + far * rng.standard_normal((b, p))
        if not space.wide and size < 1e9 and p <= 3:  # whole numbers are easier to read
            sent = np.rint(sent)
        if space.values and rng.random() < 0.5 and b:
            sent[:, rng.integers(p)] = rng.choice(space.values)
    largest = 1e300 if dtype in ("float64", ">f8") else most
    return np.asarray(np.clip(np.nan_to_num(sent), -largest, largest), dtype=np.float64), how


def _direction(space: Space, p: int, rng: np.random.Generator) -> Array:
    fitting = [d for d in space.directions if len(d) == p]
    if fitting and rng.random() < 0.8:
        direction = fitting[int(rng.integers(len(fitting)))] * float(rng.choice([1.0, -1.0]))
    elif rng.random() < 0.2:
        direction = np.ones(p) * float(rng.choice([1.0, -1.0]))
    else:
        direction = rng.standard_normal(p)
        if rng.random() < 0.3:  # some entries only, side by side
            start = int(rng.integers(p))
            direction[:start] = direction[start + int(rng.integers(1, p + 1)) :] = 0.0
    return np.asarray(direction / (np.linalg.norm(direction) or 1.0))


def _keys(order: str, cloud: Array, byzantine: Array, rng: np.random.Generator) -> Array:
    h, b = len(cloud), len(byzantine)
    if order == "any":
        return rng.random(h + b)
    if order == "honest first":
        return np.arange(h + b, dtype=np.float64)
    if order == "byzantine first":
        return np.concatenate([np.arange(b, h + b), np.arange(b)]).astype(np.float64)
    first = np.concatenate([cloud, byzantine])[:, 0]
    return np.asarray(first if order == "ascending" else -first)
