"""Slips that were written against the rules of the proof as they stood: each kind is new to the corpus."""
