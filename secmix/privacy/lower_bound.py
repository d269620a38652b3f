"""Lower bounds of epsilon by running a mechanism many times on two neighbouring data sets.

Whoever looks at an output and guesses which data set it came from is wrong at certain rates; a mechanism that is (ε, δ)
private leaves no rates below a curve. Scores and thresholds are chosen on one half of the runs and counted on the
other: chosen on the same half, a reading of the Gaussian family lies above the truth in 7 to 20 % of draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import nct

from secmix._base.checks import Array, finite_array, integer, probability
from secmix._base.rates import upper_limit
from secmix.errors import DataError, SecmixError
from secmix.network import Network
from secmix.privacy.families import NoiseFamily
from secmix.privacy.gaussian_mechanism import gaussian_epsilon
from secmix.privacy.protocol_runs import Mechanism, checked_run, outputs_on
from secmix.privacy.refuted_rates import Curve, ErrorCounts, largest_refuted, private_curve
from secmix.privacy.scores import Score, scores_of

_FEWEST = 40  # runs on each data set: below it no rate of errors says anything
_CAUTION = 1e-2  # of the level, by which tests are chosen: at the level itself the luckiest of hundreds would be
_THRESHOLDS = 120  # that are tried for each score, closer towards its ends
_STEP = 1e-3  # of an epsilon that is read
_OF_ANY = 0.5
"""Of the level, in a reading of any mechanism: what is tight would lie above the truth as often as the level allows,
and over ten mechanisms one reading of a hundred may (``tests/calibration/test_epsilon_readings.py``)."""
_LIKELY = 1.0  # level at which a reading is bracketed: what is refuted lies below what is likely


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
    ceiling : float
        The most that this reading gives for so many runs, of a test that never errs; of a proved family, what its least
        noisy scale spends. :func:`reading_ceiling` says less where the mechanism's curve is known.
    neighbours : str
        What the two data sets of a protocol differ by, in words; empty for a mechanism, whose data have no known form.
    """

    epsilon: float
    delta: float
    confidence: float
    runs: int
    reading: str
    score: str
    false_positive: float
    miss: float
    ceiling: float = math.inf
    neighbours: str = ""


def epsilon_lower_bound(
    mechanism: Mechanism | Any,
    neighbours: Sequence[Any],
    adversary: Any = None,
    *,
    delta: float = 0.0,
    network: Network | None = None,
    unit: str = "node",
    runs: int = 20_000,
    seed: int = 0,
    family: NoiseFamily | str | None = None,
    confidence: float = 0.95,
    looks: int = 1,
) -> LowerBound:
    """Bound the epsilon of a mechanism or a protocol from below, by running it on two neighbouring data sets.

    Parameters
    ----------
    mechanism : callable (data, rng), or protocol
        A callable returns what is released: numbers, as many in each run. Of a protocol, any object with
        ``collaborate``, what ``adversary`` reads of a call is released; each run is a call of a copy of its own, by the
        code with which an audit holds a claim against it.
    neighbours : pair
        Two data sets that the mechanism must not tell apart; for a protocol, of each the rows of every node, n arrays
        (N_i, d).
    adversary : Adversary, optional
        Who reads a protocol's messages.
    delta : float
        In [0, 1).
    network : Network, optional
        On which a protocol runs.
    unit : {"node", "row"}
        What the data sets of a protocol may differ by: all rows of one node, or one of its rows, exchanged or more.
    runs : int
        On each of the two.
    seed : int
    family : NoiseFamily, "gaussian" or None
        Which noise is added, where that is *proved* of the code. Declared only, it would convict the right: Laplace
        noise with ε = 1 reads 7 as Gaussian noise.
    confidence : float
        At which the bound holds.
    looks : int
        How many such bounds a report asks for; the level is divided among them (Bonferroni).

    Raises
    ------
    SecmixError
        If a setting lies outside its range, there are not two data sets, or a protocol comes without its network and
        adversary, keeps a random generator, or the adversary reads nothing of it.
    DataError
        If the data sets of a protocol do not fit its network or differ in more than one unit; if what is released are
        no finite numbers, or not as many in each run.
    NetworkError
        If the adversary is about nodes or lines that the network does not have.

    Examples
    --------
    Laplace noise of scale 1 on a count: ε is 1.

    >>> count = lambda rows, rng: len(rows) + rng.laplace()
    >>> bound = epsilon_lower_bound(count, ([1, 2, 3], [1, 2]), runs=4000)
    >>> print(f"{bound.epsilon:.1f} by {bound.score}")
    0.9 by entry 0

    The same noise on the sums of three nodes, each clipped to [−1, 1]: ε is 2 where all rows of a node are exchanged.

    >>> from secmix import Network
    >>> from secmix.adversaries import CuriousServer
    >>> from secmix.transcript import SERVER
    >>> class NoisySums:
    ...     def collaborate(self, parts, network, rng, *, channel):
    ...         sums = np.clip([part.sum(axis=1) for part in parts], -1, 1)
    ...         return channel.send(0, np.arange(network.n), SERVER, "sum", sums + rng.laplace(size=sums.shape))
    >>> rows = [np.ones((5, 1))] * 3
    >>> other = [-rows[0], *rows[1:]]
    >>> bound = epsilon_lower_bound(NoisySums(), (rows, other), CuriousServer(), network=Network.complete(3), runs=1000)
    >>> print(f"{bound.epsilon:.1f}: {bound.neighbours}")
    1.6: all rows of a node exchanged (node 0)
    """
    if len(neighbours) != 2:
        raise SecmixError(f"neighbours: expected two data sets; given {len(neighbours)}")
    integer(runs, "runs", _FEWEST)
    streams = np.random.default_rng([seed, 45]).spawn(2)
    settings: dict[str, Any] = {"delta": delta, "family": family, "confidence": confidence, "looks": looks}
    if hasattr(mechanism, "collaborate"):
        release, parts, words = checked_run(mechanism, neighbours, adversary, network, unit)
        outputs = outputs_on(release, parts, [stream.spawn(runs) for stream in streams])
        if not outputs[0].size:
            raise SecmixError(
                f"the adversary reads no number of this protocol: {adversary!r}; one who reads the result takes "
                "secmix.protocols.released.Released(protocol)"
            )
        return replace(epsilon_lower_bound_of(*outputs, **settings), neighbours=words)
    if not callable(mechanism):
        raise SecmixError(
            f"mechanism: expected a callable (data, rng) or a protocol with collaborate; given a "
            f"{type(mechanism).__name__}"
        )
    if adversary is not None or network is not None:
        raise SecmixError("adversary and network are for protocols; a callable releases all that it returns")
    return epsilon_lower_bound_of(*outputs_on(mechanism, neighbours, [repeat(s, runs) for s in streams]), **settings)


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
    [3.6, 9.2]
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
    score, threshold, weight = _chosen(a[:half], b[:half], delta, family, level)
    errors = int((score(a[half:]) > threshold).sum()), int((score(b[half:]) <= threshold).sum())
    counts = ErrorCounts(*errors, len(a) - half, weight)
    reading = "any mechanism" if family is None else family.name
    wrong, miss = (float(_limit(each, counts.runs, level)) for each in errors)
    if family is None:
        level = _OF_ANY * level
        epsilon, ceiling = _read(counts, delta, level), _most(counts.runs, delta, level)
    else:
        epsilon, ceiling = family.refuted_by(counts, delta, level), float(family.epsilon_of_scales(delta).max())
    return LowerBound(epsilon, delta, confidence, len(a), reading, score.name, wrong, miss, ceiling)


def reading_ceiling(curve: Curve, *, runs: int = 20_000, delta: float = 0.0, confidence: float = 0.95) -> float:
    """Return the most that the reading of any mechanism can be expected to give for one whose curve is known.

    It is what the best threshold reads whose errors are as many as its rates say, as if nothing had to be chosen: half
    of the readings at most lie above it.

    Parameters
    ----------
    curve : callable
        From rates of false alarms to the least rates of misses, such as :meth:`NoiseFamily.curve` returns.
    runs, delta, confidence
        As :func:`epsilon_lower_bound` takes them.

    Raises
    ------
    SecmixError
        If a setting lies outside its range.

    Examples
    --------
    Gaussian noise with ε = 4.4 at δ = 1e-5 (μ = 1) reads less than half of it: the tail that δ is about holds one
    run in a hundred thousand.

    >>> from scipy.stats import norm
    >>> round(reading_ceiling(lambda alarms: norm.cdf(norm.isf(alarms) - 1.0), delta=1e-5), 1)
    2.2
    """
    level, delta = 1 - probability(confidence, "confidence"), probability(delta, "delta")
    half = integer(runs, "runs", _FEWEST) // 2
    alarms = np.unique(np.geomspace(1, half / 2, _THRESHOLDS).astype(int))
    misses = np.floor(half * np.asarray(curve(alarms / half))).astype(int)
    wrong, miss = (_limit(each, half, level) for each in (alarms, misses))
    tests = [
        ErrorCounts(int(alarms[k]), int(misses[k]), half, _weight(float(wrong[k]), float(miss[k]), delta))
        for k in np.argsort(-_epsilon(wrong, miss, delta))[: _THRESHOLDS // 8].tolist()
    ]
    return max(_read(counts, delta, _OF_ANY * level) for counts in tests)


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
    return upper_limit(errors, runs, level / 2)


def _epsilon(wrong: Array, miss: Array, delta: float) -> Array:
    """Return the epsilon that upper limits of error rates (tests,) leave: the larger of both directions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [np.log(np.maximum(1 - one - delta, 0.0) / other) for one, other in ((wrong, miss), (miss, wrong))]
    return np.maximum(np.maximum(*ratios), 0.0)


def _read(counts: ErrorCounts, delta: float, level: float) -> float:
    """Return the largest ε such that the counts refute the curve of all (ε, δ) private mechanisms."""
    wrong, miss = (_limit([errors], counts.runs, _LIKELY) for errors in (counts.false_alarms, counts.misses))
    likely = float(_epsilon(wrong, miss, delta)[0])
    most = min(likely + _STEP, _most(counts.runs, delta, level))
    return largest_refuted(lambda epsilon: counts.refute(private_curve(epsilon, delta), level), most, _STEP)


def _most(runs: int, delta: float, level: float) -> float:
    """Return what so many runs of either data set refute without any error, by the rate at which none is too rare."""
    return math.log((1 - delta) / -math.expm1(math.log(level) / runs))


def _weight(wrong: float, miss: float, delta: float) -> float:
    """Return how much a false alarm counts beside a miss: how steeply the curve falls that these rates lie on."""
    steep, flat = (1 - miss - delta) / wrong, (1 - wrong - delta) / miss
    return max(steep, 1.0) if steep >= flat else 1 / max(flat, 1.0)


def _chosen(a: Array, b: Array, delta: float, family: NoiseFamily | None, level: float) -> tuple[Score, float, float]:
    """Return the score, threshold and weight of false alarms that read the most on the runs (runs, m) that choose."""
    least: Any = (math.inf,)
    choice = (Score("nothing", lambda outputs: np.zeros(len(outputs))), 0.0, 1.0)
    for score in scores_of(a, b):
        low, high = np.sort(score(a)), np.sort(score(b))
        thresholds = _thresholds(np.concatenate([low, high]))
        wrong = len(a) - np.searchsorted(low, thresholds, side="right")
        miss = np.searchsorted(high, thresholds, side="right")
        left, place, weight = _best_test(wrong, miss, len(a), delta, family, level * _CAUTION)
        if left < least:
            least, choice = left, (score, float(thresholds[place]), weight)
    return choice


def _best_test(
    wrong: Any, miss: Any, runs: int, delta: float, family: NoiseFamily | None, level: float
) -> tuple[tuple[float, ...], int, float]:
    """Return how little the best of several tests leaves, its place, and the weight of false alarms.

    ``wrong`` and ``miss`` are counts (tests,).
    """
    wrong, miss = (_limit(errors, runs, level) for errors in (wrong, miss))
    if family is not None:
        return family.best_test(wrong, miss)
    reading = _epsilon(wrong, miss, delta)
    best = int(np.argmax(reading))
    # What differs by rounding is equal: the first score is kept.
    return (-round(float(reading[best]), 9),), best, _weight(float(wrong[best]), float(miss[best]), delta)


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
