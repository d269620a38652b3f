"""Data sets: rows of plain numbers, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from secmix._base.checks import Array, finite_array
from secmix.errors import DataError


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
