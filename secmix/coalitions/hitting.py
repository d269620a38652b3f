"""The cheapest coalition by guards: implicit hitting sets (Reiter 1987; Moreno-Centeno and Karp 2013).

A set of agents is a *guard* if everybody outside it together does not expose the node. Whoever exposes it meets every
guard. So: take the cheapest choice that meets all guards known so far. If it exposes the node, nothing cheaper does;
if not, add agents to it as long as it still does not, and what is left out is a new guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from secmix.coalitions.result import Agent

Choice = frozenset[Agent]

_TINY = 1e-9
_MOST_GUARDS = 400  # more make the search for what meets them all slow; what was shown by then still holds


@dataclass(frozen=True)
class Searched:
    """What a search by guards showed.

    Attributes
    ----------
    choice : frozenset or None
        The cheapest that exposes the node, or None: nothing up to the limit does, or it is open.
    at_least : float
        Nothing cheaper than this exposes it; infinite where nothing at all does.
    guards : tuple of frozensets
        Enough of them to show it.
    stuck : str
        Why the search could not finish; empty where it did.
    """

    choice: Choice | None
    at_least: float
    guards: tuple[Choice, ...]
    stuck: str = ""


def search(
    costs: Mapping[Agent, float],
    exposes: Callable[[Choice], bool | None],
    limit: float,
    known: Sequence[Choice] = (),
) -> Searched:
    """The cheapest choice of agents that exposes a node, with guards that show it.

    Parameters
    ----------
    costs : mapping from agent to cost above 0
        Those that may be chosen.
    exposes : callable
        Whether a choice exposes the node; None where that is not known.
    known : sequence of frozensets
        Guards that are known beforehand.
    """
    agents = sorted(costs, key=lambda agent: (-costs[agent], str(agent)))
    guards = list(dict.fromkeys(known))
    while True:
        choice = least_hitting_set(guards, costs, limit)
        if choice is None:
            needed = tuple(guards) if all(guards) else (frozenset(),)
            return Searched(None, float("inf") if not all(guards) else _above(limit), needed)
        cost = total(costs, choice)
        found = exposes(choice)
        if found:
            return Searched(choice, cost, tuple(guards))
        if found is None:
            return Searched(None, cost, tuple(guards), "somebody holds messages that are not linear")
        if len(guards) >= _MOST_GUARDS:
            return Searched(None, cost, tuple(guards), f"{len(guards)} guards did not suffice")
        most = _grown(choice, agents, exposes)
        guards.append(frozenset(agents) - most)


def _above(limit: float) -> float:
    """With whole costs the next whole number; else just the limit."""
    return limit + 1 if float(limit).is_integer() else limit


def total(costs: Mapping[Agent, float], choice: Choice) -> float:
    """What a choice costs."""
    return float(sum(costs[agent] for agent in choice))


def _grown(choice: Choice, agents: Sequence[Agent], exposes: Callable[[Choice], bool | None]) -> Choice:
    """A largest choice above ``choice`` that does not expose the node; many agents at a time while that goes."""
    inside = choice
    waiting = [[agent for agent in agents if agent not in choice]]
    while waiting:
        some = waiting.pop()
        if not some:
            continue
        if exposes(inside | frozenset(some)) is False:
            inside |= frozenset(some)
        elif len(some) > 1:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return inside


def least_hitting_set(guards: Sequence[Choice], costs: Mapping[Agent, float], limit: float) -> Choice | None:
    """The cheapest set of agents that meets every guard, or None where none costs at most ``limit``.

    Examples
    --------
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
    """As few of ``guards`` as still show that nothing cheaper than ``bound`` meets them all: what a reader checks.

    Examples
    --------
    >>> fewest([frozenset({1}), frozenset({1, 2}), frozenset({3})], {1: 1.0, 2: 1.0, 3: 1.0}, 2.0)
    (frozenset({1}), frozenset({3}))
    """
    kept = list(guards)
    for guard in sorted(guards, key=len, reverse=True):
        rest = [other for other in kept if other is not guard]
        if least_hitting_set(rest, costs, bound - 2 * _TINY) is None:
            kept = rest
    return tuple(kept)


def _disjoint(guards: Sequence[Choice], costs: Mapping[Agent, float]) -> float:
    """A lower bound on what meets ``guards``: those that share nobody cost each at least their cheapest."""
    bound, used = 0.0, frozenset[Agent]()
    for guard in sorted(guards, key=len):
        if not guard:
            return float("inf")
        if not guard & used:
            bound += min(costs[agent] for agent in guard)
            used |= guard
    return bound
