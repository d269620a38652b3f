"""The checks, each of one kind of departure from what the exact evidence presumes."""
