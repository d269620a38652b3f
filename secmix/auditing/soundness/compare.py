"""Whether two calls look the same to the adversary, but for what rounding explains."""

from __future__ import annotations

import numpy as np

from secmix._base.checks import Array, Ints
from secmix.auditing.soundness.model import COARSE, Bench, Case, Model, sizes_of
from secmix.auditing.soundness.result import Witness
from secmix.auditing.soundness.sight import Seen, numbers, other_frames, other_numbers
from secmix.estimators.exact.linear import KAPPA

CONTROLS = 40  # calls at most whose masks are moved by one unit in the last place


def other_view(
    model: Model, first: tuple[Case, Seen], second: tuple[Case, Seen], *, exact: bool = False
) -> Witness | None:
    """The first number in which two calls differ by more than 4 KAPPA e_f, as far as both go.

    ``exact``: by any bit. Results are compared where both calls sent equally many messages.
    """
    seen, other = first[1], second[1]
    common = min(seen.heard, other.heard)
    places = list(range(common))
    pairs = [(seen.rows[p], other.rows[p]) for p in places]
    names = [seen.names[p] for p in places]
    if seen.heard == other.heard:
        places += range(common, len(seen.rows))
        pairs += zip(seen.rows[common:], other.rows[common:], strict=False)
        names += seen.names[common:]
    if exact:
        return other_numbers([a for a, _ in pairs], [b for _, b in pairs], names)
    of_model = {int(p): place for place, p in enumerate(model.which)}
    results = model.seen.heard - common
    known = {k: of_model.get(p if p < common else p + results, -1) for k, p in enumerate(places[: len(pairs)])}
    m = first[0].inputs.shape[2]
    vectors = [k for k, (a, b) in enumerate(pairs) if a.shape == b.shape and a.shape[1:] == (m,) and a.dtype == b.dtype]
    chosen = set(vectors)
    others = [k for k in range(len(pairs)) if k not in chosen]
    witness = other_numbers([pairs[k][0] for k in others], [pairs[k][1] for k in others], [names[k] for k in others])
    if witness is not None or not vectors:
        return witness
    rows = np.array([known[k] for k in vectors])
    allowed = np.maximum(*(_allowed(model, rows, [places[k] for k in vectors], *of) for of in (first, second)))
    a, b = (np.stack([numbers(pairs[k][side]) for k in vectors]) for side in (0, 1))
    with np.errstate(invalid="ignore"):
        same = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    bare = (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))
    bad = np.argwhere(~same | bare)
    if not len(bad):
        return None
    row, run, entry = bad[0]
    name = names[vectors[row]]
    if bare[row, run, entry]:
        return Witness(name, "the sign of a zero differs", int(entry))
    with np.errstate(invalid="ignore"):
        times = float(np.abs(a - b)[row, run, entry] / max(float(allowed[row, run, entry]), 1e-300))
    return Witness(name, f"the numbers differ by {times:.2g} times what rounding allows", int(entry))


def _allowed(model: Model, rows: Ints, places: list[int], case: Case, seen: Seen) -> Array:
    sizes = sizes_of(model.linear.rows(rows), case) if len(model.which) else np.zeros((len(rows), 1, 1))
    sizes = np.where((rows >= 0)[:, None, None], sizes, 0.0)  # a message beyond the model's has only what went before
    return np.asarray(
        4 * KAPPA * seen.coarseness[places, None, None] * np.maximum(seen.tops[places][:, : case.runs, None], sizes)
    )


def too_coarse(bench: Bench, model: Model) -> float:
    """4 KAPPA e_f over the inputs' spread, where that is more than COARSE; else 0."""
    spread = bench.scale[bench.scale > 1e-9 * bench.scale.max(initial=0.0)]
    if not len(spread) or not len(model.which):
        return 0.0
    scale = 1.0 if model.linear.scale is None else model.linear.scale[:, None, None]
    sizes = (model.allowed() * scale)[:, :, bench.scale > 1e-9 * bench.scale.max()]
    shown = np.abs(model.linear.A).any(axis=1) | np.abs(model.linear.M).any(axis=1)
    allowed = 4 * KAPPA * float(sizes[shown].max(initial=0.0))
    share = allowed / float(np.median(spread))
    return share if share > COARSE else 0.0


def unlike_frames(
    bench: Bench, first: tuple[Case, Seen], second: tuple[Case, Seen], *, prefix: bool = False
) -> Witness | None:
    """The first frame in which two calls differ, unless masks moved by a last digit make as much of a difference.

    Iterative protocols end when their nodes agree, and that may hang on the last digit. Such a protocol sends the same
    frames, more of them or fewer; so must controls of one call, as many as those of the other.
    """
    witness = other_frames(first[1], second[1], prefix=prefix)
    if witness is None or other_frames(first[1], second[1], prefix=True) is not None or not first[0].masks.size:
        return witness
    if any(other_frames(seen, bench.eyes.see(bench.call(case))) is not None for case, seen in (first, second)):
        return witness  # they were called in another way than controls would be
    longest = max((first[1], second[1]), key=lambda seen: len(seen.frames))
    counts = [[len(seen.frames)] for _, seen in (first, second)]
    rng = bench.private(7, first[0].seed)
    for _ in range(CONTROLS):
        for (case, _), mine in zip((second, first), counts[::-1], strict=True):
            toward = np.where(rng.random(case.masks.shape) < 0.5, -np.inf, np.inf)
            moved = Case(case.iteration, case.inputs, np.nextafter(case.masks, toward), case.seed)
            control = bench.eyes.see(bench.call(moved))
            if other_frames(longest, control, prefix=True) is not None:
                return witness
            mine.append(len(control.frames))
            if max(map(min, counts)) <= min(map(max, counts)):
                return None
    return witness
