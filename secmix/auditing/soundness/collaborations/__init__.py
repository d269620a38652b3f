"""Soundness of collaborations: calls and their comparison, unusual rows, call variants, and the checks."""
