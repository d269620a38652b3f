"""Federated subspaces behind a resilient server (Singh 2024)."""
