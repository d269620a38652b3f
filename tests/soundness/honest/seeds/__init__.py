"""Masks expanded from seeds that are used twice, known, or short."""
