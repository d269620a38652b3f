"""Data sets, and how their rows are dealt out to the nodes.

A loader returns a :class:`Dataset` of plain numbers; it takes a path, or data that a dependency ships, or downloads
from the owner. Preparing (standardise, PCA) and dealing are the same for all.
"""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from secmix._base.checks import Array, finite_array, integer
from secmix._base.files import read_regular
from secmix.errors import DataError, nearest, shown

_MOST_NUMBERS = 100_000_000
_MOST_BYTES = 2**31
PARKINSONS_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/parkinsons/parkinsons.data"


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
    """

    rows: Array
    columns: tuple[str, ...]
    source: str
    public: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", finite_array(self.rows, "the data", ndim=2))


def breast_cancer() -> Dataset:
    """Wisconsin diagnostic breast cancer, 569 patients and 30 measurements of cell nuclei, as scikit-learn ships it.

    >>> breast_cancer().rows.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    return Dataset(found.data, tuple(found.feature_names), "breast cancer measurements, Wisconsin (scikit-learn)", True)


def wine() -> Dataset:
    """Chemical analyses of 178 wines, 13 measurements, as scikit-learn ships it."""
    from sklearn.datasets import load_wine

    found = load_wine()
    return Dataset(found.data, tuple(found.feature_names), "wine analyses (scikit-learn)", True)


def digits() -> Dataset:
    """1797 handwritten digits of 8 × 8 pixels, without the pixels that are never inked, as scikit-learn ships them."""
    from sklearn.datasets import load_digits

    found = load_digits()
    inked = np.ptp(found.data, axis=0) > 0
    names = tuple(np.array(found.feature_names)[inked].tolist())
    return Dataset(found.data[:, inked], names, "handwritten digits (scikit-learn)", True)


def gaussian(
    rows: int = 5000, features: int = 2, components: int = 2, separation: float = 2.0, seed: int = 0
) -> Dataset:
    """Rows drawn from a mixture of ``components`` standard Gaussians with centres ``separation`` apart from the origin.

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
    """Oxford Parkinson's disease detection: 195 voice recordings, 22 measurements (names and diagnosis left out).

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


def csv(
    path: str | Path,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    delimiter: str = ",",
) -> Dataset:
    """Numeric columns of a delimited text file whose first line names them.

    Parameters
    ----------
    path : path
    columns : sequence of str, optional
        The columns to use; default all.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    DataError
        If the file cannot be read, names no such column, or holds something that is not a number.
    """
    lines = _lines(path, delimiter)
    names = [name.strip() for name in lines[0]]
    if any(_is_number(name) for name in names):
        # Not even the column is named: what stands there are somebody's values.
        raise DataError(
            f"the first line of '{path}' holds a number where names of columns are due; put a line of names above it "
            "(a name that is a number, such as a year, needs a letter)"
        )
    # Where no field of the first row is a number, the line above may be data as well: then columns go by number.
    sure = any(_is_number(field) for field in lines[1]) and not any(name[:1].isdigit() for name in names)
    called = [f"column '{name}'" if sure else f"column {j}" for j, name in enumerate(names, 1)]
    for name in (*(columns or ()), *drop):
        if name not in names:
            hint = nearest(name, names) if sure else "is the delimiter right?"
            raise DataError(f"the data file '{path}' has no column {shown(name)}; {hint}")
    for j, name in enumerate(names):
        if name in names[:j]:
            raise DataError(f"the first line of '{path}' names {called[j]} twice; rename one")
    kept = [j for j, name in enumerate(names) if name not in drop and (columns is None or name in columns)]
    if not kept:
        raise DataError(f"no column of '{path}' is left after 'drop'; keep at least one")
    table = np.empty((len(lines) - 1, len(kept)))
    for r, line in enumerate(lines[1:]):
        if len(line) != len(names):
            raise DataError(f"row {r + 1} of '{path}' has {len(line)} fields, the first line names {len(names)}")
        for c, j in enumerate(kept):
            try:
                table[r, c] = float(line[j])
            except ValueError:
                # The value itself may be private: only its place is named.
                raise DataError(
                    f"row {r + 1}, {called[j]} of '{path}' is not a number; drop the column or the row"
                ) from None
    kept_names = tuple(names[j] if sure else f"column {j + 1}" for j in kept)
    return Dataset(table, kept_names, f"the file {Path(path).name}")


def _lines(path: str | Path, delimiter: str) -> list[list[str]]:
    """The fields of every line that has any; at least a line of names and a row."""
    cannot = f"the data file '{path}' cannot be read: "
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise DataError(f"{cannot}delimiter is a single character such as ';'; given {shown(delimiter)}")
    try:
        text = read_regular(Path(path), most=_MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{cannot}{error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise DataError(f"{cannot}it is not UTF-8 text; save it as UTF-8") from None
    except ValueError:
        raise DataError(f"{cannot}no file can have that name") from None
    reader = csv_module.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lines = [line for line in reader if line]
    except csv_module.Error:
        raise DataError(f"{cannot}line {reader.line_num} is not what a CSV file holds") from None
    if len(lines) < 2:
        raise DataError(f"the data file '{path}' has {len(lines)} line(s); needed are a line of names and rows")
    return lines


def _is_number(field: str) -> bool:
    try:
        float(field.replace(",", "."))  # a decimal comma too
    except ValueError:
        return False
    return field.strip().lower() not in ("nan", "inf", "infinity")


def prepared(data: Dataset, *, standardise: bool = True, features: int | None = None) -> Array:
    """Rows (N, d) ready for a mixture: columns of mean 0 and variance 1, then the first principal components.

    Raises
    ------
    DataError
        If a column is constant, or there are not as many columns as ``features``.
    """
    rows = data.rows
    still = np.flatnonzero(np.ptp(rows, axis=0) <= 1e-12 * np.abs(rows).max(axis=0))  # up to rounding
    if len(still):
        raise DataError(f"column '{data.columns[still[0]]}' is constant: it carries nothing; drop it")
    if standardise:
        rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    if features is not None:
        integer(features, "features")
        if features > min(rows.shape):
            raise DataError(f"features = {features}, but the data have {rows.shape[1]} columns and {len(rows)} rows")
        from sklearn.decomposition import PCA

        pca = PCA(features, svd_solver="full")
        rows = pca.fit_transform(rows)
        carried = int((pca.singular_values_ > 1e-9 * pca.singular_values_[0]).sum())
        if carried < features:
            raise DataError(f"features = {features}, but the columns depend on each other: they carry only {carried}")
        # Unit variance along each component keeps one feature from drowning the others.
        rows = rows / rows.std(axis=0) if standardise else rows
    return np.ascontiguousarray(rows)


def deal(rows: Array, counts: Sequence[int], runs: int, rng: np.random.Generator) -> list[Array]:
    """Deal rows to the nodes, in each run anew and without replacement.

    Parameters
    ----------
    rows : (N, d)
    counts : sequence of int, length n
        Rows of each node.

    Returns
    -------
    list of (runs, counts[i], d)

    Raises
    ------
    DataError
        If there are fewer rows than asked for.
    """
    for i, count in enumerate(counts):
        integer(count, f"the number of rows of node {i}")
    total = sum(counts)
    if total > len(rows):
        raise DataError(f"{len(counts)} nodes ask for {total} rows, but the data have {len(rows)}; lower rows_per_node")
    drawn = np.stack([rng.choice(len(rows), size=total, replace=False) for _ in range(runs)])
    return [rows[part] for part in np.split(drawn, np.cumsum(counts)[:-1], axis=1)]
