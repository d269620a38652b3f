"""The budget of a search, in starts or evaluations: how many it may make, and how many it made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass
class SearchBudget:
    """Starts or evaluations that searches may make, and a count of those that they made."""

    # ``work(count)``: the number allowed in place of ``count``, a search's usual one; that number itself by default
    work: Callable[[int], int] = int
    # spent, most: sums over all searches that spend counted
    spent: int = 0
    most: int = 0
    used_up: bool = False  # whether a search made all that it might and ended without certainty

    def of(self, count: int, least: int = 2) -> int:
        """Return how many a search may make that usually makes ``count`` and cannot do with fewer than ``least``."""
        return max(self.work(count), least)

    def searches(
        self, count: int, rng: np.random.Generator, least: int = 2
    ) -> Iterator[tuple[int, np.random.Generator]]:
        """Yield what each search may make, and its generator, where one usually makes ``count``.

        A search whose stages share its budget takes other steps with a larger one, and may find less. So the usual
        search comes first as it is, a second has what is left and draws of its own, and the worse of both counts.

        >>> rng = np.random.default_rng(0)
        >>> [most for most, _ in SearchBudget(lambda count: 4 * count).searches(600, rng)]
        [600, 1800]
        """
        most, usual = self.of(count, least), max(count, least)
        yield min(most, usual), rng
        if most - usual >= least:
            yield most - usual, rng.spawn(1)[0]

    def spend(self, evaluations: int, most: int, *, certain: bool) -> None:
        """Count ``evaluations``, of ``most``; ``certain`` where no more could have changed the search's result."""
        self.spent += evaluations
        self.most += max(evaluations, most)  # a search by generations may end a few evaluations late
        self.used_up |= evaluations >= most and not certain


def spent(budgets: Mapping[str, SearchBudget], more: str) -> str:
    """Say how much of each budget was spent, and ``more`` where one was used up; empty without a search.

    >>> budget = SearchBudget(lambda count: 4 * count)
    >>> budget.spend(34, budget.of(64), certain=True)
    >>> spent({"starts": budget, "tries of the rule": SearchBudget()}, "more may find more")
    '34 of at most 256 starts were made'
    """
    searched = [(what, budget) for what, budget in budgets.items() if budget.most]
    made = [f"{budget.spent:,} of at most {budget.most:,} {what}" for what, budget in searched]
    used_up = any(budget.used_up for _, budget in searched)
    return f"{' and '.join(made)} were made{f'; {more}' if used_up and more else ''}" if made else ""
