"""Calls of a protocol in long use, and messages in them that equal a node's input."""
