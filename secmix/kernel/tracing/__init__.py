"""Traces of calls: what a protocol's modules see meanwhile, what it keeps, and what it asks of the machine."""
