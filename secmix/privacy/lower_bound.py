"""Lower bounds of epsilon by running a mechanism many times on two neighbouring data sets.

Whoever looks at an output and guesses which data set it came from is wrong at certain rates; a mechanism that is (ε, δ)
private leaves no rates below a curve. Scores and thresholds are chosen on one half of the runs and counted on the
other: chosen on the same half, a reading of the Gaussian family lies above the truth in 7 to 20 % of draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import beta, nct, norm

from secmix._base.checks import Array, finite_array, integer, positive, probability
from secmix.errors import DataError, SecmixError
from secmix.privacy.families import NoiseFamily
from secmix.privacy.gaussian_mechanism import gaussian_epsilon
from secmix.privacy.scores import Score, scores_of

_FEWEST = 40  # runs on each data set: below it no rate of errors says anything
_CAUTION = 1e-2  # of the level, by which tests are chosen: at the level itself the luckiest of hundreds would be
_THRESHOLDS = 120  # that are tried for each score, closer towards its ends


@dataclass(frozen=True)
class LowerBound:
    """An epsilon that the mechanism exceeds, with how it was got.

    Attributes
    ----------
    epsilon : float
        The mechanism is not (ε', δ) differentially private for any ε' below it, at the level ``confidence``; 0 says
        nothing.
    delta, confidence : float
    runs : int
        On each data set; half of them chose the test.
    reading : str
        What had to be proved for it: nothing ("any mechanism"), or which family the noise is of.
    score : str
        What the test looks at.
    false_positive, miss : float
        Upper confidence limits of its rates of errors.
    """

    epsilon: float
    delta: float
    confidence: float
    runs: int
    reading: str
    score: str
    false_positive: float
    miss: float


def epsilon_lower_bound(
    mechanism: Callable[[Any, np.random.Generator], ArrayLike],
    neighbours: Sequence[Any],
    *,
    delta: float = 0.0,
    runs: int = 20_000,
    seed: int = 0,
    family: NoiseFamily | str | None = None,
    confidence: float = 0.95,
    looks: int = 1,
) -> LowerBound:
    """Bound the epsilon of a mechanism from below, by running it on two neighbouring data sets.

    Parameters
    ----------
    mechanism : callable (data, rng)
        Returns what is released: numbers, as many in each run.
    neighbours : pair
        Two data sets that the mechanism must not tell apart.
    delta : float
        In [0, 1).
    runs : int
        On each of the two.
    seed : int
    family : NoiseFamily, "gaussian" or None
        Which noise the mechanism adds, where that is *proved* of its code. Declared only, it would convict the right:
        Laplace noise with ε = 1 reads 7 as Gaussian noise.
    confidence : float
        At which the bound holds.
    looks : int
        How many such bounds a report asks for; the level is divided among them (Bonferroni).

    Raises
    ------
    SecmixError
        If a setting lies outside its range, or there are not two data sets.
    DataError
        If the mechanism returns what are no finite numbers, or not as many in each run.

    Examples
    --------
    Laplace noise of scale 1 on a count: ε is 1.

    >>> count = lambda rows, rng: len(rows) + rng.laplace()
    >>> bound = epsilon_lower_bound(count, ([1, 2, 3], [1, 2]), runs=4000)
    >>> print(f"{bound.epsilon:.1f} by {bound.score}")
    0.9 by entry 0
    """
    if len(neighbours) != 2:
        raise SecmixError(f"neighbours: expected two data sets; given {len(neighbours)}")
    streams = np.random.default_rng([seed, 45]).spawn(2)
    outputs = [
        _outputs(mechanism, data, integer(runs, "runs", _FEWEST), rng)
        for data, rng in zip(neighbours, streams, strict=True)
    ]
    return epsilon_lower_bound_of(*outputs, delta=delta, family=family, confidence=confidence, looks=looks)


def epsilon_lower_bound_of(
    first: ArrayLike,
    second: ArrayLike,
    *,
    delta: float = 0.0,
    family: NoiseFamily | str | None = None,
    confidence: float = 0.95,
    looks: int = 1,
) -> LowerBound:
    """Bound epsilon from below by what a mechanism released in many independent runs on each of two data sets.

    Parameters
    ----------
    first, second : array_like, (runs, m)
        Released numbers of runs on the one and on the other; as many runs of each.
    delta, family, confidence, looks
        As :func:`epsilon_lower_bound` takes them.

    Raises
    ------
    SecmixError, DataError
        As there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(4000, 3)), rng.normal(size=(4000, 3)) + [2.0, 0.0, 0.0]
    >>> [round(epsilon_lower_bound_of(a, b, delta=1e-5, family=known).epsilon, 1) for known in (None, "gaussian")]
    [3.5, 9.2]
    """
    a, b = _checked(first, second)
    delta = probability(delta, "delta")
    level = (1 - probability(confidence, "confidence")) / integer(looks, "looks")
    half = len(a) // 2
    if family == "gaussian":
        mu, name = _gaussian_mu(a, b, level)
        epsilon = gaussian_epsilon(mu, delta) if mu > 0 else 0.0
        return LowerBound(epsilon, delta, confidence, len(a), "Gaussian noise", name, math.nan, math.nan)
    if family is not None and not isinstance(family, NoiseFamily):
        raise SecmixError(f'family: expected a NoiseFamily, "gaussian" or None; given {family!r}')
    score, threshold = _chosen(a[:half], b[:half], delta, family, level)
    wrong = _limit((score(a[half:]) > threshold).sum(), len(a) - half, level)
    miss = _limit((score(b[half:]) <= threshold).sum(), len(b) - half, level)
    epsilon = float(_epsilon(np.array([wrong]), np.array([miss]), delta, family)[0])
    reading = "any mechanism" if family is None else family.name
    return LowerBound(epsilon, delta, confidence, len(a), reading, score.name, float(wrong), float(miss))


def gaussian_mu_lower_bound(
    first: ArrayLike,
    second: ArrayLike,
    *,
    direction: ArrayLike | None = None,
    sigma: float | None = None,
    confidence: float = 0.95,
) -> float:
    """Bound μ = Δ/σ of a mechanism from below whose noise is proved to be Gaussian, the same on both data sets.

    With ``direction`` and ``sigma``, the mean difference along it over σ is normal (a z test on all runs); without
    them the direction is learnt on one half and the effect size of the other follows a noncentral t distribution.

    Parameters
    ----------
    first, second : array_like, (runs, m)
    direction : array_like, (m,), optional
        In which the mechanism's value differs, where it is known.
    sigma : float, optional
        Standard deviation of the noise along it, where it is known; both are given or neither.
    confidence : float

    Raises
    ------
    SecmixError
        If one of ``direction`` and ``sigma`` is given without the other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)) + [1.0, 0.0]
    >>> round(gaussian_mu_lower_bound(a, b), 2), round(gaussian_mu_lower_bound(a, b, direction=[1, 0], sigma=1.0), 2)
    (0.94, 0.99)
    """
    a, b = _checked(first, second)
    level = 1 - probability(confidence, "confidence")
    if direction is None and sigma is None:
        return _gaussian_mu(a, b, level)[0]
    if direction is None or sigma is None:
        raise SecmixError("direction and sigma: give both, or neither to have them learnt")
    unit = finite_array(direction, "direction", 1)
    unit = unit / np.linalg.norm(unit)
    difference = float((b @ unit).mean() - (a @ unit).mean()) / positive(sigma, "sigma")
    return max(difference - float(norm.isf(level)) * math.sqrt(2 / len(a)), 0.0)


def _outputs(mechanism: Callable[..., ArrayLike], data: Any, runs: int, rng: np.random.Generator) -> Array:
    """Return what the mechanism releases in each run on ``data``, (runs, m)."""
    rows = [np.ravel(np.asarray(mechanism(data, rng), dtype=float)) for _ in range(runs)]
    sizes = {len(row) for row in rows}
    if len(sizes) > 1:
        raise DataError(
            f"mechanism returned {min(sizes)} numbers in one run and {max(sizes)} in another; expected as many"
        )
    return np.stack(rows)


def _checked(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    a, b = (finite_array(each, name) for each, name in ((first, "first"), (second, "second")))
    a, b = (each.reshape(len(each), -1) for each in (a, b))
    if a.shape != b.shape:
        raise DataError(f"first and second must have one shape (runs, m); given {a.shape} and {b.shape}")
    if len(a) < _FEWEST:
        raise DataError(f"first and second: expected at least {_FEWEST} runs each; given {len(a)}")
    return a, b


def _limit(errors: Any, runs: int, level: float) -> Array:
    """Return the upper limit of Clopper and Pearson for a rate of errors, each of two at half the level."""
    errors = np.asarray(errors)
    with np.errstate(invalid="ignore"):
        return np.where(errors < runs, beta.isf(level / 2, errors + 1, np.maximum(runs - errors, 1e-300)), 1.0)


def _epsilon(wrong: Array, miss: Array, delta: float, family: NoiseFamily | None) -> Array:
    """Return the epsilon that upper limits of error rates (tests,) leave: the larger of both directions."""
    if family is not None:
        return np.maximum(family.epsilon(wrong, miss, delta), family.epsilon(miss, wrong, delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.log(np.maximum(1 - one - delta, 0.0) / other) for one, other in ((wrong, miss), (miss, wrong))]
    return np.maximum(np.maximum(*ratios), 0.0)


def _chosen(a: Array, b: Array, delta: float, family: NoiseFamily | None, level: float) -> tuple[Score, float]:
    """Return the score and threshold that read the most on the runs (runs, m) that choose."""
    most, choice = -1.0, (Score("nothing", lambda outputs: np.zeros(len(outputs))), 0.0)
    for score in scores_of(a, b):
        low, high = np.sort(score(a)), np.sort(score(b))
        thresholds = _thresholds(np.concatenate([low, high]))
        wrong = _limit(len(a) - np.searchsorted(low, thresholds, side="right"), len(a), level * _CAUTION)
        miss = _limit(np.searchsorted(high, thresholds, side="right"), len(b), level * _CAUTION)
        reading = _epsilon(wrong, miss, delta, family)
        best = int(np.argmax(reading))
        if reading[best] > most * (1 + 1e-9):
            most, choice = float(reading[best]), (score, float(thresholds[best]))
    return choice


def _thresholds(scores: Array) -> Array:
    """Return quantiles of the scores, closer together towards both ends."""
    tails = np.geomspace(1 / len(scores), 0.5, _THRESHOLDS // 2)
    return np.unique(np.quantile(scores, np.concatenate([tails, 1 - tails]), method="lower"))


def _gaussian_mu(a: Array, b: Array, level: float) -> tuple[float, str]:
    """Return the lower limit of the effect size along the best direction, which one half of the runs chose.

    A single number has no direction but its sign: all runs count then, on both sides.
    """
    half = len(a) // 2
    score = next((each for each in scores_of(a[:half], b[:half]) if each.name in ("linear", "entry 0")), None)
    if score is None:
        return 0.0, "nothing"
    if a.shape[1] == 1:
        return _effect_size(score(a), score(b), level / 2), score.name
    x, y = score(a[half:]), score(b[half:])
    return (_effect_size(x, y, level) if y.mean() > x.mean() else 0.0), score.name


def _effect_size(x: Array, y: Array, level: float) -> float:
    """Return a lower limit of the distance of two normal means over their common spread, by the noncentral t law."""
    freedom = len(x) + len(y) - 2
    spread = math.sqrt((((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum()) / freedom)
    if spread == 0:
        return 0.0
    root = math.sqrt(1 / len(x) + 1 / len(y))
    t = abs(float(y.mean() - x.mean())) / spread / root

    # The limit is the noncentrality with which t or more is as rare as the level.
    def beyond(shift: float) -> float:
        return float(nct.sf(t, freedom, shift)) - level

    return float(brentq(beyond, max(t - 10.0, 0.0), t)) * root if beyond(0.0) < 0 else 0.0
