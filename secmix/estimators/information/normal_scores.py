"""Normal scores: each column mapped by the empirical distribution of the training rows to a standard normal one.

Mutual information is invariant under one-to-one maps of either side, column by column, so a critic may as well look
at data whose margins are known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from secmix.estimators.samples import Floats

Embedding = Callable[[Floats], Floats]

_RECENT = 32  # arrays whose scores are kept: many critics ask about the same batches


def normal_scores(train: Floats, *, drop: bool = True) -> Embedding:
    """Fit to ``train`` the map of rows (n, d) to their normal scores (n, d'); what never varies is left out.

    With ``drop`` false it scores zero instead. Repeated values share the middle of their ranks; values between
    those seen are interpolated, beyond them clipped.

    >>> normal_scores(np.array([[1.0], [2.0], [3.0]]))(np.array([[2.0], [9.0]])).round(2)
    array([[0.  ],
           [0.97]])
    """
    columns = []
    for j in range(train.shape[1]):
        values, counts = np.unique(train[:, j], return_counts=True)
        if len(values) > 1 or not drop:
            columns.append((j, values, ndtri((np.cumsum(counts) - counts / 2) / len(train))))

    recent: deque[tuple[Floats, Floats]] = deque(maxlen=_RECENT)

    def scored(rows: Floats) -> Floats:
        for known, scores in recent:
            if known is rows:
                return scores
        normal = np.empty((len(rows), len(columns)))
        for k, (j, values, ranks) in enumerate(columns):
            normal[:, k] = np.interp(rows[:, j], values, ranks)
        normal.setflags(write=False)
        recent.append((rows, normal))
        return normal

    return scored
