"""Data sets that a dependency ships, that are drawn, or that their owner offers for download."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from secmix._base.checks import integer
from secmix.data.dataset import Dataset
from secmix.data.delimited import csv
from secmix.errors import DataError, shown

_MOST_NUMBERS = 100_000_000
PARKINSONS_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/parkinsons.data"


def breast_cancer() -> Dataset:
    """Load Wisconsin breast cancer, 569 patients and 30 measurements of cell nuclei, as scikit-learn ships it.

    >>> breast_cancer().rows.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return Dataset(bunch.data, tuple(bunch.feature_names), "breast cancer measurements, Wisconsin (scikit-learn)", True)


def wine() -> Dataset:
    """Load chemical analyses of 178 wines, 13 measurements, as scikit-learn ships them."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return Dataset(bunch.data, tuple(bunch.feature_names), "wine analyses (scikit-learn)", True)


def digits() -> Dataset:
    """Load 1797 handwritten digits of 8 × 8 pixels, without pixels that are never inked, as scikit-learn ships them."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    inked = np.ptp(bunch.data, axis=0) > 0
    names = tuple(np.array(bunch.feature_names)[inked].tolist())
    return Dataset(bunch.data[:, inked], names, "handwritten digits (scikit-learn)", True)


def gaussian(
    rows: int = 5000, features: int = 2, components: int = 2, separation: float = 2.0, seed: int = 0
) -> Dataset:
    """Draw rows from a mixture of ``components`` standard Gaussians, with centres ``separation`` from the origin.

    Parameters
    ----------
    rows, features, components : int
        How many are drawn: rows, numbers in each, and Gaussians.
    separation : float
        Distance of each centre from the origin, in standard deviations.
    seed : int
        Of the draws.

    Examples
    --------
    >>> gaussian(rows=10, features=3).rows.shape
    (10, 3)
    """
    integer(rows, "rows")
    integer(features, "features")
    integer(components, "components")
    if max(rows, components) * features > _MOST_NUMBERS:
        raise DataError(
            f"rows = {shown(rows)} of {shown(features)} features; at most {_MOST_NUMBERS} numbers are drawn"
        )
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((components, features))
    centres *= separation / np.linalg.norm(centres, axis=1, keepdims=True)
    drawn = rng.standard_normal((rows, features)) + centres[rng.integers(components, size=rows)]
    source = f"{components} Gaussians, drawn with seed {seed}"
    return Dataset(drawn, tuple(f"x{j}" for j in range(features)), source, public=True)


def parkinsons(path: str | Path | None = None) -> Dataset:
    """Load Oxford Parkinson's disease detection: 195 voice recordings, 22 measurements (no names, no diagnosis).

    Parameters
    ----------
    path : path, optional
        The file ``parkinsons.data`` of the UCI repository; downloaded from there when not given.
    """
    source = "Parkinson's voice recordings (UCI)"
    if path is not None:
        return replace(csv(path, drop=("name", "status")), source=source)
    import tempfile
    import urllib.request

    try:
        with urllib.request.urlopen(PARKINSONS_URL, timeout=30) as answer:
            text = answer.read()
    except OSError as error:
        raise DataError(f"{PARKINSONS_URL} could not be read ({error}); download the file and give its path") from None
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "parkinsons.csv")
        copy.write_bytes(text)
        return replace(csv(copy, drop=("name", "status")), source=source, public=True)
