"""Replays: calls of a collaboration on other data, whose releases return what they returned before."""
