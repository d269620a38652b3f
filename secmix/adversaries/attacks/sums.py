"""Fixed attacks on sums: contributions that do not depend on the rule.

Each is written as ``attack(honest (h, p), f, rng) -> messages (f, p)``: f colluders who see the h honest contributions
of the round. μ is their mean, σ the standard deviation of each entry. Attacks on gradients (sign flip, IPM) take μ as
the direction of descent; here μ is whatever the honest nodes average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array, integer
from secmix.adversaries.against_rules.ties import ranked
from secmix.adversaries.attacks.attack import CONTRIBUTION, Attack, RoundMessages

FIXED: dict[str, Attack] = {}
"""Every fixed attack on sums by name; each can be called as ``FIXED[name](honest, f, rng)``."""


def honest_messages(honest: ArrayLike, f: int) -> tuple[Array, int]:
    """Convert ``honest`` to a finite (h, p) array and f to an integer of at least 1; errors say what is allowed."""
    array = finite_array(honest, "honest messages", ndim=2)
    return array, integer(f, "f", least=1)


def centre(honest: Array) -> Array:
    """Compute the mean (p,), right even where the sum of the entries would overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean: Array = honest.mean(axis=0)
    if np.isfinite(mean).all():
        return mean
    # A power of two, at least as large as the count, leaves room for the sum and rounds nothing.
    room = 2.0 ** math.ceil(math.log2(len(honest)))
    return np.asarray((honest / room).sum(axis=0) * (room / len(honest)))


def fixed(does: str, *, title: str = "") -> Callable[[Callable[[Array, int, np.random.Generator], Array]], Attack]:
    """Make a fixed attack of a function ``(honest (h, p), f, rng) -> (f, p)``, and list it in ``FIXED``.

    ``scale`` moves its messages that many times as far from the honest mean.
    """

    def decorate(function: Callable[[Array, int, np.random.Generator], Array]) -> Attack:
        def forge(messages: RoundMessages) -> Array:
            sent = function(messages.honest, len(messages.own), messages.rng)
            if messages.scale == 1:
                return sent
            middle = messages.honest.mean(axis=0)
            return np.asarray(middle + messages.scale * (sent - middle))

        name = function.__name__
        FIXED[name] = Attack([CONTRIBUTION], forge, does=does, name=name, title=title)
        return FIXED[name]

    return decorate


@fixed("Every colluder sends the mean of the honest contributions with its sign turned.")
def sign_flip(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send −μ from everybody (Li, Xu, Chen, Giannakis, Ling 2019, RSA; Allen-Zhu et al. 2021)."""
    return _repeated(-centre(honest), f)


@fixed("As sign flip, a hundred times as large.")
def reverse(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send −100 μ: the sign flipped and blown up (Rajput, Wang, Charles, Papailiopoulos 2019, DETOX, section 5)."""
    return _repeated(-100.0 * centre(honest), f)


@fixed("Every colluder sends random numbers of standard deviation 200.", title="large Gaussian")
def large_gaussian(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Draw each message from N(0, 200² I) (Blanchard et al. 2017, Krum; Xie et al. 2018 with 200)."""
    return 200.0 * rng.standard_normal((f, honest.shape[1]))


@fixed("Every colluder sends −100 in each entry.")
def constant(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send −100 in every entry (Li et al. 2019, RSA; Rajput et al. 2019, DETOX: the constant attack)."""
    return np.full((f, honest.shape[1]), -100.0)


@fixed("Every colluder sends zeros: it takes part and contributes nothing.")
def zero(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send zeros, the empty message (Li et al. 2019, RSA; "free rider")."""
    return np.zeros((f, honest.shape[1]))


@fixed("All colluders copy one honest node, the one furthest out, so that it counts too often.")
def mimic(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Copy one honest node, that furthest out along the direction of largest variance.

    Karimireddy, He, Jaggi 2022, Byzantine-robust learning on heterogeneous datasets via bucketing.
    """
    deviations = _deviations(honest)
    axis = np.linalg.svd(deviations, full_matrices=False)[2][0] if len(honest) > 1 else deviations[0]
    return _repeated(honest[ranked(np.abs(deviations @ axis))[0]], f)


def alie_factor(n: int, f: int) -> float:
    """Compute z of *a little is enough*: as far out as still leaves a majority further out.

    With s = ⌊n/2 + 1⌋ − f honest messages to win over, Φ(z) = (n − f − s)/(n − f). Where that is not inside
    (0, 1) (a majority of colluders, or a handful of nodes), z = 1.

    >>> round(alie_factor(50, 24), 2)
    1.43
    """
    wanted = math.floor(n / 2 + 1) - f
    share = (n - f - wanted) / (n - f)
    return NormalDist().inv_cdf(share) if 0.5 < share < 1.0 else 1.0


@fixed(
    "“A little is enough”: all step away from the honest mean, by so few standard deviations that enough honest nodes "
    "stand further out to make them look ordinary.",
    title="ALIE",
)
def alie(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send μ − z σ (Baruch, Baruch, Goldberg 2019, A little is enough, algorithm 3); z is :func:`alie_factor`."""
    z = alie_factor(len(honest) + f, f)
    return _repeated(centre(honest) - z * deviation(honest), f)


@fixed("Inner product manipulation: every colluder sends minus half the honest mean.", title="IPM")
def ipm(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send −μ/2: inner product manipulation (Xie, Koyejo, Gupta 2019, Fall of empires, with ε = 0.5)."""
    return _repeated(-0.5 * centre(honest), f)


@fixed(
    "All step away from the honest mean, as far as they can without standing further from any honest contribution than "
    "two of those stand from each other.",
    title="min-max",
)
def min_max(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send μ − γ σ, the largest γ whose distance to any honest message is no more than that between two of them.

    Shejwalkar, Houmansadr 2021, Manipulating the Byzantine (perturbation: inverse standard deviation).
    """
    return _furthest(honest, f, np.max)


@fixed("As min-max, with the sum of squared distances to all honest contributions as the limit.", title="min-sum")
def min_sum(honest: Array, f: int, rng: np.random.Generator) -> Array:
    """Send μ − γ σ, the largest γ whose sum of squared distances is no more than that of any honest message.

    Shejwalkar, Houmansadr 2021, Manipulating the Byzantine.
    """
    return _furthest(honest, f, np.sum)


def deviation(honest: Array) -> Array:
    """Compute σ (p,) of the honest messages, entry by entry, with divisor h."""
    return np.asarray(np.sqrt((_deviations(honest) ** 2).mean(axis=0)))


def _deviations(honest: Array) -> Array:
    return honest - centre(honest)


def _repeated(message: Array, f: int) -> Array:
    return np.tile(message, (f, 1))


def _furthest(honest: Array, f: int, total: Callable[..., Array]) -> Array:
    """Step along −σ as far as ``total`` squared distance stays within the honest messages' largest."""
    out, step = _deviations(honest), -deviation(honest)
    gram = out @ out.T
    square = np.diag(gram)
    allowed = float(np.max(total(np.maximum(square[:, None] + square - 2 * gram, 0.0), axis=1)))
    # Squared distances are a t² − 2 b_i t + c_i along the step t: the largest t is the root of a parabola.
    a, b = float(step @ step), out @ step
    if a == 0.0:
        return _repeated(centre(honest), f)
    if total is np.sum:
        a, b, square = a * len(honest), np.array([b.sum()]), np.array([square.sum()])
    gamma = float(np.min((b + np.sqrt(np.maximum(b**2 - a * (square - allowed), 0.0))) / a))
    return _repeated(centre(honest) + gamma * step, f)
