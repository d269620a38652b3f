"""Draw cases over everything that a rule may depend on.

How many messages there are and of how many entries, their order of arrival, their sizes, signs, ties and directions,
their number type and their layout in memory, and the ways in which colluders act in concert.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.testing.cases import Case
from secmix.testing.counterexample import LAYOUTS, Promise
from secmix.testing.rule_promises import AGREEING, EQUIVARIANCES, F_LIMITS, ITSELF, NO_MEMORY, NOT_FINITE

GENERAL = (*(one.title for one in ITSELF), "more entries", "orthogonal")
"""Tried on messages in general position, since nobody can break a tie alike in another guise."""
FARTHEST = {"float64": 1e9, ">f8": 1e9, "int64": 1e6, "int32": 1e3, "uint64": 1e6, "float32": 1e6, "float16": 60.0}
"""The largest entries drawn for each number type: their squares can still be summed in it."""
TYPES = (*("float64",) * 10, *("float32", "int64") * 3, "int32", "uint64", "float16", ">f8")
CLOUDS = (
    "general", "general", "grid", "ties", "duplicates", "line", "positive", "negative", "offset", "two groups",
    "tight", "tight", "few", "one far",
)  # fmt: skip
COLLUSIONS = (
    *("together", "ratios", "axis", "sizes") * 2, "apart", "one far", "opposite", "mirrored", "near", "stretched",
    "shuffled", "chain",
)  # fmt: skip
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


@dataclass(frozen=True)
class Space:
    """What cases are drawn from."""

    pairs: list[tuple[int, int]]  # (n, f) that the rule accepts, from small to large
    widths: tuple[int, ...]  # numbers of entries: one of these; or, if ``wide``, anything between the two
    wide: bool = False  # sizes, types, layouts and scales of every kind, not small ones for a reader
    moves: bool = True  # the rule promises to be indifferent to where the origin is,
    scales: bool = True  # and to what the unit is
    withstands: Callable[[int, int], int] = lambda n, f: f  # how many colluders of n when set to f
    values: tuple[float, ...] = ()  # numbers that the rule's code names: entries, sizes and ratios
    how: str = ""  # one of COLLUSIONS; any of them where none is given

    @functools.cached_property
    def largest(self) -> list[tuple[int, int]]:
        """Return the pairs whose f no smaller n allows."""
        found: list[tuple[int, int]] = []
        for n, f in sorted(dict(sorted(self.pairs)).items()):
            if not found or f > found[-1][1]:
                found.append((n, f))
        return found


def draw_for(one: Promise, space: Space, rng: np.random.Generator) -> Case:
    """Draw a case that the promise can be tried on."""
    relation = one in (NO_MEMORY, *ITSELF, *EQUIVARIANCES)
    case = draw_case(space, rng, agree=one in AGREEING, exact=relation)
    if relation:
        return _compared(one, case, space, rng)
    if space.wide:  # where the unit does not matter, a small vector must come out as exactly as a large one
        size = float(np.abs(case.cloud[:1] if case.agree else case.cloud).max())
        case = replace(case, numbers={"unit": 0.0 if space.scales and size > 0.0 else 1.0})
    if one is F_LIMITS:
        return replace(case, f=int(rng.choice([(case.n + 1) // 2, case.n, case.n + 1, -1])), dtype="float64")
    return _spoilt(case, rng) if one is NOT_FINITE else case


def _spoilt(case: Case, rng: np.random.Generator) -> Case:
    """Put NaN and infinity into what colluders send."""
    spoilt = case.byzantine.copy()
    for row in range(len(spoilt)):
        if row == 0 or rng.random() < 0.5:
            where = slice(None) if rng.random() < 0.3 else int(rng.integers(case.p))
            spoilt[row, where] = rng.choice([np.nan, np.inf, -np.inf])
    return replace(case, byzantine=spoilt, dtype=case.dtype if case.dtype in ("float64", "float32") else "float64")


def _compared(one: Promise, case: Case, space: Space, rng: np.random.Generator) -> Case:
    """Add what a promise needs that compares two results."""
    title, vectors, numbers = one.title, dict[str, Any](), dict[str, Any]()
    if title in GENERAL:
        case = _in_general_position(case, space, title, rng)
    n, p = case.n, case.p
    if one is NO_MEMORY:
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
    h, dtype, layout = len(case.cloud), case.dtype, case.layout
    if title != "number type" or not space.wide:
        drawn = rng.standard_normal((case.n, case.p)).round(6)
        drawn[h:] *= float(rng.choice([1.0, 10.0]))
    elif (dtype := str(rng.choice(["float64", "float32", "int64", "int32", ">f8"]))) == "float64":
        drawn, layout = rng.standard_normal((case.n, case.p)).round(3), str(rng.choice(["F", "transposed view"]))
    else:  # whole numbers whose squares can be summed without rounding in any of the types
        top = max(int(np.sqrt(2**23 / case.p)), 6) // 2
        drawn = rng.integers(-top, top + 1, (case.n, case.p)).astype(np.float64)
    return replace(case, cloud=drawn[:h], byzantine=drawn[h:], dtype=dtype, layout=layout)


def draw_case(space: Space, rng: np.random.Generator, *, agree: bool = False, exact: bool = False) -> Case:
    """Draw a case; with ``exact`` one of general position in float64, on which rules must agree with themselves."""
    (n, f), p = _sizes(space, rng)
    b = max(0, min(f, space.withstands(n, f)))
    if b > 1 and rng.random() < 0.2:
        b = int(rng.integers(1, b + 1))
    dtype = "float64" if exact or not space.wide else str(rng.choice(TYPES))
    layout = str(rng.choice(list(LAYOUTS))) if space.wide and rng.random() < 0.4 else "C"
    cloud = _cloud(space, n - b, p, rng)
    floats = dtype in ("float64", ">f8")
    if floats and not exact and space.wide and space.scales and rng.random() < 0.2 and np.abs(cloud).max() < 1e100:
        cloud = cloud * 10.0 ** rng.uniform(-30, 30)
    if not floats:
        cloud = np.clip(cloud, -FARTHEST[dtype] / 4, FARTHEST[dtype] / 4)
    byzantine = _byzantine(space, cloud, b, rng, dtype, mild=exact)
    if space.wide and not exact and np.abs(byzantine).max(initial=0.0) < 1e100 and rng.random() < 0.12:
        kept = ALIKE[str(rng.choice(list(ALIKE)))]
        cloud, byzantine = kept(cloud), kept(byzantine)
    return Case(cloud, byzantine, _keys(cloud, byzantine, rng), f, agree, dtype, layout)


def _sizes(space: Space, rng: np.random.Generator) -> tuple[tuple[int, int], int]:
    """Draw (n, f) and the number of entries."""
    pairs = space.pairs
    if space.wide:
        # An off-by-one, and a breakdown point below one half, show where f is the largest that n messages allow.
        drawn = space.largest if rng.random() < 0.2 else pairs
        pair = drawn[int(len(drawn) * rng.random() ** (1.5 if drawn is pairs else 1.0))]
    else:
        pair = pairs[int(rng.integers(min(3, len(pairs))))]
    if not space.wide or len(space.widths) == 1:
        p = int(rng.choice(space.widths))
    else:
        low, high = space.widths
        cut = [low, min(60, high), min(400, high), high]
        part = int(rng.choice(3, p=[0.7, 0.2, 0.1]))
        p = int(np.exp(rng.uniform(np.log(cut[part]), np.log(cut[part + 1] + 1 - 1e-9))))
    if pair[0] * p > 20_000:  # large in one way at a time
        small = [pair for pair in pairs if pair[0] * p <= 20_000] or pairs[:1]
        pair = small[int(rng.integers(len(small)))]
    return pair, p


def _cloud(space: Space, h: int, p: int, rng: np.random.Generator) -> Array:
    kind = str(rng.choice(CLOUDS))
    unit = float(rng.choice([1.0, 0.1, 6.7]))
    cloud = rng.integers(-9, 10, (h, p)) * unit
    if kind == "general" or (space.wide and kind in ("positive", "negative", "line") and rng.random() < 0.5):
        cloud = rng.standard_normal((h, p)) * unit
    if kind == "ties":
        cloud = np.rint(cloud) % 2
    elif kind == "duplicates":
        cloud = cloud[rng.integers(0, h, h)]
    elif kind == "few":  # so that what is told apart is fewer than the colluders
        cloud = cloud[rng.integers(0, min(h, 1 + int(rng.integers(1, 3))), h)]
    elif kind == "line":
        cloud = cloud[0] + np.outer(rng.integers(-5, 6, h), cloud[-1] if cloud[-1].any() else np.ones(p))
    elif kind in ("positive", "negative"):
        cloud = (np.abs(cloud) + unit) * (1.0 if kind == "positive" else -1.0)
    elif space.wide:
        cloud = _wide_cloud(kind, np.asarray(cloud, dtype=np.float64), unit, rng, moves=space.moves)
    if space.values and rng.random() < 0.3:
        cloud[rng.integers(h), rng.integers(p)] = np.clip(rng.choice(space.values), -1e30, 1e30)
    return np.asarray(cloud, dtype=np.float64)


def _wide_cloud(kind: str, cloud: Array, unit: float, rng: np.random.Generator, *, moves: bool) -> Array:
    h, p = cloud.shape
    if kind == "offset" and moves:
        cloud = cloud + 10.0 ** rng.uniform(0, 4) * rng.standard_normal(p)
    elif kind == "tight":  # where little is enough to be seen
        cloud = cloud[0] + 1e-3 * rng.standard_normal((h, p))
    elif kind == "one far":  # heavy tails: a rule that has its eye on f may lose another honest one
        cloud[: 1 + int(rng.integers(max(h // 3, 1)))] *= 10.0 ** rng.uniform(1, 4)
    elif kind == "two groups":
        cloud = cloud + 20.0 * unit * np.outer(rng.random(h) < 0.5, rng.standard_normal(p))
    return cloud


def _byzantine(space: Space, cloud: Array, b: int, rng: np.random.Generator, dtype: str, *, mild: bool) -> Array:
    p, floats = cloud.shape[1], dtype in ("float64", ">f8")
    most = min(FARTHEST[dtype], float(np.sqrt(2e4 / p))) if dtype == "float16" else FARTHEST[dtype]
    size = 10.0 ** rng.uniform(-1, np.log10(most)) if space.wide else float(rng.choice([1.0, 1e3, 1e6, 1e9]))
    how = space.how or str(rng.choice(COLLUSIONS))
    if mild:
        size = float(rng.choice([1.0, 10.0]))
    if space.values and rng.random() < 0.4:
        size = abs(float(rng.choice(space.values))) * float(rng.choice([1.0, 1.01, 0.99, 2.0]))
    elif space.wide and not mild and dtype == "float64" and rng.random() < 0.15:
        size = 10.0 ** rng.uniform(9, rng.choice([40, 140, 300]))
    with np.errstate(all="ignore"):
        far = size * ((float(np.abs(cloud).max()) if space.wide else 1.0) or 1.0)
        sent = _in_concert(how, space, cloud, b, rng, size, far if floats else min(far, most), most)
        if not space.wide and size < 1e9 and p <= 3:  # whole numbers are easier to read
            sent = np.rint(sent)
        if space.values and rng.random() < 0.5 and b:
            sent[:, rng.integers(p)] = rng.choice(space.values)
    largest = 1e300 if floats else most
    return np.asarray(np.clip(np.nan_to_num(sent), -largest, largest), dtype=np.float64)


def _in_concert(
    how: str, space: Space, cloud: Array, b: int, rng: np.random.Generator, size: float, far: float, most: float
) -> Any:
    """Draw what b colluders send: ``far`` from a point, or so many times the ``size`` of an honest message."""
    (h, p), mean, scale = cloud.shape, cloud.mean(axis=0), float(np.abs(cloud).max())
    base = (np.zeros(p), cloud[0], mean)[int(rng.integers(3))]
    direction, some = _direction(p, rng), cloud[rng.integers(0, h, b)]
    if how in ("together", "mirrored", "ratios"):
        return base + far * np.outer(_steps(how, space, b, rng), direction)
    if how == "axis":
        sent = np.tile(base, (b, 1))
        sent[np.arange(b), rng.integers(0, p, b)] += far * rng.choice([1.0, -1.0], b)
    elif how in ("one far", "sizes"):
        sent = some
        if how == "sizes":  # one drowns what the other does
            sizes = 10.0 ** rng.uniform(-1, np.log10(min(max(far, 10.0), 1e300)), b)
            sent = base + sizes[:, None] * rng.standard_normal((b, p))
        sent[:1] = base + far * direction
    elif how in ("opposite", "stretched"):  # the direction of an honest message
        sent = (far if how == "stretched" else -size) * some
    elif how == "shuffled":  # its very numbers, in another order
        sent = rng.permuted(some, axis=1)
    elif how == "near":
        step = 10.0 ** rng.uniform(-7, 0) * float(rng.choice([1.0, scale if space.wide else 1.0]))
        sent = some + step * rng.standard_normal((b, p))
    elif how == "chain":  # each next farther by the same factor, so that the one before is its witness
        apart = float(np.linalg.norm(cloud - mean, axis=1).max()) or (scale if space.wide else 1.0) or 1.0
        ratio = float(np.exp(rng.uniform(np.log(1.2), np.log(5.0))))
        reach = np.clip(np.arange(1, b + 1) * np.log10(ratio), 0.0, np.log10(most))
        sent = mean + apart * np.outer(10.0**reach, direction)
    else:
        sent = base + far * rng.standard_normal((b, p))
    return sent


def _steps(how: str, space: Space, b: int, rng: np.random.Generator) -> Any:
    """Draw how many times as far as the others each colluder goes, all in one direction."""
    if how != "ratios":
        return np.where(np.arange(b) % 2, -1.0, 1.0) if how == "mirrored" else np.ones(b)
    ratios = rng.choice([1.0, 2.0, 3.0, 0.5, -1.0, -2.0, 1.5, 4.0, *space.values[:20]], b)
    return rng.standard_normal(b) if space.wide and rng.random() < 0.3 else ratios


def _direction(p: int, rng: np.random.Generator) -> Array:
    if rng.random() < 0.2:
        direction = np.ones(p) * float(rng.choice([1.0, -1.0]))
    else:
        direction = rng.standard_normal(p)
        if rng.random() < 0.3:  # some entries only, side by side
            start = int(rng.integers(p))
            direction[:start] = direction[start + int(rng.integers(1, p + 1)) :] = 0.0
    return np.asarray(direction / (np.linalg.norm(direction) or 1.0))


def _keys(cloud: Array, byzantine: Array, rng: np.random.Generator) -> Array:
    """Draw an order of arrival."""
    h, b = len(cloud), len(byzantine)
    order = rng.choice(["any", "any", "honest first", "byzantine first", "ascending", "descending"])
    if order == "any":
        return rng.random(h + b)
    if order == "honest first":
        return np.arange(h + b, dtype=np.float64)
    if order == "byzantine first":
        return np.concatenate([np.arange(b, h + b), np.arange(b)]).astype(np.float64)
    first = np.concatenate([cloud, byzantine])[:, 0]
    return np.asarray(first if order == "ascending" else -first)
