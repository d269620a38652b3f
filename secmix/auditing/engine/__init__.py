"""Run all cells of an audit, in one process or several, with a cache for resuming.

Nothing is imported here, since a command starts other processes before it imports what they run.
"""
