"""Input of an inversion, checked and counted."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import Array, finite_array, integer
from secmix.errors import DataError, SecmixError
from secmix.mixture import Mixture, width


def numbers(rounds: int, c: int, d: int) -> int:
    """Count the independent numbers in the sums; the known count of rows is one, and serves as a check."""
    q = width(1, d)
    return c * q + (rounds - 1) * (c - 1) * q


def distinct_rounds(rounds: Sequence[Mixture]) -> int:
    """Count the mixtures that differ: a round at the same θ repeats the sums of another."""
    return len({(m.weights.tobytes(), m.means.tobytes(), m.covariances.tobytes()) for m in rounds})


def checked(
    sums: ArrayLike, parameters: Sequence[Mixture], n_rows: int, noise: ArrayLike
) -> tuple[Array, list[Mixture], Array]:
    """Check the sums (T, c, q), the mixtures and the error of each sum; errors say what does not fit."""
    integer(n_rows, "n_rows")
    table = finite_array(sums, "sums", ndim=3)
    if isinstance(parameters, Mixture):
        raise DataError("parameters must be a sequence of mixtures, one a round; given one Mixture")
    rounds = list(parameters)
    if len(rounds) != len(table):
        raise DataError(f"sums of {len(table)} rounds but parameters of {len(rounds)}; give one mixture a round")
    for t, mixture in enumerate(rounds):
        if not isinstance(mixture, Mixture) or mixture.weights.ndim != 1:
            raise DataError(f"parameters[{t}] must be one Mixture, without batch axes; given {type(mixture).__name__}")
        d = mixture.n_features
        if table.shape[1:] != (mixture.n_components, width(1, d)):
            raise DataError(
                f"sums have shape {table.shape}; with {mixture.n_components} components in {d} dimensions, "
                f"as parameters[{t}] has, they are (T, {mixture.n_components}, {width(1, d)})"
            )
        if not all(np.isfinite(each).all() for each in (mixture.weights, mixture.means, mixture.covariances)):
            raise DataError(f"parameters[{t}] holds values that are not finite; give finite ones")
        mixture.log_density(mixture.means)  # says so where a covariance is not positive definite
    try:
        error = np.broadcast_to(finite_array(noise, "noise"), table.shape)
    except ValueError as refused:
        raise SecmixError(f"noise is a number, or an array that broadcasts to {table.shape}; {refused}") from None
    if (error < 0).any():
        raise SecmixError("noise is the absolute error of each sum; it cannot be negative")
    counts = table[..., 0].sum(axis=1)
    allowed = 0.5 + 4.0 * float(error[..., 0].max()) * math.sqrt(table.shape[1])
    if (np.abs(counts - n_rows) > allowed).any():
        raise DataError(
            f"the sums count {counts[np.argmax(np.abs(counts - n_rows))]:.6g} rows in a round, but "
            f"n_rows is {n_rows}; give the number that was summed"
        )
    return table, rounds, error
