"""Centred clipping: messages pull a centre towards them, none by more than a given length."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from secmix._base.checks import finite_array, integer, positive
from secmix.aggregators.numerics.blocks import moved
from secmix.aggregators.numerics.geometry import FAR, brought_nearer, cloud, too_far
from secmix.aggregators.numerics.ordering import sorted_columns
from secmix.aggregators.screened_messages import Vector, admitted, returned
from secmix.aggregators.vector_rules.coordinatewise import middle
from secmix.errors import DataError


def centered_clipping(
    messages: ArrayLike,
    f: int = 0,
    *,
    radius: float | None = None,
    steps: int = 10,
    start: ArrayLike | None = None,
) -> Vector:
    """Repeat v ← v + (1/n) Σ (x_i − v) min(1, radius/‖x_i − v‖) a number of times, and return v.

    Parameters
    ----------
    messages : (n, p)
    f : int
        Below n/2. The result does not depend on it.
    radius : float, optional
        In the units of the messages. By default the median of their distances from the start; that moves and
        scales with the messages, while a radius given is taken as it is.
    steps : int
        How often.
    start : (p,), optional
        By default the coordinate-wise median. (In training, the paper starts from the last aggregate.)

    Source: Karimireddy, He and Jaggi 2021, algorithm 2.

    Examples
    --------
    >>> centered_clipping([[0.0], [1.0], [2.0], [3.0], [1e9]], f=1, radius=1.0, steps=50).round(6)
    array([2.])
    """
    usable, _ = admitted(messages, f, "centered_clipping")
    n, p = usable.shape
    steps = integer(steps, "steps")
    if start is None:
        centre = np.empty(p)
        for columns, rows in sorted_columns(usable):
            centre[columns] = middle(rows)
    else:
        centre = finite_array(start, "start", ndim=1)
        if len(centre) != p:
            raise DataError(f"start has {len(centre)} entries and the messages {p}; they must match")
    around = cloud(usable, centre)
    if radius is None:
        unit = float(np.median(around.sizes))
    else:
        unit = float(np.ldexp(positive(radius, "radius"), -around.shift))
    if unit == 0:  # half of the messages or more equal the start, and all others are clipped to nothing
        return returned(centre, usable)
    near = usable
    if too_far(around.sizes, unit).any():
        near, radius = brought_nearer(usable, centre, around.sizes, unit, around.shift), np.ldexp(unit, around.shift)
        around = cloud(near, centre)
        unit = float(np.ldexp(radius, -around.shift))
    # v = centre + Σ pull_i u_i with the unit vectors u_i; lengths in units of the radius.
    sizes = np.minimum(around.sizes / unit, FAR)
    pull = np.zeros(n)
    for _ in range(steps):
        shadow = around.cosines @ pull
        squares = sizes**2 - 2 * sizes * shadow + pull @ shadow
        clip = 1.0 / np.maximum(np.sqrt(np.maximum(squares, 0.0)), 1.0)
        pull = pull + (clip * sizes - clip.sum() * pull) / n
    weights = pull * unit / np.where(around.sizes > 0, around.sizes, 1.0)
    return returned(moved(near, centre, weights, around.shift), usable)
