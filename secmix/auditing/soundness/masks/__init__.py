"""Masks that are linear images of independent draws: the map is found by playing draws back, and their law is known."""
