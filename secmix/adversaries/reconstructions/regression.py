"""Rows from the model that a node trained: x = ∂L/∂W : ∂L/∂b, unit by unit of a linear first layer.

In unit j the gradients are Σ_i δ_ij x_i and Σ_i δ_ij. With one row their ratio is that row, whatever the loss, and
after any number of steps (Phong et al. 2018, section 3; Fowl et al. 2022, section 3). With several rows a ReLU unit
sums over the rows that it is active on; where units differ by one row, their difference is that row's.

A message determines a row only as well as its numbers are rounded. So the protocol itself trains on the rows found:
they are certified where that ends at the message, to its precision, and training on no other row does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from secmix._base.checks import Array
from secmix.adversaries.reconstructions.interfaces import KnownMessages, Reconstruction
from secmix.protocols.regression import FederatedRegression, Trainer

_APART = 10.0  # errors by which rows differ that are not the same
_LEAST, _MOST, _SCALES = 1e-3, 1e3, 1000  # lengths of the only row that are looked at, and how many of each sign
_ROUNDING = 16.0  # units of rounding of the largest parameter by which a replay may be off
_STEPS = 12  # of Gauss and Newton
_MOST_ROWS = 8  # that are looked for in the units of a ReLU layer
_SPARE = 2
_TRIED = 60  # ways to take rows off the units


@dataclass(frozen=True)
class _Exchange:
    """One round: the model that the node got, the one it sent, and how far a number of that may be off."""

    before: Array  # (p,)
    after: Array
    rounding: float


def reconstruct_regression(known: KnownMessages) -> Reconstruction | None:
    """Recover the rows of a node from what it sent in :class:`~secmix.protocols.regression.FederatedRegression`.

    An adversary that does not read it, but holds what all others sent and the average, computes it from those.
    """
    if not isinstance(known.protocol, FederatedRegression):
        return None
    exchanges = _exchanges(known)
    single = known.count == 1
    attempts = [_single_row(known, each, exchanges) if single else _several_rows(known, each) for each in exchanges]
    return max(filter(None, attempts), key=lambda each: (each.certified, -each.error), default=None)


def _exchanges(known: KnownMessages) -> list[_Exchange]:
    """List the rounds in which the adversary knows the model that the node received and the one it sent."""
    models: dict[int, Array] = {}
    for origin, row in known.messages:
        # The node's own, where it is known; else it got what others got.
        if origin.kind == "model" and (known.node in origin.receivers or origin.iteration not in models):
            models[origin.iteration] = row
    sent = {i: {origin.iteration: row for origin, row in known.sent_by(i, "update")} for i in range(known.network.n)}
    others = [i for i in range(known.network.n) if i != known.node]
    exchanges = []
    for t, model in sorted(models.items()):
        unit = float(np.finfo(model.dtype).eps)
        before = model.astype(np.float64)
        if t in sent[known.node]:
            after = sent[known.node][t][:-1].astype(np.float64)
            exchanges.append(_Exchange(before, after, unit * float(np.abs(after).max())))
        elif t + 1 in models and all(t in sent[i] for i in others):
            rest = np.stack([sent[i][t] for i in others]).astype(np.float64)
            counts, total = rest[:, -1:], float(rest[:, -1].sum()) + known.count
            mean = models[t + 1].astype(np.float64)
            after = (total * mean - (counts * rest[:, :-1]).sum(axis=0)) / known.count
            largest = max(float(np.abs(part).max()) for part in (rest[:, :-1], mean, after))
            exchanges.append(_Exchange(before, after, unit * total / known.count * largest))
    return exchanges


def _moved(trainer: Trainer, exchange: _Exchange) -> tuple[Array, Array]:
    """Compute how far training moved W (units, d − 1) and b (units,), without what weight decay did."""
    (weights, biases), (old, old_biases) = (trainer.first_layer(p) for p in (exchange.after, exchange.before))
    return weights - (1 - trainer.rate * trainer.weight_decay) ** trainer.steps * old, biases - old_biases


def _single_row(known: KnownMessages, exchange: _Exchange, all_of_them: list[_Exchange]) -> Reconstruction | None:
    """Recover the only row: along the way that the weights moved, then by solving the protocol's own training.

    With weight decay several rows may end at the same message; then what the other exchanges say decides.
    """
    trainer = known.protocol.trainer
    weights, biases = _moved(trainer, exchange)
    unit = int(np.argmax(np.abs(biases)))
    if abs(biases[unit]) <= exchange.rounding:
        return None  # the row was fitted already: nothing moved
    x = weights[unit] / biases[unit]
    scaled = trainer.model == "linear" and trainer.weight_decay > 0 and trainer.steps > 1
    rows = _along(trainer, exchange, x) if scaled else []
    rows += [np.append(x, y) for y in _targets(trainer, exchange, x, biases[unit])]
    fits = sorted((_refined(trainer, exchange, row[None]) for row in rows), key=lambda fit: fit[1])
    if scaled:
        others = [other for other in all_of_them if other is not exchange]
        fits = [fit for fit in fits if fit[2] and not any(_contradicts(trainer, each, fit) for each in others)] or fits
    row, error, certified = fits[0]
    if trainer.model == "logistic":
        y = np.nan if trainer.classes is None else trainer.classes[int(row[0, -1] > 0.5 * sum(trainer.classes))]
        row[:, -1] = y
    how = "it has one row, and the weights moved along it, the bias by the same factor"
    if not certified:
        how += "; training on what was found does not end at the message"
    elif scaled and any(_differ(fits[0], fit) for fit in fits if fit[2]):
        certified, how = False, f"{how}; training on another row ends at the same message"
    return Reconstruction(row, certified, how, error=error)


def _along(trainer: Trainer, exchange: _Exchange, x: Array) -> list[Array]:
    """List rows (d,) along ``x`` from which training of a linear model ends near the message.

    For an x of given length training is affine in y. The bias says which y that is, and the sign of what the weights
    are off by then changes where the length is right. Two right lengths between neighbours change no sign: what the
    weights are off by dips there, and a search begins on either side of the dip.
    """
    lengths = np.geomspace(_LEAST, _MOST, _SCALES)
    scales = np.concatenate([-lengths[::-1], lengths]) / float(np.linalg.norm(x))
    along = x / float(x @ x)
    start = np.repeat(exchange.before[None], len(scales), axis=0)

    def off(y: float) -> tuple[Array, Array]:
        rows = np.column_stack([scales[:, None] * x, np.full(len(scales), y)])
        weights, biases = trainer.first_layer(trainer.trained(start, rows[:, None]) - exchange.after)
        return weights[:, 0] @ along, biases[:, 0]

    with np.errstate(all="ignore"):
        (weights, biases), (weights_at_one, biases_at_one) = off(0.0), off(1.0)
        slopes = weights_at_one - weights, biases_at_one - biases
        misfit = weights * slopes[1] - biases * slopes[0]
        targets = -biases / slopes[1]
    # Not across zero: what lies on either side of it is x and −x.
    starts = [side * len(lengths) + k for side in (0, 1) for k in _around_roots(misfit.reshape(2, -1)[side])]
    return [np.append(scales[k] * x, targets[k]) for k in starts if np.isfinite(targets[k])]


def _around_roots(values: Array) -> list[int]:
    """List places next to which a smooth function has roots: where ``values`` change their sign, and around dips."""
    sign, size = np.sign(values), np.abs(values)
    crossings = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    one_sign = (sign[:-2] == sign[1:-1]) & (sign[1:-1] == sign[2:])
    dips = np.flatnonzero(one_sign & (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:])) + 1
    return sorted({*crossings.tolist(), *(dips - 1).tolist(), *(dips + 1).tolist()})


_Fit = tuple[Array, float, bool]
"""Rows, how far they may be off, and whether they are certified."""


def _contradicts(trainer: Trainer, exchange: _Exchange, fit: _Fit) -> bool:
    """Check whether training on the rows of ``fit`` ends elsewhere than another exchange did."""
    if np.abs(_moved(trainer, exchange)[1]).max() <= exchange.rounding:
        return False
    there = _refined(trainer, exchange, fit[0])
    return not there[2] or _differ(fit, there)


def _differ(first: _Fit, second: _Fit) -> bool:
    return float(np.abs(first[0] - second[0]).max()) > _APART * (first[1] + second[1])


def _targets(trainer: Trainer, exchange: _Exchange, x: Array, moved: float) -> list[float]:
    """Compute y that the first step was due to, if it was the only one; both classes of a logistic model."""
    if trainer.model == "logistic":
        return [0.0, 1.0] if trainer.classes is None else list(trainer.classes)
    weights, biases = trainer.first_layer(exchange.before)
    z = weights @ x + biases
    if trainer.model == "linear":
        return [float(z[0] + moved / (trainer.rate * trainer.steps))]
    a, c = trainer.output_layer(exchange.before)
    value = float(np.maximum(z, 0.0) @ a + c)
    step = trainer.output_layer(exchange.after)[1] - c
    return [value + float(step) / (trainer.rate * trainer.steps)]


def _refined(trainer: Trainer, exchange: _Exchange, rows: Array, spare: int = 0) -> _Fit:
    """Refine rows (N, d) by Gauss and Newton on the replay: rows, how far they may be off, whether they are certified.

    ``spare`` numbers of the message must be left to bear out the rest: none where a formula gives the row anyway.
    """
    free = np.ones_like(rows, dtype=bool)
    free[:, -1] = trainer.model != "logistic"
    entries = np.argwhere(free)
    allowed = _ROUNDING * exchange.rounding

    def replayed(many: Array) -> Array:
        start = np.repeat(exchange.before[None], len(many), axis=0)
        return trainer.trained(start, many) - exchange.after

    best = rows, np.inf, np.inf
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            off = replayed(rows[None])[0]
            nudge = 1e-6 * max(float(np.abs(rows).max()), 1e-3)
            nudges = np.zeros((len(entries), *rows.shape))
            nudges[np.arange(len(entries)), entries[:, 0], entries[:, 1]] = nudge
            jacobian = (replayed(rows + nudges) - replayed(rows - nudges)).T / (2 * nudge)
            if not (np.isfinite(jacobian).all() and np.isfinite(off).all()):
                break
            strength = np.linalg.svd(jacobian, compute_uv=False)
            determined = len(off) >= len(entries) + spare and strength[-1] > 1e-9 * strength[0]
            misfit = float(np.abs(off).max())
            if misfit < best[1]:
                error = max(misfit, exchange.rounding) * len(off) ** 0.5 / strength[-1] if determined else np.inf
                best = rows, misfit, float(error)
            step = np.linalg.lstsq(jacobian, off, rcond=1e-12)[0]
            rows = rows.copy()
            rows[entries[:, 0], entries[:, 1]] -= step
            if misfit <= 1e-3 * exchange.rounding:
                break
    refined, misfit, error = best
    return refined.copy(), error, bool(misfit <= allowed and np.isfinite(error))


def _several_rows(known: KnownMessages, exchange: _Exchange) -> Reconstruction | None:
    """Recover rows that ReLU units tell apart, after a single step."""
    trainer = known.protocol.trainer
    if trainer.model != "relu" or trainer.steps > 1:
        return None
    if not np.ptp(trainer.first_layer(exchange.before)[0], axis=0).any():
        return _binned(known, exchange)
    if known.count > _MOST_ROWS:
        return None
    weights, biases = _moved(trainer, exchange)
    a, c = trainer.output_layer(exchange.before)
    usable = np.abs(a) > 1e-3 * np.abs(a).max()
    unit_sums = _moved_units(weights, biases, trainer)[usable] / a[usable, None]
    layer, offsets = (part[usable] for part in trainer.first_layer(exchange.before))
    noise = _ROUNDING * exchange.rounding / (trainer.rate * float(np.abs(a[usable]).min()))
    taken = _taken_apart(unit_sums, layer, offsets, noise, known.count, [_TRIED])
    if taken is None:
        return None
    factors, x = taken[:, 0], taken[:, 1:] / taken[:, :1]
    first, bias = trainer.first_layer(exchange.before)
    y = np.maximum(x @ first.T + bias, 0.0) @ a + c - known.count * factors
    rows, error, certified = _refined(trainer, exchange, np.column_stack([x, y]), _SPARE)
    how = "its units are active on different rows, and their gradients were taken apart row by row"
    return Reconstruction(rows, certified, how, error=error)


def _binned(known: KnownMessages, exchange: _Exchange) -> Reconstruction | None:
    """Recover rows that lie alone between two units of one direction, where one begins after the other.

    Such a first layer is a server's choice (Fowl et al. 2022, Robbing the Fed, section 4): neighbours differ by the
    rows between them. Where all rows come out, they are certified as others are.
    """
    trainer = known.protocol.trainer
    layer, offsets = trainer.first_layer(exchange.before)
    a, c = trainer.output_layer(exchange.before)
    if not np.abs(a).min() > 1e-3 * np.abs(a).max():
        return None
    order = np.argsort(offsets)
    sums = (_moved_units(*_moved(trainer, exchange), trainer) / a[:, None])[order]
    noise = _ROUNDING * exchange.rounding / (trainer.rate * float(np.abs(a).min()))
    between = np.diff(sums, axis=0, prepend=np.zeros((1, sums.shape[1])))
    begins, ends = -offsets[order], np.append(np.inf, -offsets[order][:-1])
    clear = np.abs(between[:, 0]) > noise
    factors, x = between[clear, :1], between[clear, 1:] / between[clear, :1]
    along = x @ layer[0]
    # A mean of several rows may lie between the two units as well; what lies elsewhere certainly is one.
    single = (begins[clear] < along) & (along <= ends[clear])
    factors, x = factors[single], x[single]
    if not len(x):
        return None
    y = np.maximum(x @ layer.T + offsets, 0.0) @ a + c - known.count * factors[:, 0]
    rows, how = (
        np.column_stack([x, y]),
        "its units begin one after the other, and neighbours differ by the row between them",
    )
    if len(rows) != known.count:
        return Reconstruction(rows, False, how)
    rows, error, certified = _refined(trainer, exchange, rows, _SPARE)
    return Reconstruction(rows, certified, how, error=error)


def _moved_units(weights: Array, biases: Array, trainer: Trainer) -> Array:
    """Compute Σ_i δ_ij (1, x_i) of each unit, (units, d)."""
    return -np.column_stack([biases, weights]) / trainer.rate


def _taken_apart(sums: Array, weights: Array, biases: Array, noise: float, count: int, left: list[int]) -> Array | None:
    """Find ``count`` vectors e (1, x) such that each unit's sum is that of those x it is active on; None if not found.

    One unit's sum, or the difference of two, is tried as one row's, and taken off all units that are active on it:
    first what leaves the fewest different sums, as units that differ by this row alone have the same then.
    """
    if not count:
        return np.empty((0, sums.shape[1])) if np.abs(sums).max() <= noise else None
    before = _different(sums, noise)
    if before > 2**count or left[0] <= 0:
        return None
    pieces = np.array([*sums, *(one - other for one, other in combinations(sums, 2))])
    pieces = pieces[np.abs(pieces[:, 0]) > noise]
    active = (pieces[:, 1:] / pieces[:, :1]) @ weights.T + biases > 0  # (pieces, units)
    remaining = [
        _different(np.where(on[:, None], sums - piece, sums), noise) for piece, on in zip(pieces, active, strict=True)
    ]
    for place in np.argsort(remaining, kind="stable"):
        if remaining[place] >= before or left[0] <= 0:
            break
        left[0] -= 1
        rest = np.where(active[place][:, None], sums - pieces[place], sums)
        others = _taken_apart(rest, weights, biases, noise, count - 1, left)
        if others is not None:
            return np.vstack([pieces[place], others])
    return None


def _different(sums: Array, noise: float) -> int:
    """Count the different sums, nothing among them, as their biases tell them apart."""
    values = np.sort(np.append(sums[:, 0], 0.0))
    return 1 + int((np.diff(values) > noise).sum())
