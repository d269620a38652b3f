"""Claims of differential privacy of known truth: wrong protocols, each beside its right twin."""
