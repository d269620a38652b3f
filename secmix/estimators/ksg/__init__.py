"""Mutual information from nearest neighbours (Kraskov, Stögbauer and Grassberger 2004), with its standing."""

from secmix.estimators.ksg.entropies import entropy
from secmix.estimators.ksg.information import ksg, ksg_number, nmi_paper, permutation_null

__all__ = ["entropy", "ksg", "ksg_number", "nmi_paper", "permutation_null"]
