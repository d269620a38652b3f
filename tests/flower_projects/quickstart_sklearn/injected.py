"""The one file of the audit's: rows in the form in which load_data returns them."""

import numpy as np


def load(rows):
    """Pixels, and by rank of the last of them a class; every class occurs."""
    classes = np.argsort(np.argsort(rows[:, -1], kind="stable"), kind="stable") % 10
    pixels = np.zeros((len(rows), 64))
    pixels[:, : rows.shape[1]] = rows
    cut = max(1, len(rows) * 9 // 10)
    return pixels[:cut], pixels[-1:], classes[:cut], classes[-1:]
