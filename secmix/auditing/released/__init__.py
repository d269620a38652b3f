"""Attacks on a released result by itself, without the messages that made it."""
