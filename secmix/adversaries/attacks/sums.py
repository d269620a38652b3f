"""Fixed attacks: what colluders send who do not look at the rule.

Each is ``attack(honest (h, p), f, rng) -> messages (f, p)``: f colluders who see the h honest messages of the
round. μ is the honest mean, σ the honest standard deviation of each entry. Attacks on gradients (sign flip, IPM)
take μ as the direction of descent; here μ is whatever the honest nodes average.

Flipping labels changes a node's data before it computes its message: that is :func:`label_flip`, on labels, and
what follows is an honest message of poisoned data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from secmix._base.checks import Array, finite_array, integer
from secmix.errors import DataError

Attack = Callable[[Array, int, np.random.Generator], Array]
"""``attack(honest (h, p), f, rng) -> messages (f, p)``."""


def honest_messages(honest: ArrayLike, f: int) -> tuple[Array, int]:
    """``honest`` as a finite (h, p) array and f as a whole number of at least 1, or an error that teaches."""
    array = finite_array(honest, "honest messages", ndim=2)
    return array, integer(f, "f", least=1)


def centre(honest: Array) -> Array:
    """The mean (p,), right even where the sum of the entries would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean: Array = honest.mean(axis=0)
    if np.isfinite(mean).all():
        return mean
    # A power of two, at least as large as the count, leaves room for the sum and rounds nothing.
    room = 2.0 ** math.ceil(math.log2(len(honest)))
    return np.asarray((honest / room).sum(axis=0) * (room / len(honest)))


def sign_flip(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """−μ from everybody (Li, Xu, Chen, Giannakis, Ling 2019, RSA; Allen-Zhu et al. 2021)."""
    return _same(-centre(honest), f)


def reverse(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """−100 μ: the sign flipped and blown up (Rajput, Wang, Charles, Papailiopoulos 2019, DETOX, section 5)."""
    return _same(-100.0 * centre(honest), f)


def large_gaussian(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Each message from N(0, 200² I) (Blanchard et al. 2017, Krum; Xie et al. 2018 with 200)."""
    return 200.0 * rng.standard_normal((f, honest.shape[1]))


def constant(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """−100 in every entry (Li et al. 2019, RSA; Rajput et al. 2019, DETOX: the constant attack)."""
    return np.full((f, honest.shape[1]), -100.0)


def zero(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Nothing at all: the empty message (Li et al. 2019, RSA; "free rider")."""
    return np.zeros((f, honest.shape[1]))


def mimic(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """All copy one honest node, that furthest out along the direction of largest variance.

    Karimireddy, He, Jaggi 2022, Byzantine-robust learning on heterogeneous datasets via bucketing.
    """
    deviations = _deviations(honest)
    axis = np.linalg.svd(deviations, full_matrices=False)[2][0] if len(honest) > 1 else deviations[0]
    return _same(honest[int(np.argmax(np.abs(deviations @ axis)))], f)


def alie_factor(n: int, f: int) -> float:
    """z of *a little is enough*: as far out as still leaves a majority further out.

    With s = ⌊n/2 + 1⌋ − f honest messages to win over, Φ(z) = (n − f − s)/(n − f). Where that is not inside
    (0, 1) (a majority of colluders, or a handful of nodes), z = 1.

    >>> round(alie_factor(50, 24), 2)
    1.43
    """
    wanted = math.floor(n / 2 + 1) - f
    share = (n - f - wanted) / (n - f)
    return NormalDist().inv_cdf(share) if 0.5 < share < 1.0 else 1.0


def alie(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """μ − z σ (Baruch, Baruch, Goldberg 2019, A little is enough, algorithm 3); z is :func:`alie_factor`."""
    z = alie_factor(len(honest) + f, f)
    return _same(centre(honest) - z * deviation(honest), f)


def ipm(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """−μ/2: inner product manipulation (Xie, Koyejo, Gupta 2019, Fall of empires, with ε = 0.5)."""
    return _same(-0.5 * centre(honest), f)


def min_max(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """μ − γ σ, the largest γ whose distance to any honest message is no more than that between two of them.

    Shejwalkar, Houmansadr 2021, Manipulating the Byzantine (perturbation: inverse standard deviation).
    """
    return _furthest(honest, f, np.max)


def min_sum(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """μ − γ σ, the largest γ whose sum of squared distances is no more than that of any honest message.

    Shejwalkar, Houmansadr 2021, Manipulating the Byzantine.
    """
    return _furthest(honest, f, np.sum)


def label_flip(labels: ArrayLike, classes: int) -> NDArray[np.intp]:
    """Labels k become classes − 1 − k; a colluder then goes on honestly (Tolpegin et al. 2020; Li et al. 2019).

    Parameters
    ----------
    labels : (N,) int in 0..classes − 1

    Raises
    ------
    DataError
        A label is not a whole number in that range.

    Examples
    --------
    >>> label_flip([0, 1, 2], classes=3).tolist()
    [2, 1, 0]
    """
    count = integer(classes, "classes", least=2)
    array = np.asarray(labels)
    if array.dtype.kind not in "iu" or (array.size and (array.min() < 0 or array.max() >= count)):
        raise DataError(f"labels must be whole numbers from 0 to {count - 1}; given {array.dtype} {array!r:.80}")
    return np.asarray(count - 1 - array.astype(np.intp), dtype=np.intp)


FIXED: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        sign_flip, reverse, large_gaussian, constant, zero, mimic, alie, ipm, min_max, min_sum,
    )
}  # fmt: skip
"""Every fixed attack by name."""


def deviation(honest: Array) -> Array:
    """σ (p,) of the honest messages, entry by entry, with divisor h."""
    return np.asarray(np.sqrt((_deviations(honest) ** 2).mean(axis=0)))


def _deviations(honest: Array) -> Array:
    return honest - centre(honest)


def _same(message: Array, f: int) -> Array:
    return np.tile(message, (f, 1))


def _furthest(honest: Array, f: int, total: Callable[..., Array]) -> Array:
    """The largest step along −σ at which ``total`` squared distance stays within the honest messages' largest."""
    out, step = _deviations(honest), -deviation(honest)
    gram = out @ out.T
    square = np.diag(gram)
    allowed = float(np.max(total(np.maximum(square[:, None] + square - 2 * gram, 0.0), axis=1)))
    # Squared distances are a t² − 2 b_i t + c_i along the step t: the largest t is the root of a parabola.
    a, b = float(step @ step), out @ step
    if a == 0.0:
        return _same(centre(honest), f)
    if total is np.sum:
        a, b, square = a * len(honest), np.array([b.sum()]), np.array([square.sum()])
    gamma = float(np.min((b + np.sqrt(np.maximum(b**2 - a * (square - allowed), 0.0))) / a))
    return _same(centre(honest) + gamma * step, f)
