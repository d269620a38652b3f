"""Nearest neighbours in the maximum norm, exact to the last bit: by a scan, a tree or bitmaps."""
