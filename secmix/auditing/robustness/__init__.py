"""What colluders can do to the result of a cell."""
