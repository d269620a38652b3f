"""Account of epsilon: what each node spent in actual calls, by the rounds in which it took part.

How it is got: A call is recorded, and for every node played back with other data while releases return what they
returned. A release whose value changes is one that the node took part in, with the sensitivity of its clip; its round
is that of the message that carries its output. What a plan says of rounds, or of how many clients are sampled, is not
used, and nothing is credited for sampling: it hides a client only where the sample is secret, and messages show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from secmix._base.random import stream
from secmix.auditing.cell_parts import NodeSpending
from secmix.auditing.evidence.interface import CellContext
from secmix.auditing.noise.replays.neighbouring_data import neighbour_of
from secmix.auditing.noise.replays.played_calls import PlayedCall, Player, failed, other_release, round_of
from secmix.auditing.noise.replays.reach import Reach, reach_of
from secmix.auditing.soundness.runner import same_bits
from secmix.privacy import releases_epsilon
from secmix.scenario import PrivacyTerms

_PURPOSE = "account"
_CALLS = 6  # of the collaboration, in each of which every node is played back
_REPLAYS = 3  # of a node with other units, and as many with other rows of the whole node
_KEYS = 2 * 10**9  # numbers of draws beyond those of other calls


@dataclass(frozen=True)
class _Account:
    """Epsilon of a node after each round of a call in which it took part, in order of rounds."""

    rounds: tuple[int, ...]
    epsilons: tuple[float, ...]

    @property
    def total(self) -> float:
        """Epsilon after the last round."""
        return self.epsilons[-1] if self.epsilons else 0.0


def spending(case: CellContext, terms: PrivacyTerms) -> list[NodeSpending]:
    """Return the epsilon that each node asked about spent in several calls; empty if nothing is released."""
    setup: Any = case.setup
    player = Player.of(case)
    accounts: dict[int, list[_Account]] = {node: [] for node in setup.asked}
    for key in range(_CALLS):
        rows = setup.sample_rows(1, stream(case.cell.seed, "played back", _PURPOSE, key))
        recorded = player.record(rows, _KEYS + key)
        if failed(recorded.call) or not recorded.releases:
            return []
        for node, so_far in accounts.items():
            so_far.append(_account(case, player, recorded, node, terms))
    return [_of_node(node, of_calls) for node, of_calls in accounts.items()]


def _of_node(node: int, accounts: list[_Account]) -> NodeSpending:
    most = max(accounts, key=lambda account: (account.total, len(account.rounds)))
    counts = [len(account.rounds) for account in accounts]
    return NodeSpending(
        node=node,
        calls=len(accounts),
        least_rounds=min(counts),
        most_rounds=max(counts),
        rounds=list(most.rounds),
        epsilon=[epsilon if math.isfinite(epsilon) else None for epsilon in most.epsilons],
    )


def _account(case: CellContext, player: Player, recorded: PlayedCall, node: int, terms: PrivacyTerms) -> _Account:
    """Return epsilon of a node after each round of a recorded call."""
    by_round: dict[int, list[tuple[str, float]]] = {}
    for place, reach in _reaches(case, player, recorded, node, terms).items():
        release = recorded.releases[place]
        by_round.setdefault(round_of(recorded, place), []).append((release.noise, reach.ratio))
    rounds, epsilons, spent = sorted(by_round), [], []
    for number in rounds:
        spent += by_round[number]
        kinds = {kind: [ratio for noise, ratio in spent if noise == kind] for kind in ("gaussian", "laplace")}
        bounded = all(math.isfinite(ratio) for _, ratio in spent)
        epsilons.append(releases_epsilon(**kinds, delta=terms.delta) if bounded else math.inf)
    return _Account(tuple(rounds), tuple(epsilons))


def _reaches(
    case: CellContext, player: Player, recorded: PlayedCall, node: int, terms: PrivacyTerms
) -> Mapping[int, Reach]:
    """Return how far each release of a call moves at most that the node takes part in, by its place."""
    units: dict[int, Reach] = {}
    touched: dict[int, Reach] = {}
    for key, other in enumerate(_others(case, recorded, node, terms)):
        played = player.play(recorded, node, other)
        is_integer = key >= _REPLAYS
        if failed(played.call) or other_release(recorded.releases, played.releases):
            continue  # a proof ends here, and says so
        for place, (old, new) in enumerate(zip(recorded.releases, played.releases, strict=True)):
            if same_bits(old.value, new.value):
                continue
            reach = reach_of(old, old, all_move=terms.unit == "node") if is_integer else reach_of(old, new)
            into = touched if is_integer else units
            into[place] = max(into.get(place, reach), reach)
    return {**touched, **units}


def _others(case: CellContext, recorded: PlayedCall, node: int, terms: PrivacyTerms) -> Iterator[np.ndarray]:
    """Yield other rows of a node: neighbours first, then as many other rows of the whole node."""

    def draw(key: int) -> np.ndarray:
        rng = stream(case.cell.seed, "played back", _PURPOSE, node, recorded.key, key)
        return np.asarray(case.setup.sample_rows(1, rng)[node])

    keys = [key for key in range(6 * _REPLAYS) if terms.relation == "replace" or key % 3][:_REPLAYS]
    yield from (neighbour_of(recorded.parts[node], draw, place, terms).rows for place in keys)
    yield from (draw(1000 + key) for key in range(_REPLAYS))
