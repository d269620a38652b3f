"""Counterexamples where nothing is proved: decoders that compute a node's data from what the adversary reads."""
