"""Federated subspaces behind a resilient server (Singh 2024)."""

from secmix.protocols.subspace.alt_gd_min import ByzFedAltGDmin
from secmix.protocols.subspace.federated_pca import FederatedPCA

__all__ = ["ByzFedAltGDmin", "FederatedPCA"]
