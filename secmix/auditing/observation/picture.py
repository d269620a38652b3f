"""Recovered rows beside the true ones: the only place where rows may enter a report."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secmix._base.checks import Array
from secmix.auditing.cell_parts import Picture
from secmix.auditing.setup import Setup
from secmix.scenario import Scenario

_MOST = 40  # rows of each kind in a picture


def picture(
    cell: Scenario, setup: Setup, nodes: Sequence[int], truth: Array, recovered: Array, *, certified: bool
) -> Picture | None:
    """Draw ``recovered`` (r, d) beside ``truth`` (h, d), the rows of ``nodes`` in one run; None if private.

    They may be shown if the data are public, or if the scenario sets ``show_private``. Two recovered columns are shown,
    in standard deviations of all the data about their mean.
    """
    if not (setup.public or cell.measure.show_private):
        return None
    recovered = recovered.reshape(-1, truth.shape[1])
    out = np.flatnonzero(np.isfinite(recovered).all(axis=0)) if len(recovered) else np.empty(0, dtype=np.intp)
    if not len(out):
        return None
    columns = out[:2].tolist()
    mean, spread = setup.rows[:, columns].mean(axis=0), setup.rows[:, columns].std(axis=0)
    true_points, recovered_points = (
        [tuple(np.round(point, 4).tolist()) for point in (rows[:_MOST, columns] - mean) / np.where(spread, spread, 1.0)]
        for rows in (truth, recovered)
    )
    return Picture(
        nodes=list(nodes),
        columns=columns,
        true=true_points,
        found=recovered_points,
        rows=len(truth),
        certified=certified,
    )
