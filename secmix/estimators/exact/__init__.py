"""Exact evidence for protocols that are linear in inputs and masks: leaked subspaces and Gaussian information."""
