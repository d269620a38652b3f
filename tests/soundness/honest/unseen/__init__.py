"""Slips that hang on what no traced call shows: the size of a batch, the process, the machine, and what comes later."""
