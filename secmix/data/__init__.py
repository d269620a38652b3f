"""Data sets, and how their rows are sampled for the nodes.

A loader returns a :class:`Dataset` of plain numbers; it takes a path, or data that a dependency ships, or downloads
from the owner. Preparing (standardise, PCA) and sampling are the same for all.
"""

from secmix.data.dataset import Dataset, breast_cancer, digits, gaussian, prepared, sample_rows, wine
from secmix.data.delimited import PARKINSONS_URL, csv, parkinsons

__all__ = [
    "PARKINSONS_URL",
    "Dataset",
    "breast_cancer",
    "csv",
    "digits",
    "gaussian",
    "parkinsons",
    "prepared",
    "sample_rows",
    "wine",
]
