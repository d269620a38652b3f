"""Traced randomness: public coins, secret draws, and the streams that generators and ciphers make of seeds."""
