"""Traits of each rule, its source and its promises: one table, which also drives the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

from secmix.errors import SecmixError

Equivariance = Literal["permutation", "translation", "scale", "orthogonal", "embedding"]


@dataclass(frozen=True)
class Traits:
    """A rule's claims. n is the number of messages, f the number of Byzantine ones it is set to.

    A rule of your own declares its claims by an attribute ``traits``: ``my_rule.traits = Traits("my_rule", "who proves
    it", tolerates=lambda n, f: f)``. A trait left out is not claimed, and a rule without traits claims nothing: in an
    audit nothing is proven of either. Declared claims are shown as declared, with their source, and an attack that
    breaks them refutes them.

    Attributes
    ----------
    name, source : str
    least : f -> n
        The fewest messages with which the rule can be set to f; by default 2f + 1.
    breakdown : (n, f) -> fraction
        The breakdown point as the literature gives it; by default 0.
    tolerates : (n, f) -> count
        With so many Byzantine messages the error stays bounded, whatever they are; by default none.
    equivariances : frozenset
        Of "permutation" (the result does not depend on the order), "translation", "scale" (by a factor above
        0), "orthogonal" (rotations and reflections, unless there are ties: they are broken by value) and "embedding"
        (further entries that all messages share change nothing in the others).
    differentiable : bool
        Continuous, with a derivative almost everywhere, so that an attacker can follow a gradient.
    stochastic : bool
        Two calls on the same messages may differ.
    """

    name: str
    source: str
    least: Callable[[int], int] = lambda f: 2 * f + 1
    breakdown: Callable[[int, int], float] = lambda n, f: 0.0
    tolerates: Callable[[int, int], int] = lambda n, f: 0
    equivariances: frozenset[Equivariance] = frozenset()
    differentiable: bool = False
    stochastic: bool = False

    def largest_f(self, n: int) -> int:
        """Find the largest f that n messages allow; −1 where not even f = 0 is."""
        return max((f for f in range(n) if self.least(f) <= n), default=-1)

    def check(self, n: int, f: int, rejected: int = 0) -> None:
        """Check that n messages allow f; the SecmixError names numbers that do."""
        if n >= self.least(f):
            return
        most = self.largest_f(n)
        given = f"{n} left after {rejected} were rejected" if rejected else f"given {n}"
        remedy = f"with {n} messages f can be at most {most}" if most >= 0 else "give more messages"
        raise SecmixError(f"{self.name} with f = {f} needs n >= {self.least(f)} messages; {given}; {remedy}")


def traits_of(rule: Callable[..., Any]) -> Traits | None:
    """Return the traits of our rules, plain or wrapped, or those that a rule declares; None where it declares none.

    Raises
    ------
    SecmixError
        The rule has an attribute ``traits`` that is no :class:`Traits`.

    Examples
    --------
    >>> from secmix.aggregators import krum
    >>> traits_of(krum).least(3)
    9
    """
    own = getattr(rule, "traits", None)
    if own is not None and not isinstance(own, Traits):
        raise SecmixError(
            f"the traits of a rule are a secmix.aggregators.Traits; {getattr(rule, '__name__', type(rule).__name__)} "
            f"declares {type(own).__name__}"
        )
    return own if own is not None else _ours(rule)


def is_ours(rule: Callable[..., Any]) -> bool:
    """Check for a rule of this package, which the literature describes, and not another of the same name.

    >>> from secmix.aggregators import krum
    >>> is_ours(krum), is_ours(lambda messages, f: messages[0])
    (True, False)
    """
    try:
        inner = WRAPPED.get(rule)
    except TypeError:  # nothing of ours is without a weak reference
        return False
    return is_ours(inner) if inner is not None else _ours(rule) is not None


def _ours(rule: Callable[..., Any]) -> Traits | None:
    from secmix import aggregators

    # By the function itself: a stranger's may have any name, in a module of any name.
    name = str(getattr(rule, "__name__", ""))
    return TRAITS.get(name) if rule is getattr(aggregators, name, aggregators) else None


def _majority(f: int) -> int:
    return 2 * f + 1


def _minority(n: int, f: int) -> int:
    return (n - 1) // 2


_COMMON: frozenset[Equivariance] = frozenset({"permutation", "translation", "scale", "embedding"})
_ALL: frozenset[Equivariance] = _COMMON | {"orthogonal"}
_BLANCHARD = "Blanchard, El Mhamdi, Guerraoui, Stainer 2017, Machine learning with adversaries"

WRAPPED: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()
"""Of each rule that a wrapper of this package has made: what it wraps."""

TRAITS: dict[str, Traits] = {
    t.name: t
    for t in (
        Traits(
            "mean", "the average; Blanchard et al. 2017 show that one Byzantine message moves it anywhere",
            lambda f: f + 1, lambda n, f: 0.0, lambda n, f: 0, _ALL, differentiable=True,
        ),
        Traits(
            "coordinate_median", "Yin, Chen, Ramchandran, Bartlett 2018, Byzantine-robust distributed learning",
            _majority, lambda n, f: 0.5, _minority, _COMMON, differentiable=True,
        ),
        Traits(
            "trimmed_mean", "Yin, Chen, Ramchandran, Bartlett 2018, Byzantine-robust distributed learning",
            _majority, lambda n, f: f / n, lambda n, f: f, _COMMON, differentiable=True,
        ),
        Traits(
            "geometric_median",
            "Weiszfeld 1937; Vardi and Zhang 2000, The multivariate L1-median and associated data depth",
            _majority, lambda n, f: 0.5, _minority, _ALL, differentiable=True,
        ),
        Traits(
            "krum", _BLANCHARD,
            lambda f: 2 * f + 3, lambda n, f: (n - 3) / (2 * n), lambda n, f: f, _ALL,
        ),
        Traits(
            "multi_krum", _BLANCHARD,
            lambda f: 2 * f + 3, lambda n, f: (n - 3) / (2 * n), lambda n, f: f, _ALL,
        ),
        Traits(
            "bulyan",
            "El Mhamdi, Guerraoui, Rouault 2018, The hidden vulnerability of distributed learning in Byzantium",
            lambda f: 4 * f + 3, lambda n, f: (n - 3) / (4 * n), lambda n, f: f, _COMMON,
        ),
        Traits(
            "mda",
            "El Mhamdi, Guerraoui, Guirguis, Hoang, Rouault 2020, Genuinely distributed Byzantine machine learning",
            _majority, lambda n, f: f / n, lambda n, f: f, _ALL,
        ),
        Traits(
            "meamed", "Xie, Koyejo, Gupta 2018, Generalized Byzantine-tolerant SGD",
            _majority, lambda n, f: f / n, lambda n, f: f, _COMMON,
        ),
        Traits(
            "centered_clipping",
            "Karimireddy, He, Jaggi 2021, Learning from history for Byzantine robust optimization",
            _majority, lambda n, f: 0.5, _minority, _COMMON, differentiable=True,
        ),
        Traits(
            "median_of_means",
            "Chen, Su, Xu 2017, Distributed statistical machine learning in adversarial settings",
            _majority, lambda n, f: f / n, lambda n, f: f, _ALL - {"permutation"}, differentiable=True,
        ),
    )
}  # fmt: skip
"""By name; an f budget beyond ``largest_f(n)`` is refused."""
