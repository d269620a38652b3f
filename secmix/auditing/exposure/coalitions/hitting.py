"""The cheapest coalition by guards: implicit hitting sets (Reiter 1987; Moreno-Centeno and Karp 2013).

A set of agents is a *guard* if all agents outside it together do not expose the node. Every choice that exposes the
node therefore meets every guard. The algorithm takes the cheapest choice that meets all guards known so far. If that
choice exposes the node, nothing cheaper does. If not, agents are added to it while it still does not expose the node;
the agents that are left out are a new guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from secmix.auditing.exposure.coalitions.result import Agent

Choice = frozenset[Agent]

_TINY = 1e-9
_MOST_GUARDS = 400  # more make the hitting set search slow; what was proved by then still holds


@dataclass(frozen=True)
class Searched:
    """Result of a search by guards."""

    # the cheapest choice that exposes the node; None if no choice up to the limit does, or if that is undecided
    choice: Choice | None
    at_least: float  # nothing cheaper than this exposes the node; infinite if no choice does
    guards: tuple[Choice, ...]  # enough guards to prove ``at_least``
    stuck: str = ""  # why the search could not finish; empty if it did


def search(
    costs: Mapping[Agent, float],
    exposes: Callable[[Choice], bool | None],
    limit: float,
    known: Sequence[Choice] = (),
) -> Searched:
    """Find the cheapest choice of agents that exposes a node, with guards that prove it.

    ``costs``, mapping from agent to cost above 0: the agents that may be chosen; ``exposes``: whether a choice exposes
    the node; None if that is unknown; ``known``: guards that are known beforehand.
    """
    agents = sorted(costs, key=lambda agent: (-costs[agent], str(agent)))
    guards = list(dict.fromkeys(known))
    while True:
        choice = least_hitting_set(guards, costs, limit)
        if choice is None:
            needed = tuple(guards) if all(guards) else (frozenset(),)
            return Searched(None, float("inf") if not all(guards) else _above(limit), needed)
        cost = total(costs, choice)
        exposed = exposes(choice)
        if exposed:
            return Searched(choice, cost, tuple(guards))
        if exposed is None:
            return Searched(None, cost, tuple(guards), "some messages are not linear in inputs and masks")
        if len(guards) >= _MOST_GUARDS:
            return Searched(None, cost, tuple(guards), f"{len(guards)} guards did not suffice")
        most = _grown(choice, agents, exposes)
        guards.append(frozenset(agents) - most)


def _above(limit: float) -> float:
    """Return the next integer if costs are integers; otherwise ``limit`` itself."""
    return limit + 1 if float(limit).is_integer() else limit


def total(costs: Mapping[Agent, float], choice: Choice) -> float:
    """Sum the costs of the agents of ``choice``."""
    return float(sum(costs[agent] for agent in choice))


def _grown(choice: Choice, agents: Sequence[Agent], exposes: Callable[[Choice], bool | None]) -> Choice:
    """Extend ``choice`` to a maximal one that does not expose the node, many agents at a time where possible."""
    maximal = choice
    waiting = [[agent for agent in agents if agent not in choice]]
    while waiting:
        batch = waiting.pop()
        if not batch:
            continue
        if exposes(maximal | frozenset(batch)) is False:
            maximal |= frozenset(batch)
        elif len(batch) > 1:
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
    return maximal


def least_hitting_set(guards: Sequence[Choice], costs: Mapping[Agent, float], limit: float) -> Choice | None:
    """Find the cheapest set of agents that meets every guard; None if none costs at most ``limit``.

    >>> guards = [frozenset({1, 2}), frozenset({2, 3}), frozenset({4})]
    >>> sorted(least_hitting_set(guards, {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}, 3))
    [2, 4]
    """
    best: list[tuple[float, Choice]] = []
    least = [guard for guard in guards if not any(other < guard for other in guards)]

    def branch(chosen: Choice, cost: float, barred: Choice) -> None:
        room = (best[0][0] if best else limit + 2 * _TINY) - _TINY
        if cost >= room and (best or cost > limit + _TINY):
            return
        open_ = [guard - barred for guard in least if not guard & chosen]
        if not open_:
            best[:] = [(cost, chosen)]
            return
        if cost + _disjoint(open_, costs) >= room:
            return
        guard = min(open_, key=lambda g: (len(g), sorted(map(str, g))))
        weight = {agent: sum(agent in other for other in open_) / costs[agent] for agent in guard}
        for agent in sorted(guard, key=lambda agent: (-weight[agent], str(agent))):
            branch(chosen | {agent}, cost + costs[agent], barred)
            barred |= {agent}

    branch(frozenset(), 0.0, frozenset())
    return best[0][1] if best else None


def fewest(guards: Sequence[Choice], costs: Mapping[Agent, float], bound: float) -> tuple[Choice, ...]:
    """Reduce ``guards`` to as few as still prove that nothing cheaper than ``bound`` meets them all.

    >>> fewest([frozenset({1}), frozenset({1, 2}), frozenset({3})], {1: 1.0, 2: 1.0, 3: 1.0}, 2.0)
    (frozenset({1}), frozenset({3}))
    """
    needed = list(guards)
    for guard in sorted(guards, key=len, reverse=True):
        rest = [other for other in needed if other is not guard]
        if least_hitting_set(rest, costs, bound - 2 * _TINY) is None:
            needed = rest
    return tuple(needed)


def _disjoint(guards: Sequence[Choice], costs: Mapping[Agent, float]) -> float:
    """Bound from below what a set that meets ``guards`` costs, by guards that share no agent."""
    bound, used = 0.0, frozenset[Agent]()
    for guard in sorted(guards, key=len):
        if not guard:
            return float("inf")
        if not guard & used:
            bound += min(costs[agent] for agent in guard)
            used |= guard
    return bound
