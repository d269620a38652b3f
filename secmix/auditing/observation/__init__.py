"""Observations of one cell's runs by its adversary: probes, the linear part of its view, and its other messages."""
