"""Data sets: rows of plain numbers and where they come from, prepared for a mixture and sampled for the nodes.

Some are shipped by a dependency or drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from secmix._base.checks import Array, Ints, finite_array, integer
from secmix.errors import DataError, shown

_NAMED = 5  # of wrong columns, in an error's first words
_LARGEST, _LEAST = 1e150, 1e-150  # the squares of these numbers, summed, are still ordinary numbers
_MOST_NUMBERS = 100_000_000  # of a data set that is drawn


@dataclass(frozen=True)
class Dataset:
    """Rows of real measurements.

    Attributes
    ----------
    rows : (N, d)
    columns : tuple of str, length d
    source : str
        Where the rows come from, in words.
    public : bool
        Whether a report may show rows. Yours are private unless you say otherwise.
    groups : tuple of str, length N, optional
        Whose each row is: the rows of each group are one node's. Default: rows are drawn for all nodes at random.
    """

    rows: Array
    columns: tuple[str, ...]
    source: str
    public: bool = False
    groups: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", finite_array(self.rows, "the data", ndim=2))
        if self.groups is not None and len(self.groups) != len(self.rows):
            raise DataError(f"groups names {len(self.groups)} owners for {len(self.rows)} rows; give one a row")


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


def prepared(data: Dataset, *, standardise: bool = True, features: int | None = None) -> Array:
    """Prepare rows (N, d) for a mixture: columns of mean 0 and variance 1, then the first principal components.

    Raises DataError if a column is constant or has no variance among ordinary numbers, there is one row only, or there
    are not as many columns as ``features``.
    """
    rows = data.rows
    if len(rows) < 2:
        raise DataError(
            f"the data have {len(rows)} row{'s' * (len(rows) != 1)}, where two at least are needed for any column to "
            "vary; add rows, or say header = false if the file's first line is a row too"
        )
    largest = np.abs(rows).max(axis=0)
    beyond = f"numbers above {_LARGEST:g}, whose squares are too large to compute with; mend them, or"
    _refuse(data, largest > _LARGEST, f"has {beyond}", f"have {beyond}")
    still = f"constant in all {len(rows)} rows and"
    varying = np.ptp(rows, axis=0)
    up_to_rounding = varying <= 1e-12 * largest
    _refuse(data, up_to_rounding, f"is {still} carries nothing;", f"are {still} carry nothing;")
    within = f"by less than {_LEAST:g}, whose square is too small to compute with; choose another unit, or"
    _refuse(data, varying < _LEAST, f"varies {within}", f"vary {within}")
    if standardise:
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    if features is not None:
        integer(features, "features")
        if features > min(rows.shape):
            raise DataError(
                f"features = {features}, but the data have {rows.shape[1]} columns and {len(rows)} rows; lower features"
            )
        from sklearn.decomposition import PCA

        pca = PCA(features, svd_solver="full")
        rows = pca.fit_transform(rows)
        carried = int((pca.singular_values_ > 1e-9 * pca.singular_values_[0]).sum())
        if carried < features:
            raise DataError(
                f"features = {features}, but the columns depend on each other and carry only {carried}; lower features"
            )
        # Unit variance along each component keeps one feature from drowning the others.
        rows = rows / rows.std(axis=0) if standardise else rows
    return np.ascontiguousarray(rows)


def _refuse(data: Dataset, wrong: NDArray[np.bool_], of_single: str, of_several: str) -> None:
    """Raise DataError if columns are wrong; the error says what is wrong, and how to leave them out."""
    names = [data.columns[j] for j in np.flatnonzero(wrong)]
    if not names:
        return
    called = ", ".join(f"'{name}'" for name in names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    which = f"column {called} {of_single}" if len(names) == 1 else f"columns {called} {of_several}"
    raise DataError(f"{which} leave out with drop = {json.dumps(names, ensure_ascii=False)}")


def sample_rows(
    rows: Array,
    counts: Sequence[int],
    runs: int,
    rng: np.random.Generator,
    groups: Sequence[Ints] | None = None,
) -> list[Array]:
    """Sample rows for the nodes, in each run anew and without replacement.

    ``rows`` (N, d); ``counts``: rows of each node; ``groups``: which rows may be each node's; default: any. The result
    is list of (runs, counts[i], d). Raises DataError if there are fewer rows than asked for.
    """
    for i, count in enumerate(counts):
        integer(count, f"the number of rows of node {i}")
    if groups is not None:
        return [
            rows[np.stack([rng.choice(own, size=count, replace=False) for _ in range(runs)])]
            for own, count in zip(groups, counts, strict=True)
        ]
    total = sum(counts)
    if total > len(rows):
        raise DataError(f"{len(counts)} nodes ask for {total} rows, but the data have {len(rows)}; lower rows_per_node")
    drawn = np.stack([rng.choice(len(rows), size=total, replace=False) for _ in range(runs)])
    return [rows[part] for part in np.split(drawn, np.cumsum(counts)[:-1], axis=1)]
