"""Draw cases over everything that a rule may depend on.

How many messages there are and of how many entries, their order of arrival, their sizes, signs, ties and directions,
their number type and their layout in memory, and the ways in which colluders act in concert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from secmix._base.checks import Array
from secmix.testing.cases import FARTHEST, Case, Space
from secmix.testing.counterexample import LAYOUTS
from secmix.testing.promise import Promise
from secmix.testing.rule_promises import F_LIMITS, ITSELF, NO_MEMORY, NOT_FINITE
from secmix.testing.trials import AGREEING

GENERAL = (*(one.title for one in ITSELF), "more entries", "orthogonal")
"""Tried on messages in general position, since nobody can break a tie alike in another guise."""
WIDE_NUMBERS = (*("float64",) * 10, *("float32", "int64") * 3, "int32", "uint64", "float16", ">f8")
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


def draw_for(one: Promise, space: Space, rng: np.random.Generator) -> Case:
    """Draw a case that the promise can be tried on."""
    title = one.title
    relation = bool(one.only_if) or one in (NO_MEMORY, *ITSELF)
    case = draw_case(space, rng, agree=one in AGREEING, exact=relation)
    vectors: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    n, p = case.n, case.p
    if space.wide and not relation:
        # Where the unit does not matter, a small vector must come out as exactly as a large one.
        size = float(np.abs(case.cloud[:1] if case.agree else case.cloud).max())
        numbers["unit"] = 0.0 if space.scales and size > 0.0 else 1.0
    if title in GENERAL:
        case = _in_general_position(case, space, title, rng)
        p = case.p
    if one is F_LIMITS:
        case = replace(case, f=int(rng.choice([(n + 1) // 2, n, n + 1, -1])), dtype="float64")
    elif one is NOT_FINITE:
        spoilt = case.byzantine.copy()
        for row in range(len(spoilt)):
            if row == 0 or rng.random() < 0.5:
                where = slice(None) if rng.random() < 0.3 else int(rng.integers(p))
                spoilt[row, where] = rng.choice([np.nan, np.inf, -np.inf])
        floats = case.dtype if case.dtype in ("float64", "float32") else "float64"
        case = replace(case, byzantine=spoilt, dtype=floats)
    elif one is NO_MEMORY:
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
    if title == "number type" and space.wide:
        dtype = str(rng.choice(["float64", "float32", "int64", "int32", ">f8"]))
        if dtype == "float64":
            drawn, layout = rng.standard_normal((case.n, case.p)).round(3), str(rng.choice(["F", "transposed view"]))
        else:  # whole numbers whose squares can be summed without rounding in any of the types
            top = max(int(np.sqrt(2**23 / case.p)), 6) // 2
            drawn = rng.integers(-top, top + 1, (case.n, case.p)).astype(np.float64)
    else:
        drawn = rng.standard_normal((case.n, case.p)).round(6)
        drawn[h:] *= float(rng.choice([1.0, 10.0]))
    return replace(case, cloud=drawn[:h], byzantine=drawn[h:], dtype=dtype, layout=layout)


def draw_case(space: Space, rng: np.random.Generator, *, agree: bool = False, exact: bool = False) -> Case:
    """Draw a case; with ``exact`` one of general position in float64, on which rules must agree with themselves."""
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


def _width(space: Space, rng: np.random.Generator) -> int:
    if not space.wide or len(space.widths) == 1:
        return int(rng.choice(space.widths))
    low, high = space.widths
    cut = [low, min(60, high), min(400, high), high]
    part = int(rng.choice(3, p=[0.7, 0.2, 0.1]))
    return int(np.exp(rng.uniform(np.log(cut[part]), np.log(cut[part + 1] + 1 - 1e-9))))


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
        cloud[: 1 + int(rng.integers(max(h // 3, 1)))] *= 10.0 ** rng.uniform(1, 4)
    elif kind == "two groups" and space.wide:
        cloud = cloud + 20.0 * unit * np.outer(rng.random(h) < 0.5, rng.standard_normal(p))
    if space.values and rng.random() < 0.3:
        cloud[rng.integers(h), rng.integers(p)] = np.clip(rng.choice(space.values), -1e30, 1e30)
    return np.asarray(cloud, dtype=np.float64)


def _byzantine(space: Space, cloud: Array, b: int, rng: np.random.Generator, dtype: str, *, mild: bool) -> Array:
    h, p = cloud.shape
    floats = dtype in ("float64", ">f8")
    most = min(FARTHEST[dtype], float(np.sqrt(2e4 / p))) if dtype == "float16" else FARTHEST[dtype]
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
        far = size * (scale or 1.0) if floats else min(size * (scale or 1.0), most)
        base = (np.zeros(p), cloud[0], cloud.mean(axis=0))[int(rng.integers(3))]
        direction, some = _direction(p, rng), cloud[rng.integers(0, h, b)]
        if how == "together":
            sent = np.tile(base + far * direction, (b, 1))
        elif how == "ratios":  # in concert: each goes its own multiple of one way, from one point
            ratios = rng.choice([1.0, 2.0, 3.0, 0.5, -1.0, -2.0, 1.5, 4.0, *space.values[:20]], b)
            ratios = rng.standard_normal(b) if space.wide and rng.random() < 0.3 else ratios
            sent = base + far * np.outer(ratios, direction)
        elif how == "axis":
            sent = np.tile(base, (b, 1))
            sent[np.arange(b), rng.integers(0, p, b)] += far * rng.choice([1.0, -1.0], b)
        elif how == "one far":
            sent = some
            sent[:1] = base + far * direction
        elif how == "opposite":
            sent = -size * some
        elif how == "mirrored":
            sent = base + far * np.outer(np.where(np.arange(b) % 2, -1.0, 1.0), direction)
        elif how == "sizes":  # one drowns what the other does
            sizes = 10.0 ** rng.uniform(-1, np.log10(min(max(far, 10.0), 1e300)), b)
            sent = base + sizes[:, None] * rng.standard_normal((b, p))
            sent[:1] = base + far * direction
        elif how == "stretched":  # the direction of an honest message
            sent = far * some
        elif how == "shuffled":  # its very numbers, in another order
            sent = rng.permuted(some, axis=1)
        elif how == "near":
            step = 10.0 ** rng.uniform(-7, 0) * float(rng.choice([1.0, scale]))
            sent = some + step * rng.standard_normal((b, p))
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
    largest = 1e300 if floats else most
    return np.asarray(np.clip(np.nan_to_num(sent), -largest, largest), dtype=np.float64)


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
