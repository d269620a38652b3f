"""The command line: audit, exposure, compare, init, validate, and what they print."""
