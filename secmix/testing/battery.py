"""check_aggregator: every property, then the worst-case search, and the smallest counterexample as a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from secmix._base.checks import Array, integer
from secmix.adversaries.search.oracle import Rule, configured, quietly
from secmix.adversaries.search.worst_case import WorstCase
from secmix.aggregators import traits_of
from secmix.errors import SecmixError
from secmix.testing.counterexample import as_test
from secmix.testing.properties import PROPERTIES, WORST, Property
from secmix.testing.strategies import byzantine_messages, honest_clouds, hypothesis_module

Bound = float | Callable[[int, int], float]
DEFAULT_EQUIVARIANCES = ("permutation", "translation", "scale")
MANY = 40  # dimensions, of the high-dimensional clouds
UNBOUNDED = 1e3
"""Without a bound given, an error of so many honest spreads counts as one."""


class _Broken(Exception):
    """A property failed on these values."""

    def __init__(self, values: dict[str, Any], why: BaseException) -> None:
        super().__init__(str(why))
        self.values, self.why = values, why


def check_aggregator(
    rule: Rule,
    *,
    f: int,
    bound: Bound | None = None,
    n: int | None = None,
    p: int | None = None,
    equivariances: Collection[str] | None = None,
    skip: Collection[str] = (),
    examples: int = 50,
    budget: int = 600,
    seed: int = 0,
) -> None:
    """Hold an aggregation rule to everything that a robust rule owes its users.

    Parameters
    ----------
    rule : callable
        ``rule(messages (n, p), f=...) -> (p,)``.
    f : int
        How many Byzantine messages it is to withstand.
    bound : float or function of (n, f), optional
        The largest error allowed, in units of ε, the largest distance of an honest message from the honest mean.
        Without one, an error of a thousand ε fails.
    n, p : int, optional
        Fix the number of messages and of their entries; drawn otherwise, n from the least that the rule accepts.
    equivariances : collection of str, optional
        Which of "permutation", "translation", "scale" and "orthogonal" are promised; by default what the rule's
        traits say, or else the first three.
    skip : collection of str
        Properties, by title, that the rule does not promise.
    examples : int
        How many each property is tried on.
    budget : int
        Evaluations of each worst-case search.
    seed : int

    Raises
    ------
    AssertionError
        A promise is broken; the message holds the smallest counterexample that was found, as a test to paste.
    SecmixError
        The arguments make no sense.
    ImportError
        Hypothesis is not installed.

    Notes
    -----
    It passes where it found nothing, which is no proof that there is nothing.

    Examples
    --------
    >>> from secmix.aggregators import coordinate_median
    >>> check_aggregator(coordinate_median, f=1, examples=10, budget=200)
    """
    hypothesis_module()
    integer(f, "f", least=1)
    integer(examples, "examples")
    known = {one.title for one in (*PROPERTIES, WORST)}
    if unknown := set(skip) - known:
        raise SecmixError(f"skip names {sorted(unknown)}; the properties are {sorted(known)}")
    if not callable(bound) and bound is not None and not bound > 0:
        raise SecmixError(f"bound must be above 0; given {bound!r}")
    bare, _ = configured(rule)
    traits = traits_of(bare)
    if equivariances is None:
        equivariances = DEFAULT_EQUIVARIANCES if traits is None else traits.equivariances
    sizes = _sizes(rule, f, n, 2 if p is None else p)
    for one in PROPERTIES:
        if one.title in skip or (one.only_if and one.only_if not in equivariances):
            continue
        if one.title == "within reach" and bound is None:
            continue
        # Few dimensions first, where a counterexample shrinks to one that can be read.
        stages = {(1, 2, 3): examples, (MANY,): examples // 5 + 1} if p is None else {(p,): examples}
        for widths, count in stages.items():
            _hold(rule, one, _cases(one.title, f, sizes, widths, bound), count, seed)
    if WORST.title not in skip:
        _worst(rule, f, bound, sizes, p, budget, seed)


def _sizes(rule: Rule, f: int, n: int | None, p: int) -> list[int]:
    """The numbers of messages to try, from the least that the rule accepts."""
    candidates: Iterable[int] = range(2 * f + 1, 6 * f + 12) if n is None else [integer(n, "n", least=f + 1)]
    why: Exception | None = None
    for count in candidates:
        messages = np.random.default_rng(0).standard_normal((count, p))
        try:
            quietly(lambda m=messages: rule(m, f=f))  # type: ignore[misc]
        except ValueError as error:
            why = error
            continue
        return [count] if n is not None else [count, count + 1, count + 4]
    raise AssertionError(f"the rule refuses f = {f} with every number of messages tried; it last said: {why}")


def _cases(title: str, f: int, sizes: list[int], widths: tuple[int, ...], bound: Bound | None) -> Any:
    """A strategy for the values that a property needs."""
    st = hypothesis_module().strategies

    @st.composite  # type: ignore[untyped-decorator]
    def cases(draw: Any) -> dict[str, Any]:
        n, width = draw(st.sampled_from(sizes)), draw(st.sampled_from(widths))
        if title == "consensus":
            agreed = draw(honest_clouds(1, width))[0]
            honest = np.tile(agreed, (n - f, 1))
        else:
            honest = draw(honest_clouds(n - f, width))
        byzantine = draw(byzantine_messages(f, width, finite=title != "not finite"))
        messages = np.concatenate([honest, byzantine])
        values: dict[str, Any] = {"messages": messages, "f": f, "honest": honest, "byzantine": byzantine}
        if title == "f limits":
            values["f"] = draw(st.sampled_from([(n + 1) // 2, n, n + 1, -1]))
        elif title == "consensus":
            values["agreed"] = agreed
        elif title == "within reach":
            values["allowed"] = _allowed(bound, n, f)
        elif title == "permutation":
            values["order"] = np.array(draw(st.permutations(range(n))))
        elif title == "translation":
            # Eighths are added without rounding: messages that tie still tie when all are moved.
            values["messages"] = np.round(messages * 8) / 8
            values["shift"] = np.round(draw(honest_clouds(1, width))[0] * 8) * draw(st.sampled_from([1.0, 1e3]))
        elif title == "scale":
            # Powers of two round nothing, so that a rule has no excuse; some are far out.
            values["factor"] = 2.0 ** draw(st.sampled_from([1, -1, 10, -40, 300, -300]))
        elif title == "orthogonal":
            # No rule that chooses among messages can break a tie in the same way when all are mirrored.
            values["messages"] = np.random.default_rng(draw(st.integers(0, 99))).standard_normal((n, width)).round(3)
            axis = draw(honest_clouds(1, width))[0]
            values["axis"] = axis if axis.any() else np.ones(width)
        return values

    return cases()


def _hold(rule: Rule, one: Property, cases: Any, examples: int, seed: int) -> None:
    """Try a property on drawn values; Hypothesis shrinks what fails."""
    hypothesis = hypothesis_module()
    lines = compile(one.lines, f"<{one.title}>", "exec")

    @hypothesis.seed(seed)  # type: ignore[untyped-decorator]
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )  # type: ignore[untyped-decorator]
    @hypothesis.given(cases)  # type: ignore[untyped-decorator]
    def attempt(values: dict[str, Any]) -> None:
        needed = {name: values[name] for name in one.needs}
        fresh = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in needed.items()}
        try:
            quietly(lambda: exec(lines, {"rule": rule, "np": np, **fresh}))
        except Exception as error:
            raise _Broken(needed, error) from error

    try:
        attempt()
    except _Broken as broken:
        _fail(rule, one, broken.values, broken.why)


def _worst(rule: Rule, f: int, bound: Bound | None, sizes: list[int], p: int | None, budget: int, seed: int) -> None:
    """The worst-case search on clouds from small to large; the first that breaks the bound is the smallest."""
    rng = np.random.default_rng(seed)
    rule_f = f if configured(rule)[1] is None else None
    for n in sizes[:2]:
        for width in (1, 2, 10) if p is None else (p,):
            honest = rng.standard_normal((n - f, width)) if width > 2 else _whole_numbers(n - f, width, rng)
            found = WorstCase(rule, f, budget, rule_f).search(honest, rng)
            allowed = UNBOUNDED if bound is None else _allowed(bound, n, f)
            if not found.unbounded and found.error <= allowed * found.spread * (1 + 1e-6) + 1e-7 * max(
                float(np.abs(honest).max()), 1.0
            ):
                continue
            values = {"honest": honest, "byzantine": found.messages, "allowed": allowed}
            # The messages in few digits, if they do as much harm; the message is for a reader.
            for candidate in ({**values, "byzantine": _readable(found.messages)}, values):
                if why := _failure(rule, candidate):
                    _fail(rule, WORST, candidate, why, found.unbounded)


def _failure(rule: Rule, values: dict[str, Any]) -> Exception | None:
    try:
        quietly(lambda: exec(compile(WORST.lines, "<worst case>", "exec"), {"rule": rule, "np": np, **values}))
    except Exception as error:
        return error
    return None


def _whole_numbers(h: int, p: int, rng: np.random.Generator) -> Array:
    """A cloud that is easy to read: whole numbers, not all the same."""
    honest = rng.integers(-3, 4, (h, p)).astype(np.float64)
    honest[0, 0] += 0.0 if np.ptp(honest) or h == 1 else 1.0
    return honest


def _readable(messages: Array) -> Array:
    """The messages to three significant digits."""
    return np.array([float(f"{x:.3g}") for x in messages.ravel()]).reshape(messages.shape)


def _allowed(bound: Bound | None, n: int, f: int) -> float:
    return float(bound(n, f)) if callable(bound) else float(bound or UNBOUNDED)


def _fail(rule: Rule, one: Property, values: dict[str, Any], why: BaseException, unbounded: bool = False) -> None:
    name = getattr(rule, "__name__", repr(rule))
    said = f"{type(why).__name__}: {why}".splitlines()[0]
    more = "\nThe error grows in proportion to the messages: the rule breaks down." if unbounded else ""
    test = as_test(rule, one.title, values, one.lines)
    raise AssertionError(f'{name} fails "{one.title}": {one.promise}\n{said}{more}\n\n{test}\n') from None
