"""The same estimate from fewer rows: how much it varies, and whether it still follows the number of rows.

Parts of the sample are drawn without replacement: duplicates, as in a bootstrap, break neighbour counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from secmix.estimators.samples import Floats, Samples

Read = Callable[[Floats, Floats, Floats], float]

_PARTITIONS = 4  # into quarters, 3 degrees of freedom each; as they share their rows, 6 in effect (measured)
_STUDENT = 2.447  # 97.5 % point of Student's t with 6 degrees of freedom
# Share of an estimate gained per e-fold of rows above which it still follows the sample size. Settled ones measure a
# fiftieth and less; one row against sums of EM statistics of three 0.065 to 0.09, at a third of the truth.
_FLAT = 0.05
_LEAST = 0.5  # nats below which the share is that of half a nat, or noise would be all there is to see
_BLIND = 0.15  # nats per e-fold that must be excluded before an estimate counts as settled


class Levels(NamedTuple):
    """Readings from N, N/4 and N/16 rows, in nats."""

    # rows, means: rows of a part and the mean reading over the parts, level by level; the first is the whole sample
    rows: Floats
    means: Floats
    error: float  # standard error of the reading from N rows; ``inf`` where quarters are too small to be read

    @property
    def noise(self) -> float:
        """Half the width of a 95 % interval for the mean of readings from N rows."""
        return _STUDENT * self.error

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval for the truth: the noise, and on one side the way the reading still has to go.

        A bias that falls as N^-0.41, the slowest measured (a density with edges), has 1.3 times as far to go
        as it came from N/4.
        """
        if math.isinf(self.error):
            return -math.inf, math.inf
        all_rows, quarters = float(self.means[0]), float(self.means[1])
        to_go = (all_rows - quarters) / (4**0.41 - 1)
        return all_rows - self.noise + min(to_go, 0.0), all_rows + self.noise + max(to_go, 0.0)

    @property
    def slope(self) -> float:
        """d I / d ln N in nats per e-fold: 0 for a finite information, 1 for I(X; X) = ψ(N) − ψ(k)."""
        return float(self._weights @ self.means)

    @property
    def slope_error(self) -> float:
        """Standard error of ``slope``, as if the levels did not share their rows: on the careful side."""
        return self.error * float(np.linalg.norm(self._weights)) if math.isfinite(self.error) else math.inf

    @property
    def saturated(self) -> bool:
        """True if the estimate still follows the number of rows, beyond noise."""
        flat = _FLAT * max(float(self.means[0]), _LEAST)
        return self.slope > max(flat, 2 * self.slope_error)

    @property
    def blind(self) -> bool:
        """True if there are too few rows to tell a flat estimate from one that still grows."""
        return not self.saturated and self.slope + 2 * self.slope_error >= _BLIND * max(float(self.means[0]), 1.0)

    @property
    def _weights(self) -> Floats:
        logs = np.log(self.rows) - np.log(self.rows).mean()
        return np.asarray(logs / max(float(logs @ logs), 1e-300))


def levels(read: Read, samples: Samples, all_rows: float, least: int, rng: np.random.Generator) -> Levels:
    """Read disjoint quarters and sixteenths of at least ``least`` rows.

    The variance of an estimate falls as one over its rows, so that the variance between the quarters, over
    four, is that of the whole. Smaller parts vary less than that rule says (measured: a fifth too little at
    N/16), and are not used for it.
    """
    rows, means, error = [float(len(samples[0]))], [all_rows], math.inf
    for parts, partitions in ((4, _PARTITIONS), (16, 1)):
        size = len(samples[0]) // parts
        if size < least:
            break
        readings = _readings(read, samples, parts, partitions, rng)
        rows.append(size)
        means.append(float(readings.mean()))
        if parts == 4:
            error = math.sqrt(readings.var(axis=1, ddof=1).mean() / parts)
    return Levels(np.array(rows), np.array(means), error)


def _readings(read: Read, samples: Samples, parts: int, partitions: int, rng: np.random.Generator) -> Floats:
    x, y, z = samples
    n, size = len(x), len(x) // parts
    pieces = [rng.permutation(n)[: parts * size].reshape(parts, size) for _ in range(partitions)]
    return np.array([[read(x[piece], y[piece], z[piece]) for piece in each] for each in pieces])
