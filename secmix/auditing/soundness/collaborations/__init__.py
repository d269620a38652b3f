"""Soundness of collaborations: how they are called and looked at, on which rows, handed what, and all that is asked."""
