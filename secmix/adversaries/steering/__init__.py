"""Adversaries who bend the parameters so that the next sum isolates a row."""
