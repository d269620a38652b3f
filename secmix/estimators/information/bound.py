"""A lower confidence bound on mutual information, from critics judged on rows they were not fitted on."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from secmix._base.checks import Progress
from secmix.errors import DataError
from secmix.estimators.estimate import Estimate
from secmix.estimators.information.contrast import MOST_PAIRS
from secmix.estimators.information.critic import Rows, UserCritic
from secmix.estimators.information.folds import judge_fold
from secmix.estimators.information.stacking import MIXED
from secmix.estimators.samples import Floats, standardised, validated

FOLDS = 5
LEAST_ROWS = 50


def information_lower_bound(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    rng: int | np.random.Generator = 0,
    critics: Sequence[UserCritic] = (),
    progress: Progress | None = None,
) -> Estimate:
    """Bound the mutual information I(X; Y) from below with confidence ``level``, whatever the distribution.

    Rows are split into five folds. Critics (functions that score how well an x and a y go together) are fitted on
    three, chosen and weighted on the fourth, and judged by InfoNCE on the fifth, in all five rotations. What is
    expected there is at most I(X; Y) for any critic at all: a bad one shows little, none shows too much. The critics
    are a t-copula, kernel CCA, ratios of neighbour counts, histograms of how nearly x and y are equal, and the caller's
    own.

    Parameters
    ----------
    x, y : (N, d) or (N,) arrays
        Rows must be independent draws of (X, Y): rows in order of time, or each given twice, make the bound void. Units
        matter to one critic only, which asks whether entries of x and y are (nearly) equal.
    level : float, default 0.95
        Confidence, at least 0.5 and below 1.
    rng : int or Generator, default 0
        Shuffles the rows and seeds the critics. The same number gives the same bound, whatever the number of threads.
    critics : sequence of functions, optional
        Own critics, ``critic(x_train, y_train, rng)`` with arrays (n, dx) and (n, dy), each returning a function
        ``score(x, y)`` from (b, dx) and (c, dy) to the (b, c) scores of every x with every y, in nats up to a
        constant. A score may depend on its pair alone, and is refused where it does not.
    progress : callable (done, total, what), optional
        Called after each fold.

    Returns
    -------
    Estimate
        In nats, of kind *lower bound* with ``high = inf``, and *unresolved*: it can violate a limit and never clear.
        ``value`` is the mean InfoNCE in test rows (on average below the truth, too), ``low`` the bound, at least 0;
        ``method`` says which critics carried it, the first the most. Infinite or large information shows as at most
        ln 200 = 5.3 nats.

    Raises
    ------
    DataError
        As `ksg`; a level out of range; a caller's critic that returns no finite (b, c) matrix, or whose score of a
        pair depends on other rows.

    Notes
    -----
    With S̄ the mean contrast of N rows, σ the deviation of the jackknife's pseudo-values and ε = 0.005,

        low = max(0, S̄ − t σ/√N − ln(1/(1 − level)) (max(S̄, 0) − ln ε)/(3N)),

    t the ``level`` quantile of Student's distribution. The last term is Bernstein's, for the rare contrasts a sample
    may have missed. This is asymptotic: a 95 % confidence bound, not a proof that holds for every N.

    It cannot see more than about p ln 200 from a share p of rows that leak, rare leaks through a map other than
    equality, sharp edges of a support, or information that cancels (a mask that y holds too). A low bound clears
    nobody.

    Conditional information I(X; Y | Z) is not offered. Its InfoNCE needs strangers drawn from p(y | z); with a
    continuous z no two rows share one, and strangers that are merely similar in z let a critic collect what z tells of
    y, which lifts the number above the truth. I(X; Y, Z) − I(X; Z) needs an upper bound of I(X; Z), which samples alone
    do not give. With a z of few values, call this for the rows of each value, at level 1 − (1 − level)/m for m values,
    and average the bounds with the shares of the values.

    References
    ----------
    van den Oord, Li and Vinyals, arXiv:1807.03748 (2018); Poole, Ozair, van den Oord, Alemi and Tucker, *On Variational
    Bounds of Mutual Information*, ICML 2019, equation (10); McAllester and Stratos, *Formal Limitations on the
    Measurement of Mutual Information*, AISTATS 2020 (why no such bound exceeds about ln N).

    Examples
    --------
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 600))
    >>> bound = information_lower_bound(x, x + noise)  # the truth is ½ ln 2 = 0.347
    >>> 0.2 < bound.low < bound.value < 0.4
    True
    >>> information_lower_bound(x, noise).low
    0.0
    """
    (first, second, _), _ = validated(x, y, None, 1)
    for name, part in (("x", first), ("y", second)):
        standardised(name, part)  # refuses a column that never varies
    if isinstance(level, bool) or not 0.5 <= level < 1:
        raise DataError(f"level = {level!r} must be at least 0.5 and below 1, such as 0.95")
    rows, n = Rows(first, second), len(first)
    if n < LEAST_ROWS:
        note = f"{n} rows are too few to fit and judge a critic; {LEAST_ROWS} are needed"
        return _bound(0.0, 0.0, f"no critic, {_shape(rows)}", (note,))
    notify = progress or (lambda done, total, what: None)
    shuffling, *streams = np.random.default_rng(rng).spawn(1 + FOLDS)
    folds = np.array_split(shuffling.permutation(n), FOLDS)
    verdicts = []
    with threadpool_limits(limits=1):  # sums in another order would make the number depend on the threads
        for fold, stream in enumerate(streams):
            test, validation = folds[fold], folds[(fold + 1) % FOLDS]
            train = np.concatenate([folds[(fold + ahead) % FOLDS] for ahead in range(2, FOLDS)])
            verdicts.append(judge_fold(rows.at(train), rows.at(validation), rows.at(test), critics, stream))
            notify(fold + 1, FOLDS, f"fold {fold + 1} of {FOLDS}")
    contrasts = np.concatenate([verdict.contrasts for verdict in verdicts])
    pseudo = np.concatenate([verdict.pseudo_values for verdict in verdicts])
    carried: dict[str, float] = {}
    for verdict in verdicts:
        for name, share in verdict.shares.items():
            carried[name] = carried.get(name, 0.0) + share
    by = ", ".join(sorted(carried, key=lambda name: -carried[name])) or "no critic"
    notes = [f"a bound from below with {level:.4g} confidence, by InfoNCE in held-out rows: more may be known"]
    repeated = n - len(np.unique(np.hstack(rows), axis=0))
    if repeated:
        notes.append(
            f"{repeated} of {n} rows (x, y) repeat others; the bound holds if they were drawn so, and not if rows "
            "were given twice"
        )
    low = lower_confidence(contrasts, pseudo, level)
    return _bound(float(contrasts.mean()), low, f"{by}; {_shape(rows)}", tuple(notes))


def lower_confidence(contrasts: Floats, pseudo_values: Floats, level: float) -> float:
    """Return what the expected contrast exceeds with that confidence, at least 0; see `information_lower_bound`."""
    n, mean = len(contrasts), float(contrasts.mean())
    noise = float(student.ppf(level, n - 1)) * float(pseudo_values.std(ddof=1)) / math.sqrt(n)
    unseen = -math.log(1 - level) * (max(mean, 0.0) - math.log(MIXED)) / (3 * n)
    return max(0.0, mean - noise - unseen)


def _bound(value: float, low: float, method: str, notes: tuple[str, ...]) -> Estimate:
    return Estimate(value, low, math.inf, "nats", f"held-out InfoNCE by {method}", "lower bound", "unresolved", notes)


def _shape(rows: Rows) -> str:
    n = len(rows.x)
    return f"N = {n}, {rows.x.shape[1]} + {rows.y.shape[1]} dimensions, batches of {min(MOST_PAIRS, n // FOLDS)}"
