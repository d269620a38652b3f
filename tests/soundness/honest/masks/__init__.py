"""Masks that are not what they say."""
