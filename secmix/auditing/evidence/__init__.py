"""The kinds of evidence about a node, one a file."""
