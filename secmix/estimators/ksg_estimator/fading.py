"""Test whether an estimate depends on the number of rows less and less, as at an edge of the support.

Where a density jumps, a share of the rows that falls as (k/N)^½ reads low, and slower where the density is low (N^-0.41
was measured): the estimate grows with N, yet towards a finite end. So it does on the same rows with fewer neighbours k,
which costs less noise than fewer rows. Rows that leak grow the other way: with fewer neighbours more of them are seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from secmix.estimators.ksg_estimator.levels import Read
from secmix.estimators.samples import Samples

_FACTOR = 8
_LEAST_ROWS = 2  # for each of the most neighbours
_ROWS = 1500  # from which on growth may be excused: with fewer, copies in one row of a hundred are too few to be found
_SLOWEST = 0.2  # power of k/N as which a bias must fall to count as one, down to k neighbours,
_SLOWEST_TO_ONE = 0.3  # and down to one, where noise is wider and rows that leak stand out
# Share of the estimate (or of half a nat) that the far step may count: what is beyond stands for curvature, not edges.
_LONGEST, _LEAST = 0.25, 0.5
_TO_GO = 3.0  # times the last step that the truth may lie above: of a bias that falls as (k/N)^0.14


class NeighbourSteps(NamedTuple):
    """Growth of the estimate, in nats."""

    far: float  # from 64 k neighbours to 8 k
    near: float  # from 8 k to k
    least: float  # from 8 k to 1
    nats: float  # the estimate with k
    k: int
    rows: int

    @property
    def fade(self) -> bool:
        """True if they shorten at least as those of a slow bias do, on rows enough to be believed."""
        far = min(self.far, _LONGEST * max(self.nats, _LEAST))
        many, power = _FACTOR * self.k, _SLOWEST_TO_ONE
        to_one = (many**power - 1) / ((_FACTOR * many) ** power - many**power)
        return self.rows >= _ROWS and self.near <= _FACTOR**-_SLOWEST * far and self.least <= to_one * far

    @property
    def to_go(self) -> float:
        """Largest distance of the truth above the estimate, beyond noise."""
        return _TO_GO * max(self.near, 0.0)


def steps(reader: Callable[[int], Read], samples: Samples, nats: float, k: int) -> NeighbourSteps | None:
    """Read the samples with 64 k, 8 k and 1 neighbours too, besides ``nats`` with k: None where the rows are few."""
    most = _FACTOR**2 * k
    if len(samples[0]) < _LEAST_ROWS * most:
        return None
    furthest, farther, nearest = (reader(count)(*samples) for count in (most, _FACTOR * k, 1))
    return NeighbourSteps(farther - furthest, nats - farther, nearest - farther, nats, k, len(samples[0]))
