"""The one file of the audit's: rows in the form in which load_data returns them."""

import numpy as np


def load(rows):
    """Pixels, and classes by the rank of the last of them: in ten training rows or more, every class occurs."""
    cut = len(rows) - 2
    classes = np.argsort(np.argsort(rows[:cut, -1], kind="stable"), kind="stable") % 10
    pixels = np.zeros((len(rows), 64))
    pixels[:, : rows.shape[1]] = rows
    return pixels[:cut], pixels[cut:], classes, np.array([0, 1])
