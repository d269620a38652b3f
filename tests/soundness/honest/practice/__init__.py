"""Slips of practice, against what the proof sees once, by name, or in one module: each kind is new to the corpus."""
