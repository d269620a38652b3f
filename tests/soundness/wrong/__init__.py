"""Wrong cases, a module for each class of faults."""
