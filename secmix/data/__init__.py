"""Data sets, and how their rows are sampled for the nodes.

A loader returns a :class:`Dataset` of plain numbers; it takes a path, or data that a dependency ships, or downloads
from the owner. Preparing (standardise, PCA) and sampling are the same for all.
"""

from secmix.data.dataset import Dataset, prepared, sample_rows
from secmix.data.delimited import csv
from secmix.data.shipped import PARKINSONS_URL, breast_cancer, digits, gaussian, parkinsons, wine

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
