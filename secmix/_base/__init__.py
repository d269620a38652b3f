"""Helpers for every layer: checks, arrays, plugins, files, random streams."""
