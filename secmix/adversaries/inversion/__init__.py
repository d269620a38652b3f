"""Inversion of sums into rows: the equations, where to start, the steps, and when a solution is certain."""

from secmix.adversaries.inversion.invert import Inversion, invert_sums, rounds_needed

__all__ = ["Inversion", "invert_sums", "rounds_needed"]
