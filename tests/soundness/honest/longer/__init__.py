"""Faults that show over a whole fit, at numbers that stand in the code, and in what lies about."""
