"""Mixtures fitted at every node and sent once (split and conquer, Zhang 2024)."""
