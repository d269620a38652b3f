"""What every loader returns: rows of plain numbers, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from secmix._base.checks import Array, finite_array


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
