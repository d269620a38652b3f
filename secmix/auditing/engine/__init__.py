"""Running: all cells of an audit, in one process or several, kept where they can be resumed.

Nothing is imported here: a command starts other processes before it imports what they run.
"""
