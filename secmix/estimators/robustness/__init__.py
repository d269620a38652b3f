"""Searches for how far colluders move a rule's result, and bounds that are proven about it."""
