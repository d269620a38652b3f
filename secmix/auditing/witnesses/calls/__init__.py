"""Calls as a protocol in long use makes them, and what a message in one of them is of a node's input."""
