"""Decoders of a node's input from features: chosen on one instance of a protocol, and judged on another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints
from secmix.auditing.counterexamples.features import Feature
from secmix.estimators.estimate import Estimate, wilson
from secmix.estimators.learned_decoders import RECOVERED, cross_fitted, linear_prediction, relative_error

_PAIRS = 8  # lines through two runs that are tried
_EXACT = (
    "number",
    "imaginary part",
    "lower half as a short number",
    "integer word",
)  # readings for which such lines are tried
_JOINT = ("number", "sign")  # readings for a regression on all messages
_MOST_JOINT = 40  # messages
_FOR_EACH = 5  # runs for each fitted number


@dataclass(frozen=True)
class Decoded:
    """Result of one decoder of one node's input (runs, m), in runs that it was not chosen on."""

    # where, how: the message, and the function that the decoder applies to it
    where: str
    how: str
    entry: int  # the entry with the smallest error
    error: Estimate  # error of that entry, relative to predicting its mean, or to the permitted prediction
    exact: int  # number of runs in which all entries came out to 1e-6 of their size
    runs: int  # number of runs that judged it

    @property
    def explained(self) -> tuple[float, float]:
        """Share of the variance of that entry that the decoder explains, and its lower end."""
        return max(0.0, 1.0 - self.error.value**2), max(0.0, 1.0 - self.error.high**2)

    @property
    def known(self) -> tuple[float, float]:
        """The larger of two shares, with its lower end: of variance explained, or of runs decoded exactly."""
        value, low = self.explained
        return max(value, self.exact / self.runs), max(low, wilson(self.exact, self.runs)[0])


@dataclass(frozen=True)
class _Attempt:
    where: str
    how: str
    predict: Callable[[int], Array]  # (runs, m, nodes) in either half; NaN if there is no prediction
    clipped: Callable[[Array], Array]
    train: Array


def decode(
    truth: Array,
    features: Sequence[Feature],
    nodes: Sequence[int],
    fitted: int,
    rng: np.random.Generator,
    permitted: Sequence[Array] = (),
) -> dict[int, Decoded]:
    """Choose the best decoder of each of ``nodes`` on the first runs, and judge it on the others.

    ``truth`` (runs, n, m); ``fitted``: number of runs for fitting and choosing; ``permitted``, sequence of (runs, n,
    m): permitted predictions: a decoder is compared with the best of them, and with the mean.
    """
    spread = truth.std(axis=0).T  # (m, n)
    varying = spread > 1e-9 * np.maximum(np.abs(truth).max(axis=0).T, 1e-300)
    train, test = np.arange(fitted), np.arange(fitted, len(truth))
    y = truth.transpose(0, 2, 1)  # (runs, m, n)
    baselines = [np.broadcast_to(y[train].mean(axis=0), y.shape), *(guess.transpose(0, 2, 1) for guess in permitted)]
    guess = _best([np.clip(baseline, y[train].min(axis=0), y[train].max(axis=0)) for baseline in baselines], y, test)
    guessed = (guess - y) ** 2
    against = ", compared with what the average reveals" if permitted else ""
    known_anyway = np.any([_exact(baseline[test], y[test], spread, varying) for baseline in baselines], axis=0)
    best: dict[int, tuple[float, int, _Attempt]] = {}
    for attempt in _attempts(y, features, (train, test), varying, rng):
        known = _explained(attempt.clipped(attempt.train), y[train], guessed[train], varying)
        complete = _exact(attempt.train, y[train], spread, varying).mean(axis=0)
        for node in nodes:
            entry = int(np.argmax(known[:, node]))
            score = max(float(known[entry, node]), 0.0) + float(complete[node])
            if node not in best or score > best[node][0]:
                best[node] = (score, entry, attempt)
    out: dict[int, Decoded] = {}
    tested: dict[int, Array] = {}
    for node, (_, entry, attempt) in best.items():
        prediction = tested.setdefault(id(attempt), attempt.predict(1))
        left = (attempt.clipped(prediction)[:, entry, node] - y[test, entry, node]) ** 2
        if not guessed[test, entry, node].any():
            continue
        error = relative_error(
            left,
            guessed[test, entry, node],
            f"{attempt.how} of {attempt.where}, in {len(test)} runs that it was not fitted on{against}",
        )
        hits = (_exact(prediction, y[test], spread, varying) & ~known_anyway)[:, node]
        out[node] = Decoded(attempt.where, attempt.how, entry, error, int(hits.sum()), len(test))
    return out


def from_total(truth: Array, honest: Sequence[int], fitted: int) -> list[Array]:
    """Predict inputs (runs, n, m) from the sum of all honest inputs, which the average reveals.

    Linear regressions on the same entry of their sum, and on all entries where runs are many; the first runs are fitted
    on.
    """
    m = truth.shape[2]
    middle, spread = truth[:fitted].mean(axis=0), np.maximum(truth[:fitted].std(axis=0), 1e-300)
    y, total = (truth - middle) / spread, truth[:, list(honest)].sum(axis=1)
    total = (total - total[:fitted].mean(axis=0)) / np.maximum(total[:fitted].std(axis=0), 1e-300)
    groups = [[[entry] for entry in range(m)], *([[list(range(m))]] if _FOR_EACH * m <= fitted else [])]
    return [_on_total(y, total, entries, fitted) * spread + middle for entries in groups]


def _on_total(y: Array, total: Array, groups: list[list[int]], fitted: int) -> Array:
    out = np.zeros_like(y)
    for node, entries in itertools.product(range(y.shape[1]), groups):
        x = total[:, entries]
        if x[:fitted].any():
            out[:, node, entries] = linear_prediction(x[:fitted], y[:fitted, node, entries], x)
    return out


def _best(guesses: Sequence[Array], y: Array, test: Ints) -> Array:
    """Choose for each entry the prediction with the least error in the judged runs."""
    missed = np.stack([((guess[test] - y[test]) ** 2).sum(axis=0) for guess in guesses])
    return np.asarray(np.take_along_axis(np.stack(guesses), missed.argmin(axis=0)[None, None], axis=0)[0])


def _explained(prediction: Array, y: Array, guessed: Array, varying: NDArray[np.bool_]) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        share = 1 - ((prediction - y) ** 2).mean(axis=0) / guessed.mean(axis=0)
    return np.where(varying & np.isfinite(share), share, -np.inf)


def _exact(prediction: Array, y: Array, spread: Array, varying: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Check whether the whole vector came out (runs, n), by the criterion of the other decoders."""
    count = np.maximum(varying.sum(axis=0), 1)
    unit = np.where(varying, spread, np.inf)
    with np.errstate(all="ignore"):
        missed = np.sqrt((((prediction - y) / unit) ** 2).sum(axis=1) / count)
    size = np.sqrt((((y - y.mean(axis=0)) / unit) ** 2).sum(axis=1) / count)
    return np.asarray(varying.any(axis=0) & (missed < RECOVERED * np.maximum(size, 1e-3)))


def _attempts(
    y: Array,
    features: Sequence[Feature],
    halves: tuple[Ints, Ints],
    varying: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Iterator[_Attempt]:
    train, _ = halves
    bounds = y[train].min(axis=0), y[train].max(axis=0)
    middle = y[train].mean(axis=0)

    def clipped(prediction: Array) -> Array:
        """Clip to the range of the training runs; where nothing is predicted, use the mean."""
        return np.where(np.isfinite(prediction), np.clip(prediction, *bounds), middle)

    for feature in features:
        x = feature.values[:, :, None]
        what = f"a linear function of the {feature.how}"
        for slope, offset in _lines(x[train], y[train], rng, _PAIRS * (feature.how in _EXACT)):

            def line(half: int, x: Array = x, slope: Array = slope, offset: Array = offset) -> Array:
                with np.errstate(all="ignore"):
                    return np.asarray(slope * x[halves[half]] + offset)

            yield _Attempt(feature.where, what, line, clipped, line(0))
    m = y.shape[1]
    joint = dict.fromkeys(feature.how for feature in features if feature.how in _JOINT)
    for how in joint:
        table = [c.values for c in features if c.how == how and c.values.shape[1] == m and np.isfinite(c.values).all()]
        if len(table) > 1:
            rows = np.stack(table[:_MOST_JOINT], axis=2)  # (runs, m, rows)

            def regression(half: int, rows: Array = rows) -> Array:
                return _regressed(rows[halves[half]], y[halves[half]], varying)

            what = f"a linear regression on the {how}s"
            yield _Attempt(f"{rows.shape[2]} messages jointly", what, regression, clipped, regression(0))


def _regressed(rows: Array, y: Array, varying: NDArray[np.bool_]) -> Array:
    """Predict ``y`` (runs, m, n) with cross-fitting, entry by entry, from ``rows`` (runs, m, rows)."""
    out = np.broadcast_to(y.mean(axis=0), y.shape).copy()
    for entry in range(y.shape[1]):
        nodes = np.flatnonzero(varying[entry] & (y[:, entry].std(axis=0) > 0))
        if len(nodes) and np.ptp(rows[:, entry], axis=0).any():
            middle, spread = y[:, entry, nodes].mean(axis=0), y[:, entry, nodes].std(axis=0)
            prediction, _ = cross_fitted((y[:, entry, nodes] - middle) / spread, rows[:, entry])
            out[:, entry, nodes] = prediction * spread + middle
    return out


def _lines(x: Array, y: Array, rng: np.random.Generator, pairs: int) -> Iterator[tuple[Array, Array]]:
    """Yield slopes and offsets (m, n): of the number itself, of least squares, and of lines through two runs.

    Lines through two runs find a number that is unmasked in some calls only.
    """
    shape = y.shape[1:]
    yield np.ones(shape), np.zeros(shape)
    known = np.isfinite(x)
    count = np.maximum(known.sum(axis=0), 1)
    x0 = np.where(known, x, 0.0)
    mean_x = x0.sum(axis=0) / count
    mean_y = np.where(known, y, 0.0).sum(axis=0) / count
    off = np.where(known, x - mean_x, 0.0)
    scale = np.maximum(np.abs(off).max(axis=0), 1e-300)
    off = off / scale
    slope = (off * (y - mean_y)).sum(axis=0) / np.maximum((off**2).sum(axis=0), 1e-300) / scale
    yield slope, mean_y - slope * mean_x
    near = RECOVERED * np.maximum(y.std(axis=0), 1e-300)
    best, line = np.zeros(shape), (np.zeros(shape), np.zeros(shape))
    for _ in range(pairs):
        p, q = rng.choice(len(x), size=2, replace=False)
        with np.errstate(all="ignore"):
            slope = (y[p] - y[q]) / (x[p] - x[q])
            offset = y[p] - slope * x[p]
            on = (np.abs(y - slope * x - offset) < near).mean(axis=0)
        better = np.isfinite(slope) & (on > best)
        best = np.where(better, on, best)
        line = np.where(better, slope, line[0]), np.where(better, offset, line[1])
    if pairs and best.max() > 3 / len(x):
        yield line
