"""The worst that colluders can do to the outcome of a whole run: what pays in one iteration may not pay in the end.

They know the protocol, so they try whole runs. A *plan* says for each iteration which attack's messages they send, how
many times as far from the honest mean, and pulled where. All runs are searched side by side, each for its own plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, integer
from secmix.adversaries.against_rules.oracle import quietly
from secmix.adversaries.against_rules.ties import above, ranked
from secmix.adversaries.attacks.attack import CONTRIBUTION, Attack, RoundMessages

TRIES = 120
"""How often the search may run the whole protocol."""
_SIZES = (-1.0, 0.5, 0.8, 1.25, 2.0, 5.0)  # of the best starts as they are in all iterations
_TOPS = 3

Measure = Callable[[Attack], Array]
"""``measure(attack) -> (runs,)``: the error of the outcome in each run, infinite where there is none."""
Shape = Callable[[RoundMessages], Array]


@dataclass(frozen=True)
class Step:
    """The messages of an iteration: mean + size (shape − mean) + pull @ (honest − mean)."""

    shape: Shape
    size: float = 1.0
    pull: Array | float = 0.0  # (h,), or none

    def __call__(self, messages: RoundMessages) -> Array:
        """Make the messages (f, p): those of the shape to the last bit where nothing is changed."""
        sent = self.shape(messages)
        if self.size == 1.0 and np.all(self.pull == 0.0):
            return sent
        middle = messages.honest.mean(axis=0)
        pulled = np.broadcast_to(self.pull, len(messages.honest)) @ (messages.honest - middle)
        return np.asarray(middle + self.size * (sent - middle) + pulled)


Plan = tuple[Step, ...]
"""What is sent before the first iteration, then in each."""


class OutcomeSearch:
    """The best plans so far, by run.

    ``errors`` (runs,): the largest error of the outcome that was found; ``starts``, dict of str to (runs,): the error
    of each start as it stands; none exceeds ``errors``.
    """

    def __init__(self, measure: Measure, runs: int, iterations: int, rng: np.random.Generator, budget: int) -> None:
        self.measure, self.length, self.budget = measure, iterations + 1, budget
        self.errors, self.starts, self.tries = np.full(runs, -1.0), dict[str, Array](), 0
        self.plans: list[Plan] = [()] * runs
        self.first = 1  # of the steps that are ever taken
        self._seed = int(rng.integers(2**32))

    def attack(self, plans: list[Plan]) -> Attack:
        """Make the attack that follows the plan of each run; its random numbers are the same in every try."""

        def forge(messages: RoundMessages) -> Array:
            step = min(max(messages.iteration + 1, 0), self.length - 1)
            self.first = min(self.first, step)
            rng = np.random.default_rng([self._seed, messages.run, messages.iteration % 2**32])
            return plans[messages.run][step](replace(messages, rng=rng))

        return Attack([CONTRIBUTION], forge, searches=True, name="worst_case")

    def goes_on(self, share: float = 1.0) -> bool:
        """Check that this share of the budget is not spent, and that some run's outcome is not yet destroyed."""
        return self.tries < share * self.budget and not np.isinf(self.errors).all()

    def attempt(self, plans: list[Plan]) -> NDArray[np.bool_]:
        """Run the plans, keep those that are better, and mark them (runs,)."""
        self.tries += 1
        self.latest = np.asarray(quietly(lambda: self.measure(self.attack(plans))))
        better: NDArray[np.bool_] = above(self.latest, self.errors)
        self.errors = np.where(better, self.latest, self.errors)
        self.plans = [new if won else old for new, old, won in zip(plans, self.plans, better, strict=True)]
        return better

    def begin(self, name: str, attack: Attack) -> list[Plan]:
        """Try one attack in all iterations; return the plans that repeat it, or the messages that a search found."""
        offsets: dict[tuple[int, int], Array] = {}

        def noted(messages: RoundMessages) -> Array:
            sent = attack.send(messages)
            middle = messages.honest.mean(axis=0)
            offsets[messages.run, messages.iteration] = (sent - middle) / _spread(messages.honest)
            return sent

        plans: list[Plan] = [(Step(noted),) * self.length for _ in self.plans]
        better = self.attempt(plans)
        self.starts[name] = self.latest
        if not attack.searches:
            return [(Step(attack.send),) * self.length for _ in self.plans]
        repeats = [
            tuple(
                Step(_frozen(offsets[run, t]) if t >= 0 and (run, t) in offsets else noted)
                for t in range(-1, self.length - 1)
            )
            for run in range(len(self.plans))
        ]
        self.plans = [new if won else old for new, old, won in zip(repeats, self.plans, better, strict=True)]
        return repeats


def worst_outcome(
    measure: Measure,
    starts: Mapping[str, Attack],
    runs: int,
    iterations: int,
    honest: int,
    rng: np.random.Generator,
    budget: int = TRIES,
) -> OutcomeSearch:
    """Search for the contributions that do most harm to the outcome after all iterations.

    From every start on: its size in all iterations; then, iteration by iteration, another start; then small changes of
    size and direction in one iteration at a time, kept where the outcome gets worse. A lower bound of the worst case.
    ``measure``: runs the whole protocol under an attack: the error of the outcome in each run (runs,); ``starts``, dict
    of str to Attack; ``runs``, ``iterations``, ``honest``: how many there are; ``honest`` counts the nodes; ``budget``:
    how often ``measure`` may be called: at least once for each start.

    Two iterations, and an outcome to which they count with opposite signs: no fixed attack can do what a plan does.

    >>> honest = np.array([[0.0], [1.0]])
    >>> def measure(attack):
    ...     rounds = [RoundMessages(CONTRIBUTION, honest[:1], honest, 1.0, None, np.random.default_rng(0), 0, t)
    ...               for t in (0, 1)]
    ...     return np.array([abs(float(attack.send(rounds[0])[0, 0] - attack.send(rounds[1])[0, 0]))])
    >>> sign = Attack([CONTRIBUTION], lambda messages: -messages.own - 1.0)
    >>> search = worst_outcome(measure, {"sign": sign}, 1, 2, 2, np.random.default_rng(0), budget=40)
    >>> search.starts["sign"].tolist(), bool(search.errors[0] > 1.0)
    ([0.0], True)
    """
    search = OutcomeSearch(measure, runs, iterations, rng, integer(budget, "budget", least=len(starts)))
    plans = [search.begin(name, attack) for name, attack in starts.items()]
    ranking = np.array([ranked(errors) for errors in zip(*search.starts.values(), strict=True)]).T  # (starts, runs)
    for order in ranking[:_TOPS]:
        for size in _SIZES if search.goes_on() else ():
            search.attempt([tuple(replace(s, size=size) for s in plans[k][r]) for r, k in enumerate(order)])
    for t in reversed(range(search.first, search.length)):  # the last iterations first: what they do is not undone
        for order in ranking:
            if search.goes_on(0.7):
                bests = enumerate(zip(order, search.plans, strict=True))
                search.attempt([(*best[:t], plans[k][r][t], *best[t + 1 :]) for r, (k, best) in bests])
    far = np.full(runs, 0.3)  # how much is changed at a time
    while search.goes_on():
        steps = rng.integers(search.first, search.length, size=runs)
        now = zip(search.plans, steps, far, strict=True)
        better = search.attempt([(*p[:t], _varied(p[t], reach, honest, rng), *p[t + 1 :]) for p, t, reach in now])
        far = np.where(better, 1.5 * far, 0.9 * far)
    return search


def _varied(step: Step, reach: float, honest: int, rng: np.random.Generator) -> Step:
    """Change the size or the direction of a step."""
    if rng.random() < 0.5:
        return replace(step, size=step.size * float(np.exp(reach * rng.standard_normal())))
    return replace(step, pull=step.pull + reach * rng.standard_normal(honest) / np.sqrt(honest))


def _frozen(z: Array) -> Shape:
    """Repeat messages ``z``, in honest spreads from the honest mean, whatever the honest send."""
    return lambda messages: messages.honest.mean(axis=0) + _spread(messages.honest) * z


def _spread(honest: Array) -> float:
    return float(np.linalg.norm(honest - honest.mean(axis=0), axis=1).max()) or 1.0
