"""The interface of a critic: a function, fitted on rows, that scores how well an x and a y go together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from secmix._base.checks import Ints
from secmix.estimators.samples import Floats

Score = Callable[[Floats, Floats], Floats]
"""x (b, dx) and y (b, dy) to the scores (b, b) of every x with every y; a score depends on its pair alone."""

UserCritic = Callable[[Floats, Floats, np.random.Generator], Score]
"""A critic from outside: fitted on training rows x (n, dx) and y (n, dy), it returns a :data:`Score`."""


class Rows(NamedTuple):
    """Samples of x (n, dx) and y (n, dy), row by row."""

    x: Floats
    y: Floats

    def at(self, index: Ints) -> Rows:
        """Return the rows at ``index``."""
        return Rows(self.x[index], self.y[index])

    def joined(self, other: Rows) -> Rows:
        """Return these rows, then the ``other`` ones."""
        return Rows(np.vstack([self.x, other.x]), np.vstack([self.y, other.y]))


Fit = Callable[[Rows, Rows, np.random.Generator], dict[str, Score]]
"""Fitted on training rows, with validation rows for what those cannot tell: the variants of a critic, by name."""


@dataclass(frozen=True)
class Family:
    """Critics of one kind, of which validation rows choose one."""

    name: str  # as a report calls it
    fit: Fit  # ``fit(train, validation, rng)`` gives the variants of this kind by name; none where it does not apply
    # whether the variant that was chosen is fitted once more, on training and validation rows together. Right for a
    # closed form; what was tuned on the validation rows, or overfits, stays as it was
    refitted: bool
