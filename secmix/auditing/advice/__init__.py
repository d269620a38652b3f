"""Advice: measures, which are tried, and left out where the trial or the same report refutes them."""
