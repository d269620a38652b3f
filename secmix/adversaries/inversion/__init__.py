"""Inversion of sums into rows: the equations, where to start, the steps, and when a solution is certain."""
