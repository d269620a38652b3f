"""Attacks, a file for each kind of protocol: what colluders send in place of what they should, or learn from."""
