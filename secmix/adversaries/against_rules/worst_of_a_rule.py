"""The worst that f colluders can do to a given rule on given honest messages, found by search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, integer
from secmix._base.random import stream
from secmix.adversaries.against_rules.cma_es import evolve_side_by_side
from secmix.adversaries.against_rules.directions import basis, coordinate_by_coordinate, geometric_median_exactly, pulls
from secmix.adversaries.against_rules.line_search import OF_A_LINE, grouped, lines
from secmix.adversaries.against_rules.oracle import Oracle, Rule, Spent, configured, norm, quietly
from secmix.adversaries.against_rules.ties import ranked
from secmix.adversaries.attacks.sums import FIXED, honest_messages
from secmix.aggregators import TRAITS, traits_of
from secmix.errors import SecmixError

SCALES = (*np.geomspace(0.1, 10.0, 11).tolist(), 1e2, 1e4, 1e6, 1e8)
DECADES = (1e4, 1e5, 1e6, 1e7, 1e8)
LEAST_BUDGET = 100
_GAIN = 1e-6  # relative, of a round of polishing: less is no reason for another


class RuleRefuses(SecmixError):
    """The rule takes no messages at all from so many colluders."""


@dataclass(frozen=True)
class Search:
    """The worst messages that a search found.

    Attributes
    ----------
    messages : (f, p)
        The worst that was found.
    error : float
        ‖rule(honest + messages) − mean(honest)‖, in the unit of the messages; ``inf`` where the rule returned
        something that is not finite.
    spread : float
        ε, the largest distance of an honest message from their mean.
    unbounded : bool
        The error grows in proportion to the scale of the messages over four decades, or is not finite.
        ``error`` is then that at the largest scale tried, 10⁸ ε.
    found_by : str
        Which start or stage found it.
    starts : dict of str to float
        The error of each fixed attack as it stands; none of them exceeds ``error`` by more than rounding.
    history : tuple of (evaluations, error)
        Each improvement.
    evaluations, refused : int
        How often the rule was called, and how often it refused what it was given (a ValueError).
    """

    messages: Array
    error: float
    spread: float
    unbounded: bool
    found_by: str
    starts: dict[str, float]
    history: tuple[tuple[int, float], ...]
    evaluations: int
    refused: int


@dataclass(frozen=True)
class WorstCase:
    """Colluders of one mind who know the honest messages and the rule, and maximise its error.

    Parameters
    ----------
    rule : callable or str
        ``rule(messages (n, p), f=...) -> (p,)``, or its name (:func:`secmix.aggregators.rule_named`).
    f : int
        How many of the messages are theirs; they are the last rows of what the rule is given.
    budget : int
        How often they may try the rule, at least 100.
    rule_f : int, optional
        The f the rule is set to, where that differs from f. ``functools.partial(rule, f=2)`` is set to 2 as well.

    Notes
    -----
    The search starts from every fixed attack and a line search on its scale, in both directions; goes on with exact
    worst cases where the rule's theory gives them (coordinate-wise rules; the geometric median, by the gradient
    of its optimality condition); with steps towards groups of honest messages; and with CMA-ES in the span of the
    honest messages and a few random directions, first for f identical messages, then for f different ones. The result
    is a lower bound of the worst case: it shows damage, and never that there is no more.

    Messages that are not finite are tried too: a rule that lets them through is broken.

    Examples
    --------
    >>> import numpy as np
    >>> from secmix.aggregators import coordinate_median
    >>> honest = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    >>> search = WorstCase(coordinate_median, f=2).search(honest, np.random.default_rng(0))
    >>> search.error, search.unbounded  # the honest mean is 3; two low messages leave the order statistic 1
    (2.0, False)
    """

    rule: Rule | str
    f: int
    budget: int = 2000
    rule_f: int | None = None

    def __post_init__(self) -> None:
        integer(self.f, "f", least=1)
        integer(self.budget, "budget", least=LEAST_BUDGET)
        configured(self.rule)
        if self.rule_f is not None:
            integer(self.rule_f, "rule_f", least=0)

    def attack(self, honest: ArrayLike, rng: np.random.Generator) -> Array:
        """Return the messages (f, p) that the colluders send; see :meth:`search`."""
        return self.search(honest, rng).messages

    def search(self, honest: ArrayLike, rng: np.random.Generator) -> Search:
        """Search for the worst messages.

        Parameters
        ----------
        honest : (h, p)
        rng : numpy.random.Generator
            The same state gives the same messages.

        Raises
        ------
        RuleRefuses
            The rule refuses even the mildest messages of f colluders among these.
        """
        array, _ = honest_messages(honest, self.f)
        rule, fixed = configured(self.rule)
        rule_f = next(value for value in (self.rule_f, fixed, self.f) if value is not None)
        oracle = Oracle(rule, array, self.f, rule_f, self.budget)
        starts: dict[str, float] = {}
        unbounded = bool(quietly(lambda: _run(oracle, starts, rng)))
        if oracle.best is None:
            raise RuleRefuses(
                f"the rule refuses every set of messages that {self.f} colluders beside {len(array)} honest nodes "
                f"tried ({oracle.used}); it may need more honest messages for f = {oracle.rule_f}"
            )
        return Search(
            messages=oracle.winning,
            error=oracle.best.error * oracle.unit,
            spread=oracle.spread,
            unbounded=unbounded,
            found_by=oracle.best.found_by,
            starts=starts,
            history=tuple(oracle.history),
            evaluations=oracle.used,
            refused=oracle.refused,
        )


def _run(oracle: Oracle, starts: dict[str, float], rng: np.random.Generator) -> bool:
    """Run all stages, until the budget is spent; return whether the error is unbounded."""
    try:
        if _opening(oracle, starts, rng):
            return True
        if oracle.best is not None:
            _refine(oracle, rng)
    except Spent:
        pass
    return _poisoned(oracle)


def _opening(oracle: Oracle, starts: dict[str, float], rng: np.random.Generator) -> bool:
    """Try the fixed attacks and everything far away; return whether the error is unbounded."""
    directions = _fixed(oracle, starts, rng)
    probes = _extremes(oracle)
    if _poisoned(oracle):
        return True
    if any(_grows(oracle, shape) for shape in _far(oracle, directions, rng)):
        return True
    oracle.send(probes, "the largest floats")  # a rule that holds out at 10⁸ ε may still be upset by them
    return _poisoned(oracle) or (oracle.best is not None and oracle.best.error > 1e9)


def is_unbounded(rule: Rule | str, honest: Array, f: int, rng: np.random.Generator, rule_f: int | None = None) -> bool:
    """Check whether f colluders move the rule as far as they like, by about 250 evaluations: the search's opening.

    Raises RuleRefuses: the rule takes no messages at all from so many colluders.
    """
    bare, fixed = configured(rule)
    oracle = Oracle(bare, honest, f, next(v for v in (rule_f, fixed, f) if v is not None), 10_000)
    unbounded = bool(quietly(lambda: _opening(oracle, {}, rng)))
    if oracle.best is None:
        raise RuleRefuses(f"the rule refuses whatever {f} colluders beside {len(honest)} honest nodes send; lower f")
    return unbounded


def _poisoned(oracle: Oracle) -> bool:
    return oracle.best is not None and not np.isfinite(oracle.best.error)


def _fixed(oracle: Oracle, starts: dict[str, float], rng: np.random.Generator) -> list[tuple[str, Array]]:
    """Try every fixed attack as it stands; return the directions (f, p) from the mean that they take, each once."""
    seed = int(rng.integers(2**63))
    sent = {name: attack(oracle.honest, oracle.f, stream(seed, "attack", name)) for name, attack in FIXED.items()}
    # Some overflow on messages as large as these.
    sent = {name: messages for name, messages in sent.items() if np.isfinite(messages).all()}
    stack = np.array([*sent.values()]).reshape(-1, oracle.f, len(oracle.mean))
    errors = oracle.send(stack, [*sent])
    directions: list[tuple[str, Array]] = []
    for (name, messages), error in zip(sent.items(), errors.tolist(), strict=True):
        starts[name] = max(error, 0.0) * oracle.unit
        z = (messages - oracle.mean) / oracle.unit
        size = norm(z)
        if size > 0 and np.isfinite(size):
            z = z / size
            if all(abs(np.vdot(z, other)) < (1 - 1e-9) * np.linalg.norm(z) * np.linalg.norm(other)
                   for _, other in directions):  # fmt: skip
                directions.append((name, z))
    return directions


NO_NUMBERS = ("messages of nan", "messages of inf")
"""What the search calls messages that are not finite."""
_EXTREMES = dict(zip((*NO_NUMBERS, "messages of 1.8e+308"), (np.nan, np.inf, np.finfo(np.float64).max), strict=True))


def _extremes(oracle: Oracle) -> Array:
    """Try NaN, infinity and the largest floats, in one message and in all; return the latter, to try again.

    The largest floats are not kept here: any unbounded rule would answer them with an error of 10³⁰⁷, and a
    reader learns more from messages of 10⁸ ε.
    """
    for name, value in _EXTREMES.items():
        probes = np.tile(oracle.mean, (2, oracle.f, 1))
        probes[0, 0] = probes[1] = value
        oracle.send(probes, name, keep=name in NO_NUMBERS)
    return probes


def _far(oracle: Oracle, directions: list[tuple[str, Array]], rng: np.random.Generator) -> list[Array]:
    """Search lines along fixed attacks; return the shapes (f, p) whose error at 10⁸ ε is far above that at 10⁴ ε."""
    shapes: list[tuple[str, Array]] = [(name, sign * z) for name, z in directions for sign in (1.0, -1.0)]
    # A rule may hold out against colluders who agree and give way when some of them stay with the honest.
    drawn = rng.standard_normal(oracle.cloud.shape[1])
    axis: Array = np.asarray(drawn / np.linalg.norm(drawn), dtype=np.float64)
    for count in sorted({1, oracle.f // 2} - {0, oracle.f}):
        some = (np.arange(oracle.f) < count)[:, None]
        shapes += [(f"{count} of them far", some * axis), (f"{count} of them opposite", np.where(some, axis, -axis))]
    suspicious = []
    for group in grouped(shapes, oracle.at_once // len(SCALES)):
        zs = np.stack([scale * shape for _, shape in group for scale in SCALES])
        errors = oracle.errors_of(zs, [f"{name}, scaled" for name, _ in group for _ in SCALES])
        near, far = errors.reshape(len(group), -1)[:, [SCALES.index(1e4), SCALES.index(1e8)]].T.tolist()
        for (_, shape), low, high in zip(group, near, far, strict=True):
            if high > 1e3 * max(low, 0.0) and high > 1e3:
                suspicious.append((high, shape))
    return [suspicious[k][1] for k in ranked([high for high, _ in suspicious])]


def _grows(oracle: Oracle, shape: Array) -> bool:
    """Check whether the error is proportional to the scale over four decades, to 10 % in each."""
    errors = oracle.errors_of(np.stack([scale * shape for scale in DECADES]), "growing without bound")
    if (errors <= 0).any():
        return False
    ratio = errors[1:] / errors[:-1]
    return bool(((ratio > 9) & (ratio < 11)).all())


def _refine(oracle: Oracle, rng: np.random.Generator) -> None:
    """Search nearby, in stages, for a rule that held out against messages far away."""
    traits = traits_of(oracle.rule)
    if traits is not None and traits is TRAITS["geometric_median"]:
        geometric_median_exactly(oracle, rng)
    if traits is None or "orthogonal" not in traits.equivariances:
        coordinate_by_coordinate(oracle)
    shapes = list(pulls(oracle.cloud, oracle.f, rng))
    room = max(int(0.45 * oracle.budget) - oracle.used, -1)
    shapes = shapes[: room // OF_A_LINE + 1]
    tops = [(error, scale * unit) for (_, unit), (error, scale) in zip(shapes, lines(oracle, shapes), strict=True)]
    axes = basis(oracle.cloud, rng, most=24)
    assert oracle.best is not None
    middle = oracle.best.z.mean(axis=0)
    points = [middle, *(tops[k][1] for k in ranked([error for error, _ in tops])[:2])]
    left = oracle.budget - oracle.used
    for point in points:
        _identical(oracle, point, axes, left // 6, rng)
    _different(oracle, axes, left // 4, rng)
    while True:  # what is left goes to polishing the best, until the budget is spent or nothing comes of it
        before, error = oracle.used, oracle.best.error
        _radial(oracle)
        polished = oracle.used
        _identical(oracle, oracle.best.z.mean(axis=0), axes, left // 12 + 1, rng, step=0.03)
        _different(oracle, axes, left // 12 + 1, rng, step=0.03)
        # Once only the size is varied, each round repeats the last but for what that gained.
        if oracle.used == before or (oracle.used == polished and oracle.best.error <= error * (1 + _GAIN)):
            return


def _radial(oracle: Oracle) -> None:
    """Grow and shrink the best about the mean."""
    assert oracle.best is not None
    z, step = oracle.best.z, 0.1
    for _ in range(8):
        oracle.errors_of(np.stack([(1 + step) * z, (1 - step) * z]), oracle.best.found_by)
        z, step = oracle.best.z, step / 3


def _identical(
    oracle: Oracle, point: Array, axes: Array, trials: int, rng: np.random.Generator, step: float = 0.2
) -> None:
    """Vary one message that all send, about ``point``, by CMA-ES."""
    size = max(float(np.linalg.norm(point)), 0.1)
    if not np.isfinite(size) or size > 1e3 or trials < 10:
        return

    def scores(x: Array) -> Array:
        return oracle.errors_of(np.repeat((point + x @ axes)[:, None], oracle.f, axis=1), "CMA-ES, identical messages")

    evolve_side_by_side(scores, np.zeros(len(axes)), step * size / np.sqrt(len(axes)), trials, rng)


def _different(oracle: Oracle, axes: Array, trials: int, rng: np.random.Generator, step: float = 0.1) -> None:
    """Vary f messages, about the best, by CMA-ES."""
    assert oracle.best is not None
    z = oracle.best.z
    size = norm(z)
    if oracle.f == 1 or not np.isfinite(size) or size > 1e3 or trials < 10:
        return

    def scores(x: Array) -> Array:
        return oracle.errors_of(z + x.reshape(len(x), oracle.f, -1) @ axes, "CMA-ES, different messages")

    dimension = oracle.f * len(axes)
    evolve_side_by_side(scores, np.zeros(dimension), step * size / np.sqrt(dimension), trials, rng)
