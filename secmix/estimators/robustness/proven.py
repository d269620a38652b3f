"""Proven bounds on what Byzantine colluders can do, with which an error found by search is compared.

Write S for the h = n − f honest messages, μ for their mean, V for their mean squared distance from μ, ε for the
largest, ρ = f/(n − 2f). A rule is (f, κ)-robust when ‖rule − μ‖² <= κ V for every S (Allouah, Farhadkhani,
Guerraoui, Gupta, Pinot, Stephan 2023, Fixing by mixing, definition 2). No rule has κ below ρ (their proposition 6).

Two kinds of standing are kept apart. *derived*: the proof stands below, in a few lines. *as published*: taken from
the paper named and not proved again here; the search has not broken it, which proves nothing.

Derivations
-----------
Trimmed mean, κ = ρ. In one coordinate, the kept values lie between the honest order statistics that are f places
lower and higher, so that the result is at most A, the mean of the h − f largest honest values. With B the mean
of the other f: (h − f)(A − μ) + f (B − μ) = 0 and hV >= (h − f)(A − μ)² + f (B − μ)² = h (h − f)(A − μ)²/f. Sum
over coordinates. With the lower bound ρ this is the best possible.

Coordinate-wise median, κ = (k − 1)/(h − k + 1), k = ⌊n/2⌋ + 1. In one coordinate the result is at most the honest
value of rank k, which is at most the mean A of the h − k + 1 largest; then as above.

Geometric median, κ = 4 (h/(h − f))². The median g minimises Σ‖g − x‖: with ‖g − x_i‖ >= ‖g − μ‖ − ‖x_i − μ‖ for
honest and >= ‖x_j − μ‖ − ‖g − μ‖ for other messages, (h − f) ‖g − μ‖ <= 2 Σ_S ‖x_i − μ‖. The same holds with any
centre z in place of μ.

Geometric median, (1 − τ)/√(1 − 2τ) ε with τ = f/n. Let all honest messages lie within ε of a centre z and g
at distance d > ε. Each honest message pulls g back towards z with a component of at least √(d² − ε²)/d, and f
others can pull with at most f in all: h √(d² − ε²) <= f d. Equality holds where all honest messages lie where
the tangents from g touch the sphere. Their mean is then not z: with z = μ the constant is a bound that is attained
only in the limits of small and of large τ (``tests/worst_clouds.py`` says by how much it is missed).

Krum with the n − f − 2 nearest, κ = (1 + √2)² h/(n − 2f − 2). Some honest message has a score of at most
2 h V (h − 2)/(h − 1), as the average honest one has; that chosen, k, scores no more. Among its n − f − 2 nearest at
least q = n − 2f − 2 are honest; with c their mean, q ‖k − c‖² <= 2 h V and q ‖c − μ‖² <= h V.

MDA, (4 f/h) ε. The chosen set has diameter at most that of S, which is at most 2ε, and shares n − 2f >= 1 messages
with S; so each of the at most f chosen that are not in S is within 4ε of any honest one it stands in for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.against_rules.oracle import configured
from secmix.adversaries.attacks.sums import centre
from secmix.aggregators import TRAITS, is_ours, traits_of
from secmix.errors import SecmixError

Standing = Literal["derived", "as published"]
ROUNDING = 1e-6
"""A found error counts as above a bound when it exceeds it by more than this, relative: rules round."""

_ALLOUAH = "Allouah et al. 2023, Fixing by mixing, table 1"


@dataclass(frozen=True)
class Bound:
    """A bound on ‖rule − μ‖.

    Attributes
    ----------
    form : {"kappa", "epsilon"}
        ‖rule − μ‖² <= coefficient · V, or ‖rule − μ‖ <= coefficient · ε.
    coefficient : float
        ``inf`` where the rule is known to have no bound.
    source : str
    standing : {"derived", "as published"}
    """

    form: Literal["kappa", "epsilon"]
    coefficient: float
    source: str
    standing: Standing

    def error(self, honest: Array) -> float:
        """Compute the largest error that the bound allows on these honest messages (h, p)."""
        apart = honest - centre(honest)
        unit = float(np.abs(apart).max())
        if unit == 0.0:
            return 0.0
        squares = ((apart / unit) ** 2).sum(axis=1)  # in this unit no square overflows
        if self.form == "kappa":
            return unit * math.sqrt(self.coefficient * float(squares.mean()))
        return unit * self.coefficient * math.sqrt(float(squares.max()))


class BoundViolated(SecmixError):
    """A search found more than a theorem allows: the rule's code, the theorem or the search is wrong.

    Attributes
    ----------
    path : pathlib.Path
        The counterexample: ``honest`` (h, p), ``byzantine`` (f, p), ``error``, ``allowed``, readable by numpy.load.
    bound : Bound
    """

    def __init__(self, message: str, path: Path, bound: Bound) -> None:
        super().__init__(message)
        self.path, self.bound = path, bound

    def __reduce__(self) -> tuple[type[BoundViolated], tuple[str, Path, Bound]]:
        return type(self), (str(self), self.path, self.bound)


def geometric_median_constant(tau: float) -> float:
    """Compute (1 − τ)/√(1 − 2τ), for a Byzantine fraction τ below 1/2.

    >>> round(geometric_median_constant(0.4), 3)
    1.342
    """
    if not 0 <= tau < 0.5:
        raise SecmixError(f"tau is a fraction in [0, 0.5); given {tau!r}")
    return (1 - tau) / math.sqrt(1 - 2 * tau)


def bounds(rule: Callable[..., Any] | str, *, n: int, f: int) -> tuple[Bound, ...]:
    """List the bounds proven for a rule, by the rule or its name; empty where none is known.

    Parameters
    ----------
    rule : callable or str
        One of ``secmix.aggregators``, also wrapped in ``nnm``; any other has no bound here.
    n, f : int
        f below n/2.

    Examples
    --------
    >>> [(b.form, round(b.coefficient, 3), b.standing) for b in bounds("trimmed_mean", n=20, f=6)]
    [('kappa', 0.75, 'derived'), ('kappa', 7.875, 'as published')]
    """
    n, f = _counts(n, f)
    if isinstance(rule, str) and ":" not in rule and (rule in _PROVEN or rule.startswith("nnm(")):
        name = rule
    else:
        bare = configured(rule)[0]
        traits = traits_of(bare)
        # A theorem is about a rule of ours, or one that declares to be it and is held to it; a name alone is nothing.
        claimed = traits is not None and (is_ours(bare) or TRAITS.get(traits.name) is traits)
        name = traits.name if traits is not None and claimed else ""
    if name.startswith("nnm(") and name.endswith(")"):
        inner = [b for b in bounds(name[4:-1], n=n, f=f) if b.form == "kappa"]
        source = "Allouah et al. 2023, Fixing by mixing, lemma 1 (8 f/(n − f) (κ + 1))"
        return tuple(
            Bound("kappa", 8 * f / (n - f) * (b.coefficient + 1), f"{source}; {b.source}", "as published")
            for b in inner
        )
    return _PROVEN[name](n, f) if name in _PROVEN else ()


def best(rule: Callable[..., Any] | str, honest: Array, f: int) -> tuple[Bound, float] | None:
    """Find the tightest bound on these honest messages (h, p), and the error it allows; None where there is none."""
    choices = [(b, b.error(honest)) for b in bounds(rule, n=len(honest) + f, f=f)]
    return min(choices, key=lambda choice: choice[1]) if choices else None


def hold(
    rule: Callable[..., Any] | str, honest: Array, byzantine: Array, error: float, save_to: str | Path = "."
) -> float | None:
    """Compare an error with the tightest bound: their ratio; None where there is no finite bound.

    ``honest`` (h, p); ``byzantine`` (f, p): the messages that caused the error; ``error``: ‖rule − μ‖; ``save_to``: the
    folder in which a counterexample is kept. Raises BoundViolated: the error exceeds a bound by more than rounding.
    """
    tightest = best(rule, honest, len(byzantine))
    if tightest is None:
        return None
    bound, allowed = tightest
    size = float(np.abs(honest).max())
    if error > allowed * (1 + ROUNDING) + 1e-12 * size:
        raise violated(bound, honest, byzantine, error, allowed, save_to)
    if math.isinf(allowed):
        return None
    return error / allowed if allowed else 0.0


def violated(
    bound: Bound, honest: Array, byzantine: Array, error: float, allowed: float, save_to: str | Path
) -> BoundViolated:
    """Write the counterexample to disk, and return the error to raise."""
    folder = Path(save_to)
    folder.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(honest.tobytes() + byzantine.tobytes()).hexdigest()[:12]
    path = folder / f"bound-violated-{key}.npz"
    np.savez(path, honest=honest, byzantine=byzantine, error=error, allowed=allowed)
    return BoundViolated(
        f"an error of {error:.6g} was found where {bound.source} ({bound.standing}) allows {allowed:.6g}: the rule's "
        f"code or the theorem is wrong; the messages are in {path}",
        path,
        bound,
    )


def _counts(n: int, f: int) -> tuple[int, int]:
    n, f = integer(n, "n"), integer(f, "f", least=0)
    if 2 * f >= n:
        raise SecmixError(f"bounds need f below n/2; given n = {n}, f = {f}: no rule withstands half")
    return n, f


def _mean(n: int, f: int) -> tuple[Bound, ...]:
    source = "one message moves the average anywhere (Blanchard et al. 2017, lemma 1)"
    return (Bound("kappa", math.inf if f else 0.0, source, "derived"),)


def _trimmed_mean(n: int, f: int) -> tuple[Bound, ...]:
    rho = f / (n - 2 * f)
    return (
        Bound("kappa", rho, "secmix.estimators.robustness.proven, trimmed mean", "derived"),
        Bound("kappa", 6 * rho * (1 + rho), _ALLOUAH, "as published"),
    )


def _coordinate_median(n: int, f: int) -> tuple[Bound, ...]:
    k = n // 2 + 1
    return (
        Bound(
            "kappa", (k - 1) / (n - f - k + 1), "secmix.estimators.robustness.proven, coordinate-wise median", "derived"
        ),
        Bound("kappa", 4 * ((n - f) / (n - 2 * f)) ** 2, _ALLOUAH, "as published"),
    )


def _geometric_median(n: int, f: int) -> tuple[Bound, ...]:
    # (1 − τ)/√(1 − 2τ) = h/√(h² − f²), without the rounding of f/n near one half.
    constant = (n - f) / math.sqrt(n * (n - 2 * f))
    return (
        Bound("epsilon", constant, "secmix.estimators.robustness.proven, (1 − τ)/√(1 − 2τ)", "derived"),
        Bound("kappa", 4 * ((n - f) / (n - 2 * f)) ** 2, f"{_ALLOUAH}; secmix.estimators.robustness.proven", "derived"),
    )


def _krum(n: int, f: int) -> tuple[Bound, ...]:
    if n < 2 * f + 3:
        return ()
    # The published 6(1 + ρ) is for scores over the n − f nearest; ours are over n − f − 2, so it does not apply.
    kappa = (1 + math.sqrt(2)) ** 2 * (n - f) / (n - 2 * f - 2)
    return (Bound("kappa", kappa, "secmix.estimators.robustness.proven, Krum with n − f − 2 neighbours", "derived"),)


def _mda(n: int, f: int) -> tuple[Bound, ...]:
    return (Bound("epsilon", 4 * f / (n - f), "secmix.estimators.robustness.proven, MDA", "derived"),)


_PROVEN: dict[str, Callable[[int, int], tuple[Bound, ...]]] = {
    "mean": _mean,
    "trimmed_mean": _trimmed_mean,
    "coordinate_median": _coordinate_median,
    "geometric_median": _geometric_median,
    "krum": _krum,
    "mda": _mda,
}
