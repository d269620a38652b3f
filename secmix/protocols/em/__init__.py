"""Distributed EM for Gaussian mixtures over any sum protocol, and its defences (Li 2022)."""
