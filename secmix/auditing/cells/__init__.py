"""One combination of protocol and adversary: run, measured and judged."""
