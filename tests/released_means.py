"""The best membership test of a mean of Gaussian rows, in closed form."""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.stats import ncx2

from secmix.estimators.row_membership import RATE


def best_rate(n: int, d: int, far: float) -> float:
    """Compute the largest true-positive rate for a mean of n standard Gaussian rows, one of them ``far`` from 0.

    Without the row the mean z is N(0, I/n), with it N(x/n, (n − 1)/n² I): the ratio of the two grows as z comes closer
    to x (Neyman and Pearson 1933), and ‖z − x‖² is a multiple of a noncentral chi-square with either.
    """
    near = brentq(lambda c: ncx2.cdf(n * c, d, n * far**2) - RATE, 1e-9, 100 * (1 + far**2))
    return float(ncx2.cdf(near * n**2 / (n - 1), d, (n - 1) * far**2))
