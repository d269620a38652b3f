"""The formats of a report, one a file."""
